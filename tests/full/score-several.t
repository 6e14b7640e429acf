#!/bin/sh
# bragg-score: ground truth in several files gives the bytes that it gives in one; files that do not belong together are refused.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/score.sh"
needs 'scores against several ground truths' python:h5py python:numpy
scratch

recorded() { # FILE PIXELS DISTANCE GEOMETRY: twelve frames; options of bragg-orient follow
	recorded_file=$1 pixels=$2 distance=$3 geometry=$4
	shift 4
	# shellcheck disable=SC2086 # options
	bragg-geometry --quiet --detpixels="$pixels" --pixel=0.8 --distance="$distance" --ncells=20 --oversample=1 $geometry | bragg-orient --quiet --frames=12 "$@" |
		bragg-intensity --quiet --threads=1 --reflections=5 | bragg-tap --quiet --record="$recorded_file"
}
written() { # RECORDING FRAMES OUTPUT [OPTION...]: these frames alone
	written_from=$1 written_frames=$2
	shift 2
	bragg-replay --quiet --frames="$written_frames" "$written_from" | bragg-write --quiet "$@"
}
# same NAME RESULT TRUTH -- OPTION_OR_TRUTH...: these give the metrics of the one ground truth, to the byte
same() {
	same_name=$1 same_result=$2 same_truth=$3
	shift 4
	bragg-score --json=one.json "$same_truth" "$same_result" >one.out 2>&1 || note "$(cat one.out)"
	bragg-score --json=several.json "$@" "$same_result" >several.out 2>&1 || note "$(cat several.out)"
	check "$same_name" cmp one.json several.json
	check "$same_name: the tables are the same" cmp one.out several.out
	rm -f one.json several.json
}
all=0-11 even=0,2,4,6,8,10 odd=1,3,5,7,9,11

# --- stills, of which some are empty: cut in two, by two writers
recorded stills.rec 128 120 '' --random --hit-rate=0.75 --seed=1
written stills.rec $all truth.nxs --reflections=all.stream
written stills.rec 0-4 a.nxs --reflections=a.stream
written stills.rec 5-11 b.nxs --reflections=b.stream
written stills.rec $even even.nxs --reflections=even.tsv
written stills.rec $odd odd.nxs --reflections=odd.tsv
/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" truth.nxs 0.8 120
same 'a run in two files' noisy.stream truth.nxs -- a.nxs b.nxs
same 'files of two writers, in the other order' noisy.stream truth.nxs -- odd.nxs even.nxs
same 'a file each writer made, without its master' noisy.stream truth.nxs -- even_data_000001.h5 odd_data_000001.h5
bragg-replay --quiet --frames=5-11 stills.rec | bragg-tap --quiet --record=rest.rec
same 'an NXmx file and a recording by --truth' noisy.stream truth.nxs -- --truth=a.nxs --truth=rest.rec
same 'ground truths after the first operand' noisy.stream truth.nxs -- a.nxs rest.rec
same 'streams of a run that was cut' noisy.stream all.stream -- --truth=a.stream --truth=b.stream
written stills.rec $all --reflections=all.tsv 'all_%d.raw'
same 'tables of two writers: a frame is no blank that the other one names' noisy.stream all.tsv -- --truth=odd.tsv --truth=even.tsv
written stills.rec $all --reflections=run.refl 'run_%d.raw'
written stills.rec 0-4 --reflections=first.refl 'first_%d.raw'
written stills.rec 5-11 --reflections=rest.refl 'rest_%d.raw'
same 'tables of DIALS' noisy.stream run.refl -- --truth=first.refl --truth=rest.refl
bragg-score --report=page.html a.nxs b.nxs dropped.stream >/dev/null
check 'the report counts all ground truth files' grep -q 'compared with the ground truth a.nxs and 1 more' page.html
check 'the report shows images of both ground truths' test "$(grep -c '<image' page.html)" -gt 5

# --- a rotation, whose reflections reach over the cut
recorded turn.rec 128 120 '' --osc=0.5 --phi0=10 --phi-steps=5 --misset=10,5,3
written turn.rec $all turn.nxs
written turn.rec $all --reflections=turn.refl 'turn_%d.raw'
written turn.rec 0-5 turn_a.nxs
written turn.rec 6-11 turn_b.nxs
written turn.rec 0,1,4,5,8,9 turn_c.nxs
written turn.rec 2,3,6,7,10,11 turn_d.nxs
same 'a rotation that is cut' turn.refl turn.nxs -- turn_a.nxs turn_b.nxs
same 'files of two writers give the same table' turn.refl turn.nxs -- turn_d.nxs turn_c.nxs
check 'intensities are sums over both files' /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" "$(
	bragg-score --json=turn.json turn_d.nxs turn_c.nxs turn.refl >/dev/null
	echo turn.json
)" intensities.slope=1~1e-6 intensities.chi2=0~1e-6

