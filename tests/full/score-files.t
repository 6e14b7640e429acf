#!/bin/sh
# bragg-score: tables of DIALS, tables of peaks and growing files with known faults give the figures that they must.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/score.sh"
needs 'scores of tables made from ground truth' python:h5py python:numpy
scratch

# four frames, of which one is empty
bragg-geometry --quiet --detpixels=256 --pixel=0.4 --distance=120 --ncells=20 --oversample=1 |
	bragg-orient --quiet --random --hit-rate=0.75 --frames=4 --seed=5 |
	bragg-intensity --quiet --threads=1 --reflections=5 |
	bragg-write --quiet --reflections='r_%04d.refl' truth.nxs
blank=$(/usr/bin/python3 -c 'import h5py; f = h5py.File("truth.nxs")["entry/braggpipe/frames"]; print("%04d" % f["number"][f["lattices"] == 0][0])')
rm -f "r_$blank.expt" # nothing was found there
full=$(for n in 0000 0001 0002 0003; do [ "$n" = "$blank" ] || echo "$n"; done)
mkdir truth
cp r_*.refl r_*.expt truth
rm "r_$blank.refl"
# shellcheck disable=SC2086 # a list
/usr/bin/python3 "$BRAGG_TESTS/cli/score_tables.py" $full
/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" truth.nxs 0.4 120
bragg-score truth.nxs perfect.stream >perfect
true_spots=$(sed -n 's/^spots .* true \([0-9]*\) .*/\1/p' perfect)

# --- tables of DIALS
perfect="frames=3 frames_without_answer=1 hits.true_positive=3 hits.true_negative=1 hits.false_positive=0 hits.false_negative=0
	spots.found=$true_spots spots.precision=1 spots.recall=1 found_px.fast=0 found_px.slow=0 geometry_px.fast=0 geometry_px.slow=0
	predicted_px.fast=0 predicted_px.slow=0 predicted_px.n=$true_spots predicted.share=1
	lattices.right=3 lattices.wrong=0 lattices.share=1 angle_deg.max=0 cell.a.mean=59.062 cell.a.relative_error=0
	intensities.cc=1 intensities.slope=1 intensities.chi2=0 intensities.n=$true_spots"
# shellcheck disable=SC2086 # lists
{
	known 'a perfect answer of DIALS, by identifiers' truth.nxs 'r_*.refl' '' $perfect
	known 'named with all experiments first' truth.nxs 'r_*.expt r_*.refl' '' $perfect
	known 'named by experiments alone' truth.nxs 'r_*.expt' '' $perfect
	known 'tables that number the images of the ground truth file' truth.nxs 'images_*.refl' '' $perfect
	known 'names of images give the frame numbers' truth.nxs 'files_*.refl' '' $perfect
	known 'DIALS tables as ground truth' '"truth/r_%04d.refl"' 'r_*.refl' '' $perfect
	known 'a stream against DIALS tables' '"truth/r_%04d.refl"' perfect.stream '' frames=4 frames_without_answer=0 hits.true_negative=1 spots.recall=1 \
		lattices.right=3 angle_deg.max=0~1e-5 geometry_px.fast=0 intensities.chi2=0 intensities.n="$true_spots"
}
known 'turned by half a degree' truth.nxs 'turned_*.refl' '' angle_deg.median=0.5 angle_deg.max=0.5 lattices.wrong=0 cell.a.relative_error=0
known 'a cell larger by 1 %' truth.nxs 'cell_*.refl' '' cell.a.relative_error=0.01 cell.volume.relative_error=0.030301 angle_deg.max=0
known 'spots half a pixel off' truth.nxs 'shifted_*.refl' '' found_px.fast=0.5 found_px.slow=0 predicted_px.fast=0 geometry_px.fast=0
known 'predictions half a pixel off' truth.nxs 'predicted_*.refl' '' found_px.fast=0 predicted_px.fast=-0.5 predicted.distance_px_median=0.5
known 'a detector half a pixel off' truth.nxs 'corner_*.refl' '' geometry_px.fast=-0.5 geometry_px.slow=0 found_px.fast=0
known 'errors of one sigma' truth.nxs 'noisy_*.refl' '' intensities.chi2=1
known 'sigmas halved' truth.nxs 'halved_*.refl' '' intensities.chi2=4 intensities.chi2_robust=8.7924382
known 'few wild ones: medians stay' truth.nxs 'wild_*.refl' '' intensities.slope_median=1.25 intensities.slope_mad=0 intensities.chi2_robust=8.7924382
known 'where means do not' truth.nxs 'r_*.refl' '' intensities.slope_median=1 intensities.chi2_robust=0
dropped=0
for n in $full; do
	rows=$(/usr/bin/python3 -c 'import h5py, sys; print((h5py.File("truth.nxs")["entry/reflections/frame"][()] == int(sys.argv[1])).sum())' "$n")
	dropped=$((dropped + (rows + 9) / 10))
