#!/bin/sh
# bragg-score: every form of the ground truth gives the figures of the NXmx file, as far as it tells the truth.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'scores against all kinds of ground truth' python:h5py python:numpy
scratch

frames() { # GEOMETRY: four stills, of which one is empty; options of bragg-orient follow
	geometry=$1
	shift
	# shellcheck disable=SC2086 # options
	bragg-geometry --quiet --detpixels=128 --pixel=0.8 --distance=120 --ncells=20 --oversample=1 $geometry | bragg-orient --quiet --frames=4 "$@" |
		bragg-intensity --quiet --threads=1 --reflections=5
}
# same NAME TOLERANCE LACKS TRUTH RESULT...: the figures of truth.nxs, but for those of these groups
same() {
	same_name=$1 same_tolerance=$2 same_lacks=$3 same_truth=$4
	shift 4
	bragg-score --json=all.json truth.nxs "$@" >all.out 2>&1 || note "$(cat all.out)"
	bragg-score --json=part.json "$same_truth" "$@" >part.out 2>&1 || note "$(cat part.out)"
	same_status=0
	same_said=$(/usr/bin/python3 "$BRAGG_TESTS/cli/score_same.py" all.json part.json "$same_tolerance" 2>same.err) || same_status=$?
	is "$same_name" "$same_status $same_said" "0 $same_lacks"
	[ "$same_status" = 0 ] || note "$(cat same.err)"
}
# refused NAME TEXT ARGUMENT...: status 3, one line on stderr, nothing on stdout
refused() {
	refused_name=$1 refused_text=$2
	shift 2
	refused_status=0
	timeout 20 bragg-score "$@" >refused.out 2>refused.err || refused_status=$?
	is "$refused_name" "$refused_status $(wc -l <refused.err) $(wc -c <refused.out) $(grep -c -F -e "$refused_text" refused.err)" '3 1 0 1'
	[ "$(grep -c -F -e "$refused_text" refused.err)" = 1 ] || note "$(cat refused.err)"
}

# stills, of which one is empty
still='--random --hit-rate=0.75 --seed=5'
# shellcheck disable=SC2086 # options
{
	frames '' $still --truth=truth.tsv | bragg-write --quiet truth.nxs
	frames '' $still | bragg-write --quiet --reflections=run.stream 'run_%d.raw'
	frames '' $still | bragg-write --quiet --reflections=run.tsv 'tsv_%d.raw'
}
# Streams and tables do not say the wavelength.
no_lattices='angle_deg cell geometry geometry_px intensities lattices predicted predicted_px wavelength'
no_spots='found_px geometry geometry_px intensities lattices predicted predicted_px spots wavelength'
/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" truth.nxs 0.8 120
for result in turned noisy; do
	same "run.stream: $result" 0.006 wavelength run.stream $result.stream
	same "run.tsv has no lattices: $result" 1e-4 "$no_lattices" run.tsv $result.stream
	same "the ground truth has no spots: $result" 1e-6 "$no_spots" truth.tsv $result.stream
done

# the fast axis at right angles to the spindle, two lattices a frame: CrystFEL and DIALS have other axes across the beam
rm -f -- *
across='--random --seed=6 --lattices=2'
# shellcheck disable=SC2086 # options
{
	frames --convention=dials $across --truth=truth.tsv | bragg-write --quiet truth.nxs
	frames --convention=dials $across | bragg-write --quiet --reflections=run.stream 'run_%d.raw'
	frames --convention=dials $across | bragg-write --quiet --reflections='r_%04d.refl' 'refl_%d.raw'
}
for result in run.stream r_0000.refl; do
	same "other axes: run.stream: $result" 0.01 wavelength run.stream $result
	same "other axes: the truth: $result" 0.001 "$no_spots" truth.tsv $result
	bragg-score --json=part.json truth.tsv $result >/dev/null
	check "other axes: the ground truth and $result agree" /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" part.json lattices.wrong=0 angle_deg.max=0~0.001
done

# a rotation: the truth of lattices in the middle of frames; one row for all frames of a reflection
rm -f -- *
turn='--osc=0.5 --phi0=10 --phi-steps=5 --misset=10,5,3'
# shellcheck disable=SC2086 # options
{
	frames '' $turn --truth=truth.tsv | bragg-write --quiet truth.nxs
	frames '' $turn | bragg-write --quiet --reflections=run.stream 'run_%d.raw'
	frames '' $turn | bragg-write --quiet --reflections=run.refl 'sum_%d.raw'
}
/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" truth.nxs 0.8 120
same 'a rotation: run.stream' 0.01 wavelength run.stream turned.stream
same 'the table of the ground truth gives the same score' 1e-6 "$no_spots" truth.tsv turned.stream
check 'a table of a run against itself' bragg-score --json=part.json run.refl run.refl
check 'another setting has a perfect score, except that it has no spots' /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" part.json frames=4 lattices.right=4 \
	angle_deg.max=0~1e-5 predicted.share=1 predicted_px.fast=0 predicted_px.slow=0 intensities.cc=1 intensities.slope=1 intensities.chi2=0 \
	spots.recall=absent found_px.fast=absent geometry_px.fast=0 \
	predicted.n="$(/usr/bin/python3 "$BRAGG_TESTS/cli/score_tables.py" --rows run.refl)"
