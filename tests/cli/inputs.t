#!/bin/sh
# Structure factors from files of several kinds: the same crystal gives the same image.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
cp "$BRAGG_TESTS/golden/lysozyme_6A.mtz" good.mtz
cell=59.062,68.451,30.517,90,90,90

# image FILE OPTION...: a frame of the crystal that they describe
image() {
	file=$1
	shift
	bragg-geometry --detpixels=64 --pixel=1.6 --ncells=5 --dmin=6 "$@" | bragg-orient --misset=10,20,30 |
		bragg-intensity --threads=1 | bragg-write --quiet "$file"
}
image mtz.raw --mtz=good.mtz

# --- lists of the unique part
perl -e 'local $/; binmode STDIN; my @x = unpack "x80 f<1885", <STDIN>;
	while (my ($h, $k, $l, $F) = splice @x, 0, 5) { printf "%d %d %d %.17g\n", $h, $k, $l, $F if $F == $F }' <good.mtz >unique.hkl
is 'the list holds what the MTZ file holds' "$(wc -l <unique.hkl)" 377
image list.raw --hkl=unique.hkl --cell=$cell --spacegroup=P212121
check '--spacegroup expands it as the MTZ file is expanded' cmp mtz.raw list.raw
image crystal.raw --crystal="hkl=unique.hkl cell=$cell spacegroup=19"
check 'a crystal can have its own' cmp mtz.raw crystal.raw
image common.raw --hkl=unique.hkl --cell=$cell --spacegroup='P 21 21 21' --crystal='ncells=5,5,5'
check 'what holds for all crystals holds for one' cmp mtz.raw common.raw
image bare.raw --hkl=unique.hkl --cell=$cell 2>said
check 'without it spots are missing' sh -c '! cmp -s mtz.raw bare.raw'
is 'and a line says what mends it' "$(grep -c 'warning: .*unique.hkl: .*--spacegroup expands it' said)" 1
finish
