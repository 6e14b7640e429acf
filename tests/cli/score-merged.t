#!/bin/sh
# bragg-score: merged intensities made from ground truth, with known faults, give the figures that they must.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/score.sh"
needs 'scores of merged intensities' python:h5py python:numpy
scratch
# make OPTION...: ground truth, and merged sets of it
make() {
	bragg-geometry --quiet --detpixels=512 --pixel=0.2 --distance=120 --ncells=20 "$@" | bragg-orient --quiet --random --frames=6 --seed=5 |
		bragg-intensity --quiet --reflections=5 | bragg-write --quiet truth.nxs
	/usr/bin/python3 "$BRAGG_TESTS/cli/score_merged.py" truth.nxs
}
make
known_merged 'made from the truth' perfect.hkl merged.cc=1 merged.r=0 merged.scale=1 merged.B_A2=0 merged.by_d_A.from_3.cc=1 merged.by_d_A.from_3.r=0
check 'nothing is wrong with it' sh -c '! grep -q wrong table'
known_merged 'intensities with another scale and B have their factors' scaled.hkl merged.cc=1 merged.r=0 merged.scale=3 merged.B_A2=20
known_merged 'errors of 10 %' noisy.hkl merged.cc=0.991~0.004 merged.r=0.1~0.002 merged.scale=1~0.05 merged.by_d_A.from_4.r=0.1~0.01
known_merged 'intensities in another order do not correlate' nonsense.hkl merged.cc=0.15~0.2 merged.r=1.2~0.5
known_merged 'an MTZ file that gemmi made of the model' "$BRAGG_TESTS/golden/lysozyme_6A.mtz" merged.cc=1 merged.r=0~1e-6 merged.scale=1~1e-6 merged.by_d_A.from_6.cc=1
refused 'truncated' 3 "cut.hkl: truncated: the line 'End of reflections' is missing" truth.nxs cut.hkl
refused 'a point group that there is not' 3 "group.hkl:2: unknown point group '5m'" truth.nxs group.hkl
refused 'hardly anything in common' 3 'few.hkl: has 2 reflections of truth.nxs; expected 3 or more' truth.nxs few.hkl
refused 'two merged results' 3 'scaled.hkl: this is a second merged result; expected one' truth.nxs perfect.hkl scaled.hkl
refused 'no list' 3 'truth.nxs.hkl: is an HDF5 file' truth.nxs "$(ln -s truth.nxs truth.nxs.hkl; echo truth.nxs.hkl)"

# each figure by the name that others may rely on
/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" truth.nxs 0.2 120
{
	printf 'frame\tsent_s\tfate\tfault\n'
	for n in 0 1 2 3 4 5; do printf '%d\t%d\ttaken\t-\n' $n "$(date +%s)"; done
} >sent.tsv
check 'a stream that grows, a merged set and what was sent at once' bragg-score --follow=1 --sent=sent.tsv --json=names.json truth.nxs perfect.hkl noisy.stream
check 'all names are there, none without a number' /usr/bin/python3 -c '
import json
names = """frames hits.true_positive hits.false_positive hits.false_negative spots.precision spots.recall found_px.fast found_px.slow found_px.n
    geometry_px.fast geometry_px.slow geometry_px.n predicted_px.fast predicted_px.slow predicted_px.n lattices.true lattices.found lattices.wrong
    angle_deg.median angle_deg.p95 angle_deg.max cell.a.mean cell.b.mean cell.c.mean cell.a.relative_error cell.b.relative_error
    cell.c.relative_error intensities.cc intensities.slope intensities.chi2 merged.cc merged.r latency_s.median latency_s.p95""".split()
figures = json.load(open("names.json"))
for name in names:
    value = figures
    for part in name.split("."):
        value = value[part]
    assert type(value) in (int, float), f"{name} is {value}"'
check_status 'a requirement that is not met' 1 bragg-score --require='merged.r<0.05' truth.nxs noisy.hkl
check_status 'a requirement that is met' 0 bragg-score --require='merged.cc>0.98' --report=page.html truth.nxs noisy.hkl
check 'a page of it' /usr/bin/python3 "$BRAGG_TESTS/cli/score_page.py" page.html 'Is the merged set right?' images=0
known_merged 'amplitudes of an MTZ file' perfect.mtz merged.cc=1 merged.r=0 merged.scale=1 merged.B_A2=0
known_merged 'intensities of an MTZ file, of which some are below 0' intensities.mtz merged.r="$(cat r)~0.001" merged.scale=1~0.002
refused 'infinite intensities' 3 'infinite.mtz:1: malformed reflection; expected whole indices within +-100000, and intensities of at most 1e+18' truth.nxs infinite.mtz
refused 'a file without intensities and amplitudes' 3 'phases.mtz: no column of type J or F (intensities or amplitudes), and no two of type K; its columns are PHIC:P' truth.nxs phases.mtz
refused 'another cell' 3 'other.mtz: another crystal (cell edges 84.00' truth.nxs other.mtz

# a cell that looks tetragonal, of a crystal that is not
mkdir square && cd square || exit 1
/usr/bin/python3 -c '
import random
random.seed(3)
for h in range(45):
    for k in range(45):
        for l in range(28):
            print(h, k, l, "%.3f" % (100 * random.gammavariate(2, 1)))' | tail -n +2 >f.hkl
make --cell=60,60,35,90,90,90 --hkl=f.hkl --spacegroup=P222
known_merged 'a square cell' perfect.hkl merged.cc=1 merged.r=0
check 'a correct merged set is not called wrong' sh -c '! grep -q wrong table'
known_merged 'merged with a symmetry too high' square.hkl merged.r=0.15~0.05
is 'a symmetry that is too high is named in one line' "$(grep -c '^wrong' table) $(grep -c '^wrong symmetry: the merged set has equal intensities for h,k,l and .*,.*,.*, but' table)" '1 1'
known_merged 'merged in the other setting' swapped.hkl merged.cc=0.15~0.2
is 'a wrong setting is named in one line' "$(grep -c '^wrong' table) $(grep -c '^wrong setting: the merged set agrees better if indexed as .* (CC 1.000 instead of' table)" '1 1'
refused 'a merged set cannot be scored in part' 2 'perfect.hkl is a merged set of all frames' --only=0 truth.nxs perfect.hkl
finish
