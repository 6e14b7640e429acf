#!/bin/sh
# NXmx files have a checksum of each frame: bytes that change later are told, wherever they are.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'damaged NXmx files' python:h5py python:numpy python:zmq python:msgpack
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


def hit(name, path, frame):
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


if len(sys.argv) > 3:
    hit(sys.argv[1], sys.argv[2], int(sys.argv[3]))
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
# --- bragg-score reads the ground truth, and the images for its page
bragg-replay --quiet all.rec | bragg-write --quiet --reflections=all.stream 'image_%d.raw'
# some peaks are off, so that the page shows all frames
awk '/^Peaks from peak search/ { p = 1 } /^End of peak list/ { p = 0 } p && ++n % 20 == 5 { $1 += 9 } 1' all.stream >off.stream
bragg-score none.nxs --report=score.html off.stream >score
is 'bragg-score reads a whole file' "$(grep -c '^frames  *4$' score) $(grep -c 'href="data:image/png' score.html)" '1 4'
# refuses WHAT FILE DATASET [OPTION...]: bragg-score, when a bit of frame 1 has changed
refuses() {
	what=$1 name=$2 path=$3
	shift 3
	cp "$name" whole
	/usr/bin/python3 hit.py "$name" "$path" 1
	status=0
	bragg-score none.nxs off.stream "$@" >score 2>said || status=$?
	is "bragg-score: a bit of $path" "$status $(ls page.html 2>/dev/null) $(grep -c "^bragg-score: none.*: the $what of frame 1 is damaged" said) $(wc -l <said)" '3  1 1'
	[ "$(wc -l <said)" = 1 ] || complain "$(cat said)"
	mv whole "$name"
}
for path in reflections/photons reflections/phi; do
	refuses 'ground truth' none$first "entry/$path"
done
refuses 'ground truth' none.nxs entry/braggpipe/lattices
refuses image none$first entry/data/data --report=page.html

# --- the Python module
cat >open.py <<'END'
import sys, braggpipe
try:
    print(sum(1 for frame in braggpipe.open(sys.argv[1])))
except ValueError as error:
    print(error)
END
python() {
	PYTHONPATH="$BRAGG_TESTS/../pipelines" /usr/bin/python3 open.py "$1"
}
is 'Python reads whole files' "$(for how in none gzip; do python $how.nxs; done | paste -sd' ')" '4 4'
for path in data/data derivatives/rot_x braggpipe/labels reflections/phi; do
	cp none$first whole
	/usr/bin/python3 hit.py none$first entry/$path 1
	is "Python: a bit of entry/$path" "$(python none.nxs | grep -c '^none.nxs: the .* of frame 1 is damaged: .* Write the frame again$')" 1
	mv whole none$first
done
cp none.nxs whole
/usr/bin/python3 hit.py none.nxs entry/braggpipe/lattices 1
is 'Python: a bit of the lattices' "$(python none.nxs | grep -c 'the ground truth of frame 1 is damaged')" 1
mv whole none.nxs

# --- a run that is continued: frame 3 belongs to the file of frame 2
frames() {
	bragg-geometry --quiet --detpixels=64 --pixel=1 --ncells=8 | bragg-orient --quiet --random --seed=3 --frames=4 "$@" |
		bragg-intensity --quiet --reflections --labels --derivatives=rot_x
}
# continued SUFFIX WANTED PYTHON: PYTHON changes the file of frame 2, and the run continues
continued() {
	rm -rf run && mkdir run && cd run || return
	frames --only=0-2 | bragg-write --quiet --frames-per-file=2 "first.$1"
	data=$(echo first_data_000002.*)
	PYTHONPATH=.. /usr/bin/python3 -c "
import h5py, hit, sys
$3" "$data"
	status=0
	frames | bragg-write --quiet --frames-per-file=2 --resume "first.$1" 2>said || status=$?
	is "a continued run of $1: $2" "$status $(grep -c "^bragg-write: $data: $2.*\. Remove the file, and start the run again with --resume" said)" '1 1'
	[ "$(wc -l <said)" = 1 ] || complain "$(cat said)"
	cd ..
}
continued nxs 'the image of frame 2 is damaged' "hit.hit(sys.argv[1], 'entry/data/data', 0)"
rm "run/$data"
(cd run && frames | bragg-write --quiet --frames-per-file=2 --resume first.nxs 2>said)
is 'without the file, its frames come again' "$(bragg-replay run/first.nxs 2>>run/said | bragg-tap --print | grep -c '^frame')" 4
continued cxi 'the ground truth of frame 2 is damaged' "hit.hit(sys.argv[1], 'entry/reflections/panel', 0)"
continued cxi 'frame 2 has a reflection on panel 7; expected 0 to 0' "
with h5py.File(sys.argv[1], 'r+') as f:
    del f['entry/braggpipe/checksums']
    f['entry/reflections/panel'][0] = 7"

/usr/bin/python3 -c "
import h5py
with h5py.File('none$first', 'r+') as f:
    del f['entry/braggpipe/checksums']"
bragg-replay --quiet none.nxs | bragg-tap --print >old.frames
is 'a file of an earlier version is read' "$(grep '^frame' old.frames)" "$(grep '^frame' none.frames)"
finish
