#!/bin/sh
# The simulator of tests/cli/simulate.t for 16,000 other seeds, half of them on each core.  SEEDS is
# how many each core runs: make soak runs 500,000.  It also runs all plans of the past 1000 times.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
seeds=${SEEDS:-8000}

simulate --seeds="1000000:$seeds" >first &
other=$!
check 'no frame is lost, none is there twice, and every run ends' simulate --seeds="2000000:$seeds"
status=0
wait $other || status=$?
is 'no frame is lost with other seeds' "$status" 0
check 'a frame that failed once does not fail again' simulate --past="${PAST:-300}"
note "$(cat first)"
finish
