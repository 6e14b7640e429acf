#!/bin/sh
# The same frames in NXmx, CBF and SMV: to DIALS they are one sweep of the same pixels and spots,
# and the true crystal has its reflections at the same places.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import python:bitshuffle.h5 python:h5py
crystal --fluence=3e26 | bragg-orient --frames=12 --phi0=10 --osc=0.5 --phi-steps=10 --misset=10,5,3 --truth=truth.tsv |
	images --frames-per-file=5 rot.nxs 'rot_%04d.cbf' 'rot_%04d.img'
preload dials_import find_spots
is 'a master and three data files' "$(ls rot*.nxs rot_data_*.h5 | tr '\n' ' ')" \
	'rot.nxs rot_data_000001.h5 rot_data_000002.h5 rot_data_000003.h5 '
check 'dxtbx reads the same frames from all formats' /usr/bin/python3 "$BRAGG_TESTS/full/nxmx_readers.py" rot

# spots FORMAT FILE...: a folder with the sweep, and how many spots DIALS finds in it
spots() {
	mkdir "$1" && cd "$1" || return
	shift
	check "DIALS imports $(basename "$PWD")" quiet dials.import "$@" output.experiments=imported.expt
	check 'DIALS imports twelve images as one sweep' sh -c 'grep -q "num images: 12" dials.import.log && grep -q "sweep: *1" dials.import.log'
	check 'DIALS finds spots in the images' find_spots
	found=$(sed -n 's/^Saved \([0-9]*\) reflections.*/\1/p' dials.find_spots.log)
	cd ..
}
spots nxmx "$PWD/rot.nxs"
as_nxmx=$found
spots cbf "$PWD"/rot_*.cbf
is 'DIALS finds as many spots in CBF as in NXmx' "$found" "$as_nxmx"
spots smv "$PWD"/rot_*.img
is 'DIALS finds as many spots in SMV as in NXmx' "$found" "$as_nxmx"

# Two writers of one series: files that take turns are one sweep of the same pixels.
mkdir run two
bragg-replay --quiet rot.nxs --out="@ipc://$tap_scratch/run/r" &
others=$!
for i in 1 2; do
	bragg-write --quiet --frames-per-file=3 two/rot.nxs --in="ipc://$tap_scratch/run/r" &
	others="$others $!"
done
# shellcheck disable=SC2086 # not of the Python of preload, which does not end
wait $others
spots shared "$PWD/two/rot.nxs"
is 'DIALS finds as many spots in a series of two writers' "$found" "$as_nxmx"
check 'DIALS reads the same pixels from all files' /usr/bin/python3 -c '
from dxtbx.model.experiment_list import ExperimentListFactory
one, two = (ExperimentListFactory.from_json_file(f"{n}/imported.expt")[0].imageset for n in ("nxmx", "shared"))
assert len(one) == len(two) == 12
for i in range(12):
    assert all((a == b).count(False) == 0 for a, b in zip(one.get_raw_data(i), two.get_raw_data(i))), i'

measure dials_formats.py nxmx/imported.expt cbf/imported.expt
above 'a thousand reflections are predicted' reflections 1000
near 'CBF has them where NXmx has them' largest_px 0 0.001
near 'CBF has reflections without parallax where NXmx has them' largest_flat_px 0 0.001
near 'CBF has reflections at the phi of NXmx' largest_phi_deg 0 1e-4
measure dials_formats.py nxmx/imported.expt smv/imported.expt
near 'SMV, which knows of no sensor, has them there without parallax' largest_flat_px 0 0.001
near 'SMV has reflections at the phi of NXmx' largest_phi_deg 0 1e-4
above 'the sensor moves them by more than that' largest_px 0.1

# Detectors that count photons, as they are without options: what dxtbx takes from the files of each format.
for detector in eiger-1m pilatus-300k; do
	bragg-geometry --quiet --detector=$detector --distance=100 --energy=12keV --ncells=5 --oversample=1 --fluence=1e32 |
		bragg-orient --quiet --frames=2 --osc=0.5 | bragg-intensity --quiet | bragg-noise --quiet |
		bragg-write --quiet $detector.nxs "${detector}_%04d.cbf" "${detector}_%04d.img"
done
check 'detectors that count: no pedestal, all that they count is trusted, gaps are masked' \
	/usr/bin/python3 "$BRAGG_TESTS/full/dials_counters.py" eiger-1m:65534:16 pilatus-300k:1048575:32

python mutated mutated "$BRAGG_TESTS/full/dials_mutant.py" cbf/imported.expt mutant.expt half-pixel
measure dials_formats.py nxmx/imported.expt mutant.expt
beyond 'a header half a pixel off is seen' largest_px 0 0.4
unload
finish
