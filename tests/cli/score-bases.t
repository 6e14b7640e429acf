#!/bin/sh
# bragg-score: the same lattice by another basis is right, another lattice is wrong; lattices of one crystal are one.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/score.sh"
needs 'answers with other bases' python:h5py python:numpy
scratch

# make FOLDER CONDITION CELL SETTING...: a key of a crystal whose reflections meet an awk condition, and answers with these bases
make() {
	mkdir "$1"
	awk "BEGIN { for (h = -26; h <= 26; h++) for (k = -26; k <= 26; k++) for (l = -26; l <= 26; l++) if ($2) print h, k, l, 60 + (h * h + k + 7 * l * l) % 40 }" >"$1/list.hkl"
	(
		cd "$1" || exit 1
		bragg-geometry --quiet --detpixels=300 --pixel=0.4 --distance=120 --ncells=20 --hkl=list.hkl --cell="$3" |
			bragg-orient --quiet --random --frames=3 --seed=7 | bragg-intensity --quiet --reflections=5 | bragg-write --quiet key.nxs
		shift 3
		/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" key.nxs 0.4 120 "$@"
	)
}
odd='(h + k) % 2 == 0'
make P 1 61,68,31,90,90,90 cyclic skew twice half long longer
make C "$odd" 61,68,43,90,104,90 of_C skew cyclic twice half
make I '(h + k + l) % 2 == 0' 61,68,43,90,90,90 of_I
make F "$odd && (k + l) % 2 == 0" 61,68,73,90,90,90 of_F
make R '(-h + k + l) % 3 == 0' 61,61,90,90,90,120 of_R reverse
right='lattices.right=3 lattices.wrong=0 lattices.other_basis=3 intensities.cc=1 intensities.slope=1 predicted.share=1'
for answer in P/cyclic P/skew C/of_C C/skew C/cyclic I/of_I F/of_F R/of_R R/reverse; do
	# shellcheck disable=SC2086 # words
	known "$answer: the same lattice" "${answer%/*}/key.nxs" "$answer.stream" '' $right angle_deg.max=0
done
check 'another basis is said' grep -q '^3 right lattices have another basis than the key' table
known 'its cell is that of the key' C/key.nxs C/of_C.stream '' cell.a.mean=61 cell.beta.mean=104
# shellcheck disable=SC2086 # words
known 'a misorientation stays what it is' C/key.nxs C/skew_of_C.stream '' $right angle_deg.max=0.3
known 'groups allow it as well' R/key.nxs R/reverse.stream --symmetry=R3 lattices.right=3 lattices.ambiguous=0
for answer in P/twice P/half C/twice C/half; do
	refused "$answer: another lattice" 3 'are of another crystal' "${answer%/*}/key.nxs" "$answer.stream"
done
known 'an axis that is 5 % longer is wrong' P/key.nxs P/long.stream '' lattices.right=0 lattices.wrong=3
known 'with other axes, too' P/key.nxs P/longer.stream '' lattices.right=0 lattices.wrong=3
known 'the twin of a cell that is said to be centred is wrong' R/key.nxs R/twin.stream '' lattices.right=0 lattices.wrong=3
sed 's/^centering = P/centering = Q/' P/centred.stream >bad.stream
refused 'no centring' 3 "the centering is 'Q'; expected P, A, B, C, I, F, H or R" P/key.nxs bad.stream
finish
