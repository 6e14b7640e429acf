#!/bin/sh
# NXmx files have a checksum of each frame: bytes that change later are told, wherever they are.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'damaged NXmx files' python:h5py python:numpy
scratch
bragg-geometry --quiet --detpixels=64 --pixel=1 --ncells=8 | bragg-orient --quiet --frames=4 --random --spectrum=gauss --bandwidth=0.5 --channels=3 |
	bragg-intensity --quiet --reflections --labels --derivatives=rot_x | bragg-tap --quiet --record=all.rec
for how in none bslz4 gzip; do
	bragg-replay --quiet all.rec | bragg-write --quiet --compression=$how --frames-per-file=3 $how.nxs
	bragg-replay --quiet $how.nxs | bragg-tap --print >$how.frames
	is "$how: frames are read" "$(grep -c '^frame' $how.frames)" 4
done
is 'checksums do not depend on the compression' "$(for how in none bslz4 gzip; do
	/usr/bin/python3 -c "import h5py; print(h5py.File('$how.nxs')['entry/braggpipe/checksums'][:].tolist())"
done | sort -u | wc -l)" 1
bragg-replay --quiet all.rec | bragg-noise --quiet --seed=3 | bragg-write --quiet counts.nxs
bragg-replay --quiet all.rec | bragg-write --quiet --scale=2 scaled.nxs
for name in counts scaled; do
	check "$name: a series of integers is read" sh -c "bragg-replay --quiet $name.nxs | bragg-tap --count >/dev/null"
done
cat >hit.py <<'END'
import sys, h5py
name, path, frame = sys.argv[1], sys.argv[2], int(sys.argv[3])
with h5py.File(name) as f:
    data = f[path]
    if data.chunks:
        chunk = data.id.get_chunk_info_by_coord((frame,) + (0,) * (data.ndim - 1))
        at, size = chunk.byte_offset, chunk.size
    elif data.ndim == 1 and "reflections/" in path:  # a column of reflections
        counts = f["entry/braggpipe/reflections"]["rows"]
        at, size = data.id.get_offset() + data.dtype.itemsize * int(counts[:frame].sum()), data.dtype.itemsize
    else:
        at, size = data.id.get_offset() + data.dtype.itemsize * frame, data.dtype.itemsize
with open(name, "r+b") as f:
    f.seek(at + size // 2)
    byte = f.read(1)[0]
    f.seek(at + size // 2)
    f.write(bytes([byte ^ 0x10]))
END
# hit WANTED COMPRESSION FILE DATASET: a bit of frame 1 changes in a file of the series, and what bragg-replay says
hit() {
	cp "$2$3" whole
	/usr/bin/python3 hit.py "$2$3" "$4" 1
	bragg-replay --quiet "$2.nxs" 2>said | bragg-tap --count >/dev/null 2>&1
	is "$2: a bit of $4" "$(grep -c "^bragg-replay: $2.*: .*\($1\)" said) $(wc -l <said)" '1 1'
	[ "$(wc -l <said)" = 1 ] || complain "$(cat said)"
	mv whole "$2$3"
}
first=_data_000001.h5
for how in none bslz4; do
	hit 'the image of frame 1 is damaged\|cannot read the images of frame 1' $how $first entry/data/data
	hit 'the image of frame 1 is damaged\|cannot read the images of frame 1' $how $first entry/derivatives/rot_x
	hit 'the image of frame 1 is damaged\|cannot read the' $how $first entry/braggpipe/labels
done
hit 'cannot read the images of frame 1' gzip $first entry/data/data
for column in photons fast background h F2 phi; do
	hit 'the ground truth of frame 1 is damaged' none $first entry/reflections/$column
done
hit 'the ground truth of frame 1 is damaged' none .nxs entry/braggpipe/lattices
hit 'the ground truth of frame 1 is damaged' none .nxs entry/braggpipe/frames
hit 'of frame . is damaged' none .nxs entry/braggpipe/checksums
cp none$first whole
/usr/bin/python3 hit.py none$first entry/data/data 1
is 'other frames are read' "$(bragg-replay --quiet --first=1 none.nxs | bragg-tap --count | grep -o 'frames=[0-9]*')" frames=1
check_status 'bragg-compare refuses the damaged frame' 3 bragg-compare none.nxs bslz4.nxs
is 'bragg-compare names the frame' "$(echo "$tap_output" | grep -c 'the image of frame 1 is damaged')" 1
mv whole none$first
/usr/bin/python3 -c "
import h5py
with h5py.File('none$first', 'r+') as f:
    del f['entry/braggpipe/checksums']"
bragg-replay --quiet none.nxs | bragg-tap --print >old.frames
is 'a file of an earlier version is read' "$(grep '^frame' old.frames)" "$(grep '^frame' none.frames)"
finish