done
known 'a tenth of the spots dropped' truth.nxs 'dropped_*.refl' '' spots.precision=1 spots.found=$((true_spots - dropped)) predicted.share=1
known 'the hand inverted' truth.nxs 'hand_*.refl' '' lattices.wrong=3 lattices.left_handed=3 angle_deg.n=0
known 'half a turn that the symmetry allows' truth.nxs 'twofold_*.refl' '' lattices.right=3 angle_deg.max=0 intensities.cc=1 intensities.n="$true_spots"
known 'half a turn that P 1 does not allow is counted apart' truth.nxs 'twofold_*.refl' --symmetry=P1 lattices.ambiguous=3 lattices.right=0
known 'axes in another order' truth.nxs 'cyclic_*.refl' '' lattices.wrong=0 lattices.right=3 lattices.other_basis=3 angle_deg.max=0 \
	intensities.cc=1 intensities.n="$true_spots"

# --- tables of several levels are one answer: spots of the lowest, lattices and intensities of the highest
one=$(echo "$full" | head -n 1)
both="frames=3 spots.found=$true_spots found_px.fast=0.25 lattices.right=3 lattices.wrong=0 lattices.found=3 intensities.chi2=4
	intensities.n=$true_spots"
# shellcheck disable=SC2086 # lists
{
	known 'spots that were found, intensities that were integrated' truth.nxs 'found_*.refl integrated_*.refl' '' $both
	known 'tables may come in any order' truth.nxs 'integrated_*.refl found_*.refl' '' $both
	known 'indexed spots may come along' truth.nxs 'indexed_*.refl found_*.refl integrated_*.refl' '' $both
}
is 'no line says that spots are missing' "$(grep -c 'only those' table)" 0
known 'indexed spots and integrated intensities' truth.nxs 'indexed_*.refl integrated_*.refl' '' frames=3 found_px.fast=0.5 intensities.chi2=4
is 'a line says which they are' "$(grep -c '^the found spots are only those that were indexed\.' table)" 1
known 'integrated intensities alone' truth.nxs 'integrated_*.refl' '' found_px.fast=0 intensities.chi2=4
is 'a line says so' "$(grep -c '^the found spots are only those that were integrated\.' table)" 1
known 'one frame integrated, others only found' truth.nxs "found_*.refl integrated_$one.refl" '' frames=3 spots.found="$true_spots" \
	found_px.fast=0.25 lattices.found=1 lattices.right=1 lattices.missed=2 intensities.chi2=4
