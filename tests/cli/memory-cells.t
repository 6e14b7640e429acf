#!/bin/sh
# Raw words of a detector with memory cells, as an AGIPD's: what a user's correction finds with the file of constants of each cell.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy, h5py and msgpack' python:numpy python:h5py python:msgpack python:zmq

# Photons of 8 keV, 1 to 30000 in a pixel, in trains of 3 pulses; then bragg-noise OPTION...
awk 'BEGIN { for (s = 0; s <= 1; s += 0.005) print s, 160 * exp(-14 * s) }' >table
photons() {
	bragg-geometry --quiet --detpixels=160,120 --pixel=1 --distance=100 --energy=8000 --cell=50,50,50,90,90,90 --default-F=0 --fluence=1e22 |
		bragg-orient --quiet --frames=5 "$@" | bragg-intensity --quiet |
		bragg-background --quiet --stol=table --thickness=50 --molecular-weight=18 --threads=1
}
shots() { # NAME OPTION...
	name=$1
	shift
	bragg-replay --quiet photons.rec | bragg-noise --quiet "$@" | bragg-write --quiet "$name"
}
photons --facility=euxfel --train-pulses=3 | bragg-tap --quiet --record=photons.rec
shots photons.nxs --bits=32 --adc-offset=0
raw='--gain-switching --words=agipd --readout=8'
check 'words and constants' shots words.nxs $raw --calibration-files=cal --dead=0.01
check 'one thread gives the same words and constants' shots one.nxs $raw --calibration-files=cal --dead=0.01 --threads=1
refused() {
	shots other.nxs $raw --calibration-seed=5 --calibration-files=cal 2>&1 | grep 'bragg-noise: .*cal_agipd.h5'
}
check 'another calibration is not written over existing files' refused
cat >correct.py <<'EOP'
import numpy, h5py, sys
def file(name, at): return h5py.File(name)[at][()]
d, n, cell = file('words.nxs', '/entry/data/data'), file('photons.nxs', '/entry/data/data'), file('words.nxs', '/entry/braggpipe/cellId')
analog, gain = (d.view('<u2').reshape(*d.shape, 2)[..., k] for k in (0, 1))
O, L, R, B = (file('cal_agipd.h5', name) for name in ('AnalogOffset', 'DigitalGainLevel', 'RelativeGain', 'Badpixel'))
def stage(gain, c): return (gain > L[1, c]).astype(int) + (gain > L[2, c])
def correct(analog, gain, c):  # bragg-noise(1)
    pick = lambda constant: numpy.take_along_axis(constant[:, c], stage(gain, c)[None], 0)[0]
    return (analog.astype(float) - pick(O)) * pick(R) / file('cal_agipd.h5', 'adu_per_keV') / 8
good = B[0, 0] == 0
G = numpy.array([7.5, 0.15, 0.03]) * 8  # ADU a photon
sigma = numpy.sqrt(8 ** 2 + 1 / 12) / G
def pulls(shift):  # in units of the noise, by stage, of cells that are off by shift
    out = [[], [], []]
    for k, c in enumerate((cell + shift) % 3):
        s = stage(gain[k], c)
        for i in range(3): out[i].append((correct(analog[k], gain[k], c) - n[k])[good & (s == i)] / sigma[i])
    return [numpy.concatenate(o) for o in out]
EOP
holds() {
	check "$1" /usr/bin/python3 -c "
from correct import *
$2"
}
holds 'two planes of 14 bits, all stages have pixels' "
assert d.dtype == '<u4' and analog.max() < 16384 and gain.max() < 16384
assert min((stage(gain[0], 0) == i).mean() for i in range(3)) > 0.02 and cell.tolist() == [0, 1, 2, 0, 1]
assert (d == file('one.nxs', '/entry/data/data')).all()"
holds 'a correction finds the photons, to the noise' "
for i, p in enumerate(pulls(0)): assert abs(p.mean()) < 0.05 and abs(p.std() - 1) < (0.03, 0.03, 0.06)[i], (i, p.mean(), p.std())"
holds 'constants of another cell do not restore the photons' "
for p in pulls(1): assert p.std() > 5, p.std()"
holds 'cells differ as much as asked for, each pixel and stage for itself' "
for s in range(3):
    a, b = O[s, 1] - O[s, 0], O[s, 2] - O[s, 1]
    assert abs(a.std() / 60 / 2 ** 0.5 - 1) < 0.03 and abs(numpy.corrcoef(a.ravel(), b.ravel())[0, 1] + 0.5) < 0.03
    assert abs(numpy.corrcoef(a.ravel(), (O[s - 1, 1] - O[s - 1, 0]).ravel())[0, 1]) < 0.03
    assert abs(O[s].mean() / (5000, 5500, 5500)[s] - 1) < 3e-3
assert (L[0] == 0).all() and (L[2] - L[1] == 1500).mean() > 0.2 and abs((L[1, 1] - L[1, 0]).std() / 30 / 2 ** 0.5 - 1) < 0.03"
holds 'the gain plane keeps off its thresholds' "
for k, c in enumerate(cell):
    s = stage(gain[k], c); level = gain[k] - L[1, c]
    for i, at in enumerate((-1000, 1000, 2000)): assert abs(level[s == i].mean() - at) < 3 and abs(level[s == i].std() - 30) < 1.5, (i, level[s == i].mean(), level[s == i].std())"
holds 'constants that cells share are there once, and bad pixels for all' "
assert (R == R[:, :1]).all() and (B == B[0, 0]).all() and 0.005 < B.mean() < 0.02
import os; assert os.path.getsize('cal_agipd.h5') < 120 * 160 * (24 * 3 + 15) + 20000
assert (B[0, 0] == (file('words.nxs', '/entry/instrument/detector/pixel_mask') != 0)).all()"
check 'recomputed from its file' bragg-replay --recompute words.nxs:2
bragg-replay --quiet photons.rec | bragg-noise --quiet $raw --dead=0.01 | bragg-tap --quiet --record=words.rec
check 'planes and cells in Python, of streams and files' env PYTHONPATH="$BRAGG_TESTS/../pipelines" /usr/bin/python3 -c "
from correct import *
import braggpipe
for name in 'words.rec', 'words.nxs':
    for k, f in enumerate(braggpipe.open(name)):
        assert f.truth.cell == cell[k] and (f.analog == analog[k]).all() and (f.gain == gain[k]).all() and f.gain.dtype == 'u2'
    assert k == 4
for f in braggpipe.open('photons.rec'):
    assert f.truth.cell is None
    try: f.gain
    except ValueError as e: assert '--words=agipd' in str(e)
    else: assert 0"
photons | bragg-noise --quiet $raw | bragg-write --quiet 'alone_%d.img'
is 'without trains all is in cell 0' "$(cat alone_*.img | grep -a -c 'BRAGG_PULSE=cellId 0;')" 5
photons --facility=euxfel --pulse-step=1 --train-pulses=353 2>/dev/null | bragg-noise --quiet $raw 2>said | bragg-write --quiet no.raw 2>/dev/null
is 'a train that the memory does not hold' "$(cat said; ls no.raw 2>/dev/null)" \
	'bragg-noise: --words=agipd: a train has 353 pulses; expected at most 352, the number of memory cells. Reduce bragg-orient --train-pulses'
finish