refused 'a stream against it' 'has results of single frames, but the reflections of run.refl are sums' run.refl perfect.stream

# what bragg-serve says of what it sent, with reflections and without
for n in 1 2 3; do
	frames '' --random --seed=5 | bragg-serve --quiet --bind="ipc://$PWD/s" --policy=drop-new --queue=1 --linger=0.1 --socket=pub \
		--inject=duplicate:0.4,drop:0.3 --inject-seed=4 --sent="$(echo sent.stream sent.tsv sent.text | cut -d' ' -f$n)" >log 2>&1 || note "$(cat log)"
done
rm -f truth* run*
frames '' --random --seed=5 | bragg-write --quiet truth.nxs
printf 'frame fast slow time_s\n0 10 10 2e9\n2 10 10 2e9\n3 10 10 2e9\n' >times.tsv
/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" truth.nxs 0.8 120
bragg-score --sent=sent.stream --json=all.json truth.nxs perfect.stream >/dev/null
bragg-score --json=part.json sent.stream perfect.stream >/dev/null
is 'the stream of bragg-serve --sent is ground truth' "$(/usr/bin/python3 "$BRAGG_TESTS/cli/score_same.py" all.json part.json 0.006 2>&1)" wavelength
check 'the table has what became of frames' /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" part.json frames=4 lattices.right=4 spots.recall=1 \
	sent.dropped="$(grep -c 'fate = dropped' sent.stream)" sent.withheld="$(grep -c 'fate = withheld' sent.stream)" lost.by_client=0
is 'each column of the table is known' "$(braggpipe columns sent.tsv | awk '/^ *[0-9]/ { print $2, $3 }' | tail -n 4 | paste -sd,) $(braggpipe columns sent.tsv | grep -c 'not known')" \
	'sent_s s,rate_Hz Hz,fate -,fault - 0'
is 'the table says the same of it' "$(awk -F'\t' 'NR > 1 { print $1, $(NF - 1), $NF }' sent.tsv)" \
	"$(awk '/frame_id/ { n = $3 } / fate/ || /fate =/ { f = $3 } /fault =/ { t = $3 } /End chunk/ { print n, f, t }' sent.stream)"
for truth in sent.tsv sent.text; do
	bragg-score --json=part.json $truth perfect.stream >/dev/null
	check "the table of bragg-serve --sent is ground truth: $truth" /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" part.json frames=4 lattices.right=4 angle_deg.max=0~1e-5 \
		spots.recall=absent sent.withheld="$(grep -c 'fate = withheld' sent.stream)"
done
bragg-geometry --quiet --detpixels=64 | bragg-orient --quiet --frames=1 | bragg-intensity --quiet |
	bragg-serve --quiet --bind="ipc://$PWD/s" --policy=drop-new --sent=none.stream >log 2>&1
is 'a stream of frames without reflections' "$(tail -n 1 log)" \
	'bragg-serve: none.stream: frame 0 has no reflections. Run bragg-intensity with --reflections'

# --- files that are not ground truth
frames '' --random --seed=5 --truth=truth.tsv | bragg-write --quiet --reflections=run.tsv 'all_%d.raw'
refused 'a stream of an analysis' 'perfect.stream: not a ground-truth stream; expected one from bragg-write' perfect.stream perfect.stream
refused 'a table of peaks' 'times.tsv:1: not a ground-truth table: column' times.tsv perfect.stream
cut -f1-26 truth.tsv >old.tsv
refused 'a table of the truth without axes in the frame of the beam' 'old.tsv:1: not a ground-truth table' old.tsv perfect.stream
awk -F'\t' -v OFS='\t' 'NR == 3 { $27 = "1e" } 1' truth.tsv >bad.tsv
refused 'an invalid axis' "bad.tsv:3: astar_x is '1e'; expected a number" bad.tsv perfect.stream
awk -F'\t' -v OFS='\t' 'NR == 2 { $9 = "many" } 1' run.tsv >bad.tsv
refused 'invalid photons' "bad.tsv:2: photons is 'many'; expected a number" bad.tsv perfect.stream
for truth in truth.tsv run.tsv; do
	{
		cat $truth
		sed -n 2p $truth
	} >twice.tsv
	refused "a frame in two places: $truth" 'occurs twice' twice.tsv perfect.stream
	head -c $(($(wc -c <$truth) - 5)) $truth >short.tsv
	refused "a table that is cut: $truth" 'ends in the middle of a line' short.tsv perfect.stream
	sed '1i # a comment of the user' $truth >noted.tsv
	check "a table with a comment before its title: $truth" sh -c "bragg-score $truth perfect.stream >1.out && bragg-score noted.tsv perfect.stream | sed s/noted.tsv/$truth/ | cmp - 1.out"
	head -n 1 $truth >title.tsv
	refused "a table without lines: $truth" 'title.tsv: no frames found' title.tsv perfect.stream
done
frames '' --random --seed=5 | bragg-write --quiet --reflections=run.stream 'chunk_%d.raw'
head -c 3000 run.stream >short.stream
refused 'a stream that is cut' 'short.stream:' short.stream perfect.stream
refused 'lattices of another orientation' 'do not match truth.tsv: none of 4 lattices is within' truth.tsv turned2.stream
refused 'of another cell' 'are of another crystal' truth.tsv other.stream
finish
