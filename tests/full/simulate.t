#!/bin/sh
# The simulator of tests/cli/simulate.t for a million other seeds, half of them on each core.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

simulate --seeds=1000000:500000 >first &
other=$!
check 'no frame is lost, none is there twice, and every run ends' simulate --seeds=2000000:500000
status=0
wait $other || status=$?
is 'also with other seeds' "$status" 0
check 'what failed once does not fail again' simulate --past=1000
note "$(cat first)"
finish
