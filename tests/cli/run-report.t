#!/bin/sh
# bragg-report, and bragg-run --report: pages about runs that end well, fail, are interrupted, lose a
# process or have no images; what is in the way.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'pages' /usr/bin/python3
scratch
page() { /usr/bin/python3 "$BRAGG_TESTS/cli/run_page.py" "$@"; }

# --- of a pipe
bragg-geometry --detpixels=150 --pixel=0.6 --distance=120 --ncells=10 |
	bragg-orient --quiet --frames=9 --random --hit-rate=0.5 --seed=3 --truth=truth.txt |
	bragg-intensity --threads=1 | bragg-noise | bragg-tap --record=a.rec
check 'a page of a pipe' sh -c 'bragg-replay a.rec | bragg-report page.html'
lineage=$(bragg-replay a.rec | bragg-write --quiet a_%d.img && sed -n 's/^BRAGG_LINEAGE=\(.*\);/\1/p' a_0.img | head -1)
check 'the page has pictures, numbers and the recipe' page page.html pictures=6 'frames seen9' "Lineage $lineage" \
	'bragg-orient seed=3' 'Frame 0, the first' 'cell59.062 68.451 30.517' 'Hit rate' 'Frames of a stream'
check 'pictures have units' page page.html ' ADU, brightest pixel '
bragg-geometry --detpixels=32 --pixel=3 --shape=gauss --ncells=15 --mosaic-model=gauss --mosaic-rms=0.05 --crystal-size=50um --beam-size=100um |
	bragg-orient --quiet | bragg-intensity --quiet 2>others | bragg-report --quiet blocks.html 2>others
check 'a crystal of blocks: its size, and cells of a block' page blocks.html 'Experiment' 'size50 × 50 × 50 µm' \
	'unit cells along the edges of a mosaic block15 × 15 × 15' 'rms0.05, 0.05, 0.05 deg'
check 'a page replaces a former one' sh -c 'bragg-replay a.rec | bragg-report --pictures=0 page.html'
check 'a page with --pictures=0 has none' page page.html pictures=0 'frames seen9'
check 'hits that are all frames are not plotted' sh -c 'bragg-replay --frames=0 a.rec | bragg-report one.html && ! grep -q "Hit rate" one.html'
check 'a report of another recording can be made' sh -c 'bragg-replay --first=1 a.rec | bragg-report one.html'
check 'the page of a single frame has one picture' page one.html pictures=1 'frames seen1'
echo mine >mine.html
check_status 'a file in the way' 1 sh -c 'bragg-replay a.rec 2>others | bragg-report mine.html 2>err'
is 'a message names the file in the way' "$(cat err)" 'bragg-report: mine.html exists and is not a page of braggpipe. Give another name'
is 'a file that is no report stays' "$(cat mine.html)" mine
printf 'stages:\n- {name: replay, args: [a.rec]}\n- {name: report, args: [--hold, half.html], count: 2}\n' >half.yaml
check 'each of two would have half of the frames' sh -c '! bragg-run --quiet half.yaml 2>err'
check 'a message names the cause for two processes of bragg-report' grep -q 'bragg-report: this program combines all frames and must run as one process. Set' err
check 'before there is a page' test ! -e half.html
check_status 'no such folder' 1 sh -c 'bragg-replay a.rec 2>others | bragg-report gone/x.html 2>err'

# --- of bragg-run
cat >p.yaml <<END
stages:
  - {name: replay, args: [$PWD/a.rec, --loop=4]}
  - {name: noise, program: bragg-tap, args: [--hold=no]}
END
cat >q.yaml <<END
# a <b> & "c"
stages:
  - {name: replay, args: [$PWD/a.rec, --loop=4, --rate=40]}
  - {name: write, args: [x_%d.raw]}
END
check 'a run with a report' bragg-run --quiet --workdir=out --report=run.html q.yaml
is 'the page of a run has its files' "$(ls out | grep -c 'raw$')" 36
check 'the page' page run.html pictures=6 'Run of q.yaml' 'This run ended without an error' 'frames seen36' 'Cost of each process' 'write36' \
	'Timeline of the processes' '# a <b> & "c"' "bragg-run --quiet --workdir=out --report=run.html q.yaml"
is 'nothing else is left' "$(ls -A | grep -c '\.part-\|frames.html')" 0

# --- that does not end well
sed 's/--rate=40/--rate=40/; s/x_%d.raw/x_%d.img, --scale=1e12/' q.yaml >bad.yaml
check_status 'a run that fails' 3 sh -c 'bragg-run --quiet --workdir=out2 --report=bad.html bad.yaml 2>err'
check 'the page of a failed run has the reason' page bad.html 'ended with an error' "$(sed -n 's/^bragg-run: //p' err)" 'write: bragg-write: '
sed 's/--loop=4/--loop=forever/' q.yaml >long.yaml
env --default-signal=INT bragg-run --quiet --workdir=out3 --report=int.html long.yaml 2>err &
run=$!
soon test -e out3/x_20.raw
kill -INT $run
status=0
wait $run || status=$?
is 'a run that is interrupted' "$status" 130
check 'the page of an interrupted run says so' page int.html 'The run was interrupted. (status 130)' pictures=6
sed 's/write, args/write, restart: 5, args/' q.yaml | sed 's/--loop=4/--loop=12/' >kill.yaml
bragg-run --quiet --workdir=out4 --report=kill.html kill.yaml 2>err &
run=$!
soon test -e out4/x_9.raw
pkill -KILL -P $run bragg-write
status=0
wait $run || status=$?
is 'a run whose writer is killed' "$status $(ls out4 | grep -c 'raw$')" '0 108'
check 'the page counts the restart of the killed writer' sh -c 'grep -q "<th>write</th>.*restarts\">1</td><td[^>]*>without an error" kill.html'
printf 'stages:\n  - {name: geometry, args: [--detpixels=8, --pixel=1]}\n  - {name: orient, args: [--frames=2]}\n  - {name: tap, args: [--record=r.rec]}\n' >r.yaml
check 'a run without images' bragg-run --quiet --report=none.html r.yaml
check 'a run without images has a page without pictures' page none.html 'Run of r.yaml' 'This run ended without an error' pictures=0
check 'the page has no section of messages if there are none' sh -c '! grep -q "Messages of the stages" none.html'
check_status 'a file in the way of a run' 1 sh -c 'bragg-run --quiet --report=mine.html q.yaml 2>err'
is 'a file in the way of the report is named before the work' "$(cat err)" 'bragg-run: mine.html exists and is not a page of braggpipe. Give another name'
check_status '--report with --dry-run is refused' 2 bragg-run --dry-run --report=x.html q.yaml
check_status 'a full disk' 1 sh -c 'bragg-run --quiet --workdir=out5 --report=/dev/full q.yaml 2>err'
check 'a message says that the disk is full' grep -q 'No space left' err
finish
