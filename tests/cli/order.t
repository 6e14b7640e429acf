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
is 'frames come in order through a window of one frame' "$(statuses source work sink) $(files) $(ascending log)" '0 0 0 300 yes'
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

# Files of four frames, whose writer is killed, with windows below and above that.
# series WINDOW: the same frames, undisturbed for want of a window
series() {
	fresh
	stage geometry bragg-geometry --detpixels=32 --pixel=3.2 --distance=120 --ncells=5 --out="@ipc://$d/g" &
	stage source bragg-orient --frames=90 --random --in="ipc://$d/g" --out="@ipc://$d/s" ${1:+--window=$1} $limits &
	for i in 1 2; do
		keep make$i bragg-intensity --threads=1 --in="ipc://$d/s" --out="ipc://$d/w" &
	done
	stage slow pass ${1:+--sleep=20} --slow-every=2 --in="@ipc://$d/w" --out="@ipc://$d/x" &
	keep sink bragg-write out/s.nxs --frames-per-file=4 --order --in="ipc://$d/x" &
}
series
settle
mkdir whole
mv out/*.h5 out/s.nxs whole
for window in 2 16; do
	series $window
	soon test -s out/s.nxs.index
	hits=$(kill_all "$seed" 8 0.05 0.2 sink make1 sink make2)
	settle
	is "a series, window $window: all end well" "$(statuses geometry source slow sink)" '0 0 0 0'
	grep '^[0-9]' out/s.nxs.index | cut -f1 >log
	check "a series, window $window: in order" sort -n -c log
	check "a series, window $window: the same files" diff -r -x '*.index' whole out
	check "a series, window $window: killed often ($hits)" test "$hits" -ge 3
done

# One group that has frames at once; and one in order, whose only process dies and does not know what
# it had.
fresh
rm -f log
stage geometry bragg-geometry --detpixels=32 --pixel=3.2 --distance=120 --ncells=5 --out="@ipc://$d/g" &
stage source bragg-orient --frames=40 --random --groups=2 --window=8 --in="ipc://$d/g" --out="@ipc://$d/s" $limits &
stage make bragg-intensity --threads=1 --in="ipc://$d/s" --out="@ipc://$d/w" &
stage series bragg-write out2/s.nxs --frames-per-file=20 --in="ipc://$d/w" &
keep sink sink out --order --sleep=20 --group=other --log=log --in="ipc://$d/w" &
soon test -e out/000003
kill -9 "$(cat sink.pid)"
settle
is 'a frame that the group has acknowledged delays nothing' \
	"$(statuses source series sink) $(find out -name '0000??' | wc -l) $(sort -n -c log && echo ascending)" '0 0 0 40 ascending'

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

# Two that take frames in order would wait for each other: the later one is out
fresh
: >log1
: >log2
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --dead-after=0.5 --frames=200 &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --sleep=40 &
for i in 1 2; do
	stage sink$i sink out --in="ipc://$d/w" --order --log=log$i &
done
wait
is 'two in order: one is refused, and the run goes on' "$(statuses source make) $(statuses sink1 sink2 | tr ' ' '\n' | sort | tr '\n' ' ') $(files)" \
	'0 0 0 1  200'
is 'two in order: which is said' "$(sed 's/process [0-9]*/process N/' errors.source)" \
	'test-source: warning: test-sink (process N) is excluded: another process takes frames in order; expected one'
check 'two in order: each had its own in order' test "$(ascending log1) $(ascending log2)" = 'yes yes'

fresh
rm -f log
teststage first | teststage source --dead-after=0.5 --frames=60 | teststage make --sleep=20 |
	teststage work --order | teststage work --order | teststage sink out --order --log=log
is 'one after the other they may' "$? $(files) $(ascending log)" '0 60 yes'

# What is refused
check_status '--order of a stage that only watches' 2 teststage tap . --in="ipc://$d/none" --order
check_status '--order of the source' 2 teststage source --in="ipc://$d/none" --out="ipc://$d/none" --order
finish
