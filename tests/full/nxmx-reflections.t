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
check 'three workers, frames in any order: the same content' same_series whole workers
recipes --frames=6 | photons | counts | write resumed/s.nxs
recipes --frames=14 | photons | counts | write --resume resumed/s.nxs
check 'resumed in the middle of a file: the same content' same_series whole resumed
recipes --frames=14 | bragg-intensity --quiet | counts | write plain/s.nxs
check 'nobody asked: no reflections' /usr/bin/python3 -c 'import h5py, sys
for name in sys.argv[1:]:
    assert "reflections" not in h5py.File(name)["entry"] and "reflections" not in h5py.File(name)["entry/braggpipe"]' \
	plain/s.nxs plain/s_data_000001.h5

# --- labels
recipes --frames=7 | photons --labels | bragg-tap --quiet --record=labels.rec
mkdir labels
bragg-replay --quiet --frames=0-4 labels.rec | write labels/s.nxs
bragg-replay --quiet labels.rec | write --resume labels/s.nxs
check 'labels of the recording are in h5py and in Python, also after --resume' /usr/bin/python3 -c 'import braggpipe, h5py, numpy
stored, lit = h5py.File("labels/s.nxs")["entry/braggpipe/labels"], 0
assert stored.dtype == "uint32" and len(stored) == 7
for i, (sent, read) in enumerate(zip(braggpipe.open("labels.rec"), braggpipe.open("labels/s.nxs"))):
    assert (sent.labels == read.labels).all() and (sent.labels.reshape(-1) == stored[i].reshape(-1)).all()
    assert sent.labels.max() <= len(read.reflections)
    lit += sent.labels.any()
assert 0 < lit < 7, lit'

# --- all that frames brought along comes back, and --recompute compares it
mkdir back
recipes --frames=7 | photons --labels --derivatives=cell | bragg-tap --quiet --record=plain.rec
bragg-replay --quiet plain.rec | write back/a.nxs
check 'the list of pixels, and photons in no row, are those of the recording' \
	/usr/bin/python3 "$BRAGG_TESTS/python/nxmx_back.py" lists plain.rec back/a.nxs
bragg-replay --quiet back/a.nxs | write back/b.nxs
check 'played and written again: labels, derivatives, reflections and their pixels are the same' \
	/usr/bin/python3 "$BRAGG_TESTS/python/nxmx_back.py" same back/a.nxs back/b.nxs
is 'computed again' "$(bragg-replay --recompute back/a.nxs:0)" \
	'back/a.nxs: the same bytes, and reflections, and labels, and derivatives'
# altered WHAT TEXT: one value is changed in a copy of the file of frame 0
altered() {
	rm -rf changed
	cp -r back changed
	/usr/bin/python3 "$BRAGG_TESTS/python/nxmx_back.py" "$1" changed/a_data_000001.h5
	is "$1: the message is printed" "$(bragg-replay --recompute changed/a.nxs:0)" "changed/a.nxs: the same image, but $2"
}
altered label '1 of 4096 labels differ'
altered plane 'its derivatives differ: cell_b'
altered rest 'the pixels of reflections or the unassigned photons differ'
altered pixel 'the pixels of reflections or the unassigned photons differ'
# damaged WHAT: what cannot be is refused in one line
damaged() {
	rm -rf changed
	cp -r back changed
	/usr/bin/python3 "$BRAGG_TESTS/python/nxmx_back.py" "$1" changed/a_data_000001.h5
	bragg-replay --quiet --frames=0 changed/a.nxs 2>message | bragg-write --quiet changed/z.nxs 2>/dev/null
	is "$1: is refused" "$(cat message)" \
		"bragg-replay: changed/a_data_000001.h5: cannot read the $2 of frame 0"
}
damaged label-beyond reflections
damaged pixel-beyond reflections
damaged names images

# --- as text: the same for one writer, and for one that goes on where another ended
mkdir text again
bragg-replay --quiet all.rec | bragg-write --quiet --scale=1 --reflections='text/t_%03d.tsv' 'text/t_%03d.cbf'
is 'a line for each row' "$(cat text/t_*.tsv | grep -vc '^frame')" "$(/usr/bin/python3 -c 'import braggpipe
print(sum(len(frame.reflections) for frame in braggpipe.open("all.rec")))')"
check 'rows of text are those of the frames' /usr/bin/python3 -c 'import braggpipe, numpy
for frame in braggpipe.open("all.rec"):
    text = numpy.genfromtxt(f"text/t_{frame.number:03}.tsv", names=True, delimiter="\t", ndmin=1)
    for name in text.dtype.names[1:]:
        digits = 1e-5 if name == "z" else 1e-6  # text has six digits of z
        assert numpy.allclose(text[name], frame.reflections[name], rtol=digits, atol=1e-5), name
    assert (text["frame"] == frame.number).all()'
cp text/t_00[0-4].* text/*.index again
rm again/t_003.tsv
bragg-replay --quiet all.rec | bragg-write --quiet --resume --scale=1 --reflections='again/t_%03d.tsv' 'again/t_%03d.cbf'
check 'resumed, one was gone: the same bytes' diff -r -x '*.index' text again
recipes | bragg-intensity --quiet | bragg-write --quiet --reflections='none.tsv' none.raw 2>message
check 'frames without reflections are refused' grep -q 'frame 0 has no reflections' message
is 'no file is left without reflections' "$(ls none* 2>/dev/null)" ''
bragg-geometry --quiet --detpixels=256 --pixel=0.4 --cut=2,2 --ncells=40 --fluence=1e27 |
	bragg-orient --quiet --random --lattices=2 --frames=4 --only=3 | bragg-intensity --quiet --reflections=20 |
	bragg-tap --quiet --record=four.rec
for suffix in stream refl tsv; do
	bragg-replay --quiet four.rec | bragg-write --quiet --reflections=four.$suffix four.$suffix.raw
done
check 'in a stream of CrystFEL the lattice predicts the reflections of the table' \
	/usr/bin/python3 "$BRAGG_TESTS/python/reflections_stream.py" four.stream four.tsv
check 'tables of DIALS and their experiments predict the same reflections' \
	/usr/bin/python3 "$BRAGG_TESTS/python/reflections_dials.py" four.refl four.expt four.tsv
check_status 'a table of another suffix is refused' 2 bragg-write --reflections=x.txt x.raw </dev/null
finish
