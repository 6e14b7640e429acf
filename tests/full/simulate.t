#!/bin/sh
# The simulator of tests/cli/simulate.t for 200,000 other seeds, half of them on each core.  SEEDS is
# how many each core runs: 500000 made a million of them without a failure, in five minutes.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
seeds=${SEEDS:-100000}

simulate --seeds="1000000:$seeds" >first &
other=$!
check 'no frame is lost, none is there twice, and every run ends' simulate --seeds="2000000:$seeds"
status=0
wait $other || status=$?
is 'also with other seeds' "$status" 0
check 'what failed once does not fail again' simulate --past=1000
note "$(cat first)"
finish
