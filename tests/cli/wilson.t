#!/bin/sh
# --wilson: random structure factors of any cell and space group.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a list of the structure factors' python:msgpack python:numpy
scratch

# factors FILE OPTION...: lines h k l F of the first crystal
factors() {
	file=$1
	shift
	rm -f run.rec
	bragg-geometry --quiet --detpixels=8 "--dmin=${dmin-4}" "$@" | bragg-orient --quiet | bragg-tap --quiet --record=run.rec &&
		/usr/bin/python3 "$BRAGG_TESTS/python/factors.py" run.rec >"$file"
}
# of H K L FILE: F of a reflection
of() {
	awk -v h="$1" -v k="$2" -v l="$3" '$1 == h && $2 == k && $3 == l { print $4 }' "$4"
}
cell=79,79,38,90,90,90
factors tetragonal --cell=$cell --spacegroup=P43212 --wilson=20
is 'equivalent reflections of the space group have one F' "$(for hkl in '3 5 2' '-3 -5 2' '5 -3 2' '5 3 -2' '-5 -3 -2'; do
	# shellcheck disable=SC2086 # three indices
	of $hkl tetragonal
done | sort -u | wc -l)" 1
is 'other reflections have others' "$(of 3 5 2 tetragonal)" "$(of 3 5 2 tetragonal | grep -vx "$(of 5 4 2 tetragonal)")"
is 'systematic absences are 0' "$(awk '($2 == 0 && $3 == 0 && $1 % 2) || ($1 == 0 && $2 == 0 && $3 % 4)' tetragonal | wc -l)" 0
is 'the screw axis leaves 0 0 4' "$(of 0 0 4 tetragonal | wc -l)" 1
is 'all reflections are there' "$(awk '$1 == 7 && $2 == 6 { n++ } END { print n }' tetragonal)" 17
factors edges --cell=79,79,38 --spacegroup=P43212 --wilson=20
check 'three numbers are the edges of a cell with right angles' cmp tetragonal edges
factors edges --cell=79,79,38,90,100,90 --crystal='cell=79,79,38 spacegroup=P43212 wilson=20'
check 'of a crystal, too' cmp tetragonal edges
factors triclinic --cell=$cell --wilson=20
is 'without --spacegroup: P 1, with the law of Friedel' "$(of 1 0 0 triclinic)" "$(of -1 0 0 triclinic)"
is 'P 1 has no other symmetry' "$(for hkl in '3 5 2' '-3 -5 2' '5 3 -2' '5 -3 2'; do
	# shellcheck disable=SC2086
	of $hkl triclinic
done | sort -u | wc -l)" 4
dmin=3 factors wide --cell=$cell --spacegroup=P43212 --wilson=20
is 'more reflections do not change the others' "$(sort tetragonal wide | uniq -d | wc -l)" "$(wc -l <tetragonal)"
factors keyed --crystal="cell=$cell spacegroup=96 wilson=20"
check 'a crystal has its own' cmp tetragonal keyed
factors inherited --cell=$cell --spacegroup=P43212 --wilson=30 --crystal='wilson=20'
check 'an option for all crystals applies to one crystal' cmp tetragonal inherited
factors other --cell=$cell --spacegroup=P43212 --wilson=20 --wilson-seed=2
is 'another seed gives other factors' "$(sort tetragonal other | uniq -d | wc -l)" 0
factors atoms --cell=$cell --spacegroup=P43212 --wilson=20 --wilson-atoms=27103.771428571428
is 'four times as many atoms: F is twice as large' "$(paste tetragonal atoms | awk '{ d = $8 / $4 / 2 - 1; if (d > 1e-9 || d < -1e-9) n++ } END { print n + 0 }')" 0
echo '0.0126582278481 0 0
0 0.0126582278481 0
0 0 0.0263157894737' >mosflm.mat
factors matrix --matrix=mosflm.mat --spacegroup=P43212 --wilson=20 --wavelength=1
is 'a matrix gives the cell' "$(paste tetragonal matrix | awk '{ d = $8 / $4 - 1; if (d > 1e-6 || d < -1e-6) n++ } END { print n + 0 }')" 0

# refused TEXT OPTION...: with one line
refused() {
	text=$1
	shift
	status=0
	bragg-geometry --out="@ipc://$PWD/nobody" --detpixels=8 "$@" 2>said || status=$?
	is "refused: $*" "$(cat said)" "bragg-geometry: $text"
}
refused '--wilson: no reflection has a d spacing of 2 A or more; expected a smaller --dmin or a larger cell' --cell=1,1,1,90,90,90 --wilson=20 --dmin=2
refused '--wilson: too many reflections to 1 A (got 8.01201e+09 indices); expected at most 67108864. Give a larger --dmin' --cell=1000,1000,1000,90,90,90 --wilson=20 --dmin=1
refused '--spacegroup=P3 does not fit --cell. Give angles as in --cell=A,B,C,90,90,120, or name another setting as in '"'P 1 1 2' or 'R 3 :H'" --cell=$cell --wilson=20 --spacegroup=P3
refused '--spacegroup needs --hkl=FILE, or --wilson=20 for random structure factors. --mtz and --model contain their space group' --spacegroup=P43212 --cell=$cell
refused '--wilson and --anomalous cannot be used together; remove one of them' --cell=$cell --wilson=20 --anomalous
finish
