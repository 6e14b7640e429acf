#!/bin/sh
# A damaged HDF5 file that libhdf5 1.10 reads for ever: every program ends after 5 s of processor time, with one line.
# tests/full/mutate.t asks bragg-replay alone.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a file that libhdf5 reads for ever' python:h5py
scratch
bragg-geometry --quiet --detpixels=60 --pixel=1 --cell=40,45,50,90,90,90 --default-F=300 --ncells=20 |
	bragg-orient --quiet --random --frames=3 --seed=3 | bragg-intensity --quiet --reflections=1 | bragg-tap --record=r.rec >/dev/null
bragg-replay --quiet r.rec | bragg-write --quiet --scale=10 --reflections=run.refl 'a_%d.img'
bragg-replay --quiet r.rec | bragg-noise --quiet --adc-offset=0 | bragg-write --quiet --compression=gzip good.nxs
/usr/bin/python3 "$BRAGG_TESTS/cli/hdf5_damaged.py" good.nxs
for command in 'bragg-score hang/good.nxs run.refl' 'bragg-replay hang/good.nxs | cat' 'bragg-replay --recompute hang/good.nxs:0' \
	'bragg-view --bind=127.0.0.1:0 hang/good.nxs' 'bragg-geometry --detector=hang/good.nxs | cat'; do
	timeout 120 /bin/bash -c "$command" >/dev/null 2>said
	is "$command: one line" "$(sed 's/^bragg-[a-z]*: //' said)" 'hang/good.nxs: corrupt (reading it crashes or does not end)'
done
finish
