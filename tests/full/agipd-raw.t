#!/bin/sh
# pipelines/agipd-raw.yaml as it is shipped, but with one subpixel, which is faster: h5py corrects its words by its constants, and finds whole photons.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'raw words of an AGIPD' python:numpy python:h5py
sed 's/--ncells=40/&, --oversample=1/' "$BRAGG_TESTS/../pipelines/agipd-raw.yaml" >agipd-raw.yaml
check 'the pipeline runs' bragg-run --quiet --workdir=. agipd-raw.yaml
cat >photons.py <<'E2'
import h5py
import numpy

words, cal = h5py.File("raw.nxs"), h5py.File("cal_agipd.h5")
cells = words["/entry/braggpipe/cellId"][()]
assert cells.tolist() == [*range(16)] * 2, cells
offset, level, relative = (cal[name] for name in ("AnalogOffset", "DigitalGainLevel", "RelativeGain"))
near = stages = 0
for k in (0, 5, 31):
    c = cells[k]
    word = words["/entry/data/data"][k]
    planes = word.view("<u2").reshape(*word.shape, 2)
    analog, gain = planes[..., 0], planes[..., 1]
    stage = (gain > level[1, c]).astype(int) + (gain > level[2, c])
    pick = lambda constant: numpy.choose(stage, constant[:, c])
    photons = (analog.astype(float) - pick(offset)) * pick(relative) / cal["adu_per_keV"][()] / 9.3
    first = stage == 0
    off = photons[first] - numpy.round(photons[first])
    assert off.std() < 0.14 and abs(off.mean()) < 0.01, (off.std(), off.mean())  # readout: 8 ADU of 70
    assert photons[first].min() > -1 and photons.max() > 30, photons.max()
    stages |= sum(1 << s for s in range(3) if (stage == s).any())
assert stages & 3 == 3, stages
E2
check 'words of the first gain level hold whole photons' /usr/bin/python3 photons.py
finish
