#!/bin/sh
# bragg-score: merged sets of a crystal whose Friedel mates differ, and what tells the mates apart.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/score.sh"
needs 'scores of Friedel mates' python:h5py python:numpy
scratch

# made OPTION...: ground truth, and merged sets of it
made() {
	bragg-geometry --quiet --detpixels=128 --pixel=0.8 --distance=120 --ncells=8 --oversample=1 --cell=59.062,68.451,30.517,90,90,90 --hkl=f.hkl --spacegroup=P212121 "$@" |
		bragg-orient --quiet --random --frames=40 --seed=5 | bragg-intensity --quiet --reflections=0.01 | bragg-write --quiet --overwrite truth.nxs
	/usr/bin/python3 "$BRAGG_TESTS/cli/score_merged.py" truth.nxs
}
/usr/bin/python3 -c '
import math
for h in range(21):
    for k in range(25):
        for l in range(11):
            F = 100 + 90 * math.sin(7 * h + 3 * k * k + 11 * l)
            if (h > 0) + (k > 0) + (l > 0) < 2:
                continue
            print(h, k, l, "%.4f" % F)
            if h and k and l:
                print(-h, -k, -l, "%.4f" % (F * (1 + 0.2 * math.sin(5 * h + k + 2 * l))))' >f.hkl
made --anomalous
read -r n odd <mates
note "$n pairs, $odd of them with odd h"
check 'the ground truth has many pairs' test "$n" -gt 200
fine='merged.cc=1 merged.r=0~1e-6 merged.scale=1~1e-5'
# shellcheck disable=SC2086 # lists
for result in mates.mtz pair.mtz mates.hkl; do
	known_merged "$result: intensities, and differences of mates" $result $fine merged.mates.cc=1 merged.mates.slope=1~1e-5 merged.mates.n="$n"
	check "$result: nothing is wrong with it" sh -c '! grep -q wrong table'
	count=$(awk '$1 == "merged" { for (i = 2; i < NF; i++) if ($i == "n") print $(i + 1) }' table)
	is "$result: each is counted once" "$count" "$(wc -l <unique)"
done
# shellcheck disable=SC2086 # lists
{
	known_merged 'one mate is missing of some' odd.mtz $fine merged.mates.cc=1 merged.mates.n="$odd"
	known_merged 'mates are one' mean.mtz $fine merged.mates.cc=absent merged.mates.slope=absent merged.mates.n=0
	check 'the table says that the merged result has averaged Friedel mates' grep -q '^merged.mates .*cc absent (the merged result has averaged Friedel mates)' table
	known_merged 'the hand inverted: means do not show it' inverted.mtz $fine merged.mates.cc=-1 merged.mates.slope=-1~1e-5
	is 'a result with the wrong hand is named' "$(grep '^wrong' table)" 'wrong hand: the merged set agrees with Friedel mates swapped (CC of their differences -1.000)'
	refused 'columns of other types' 3 'phases.mtz: no column of type J or F (intensities or amplitudes), and no two of type K; its columns are' truth.nxs phases.mtz
	is 'nothing is said of other programs' "$(grep -c 'gemmi\|--hkl' refused.err)" 0
	sed 's/^MTZ/XTZ/' pair.mtz >none.mtz
	refused 'no MTZ file' 3 'none.mtz: not an MTZ file' truth.nxs none.mtz
	is 'the message about a file of another format names neither gemmi nor --hkl' "$(grep -c 'gemmi\|--hkl' refused.err)" 0
	sed -i '/^-/d' f.hkl
	made
	known_merged 'ground truth with equal Friedel mates' mates.mtz $fine merged.mates.cc=absent merged.mates.n=0
	check 'the table says that Friedel mates of the ground truth are equal' grep -q '^merged.mates .*cc absent (Friedel mates of the ground truth are equal' table
}
finish
