#!/bin/sh
# Pipelines of the real code under a virtual network and clock: 8000 runs with faults, and each the
# same story again (tests/simulate).  Hundreds of thousands of others are in tests/full/simulate.t.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

seeds=8000
[ -z "${BRAGG_SANITIZED:-}" ] || seeds=3000  # ten times as slow
check 'no frame is lost, none is there twice, and every run ends' simulate --seeds=1:$seeds

check 'a frame that failed once does not fail again' simulate --past=100

simulate --scale=300,4 >scale
check '300 workers need few messages a frame, and the loss of 30 is made up when that is found' awk '
	$1 == 300 && $2 == 4 { found = $3 < 8 && $5 < 6 && $6 > 5 && $6 < 12 } END { exit !found }' scale
note "$(cat scale)"
simulate --seed=7 --story >first
simulate --seed=7 --story >second
check 'a seed is one story' cmp first second
check 'the message says what is sent' grep -q -- '-> worker 1: experiment$' first
check 'the log shows the end of the source' grep -q 'source .*ends with status 0$' first
check_status 'an unknown option is refused' 2 simulate --seeds=1
finish
