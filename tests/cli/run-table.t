#!/bin/sh
# bragg-write: the reflections of a whole run in one file: in order, shared, resumed, disturbed, in the way.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run whole single shared
export XDG_RUNTIME_DIR="$tap_scratch/run"
d=$tap_scratch/run

scene() { bragg-geometry --quiet --detpixels=64 --pixel=1 --ncells=6 --fluence=3e27; }
sweep() { scene | bragg-orient --quiet --osc=0.4 --phi0=20 --phi-steps=4 --misset=10,20,30 --frames="${1:-8}"; }
photons() { bragg-intensity --quiet --threads=1 --reflections=2 "$@"; }
counts() { bragg-noise --quiet --threads=1 --adc-offset=0 "$@"; }
# table FOLDER SUFFIX OPTION...
table() {
	folder=$1 suffix=$2
	shift 2
	bragg-write --quiet --reflections="$folder/run.$suffix" "$@" "$folder/f_%02d.cbf"
}

sweep | photons | counts | bragg-tap --quiet --record=all.rec
for suffix in refl stream tsv; do
	bragg-replay --quiet all.rec | table whole $suffix
	bragg-replay --quiet all.rec | bragg-write --quiet --reflections="single/f_%02d.$suffix" 'single/f_%02d.raw'
done
is 'nothing else is left' "$(ls whole | grep -v 'cbf$')" "$(printf '%s\n' f.cbf.index run.expt run.refl run.stream run.tsv)"
{ head -n 1 single/f_00.tsv && tail -qn +2 single/f_??.tsv; } >joined.tsv
check 'text: one line of names, the rows of all frames' cmp joined.tsv whole/run.tsv
is 'a stream: one geometry, the chunks of all frames' \
	"$(for s in single/f_??.stream; do sed -n '/Begin chunk/,/End chunk/p' "$s"; done | sha256sum)" \
	"$(sed -n '/Begin chunk/,$p' whole/run.stream | sha256sum)"
is 'the stream file has one preamble' "$(grep -c '^CrystFEL stream format' whole/run.stream)" 1
if has python:msgpack python:numpy; then
	check 'a table of a rotation: one experiment, each reflection once' \
		/usr/bin/python3 "$BRAGG_TESTS/python/run_table.py" sweep whole/run.refl whole/run.expt whole/run.tsv
else
	skip 'a table of a rotation' "$lack is missing"
fi

# --- two writers
for suffix in refl stream tsv; do
	sweep | photons | counts --out="@ipc://$d/i" &
	table shared $suffix --in="ipc://$d/i" &
	table shared $suffix --in="ipc://$d/i"
	wait
done
for name in run.refl run.expt run.stream run.tsv; do
	check "two writers: the same $name" cmp whole/$name shared/$name
done

# --- stills: an experiment for each lattice of each frame; frames come in any order
mkdir stills
scene | bragg-orient --quiet --random --hit-rate=0.8 --lattices=2 --frames=8 | photons | counts |
	bragg-tap --quiet --record=stills.rec
for suffix in refl tsv; do
	bragg-replay --quiet stills.rec | table stills $suffix
done
if has python:msgpack python:numpy; then
	check 'a table of stills: an experiment for each lattice' \
		/usr/bin/python3 "$BRAGG_TESTS/python/run_table.py" stills stills/run.refl stills/run.expt stills/run.tsv
else
	skip 'a table of stills' "$lack is missing"
fi

# --- killed, and continued
mkdir killed
bragg-replay --quiet all.rec --rate=5 2>/dev/null | bragg-write --quiet --reflections=killed/run.refl 'killed/f_%02d.cbf' 2>/dev/null &
entered() { [ "$(grep -cs f_ killed/f.cbf.index || true)" -ge 3 ] 2>/dev/null; }
soon entered
kill -9 $!
wait
check 'killed: the frames are kept, and no half a table' [ -s killed/run.refl.part -a ! -e killed/run.refl ]
touch -d 2020-01-01 killed/f_00.cbf
rm killed/f_01.cbf # so frame 1 comes once more, behind others
bragg-replay --quiet all.rec 2>/dev/null | table killed refl --resume
is 'resumed: what was kept is not computed again' "$(date -r killed/f_00.cbf +%Y)" 2020
check 'resumed: the same table' cmp whole/run.refl killed/run.refl
check 'resumed: the same experiments' cmp whole/run.expt killed/run.expt
check 'the kept frames are removed at the end of a resumed run' [ ! -e killed/run.refl.part ]
is 'one that has all computes nothing, and the table stays' \
	"$(bragg-replay --quiet all.rec | table killed refl --resume && cmp whole/run.refl killed/run.refl)" ''

# --- one that is finished does not grow
sweep 10 | photons | counts 2>/dev/null | table killed refl --resume 2>message
is 'a finished one does not grow: one line' "$(grep -c 'killed/run.refl is finished and has no frame 8' message) $(wc -l <message)" '1 1'
check 'a finished table stays' cmp whole/run.refl killed/run.refl
rm killed/run.refl
sweep 10 | photons | counts | table killed refl --resume
mkdir ten
sweep 10 | photons | counts | table ten refl
check 'the resumed table of ten frames is that of one run' cmp ten/run.refl killed/run.refl

# --- in the way
for name in run.refl run.expt run.refl.part; do
	mkdir way
	echo mine >way/$name
	bragg-replay --quiet all.rec 2>/dev/null | table way refl 2>message
	is "$name is in the way: one line" "$(grep -c "way/$name exists and was not written by this run" message) $(wc -l <message)" '1 1'
	is "$name stays, and nothing else is there" "$(ls way) $(cat way/$name)" "$name mine"
	bragg-replay --quiet all.rec | table way refl --overwrite
	check "$name: --overwrite" cmp whole/run.refl way/run.refl
	rm -r way
done

# --- a disk that is full: for frames, and at the end for the table
mkdir full
limited() { # BLOCKS of 512 bytes a file
	bragg-replay --quiet stills.rec 2>/dev/null | (trap '' XFSZ && ulimit -f "$1" && table full refl --resume) 2>message
}
limited 80
is 'no room for frames: one line' "$(grep -c 'full/run.refl.part: cannot write: File too large' message) $(wc -l <message)" '1 1'
limited $(($(wc -c <stills/run.refl) / 512))
is 'no room for the table: one line' "$(grep -c 'full/run.refl: cannot write: File too large' message) $(wc -l <message)" '1 1'
is 'no half table is left without room' "$(ls full | grep -v 'cbf$')" "$(printf '%s\n' f.cbf.index run.refl.part)"
bragg-replay --quiet stills.rec | table full refl --resume
check 'a run that was out of space goes on when there is space' cmp stills/run.refl full/run.refl
mkdir none
sweep | bragg-intensity --quiet 2>/dev/null | counts 2>/dev/null | table none refl 2>message
check 'frames without reflections are refused' grep -q 'none/run.refl: frame 0 has no reflections' message
is 'no file is left without reflections' "$(ls none)" ''
finish