known 'found spots alone' truth.nxs 'found_*.refl' '' frames=3 found_px.fast=0.25 lattices.found=0 lattices.missed=3
refused 'a frame twice on one level' 3 'contain the same frame' truth.nxs "found_$one.refl" "found_$one.refl" "integrated_$one.refl"
refused 'a row of an experiment without a name that is not there' 3 'experiment 1 has no identifier' truth.nxs "nameless_$one.refl"
bragg-score --report=page.html truth.nxs "found_$one.refl" "integrated_$one.refl" >/dev/null
check 'the page says which file answered what' /usr/bin/python3 "$BRAGG_TESTS/cli/score_page.py" page.html \
	"Hits and spots are from found_$one.refl. Lattices and intensities are from integrated_$one.refl." \
	"nearest true spot within 1.5 px. From found_$one.refl." "which a few outliers do not change. From integrated_$one.refl."

refused 'another cell' 3 'another crystal: the first has cell edges 88.59' truth.nxs "other_$one.refl"
refused 'images without numbers' 3 'has no frame number' truth.nxs "unnumbered_$one.refl"
refused 'images of another file' 3 'the results are of images of truth.nxs, which is not the ground truth' 'truth/r_%04d.refl' "images_$one.refl"
refused 'an index that cannot be' 3 'has an index of 2000000000' truth.nxs "index_$one.refl"
refused 'a panel that is not there' 3 "is on panel 7, but panel_$one.expt has 1" truth.nxs "panel_$one.refl"
cp "r_$one.refl" pixels.refl
sed 's/"pixel_size": \[[^]]*\]/"pixel_size": [0.3, 0.3]/' "r_$one.expt" >pixels.expt
refused 'pixels of another size' 3 'pixels.refl: the pixels of panel 0 are 0.3 mm wide; those of the ground truth are 0.4 mm' truth.nxs pixels.refl
refused 'a place that is no number' 3 'the position in row 3 is not a number' truth.nxs "nan_$one.refl"
refused 'a row of no experiment' 3 "row 2 belongs to experiment 5, which row_$one.expt does not have" truth.nxs "row_$one.refl"
refused 'the same frame twice' 3 'has two results' truth.nxs "r_$one.refl" "turned_$one.refl"
bragg-geometry --quiet --detpixels=64 --pixel=1.6 --distance=120 --ncells=20 --oversample=1 --cut=2,1 | bragg-orient --quiet --frames=3 --osc=0.5 |
	bragg-intensity --quiet --threads=1 --reflections=1 | bragg-write --quiet --reflections=sweep.refl sweep.nxs
cp sweep.refl wide.refl
sed 's/"oscillation": \[0, 0.5[0-9]*\]/"oscillation": [0, 1]/' sweep.expt >wide.expt
check 'a rotation is scored' bragg-score sweep.nxs sweep.refl
refused 'images that rotate by another angle' 3 'wide.refl: the images rotate by 1 deg each, but frame 0 of the ground truth rotates by 0.5 deg' sweep.nxs wide.refl
/usr/bin/python3 - <<'E2'
import json
list_ = json.load(open("sweep.expt"))
list_["scan"][0]["image_range"][1] += 1
json.dump(list_, open("long.expt", "w"))
E2
cp sweep.refl long.refl
bragg-geometry --quiet --detpixels=64 --pixel=1.6 --distance=120 --ncells=20 --oversample=1 --cut=2,1 | bragg-orient --quiet --frames=3 --osc=0.5 |
	bragg-intensity --quiet --threads=1 --reflections=1e30 | bragg-write --quiet --reflections=half.refl half.nxs