# --- two runs with the same numbers: the names of images tell which is meant
recorded other.rec 128 120 '' --random --hit-rate=0.75 --seed=77
written other.rec $all other.nxs
mkdir there
(cd there && /usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" ../other.nxs 0.8 120)
bragg-score --json=both.json truth.nxs other.nxs event.stream there/event.stream >both.out 2>&1 || note "$(cat both.out)"
bragg-score --json=first.json truth.nxs event.stream >/dev/null
bragg-score --json=second.json other.nxs there/event.stream >/dev/null
check 'two runs at once are counted together' /usr/bin/python3 -c '
import json
first, second, both = (json.load(open(f"{n}.json")) for n in ("first", "second", "both"))
for group, name in (("lattices", "true"), ("lattices", "right"), ("spots", "found"), ("spots", "true"), ("hits", "true_positive"), ("intensities", "n")):
    assert both[group][name] == first[group][name] + second[group][name], (group, name)
assert both["frames"] == 24 and both["frames_without_answer"] == 0 and both["lattices"]["wrong"] == 0'
sed 's/truth\.nxs/live/' noisy.stream >live.stream
bragg-score --json=named.json truth.nxs other.nxs noisy.stream >/dev/null
check 'numbers are those of the file that is named' /usr/bin/python3 -c '
import json
named = json.load(open("named.json"))
assert named["frames"] == 12 and named["lattices"]["wrong"] == 0 and named["lattices"]["right"] > 5'
refused 'a number that both have' 3 'live.stream:16: frame 0 is in truth.nxs and in other.nxs; expected results that name the file of their images' \
	truth.nxs other.nxs live.stream
mkdir somewhere elsewhere
cp truth.nxs truth_data_000001.h5 somewhere
cp other.nxs elsewhere/truth.nxs
cp other_data_000001.h5 elsewhere
refused 'two ground truths with the file name of the images' 3 'somewhere/truth.nxs matches several ground truths' elsewhere/truth.nxs ./truth.nxs event.stream
check 'ground truths are found by their path' bragg-score --require='lattices.right>=6' --require='lattices.wrong<=0' elsewhere/truth.nxs somewhere/truth.nxs event.stream

# --- what bragg-serve sent, from two of them
for part in "one 0-4" "two 5-11"; do
	bragg-replay --quiet --frames="${part#* }" stills.rec | bragg-serve --quiet --bind="ipc://$PWD/s" --policy=drop-new --queue=1 --linger=0.1 \
		--socket=pub --sent="${part% *}.sent" >log 2>&1 || note "$(cat log)"
done
check 'files of --sent of two servers as ground truth' bragg-score --json=sent.json --truth=one.sent --truth=two.sent perfect.stream
check 'the table has all that the clients sent' /usr/bin/python3 -c '
import json
assert sum(json.load(open("sent.json"))["sent"].values()) == 12'
bragg-score --json=again.json --sent=two.sent --sent=one.sent truth.nxs perfect.stream >/dev/null
check 'files of --sent next to another ground truth' /usr/bin/python3 -c '
import json
a, b = (json.load(open(f"{n}.json")) for n in ("sent", "again"))
assert a["sent"] == b["sent"] and a["lost"] == b["lost"]'

# --- what does not belong together
refused 'the same ground truth twice' 3 'frame 0 is in truth.nxs and in truth.nxs; expected it in one ground truth' truth.nxs truth.nxs noisy.stream
refused 'the same ground truth is refused with another run between' 3 'frame 0 is in truth.nxs and in truth.nxs; expected it in one ground truth' truth.nxs other.nxs truth.nxs event.stream
refused 'a frame in two ground truths' 3 'frame 0 is in a.nxs and in even.nxs; expected it in one ground truth' a.nxs even.nxs noisy.stream
refused 'a frame in two tables is refused' 3 'frame 3 is in odd.tsv and in all.tsv' --truth=odd.tsv --truth=all.tsv noisy.stream
refused 'a rotation with other frames of the same numbers' 3 'frame 0 is in turn.nxs and in other.nxs' turn.nxs other.nxs turn.refl
refused 'ground truths with different facts' 3 'a.nxs and odd.tsv contain different facts about frames' --truth=a.nxs --truth=odd.tsv noisy.stream
recorded small.rec 100 120 '' --random
written small.rec 5-11 small.nxs
refused 'another detector' 3 'small.nxs: panel 0 differs from that of a.nxs; expected the same detector in all ground truths' a.nxs small.nxs noisy.stream
recorded near.rec 128 121 '' --random
written near.rec 5-11 near.nxs
refused 'another distance' 3 'near.nxs: panel 0 differs from that of a.nxs' a.nxs near.nxs noisy.stream
recorded cell.rec 128 120 '--cell=40,50,60,90,90,90 --default-F=100' --random
written cell.rec 5-11 cell.nxs
refused 'another crystal' 3 'cell.nxs: crystal 0 has edges of 40.00, 50.00, 60.00 A' a.nxs cell.nxs noisy.stream
refused 'two ground truths without results' 3 'b.nxs: is an HDF5 file; expected results: a stream of CrystFEL, a table of DIALS, MTZ or peaks' a.nxs b.nxs
refused 'one ground truth without results' 2 'missing argument: RESULT' a.nxs
refused 'a missing second ground truth' 3 'none.nxs: cannot open' --truth=a.nxs --truth=none.nxs noisy.stream
written stills.rec 11 last.nxs
refused 'a frame that is in no ground truth' 3 'frame 5 is not in a.nxs and 1 more, which has 6 frames' --truth=a.nxs --truth=last.nxs noisy.stream
finish
