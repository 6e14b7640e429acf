#!/bin/sh
# --order: frames in ascending order, whatever the stages before do, and whoever dies.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
seed=${BRAGG_SEED:-1}
limits='--dead-after=3 --rejoin-timeout=20 --attempts=100'

# Three makers, some slow, feed one worker: frames overtake each other.
# scrambled FRAMES SOURCE-OPTIONS WORK-OPTIONS SINK-OPTIONS
scrambled() {
	fresh
	rm -f log
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames="$1" $2 &
	for i in 1 2 3; do
		keep make$i make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=$((i * 6)) --slow-every=$((i * 3)) &
	done
	keep work work --in="@ipc://$d/w" --out="@ipc://$d/x" $3 &
	keep sink sink out --in="ipc://$d/x" --log=log $4 &
}

# ascending FILE: yes when its numbers do, each once
ascending() {
	sort -n -u -c "$1" 2>/dev/null && echo yes
}

files() {
	find out -type f | wc -l
}

scrambled 300 '' '' ''
settle
is 'without --order frames overtake each other' "$(files) $(wc -l <log) $(ascending log)" '300 300 '
scrambled 300 '' '' --order
settle
is 'with --order they come as numbered' "$(statuses source work sink) $(files) $(ascending log)" '0 0 0 300 yes'
scrambled 300 --window=1 '' --order
settle
is 'also through a window of one frame' "$(statuses source work sink) $(files) $(ascending log)" '0 0 0 300 yes'
scrambled 1000 --window=300 --order ''
settle
is 'a stage in the middle' "$(statuses source work sink) $(files) $(ascending log)" '0 0 0 1000 yes'
scrambled 0 '' --order --order
settle
is 'no frames at all' "$(statuses source work sink) $(files)" '0 0 0 0'

# Deaths
expected=$(plain 600)
scrambled 600 "$limits" --sleep=4 --order
flowing
hits=$(kill_all "$seed" 8 0.1 0.4 make1 make2 make3)
settle
is 'makers killed: all frames, in order' "$(statuses source work sink) $(ascending log)" '0 0 0 yes'
is 'makers killed: the same files' "$(digest out)" "$expected"
check "makers killed: often ($hits)" test "$hits" -ge 3
scrambled 600 "$limits" "--order --sleep=6" --order
flowing
hits=$(kill_all "$seed" 4 0.2 0.8 work sink)
settle
is 'ordered stages killed: all frames' "$(statuses source work sink)" '0 0 0'
is 'ordered stages killed: the same files' "$(find out -name '*.part' -delete; digest out)" "$expected"
check "ordered stages killed: often ($hits)" test "$hits" -ge 1

# The first frame comes last, through a stage with shared memory for fewer images than wait.
fresh
rm -f log
stage first first --pixels=128 --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=250 --window=250 &
for i in 1 2; do
	stage make$i make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=4000 --slow-every=1000 &
done
stage work work --in="@ipc://$d/w" --out="@ipc://$d/x" &
stage sink sink out --in="ipc://$d/x" --order --log=log &
settle
is 'frames that wait need no shared memory' "$(statuses source work sink) $(files) $(ascending log)" '0 0 0 250 yes'

# A hole: a frame that kills whoever takes it never comes.
fresh
rm -f log
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=60 --dead-after=3 &
for i in 1 2; do
	keep make$i make --in="ipc://$d/s" --out="ipc://$d/w" --die-at=7 &
done
stage sink sink out --in="@ipc://$d/w" --order --log=log &
settle
is 'a frame that is given up is no stop' "$(statuses source sink) $(files) $(ascending log)" '1 1 59 yes'

# Ctrl-C
scrambled 3000 '' '' --order
flowing
kill -INT "$(cat source.pid)"
settle
is 'an interrupted stream, in order and without a gap' "$(ascending log) $(tail -n 1 log)" "yes $(($(files) - 1))"

# What is refused
check_status '--order of a stage that only watches' 2 teststage tap . --in="ipc://$d/none" --order
check_status '--order of the source' 2 teststage source --in="ipc://$d/none" --out="ipc://$d/none" --order
finish