/usr/bin/python3 - <<'E2'
import json
list_ = json.load(open("half.expt"))
list_["detector"][0]["panels"].pop()
list_["detector"][0]["hierarchy"]["children"].pop()
list_["imageset"][0]["template"] = "sweep.nxs"
json.dump(list_, open("half.expt", "w"))
E2
bragg-score sweep.nxs half.refl 2>err >out
is 'a panel that is missing in the results is named' "$(cat err)" 'bragg-score: warning: half.refl: has 1 of the 2 panels of the ground truth; spots on the other panels count as missed'
refused 'another number of images than the set has' 3 'but image_range of the scan has 4 images' sweep.nxs long.refl
cp "r_$one.refl" alone.refl
refused 'a table without its experiments' 3 'alone.refl: the experiment list is missing; expected alone.expt' truth.nxs alone.refl
cp "r_$one.expt" lonely.expt
refused 'experiments without their table' 3 'lonely.expt: the reflection table' truth.nxs lonely.expt
known 'a table with the list named before it' truth.nxs 'lonely.expt alone.refl' '' frames=1 spots.precision=1
cp "turned_$(echo "$full" | tail -n 1).expt" lonely.expt
refused 'a table of another frame is refused' 3 'Do the two files belong together?' truth.nxs lonely.expt alone.refl
refused 'missing tables as ground truth' 3 'none_%d.refl: no files with such names found' 'none_%d.refl' "r_$one.refl"
refused 'the table of one frame as ground truth' 3 'Name the tables of single frames with their template' "r_$one.refl" "r_$one.refl"

cp "r_$one.expt" part.expt
size=$(wc -c <"r_$one.refl")
for part in 0 1 30 60 100 200 $((size / 2)) $((size - 1)); do
	head -c "$part" "r_$one.refl" >part.refl
	refused "a table truncated behind $part bytes" 3 'part.refl' truth.nxs part.refl
done
cp "r_$one.refl" part.refl
size=$(wc -c <part.expt)
for part in 0 10 500 $((size - 3)); do
	head -c "$part" "r_$one.expt" >part.expt
	refused "a list truncated behind $part bytes" 3 'part.expt' truth.nxs part.refl
done
check 'a table that lies ends with a line, or as a table' /usr/bin/python3 "$BRAGG_TESTS/cli/score_lies.py" "r_$one"

# --- tables of peaks
/usr/bin/python3 - <<'END'
import h5py
truth = h5py.File("truth.nxs")
rows = {n: truth["entry/reflections/" + n][()] for n in ("frame", "panel", "fast", "slow", "photons")}
with open("peaks.tsv", "w") as out, open("plain.txt", "w") as plain, open("hits.tsv", "w") as hits:
    print("frame", "colour", "slow", "fast", "panel", "intensity", "time_s", sep="\t", file=out)
    print("# frame fast slow intensity", file=plain)
    print("frame\tbright\thit", file=hits)
    for frame in truth["entry/braggpipe/frames"]:
        mine = rows["frame"] == frame["number"]
        print(frame["number"], 7, int(frame["number"]) % 2, sep="\t", file=hits)
        if not mine.any():
            print(frame["number"], "red", "-", "-", "-", "-", 1000.25, sep="\t", file=out)
        for panel, fast, slow, photons in zip(*(rows[n][mine] for n in ("panel", "fast", "slow", "photons"))):
            print(frame["number"], "red", slow + 0.5, fast, panel, photons, 1000 + frame["number"] / 4, sep="\t", file=out)
            print(frame["number"], fast, slow, photons, file=plain)
END
known 'a table of peaks half a pixel off' truth.nxs peaks.tsv '' frames=4 frames_without_answer=0 hits.true_positive=3 hits.true_negative=1 \
	hits.roc_area=1 spots.precision=1 found_px.slow=0.5 found_px.fast=0 geometry_px.fast=absent lattices.found=0
known 'a text table needs no names of columns' truth.nxs plain.txt '' frames=3 spots.precision=1 spots.recall=1 found_px.slow=0
known 'hits alone' truth.nxs hits.tsv '' frames=4 spots.found=0 hits.roc_area=0.5
# --- the table of a run as ground truth
run() {
	bragg-geometry --quiet --detpixels=256 --pixel=0.4 --distance=120 --ncells=20 --oversample=1 | bragg-orient --quiet "$@" |
		bragg-intensity --quiet --threads=1 --reflections=5
}
run --random --hit-rate=0.75 --frames=4 --seed=5 | bragg-write --quiet --reflections=run.refl 'run_%d.raw'
run --random --hit-rate=0.75 --frames=4 --seed=5 | bragg-write --quiet --reflections=named.refl named.nxs
run --frames=2 --osc=1 | bragg-write --quiet --reflections=turns.refl 'turns_%d.raw'
# shellcheck disable=SC2086 # lists
for truth in run.refl named.refl; do
	known "the table of a run as ground truth: $truth" $truth 'r_*.refl' '' $perfect lattices.true=3
