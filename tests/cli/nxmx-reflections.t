#!/bin/sh
# bragg-write: reflections in series of NXmx files, in order, disturbed, resumed and shared.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'reflections in NXmx' python:h5py
. "$BRAGG_TESTS/python.sh"
mkdir run whole
export XDG_RUNTIME_DIR="$tap_scratch/run"
d=$tap_scratch/run

recipes() {
	bragg-geometry --quiet --detpixels=64 --pixel=1 --ncells=6 --fluence=3e27 | bragg-orient --quiet --random --hit-rate=0.8 --lattices=2 "$@"
}
photons() { bragg-intensity --quiet --threads=1 --reflections=2 "$@"; }
counts() { bragg-background --quiet --water=1 "$@" | bragg-noise --quiet --threads=1; }
write() { bragg-write --quiet --frames-per-file=4 "$@"; }

recipes --frames=14 | photons | counts | write whole/s.nxs
recipes --frames=14 | photons | bragg-background --quiet --water=1 | bragg-tap --quiet --record=all.rec
check 'columns of the master and of its files are the rows of all frames' \
	/usr/bin/python3 "$BRAGG_TESTS/python/nxmx_reflections.py" whole/s.nxs all.rec

mkdir workers resumed plain
recipes --frames=14 --out="@ipc://$d/o" &
for i in 1 2 3; do
	photons --in="ipc://$d/o" --out="ipc://$d/i" &
done
counts --in="@ipc://$d/i" | write workers/s.nxs
wait
check 'three workers, frames in any order: the same bytes' diff -r -x '*.index' whole workers
recipes --frames=6 | photons | counts | write resumed/s.nxs
recipes --frames=14 | photons | counts | write --resume resumed/s.nxs
check 'resumed in the middle of a file: the same bytes' diff -r -x '*.index' whole resumed
recipes --frames=14 | bragg-intensity --quiet | counts | write plain/s.nxs
check 'nobody asked: no reflections' /usr/bin/python3 -c 'import h5py, sys
for name in sys.argv[1:]:
    assert "reflections" not in h5py.File(name)["entry"] and "reflections" not in h5py.File(name)["entry/braggpipe"]' \
	plain/s.nxs plain/s_data_000001.h5
finish