done
known 'a frame that is not in the table is a blank' run.refl peaks.tsv '' frames=4 hits.true_positive=3 hits.true_negative=1 spots.precision=1
printf 'CrystFEL reflection list version 2.0\nSymmetry: mmm\n' >merged.hkl
refused 'merged results against tables' 3 'run.refl: not usable for merged results, because tables contain no structure factors' run.refl merged.hkl
refused 'ground truth of a rotation' 3 'but the reflections of turns.refl are sums over a rotation' turns.refl peaks.tsv
for suffix in expt refl; do LC_ALL=C sed 's/[0-9a-f]\{16\}-\([0-9]-0\)/of-anybody-else!-\1/g' named.$suffix >alien.$suffix; done
refused 'a third-party table as ground truth' 3 "' is not from bragg-write: its identifier has no frame number" alien.refl peaks.tsv
cp run.refl alone.refl
refused 'a run without its experiments' 1 'alone.expt: cannot open' alone.refl peaks.tsv
# --- scores of hits, photons of spots: curves and their areas
/usr/bin/python3 - <<'END'
import h5py
truth = h5py.File("truth.nxs")
rows = {n: truth["entry/reflections/" + n][()] for n in ("frame", "fast", "slow", "photons")}
hits = iter((0.9, 0.5, 0.2))
with open("scores.tsv", "w") as out, open("photons.tsv", "w") as photons, open("nothing.tsv", "w") as nothing:
    print("frame\tscore", file=out)
    print("frame\tfast\tslow\tintensity", file=photons)
    print("frame\tfast\tslow", file=nothing)
    for frame in truth["entry/braggpipe/frames"]:
        number, mine = frame["number"], rows["frame"] == frame["number"]
        empty = next((x + 0.5, y + 0.5) for x in range(3, 250) for y in range(3, 250)
                     if not mine.any() or min((rows["fast"] - x - 0.5) ** 2 + (rows["slow"] - y - 0.5) ** 2) > 9)
        print(number, next(hits) if mine.any() else 0.4, sep="\t", file=out)
        for spot in zip(*(rows[n][mine] for n in ("fast", "slow", "photons"))):
            print(number, *spot, sep="\t", file=photons)
        print(number, *empty, 1e20 if number % 2 else 1e-6, sep="\t", file=photons)
        print(number, *empty, sep="\t", file=nothing)
END
known 'scores: two of three hits are above the other frame' truth.nxs scores.tsv '' hits.score_roc_area=0.666666667 hits.roc_area=0.5
is 'the points of the curve have been written' "$(/usr/bin/python3 -c 'import json
print(*[[round(v, 6) for v in p] for p in json.load(open("score.json"))["roc"]["hits_by_score"]])')" \
	'[0.9, 0, 0.333333] [0.5, 0, 0.666667] [0.4, 1, 0.666667] [0.2, 1, 1]'
printf 'frame\tscore\n' >half.tsv
grep -v score scores.tsv | sed 1d | sort -r | sed '1s/[^	]*$/-/' >>half.tsv
bragg-score --json=score.json truth.nxs half.tsv >/dev/null
is 'frames without a score, and without an answer, come last' "$(/usr/bin/python3 -c 'import json
print(json.load(open("score.json"))["roc"]["hits_by_score"][-1])')" '[None, 1, 1]'
known 'nobody gives scores' truth.nxs peaks.tsv '' hits.score_roc_area=absent spots.roc_area=absent
known 'two wrong spots above all others, two below' truth.nxs photons.tsv '' spots.roc_area=0.5
printf 'frame score\n0 high\n' >bad.tsv
refused 'an invalid score' 3 "bad.tsv:2: score is 'high'; expected a number" truth.nxs bad.tsv
refused 'nothing in common' 3 "do not match truth.nxs: none of 4 found spots is within 1.5 px of a true spot, and none of 0 lattices" truth.nxs nothing.tsv
{
	cat nothing.tsv
	/usr/bin/python3 -c 'import random
random.seed(1)
for i in range(3000): print(i // 750, random.uniform(0, 256), random.uniform(0, 256))' | sort -n -k1,1
} | sed 1d | sort -s -n -k1,1 | sed '1i frame fast slow' >chance.tsv
known 'no more than by chance' truth.nxs chance.tsv '' lattices.found=0
check 'a message asks whether this is the ground truth' grep -q 'Is this the ground truth' table
known 'a perfect table is more' truth.nxs plain.txt '' spots.recall=1
check 'nothing is said' sh -c '! grep -q "by chance" table'
printf 'frame fast slow\n0 1 x\n' >bad.tsv
refused 'an invalid place' 3 "bad.tsv:2: slow is 'x'; expected a number" truth.nxs bad.tsv
printf 'frame fast slow\n0 1\n' >bad.tsv
refused 'a line that is too short' 3 'bad.tsv:2: has 2 items; slow is missing' truth.nxs bad.tsv
printf 'number fast slow\n0 1 2\n' >bad.tsv
refused 'no numbers of frames' 3 'bad.tsv:1: not a peak table' truth.nxs bad.tsv
printf 'frame fast slow panel\n0 1 1 3\n' >bad.tsv
refused 'a panel that is not in the ground truth' 3 'bad.tsv:2: panel 3 does not exist' truth.nxs bad.tsv
printf 'frame fast slow\n0 1 1\n1 1 1\n0 2 2\n' >bad.tsv
refused 'a frame in two places' 3 'bad.tsv:4: frame 0 has two results' truth.nxs bad.tsv

# --- what was sent
cat >sent.tsv <<'END'
frame	lattices	sent_s	rate_Hz	fate	fault
0	1	999.9	0	taken	-
1	1	1000.05	0	taken	nan
2	2	1000.1	0	dropped	-
2	2	1000.1	0	dropped	-
3	1	1000.35	0	taken	duplicate
3	1	1000.36	0	taken	duplicate
END
known 'latency, losses and faults' truth.nxs peaks.tsv --sent=sent.tsv latency_s.median=0.2 latency_s.max=0.4 latency_s.n=3 sent.taken=4 \
	sent.dropped=1 lost.by_client=0 lost.by_sender=0 faults.nan.n=1 faults.nan.answered=1 faults.nan.ignored=0 faults.duplicate.n=2
{
	cat hits.tsv
	tail -n 1 hits.tsv
} >twice.tsv
known 'a frame that was answered twice' truth.nxs twice.tsv --sent=sent.tsv frames=4 faults.duplicate.twice=2 faults.nan.twice=0
refused 'is wrong where nothing is known of it' 3 'has two results' truth.nxs twice.tsv
known 'frames that the client or the sender lost are counted' truth.nxs half.stream --sent=sent.tsv lost.by_client=1 lost.by_sender=1 latency_s.median=absent faults.duplicate.ignored=2
sed '/^Event/d; s|^header/int/frame_id = 3$|header/str/frame_id = damaged|' perfect.stream >damaged.stream
sed 's/^1	\(.*\)taken/1	\1some/' sent.tsv >some.tsv
known 'a frame that some clients took, with an answer' truth.nxs peaks.tsv --sent=some.tsv sent.taken=3 sent.some=1 latency_s.median=0.2 latency_s.n=3
sed 's/taken/some/' sent.tsv >some.tsv
known 'frames that some clients took, without one' truth.nxs half.stream --sent=some.tsv sent.some=4 lost.by_client=0 lost.by_sender=1 lost.by_either=1
sed 's/taken/perhaps/' sent.tsv >perhaps.tsv
refused 'a fate that there is not' 3 "perhaps.tsv:2: fate is 'perhaps'; expected taken, some, dropped or withheld" --sent=perhaps.tsv truth.nxs half.stream
known 'a result whose frame number is corrupt' truth.nxs damaged.stream --sent=sent.tsv answers_without_frame=1 lost.by_client=1 frames_without_answer=1
refused 'which is an error where nothing is known of faults' 3 'a chunk has no frame number' truth.nxs damaged.stream
refused '--sent with a file of another kind' 3 'column frame is missing' --sent=perfect truth.nxs perfect.stream

# --- a file that grows
half=$(($(wc -c <perfect.stream) / 2 + 7))
head -c "$half" perfect.stream >growing.stream
bragg-score --follow=60 truth.nxs growing.stream >followed 2>&1 &
follower=$!
sleep 0.3
tail -c +$((half + 1)) perfect.stream >>growing.stream
status=0
wait "$follower" || status=$?
is 'a stream that grows is followed until all frames have answers' "$status" 0
bragg-score truth.nxs perfect.stream >complete
is 'a growing stream gives what the complete stream gives' "$(cat followed)" "$(cat complete)"
head -n 60 perfect.stream >growing.stream
refused 'a stream that ends in a frame all the same' 3 'ends in the middle of' --follow=0.2 truth.nxs growing.stream
known 'frames that do not come' truth.nxs half.stream --follow=0.2 frames=2 frames_without_answer=2
refused 'a file that does not come' 3 'never.stream: cannot open' --follow=0.2 truth.nxs never.stream

# --- a folder, all there and as it fills: half a table, its list behind it, other files
mkdir all filling empty
cp r_000*.refl r_000*.expt all
echo 'not a result' >all/log
bragg-score truth.nxs all >folder
is 'a folder is its files' "$(cat folder)" "$(bragg-score truth.nxs r_000*.refl)"
bragg-score --follow=4 truth.nxs filling >followed 2>&1 &
follower=$!
for table in r_000*.refl; do
	head -c 1000 "$table" >"filling/$table"
	sleep 0.2
	cp "$table" filling
	sleep 0.2
	cp "${table%.refl}.expt" filling
done
status=0
wait "$follower" || status=$?
is 'a folder that fills is followed until nothing comes' "$status $(cat followed)" "0 $(cat folder)"
cp perfect.stream empty/a.stream
known 'streams of a folder come last' truth.nxs empty --follow=0.2 frames=4 lattices.missed=0
rm empty/*
refused 'a folder without results' 3 'empty: no results found' truth.nxs empty
refused 'a file that stays empty is refused' 3 'empty: no results found' --follow=0.2 truth.nxs empty
rm "all/r_$one.expt"
refused 'a table without its list in a folder' 3 "all/r_$one.refl: the experiment list is missing; expected all/r_$one.expt" truth.nxs all
bragg-geometry --quiet --detpixels=20 --pixel=0.5 --ncells=3 --oversample=1 --cell=70,80,90,90,90,90 --default-F=100 |
	bragg-orient --quiet --frames=4000 2>many | bragg-intensity --quiet --reflections=1 2>many | bragg-tap --record=many.rec
mkdir many.peaks
seq 0 3999 | awk '{ file = "many.peaks/" $1 ".tsv"; printf "frame\tfast\tslow\n%d\t10\t12\n", $1 >file; close(file) }'
check 'each of many files is looked at once' sh -c 'ulimit -t 3 && bragg-score many.rec many.peaks >many'
is 'all results of the growing file are read' "$(awk '$1 == "frames" { print $2 }' many)" 4000
refused 'a table does not grow' 2 'is not a file that grows' --follow truth.nxs "r_$one.refl"
finish
