#!/bin/sh
# Floods of strangers at the source of a stream and where its frames flow, all the time: it is no
# more than 5 % slower, the best of several runs each, one after the other, and all frames are there.
# What strangers need of this machine is not counted: they are nice.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
frames=${BRAGG_STRANGER_FRAMES:-2000} rounds=3

# stream: one, in ./seconds how long it took
stream() {
	fresh
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" --frames=$frames &
	stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --sleep=5 &
	soon test -S run/w
	begin_ns=$(date +%s%N)
	(
		stage sink sink out --in="ipc://$d/w"
		echo $((($(date +%s%N) - begin_ns) / 1000000)) >milliseconds
	) &
	[ "$1" = alone ] && return
	flowing
	for kind in hellos newcomers watchers anew; do
		nice -n 19 stranger $kind "ipc://$d/c" count=200000 name="evil-$kind" >"said.$kind" 2>&1 &
	done
	for kind in ack lost have heartbeat; do
		nice -n 19 stranger $kind "ipc://$d/c" first=0 last=4 count=5000 up=1 group=test-sink/nothing name="evil-$kind" >"said.$kind" 2>&1 &
	done
	nice -n 19 stranger crowd "ipc://$d/c" count=2000 name=evil-crowd >said.crowd 2>&1 &
	nice -n 19 stranger knocks "ipc://$d/c" data="ipc://$d/w" count=100000 name=evil-knocks >said.knocks 2>&1 &
	nice -n 19 stranger sink "ipc://$d/c" data="ipc://$d/w" credit=0 group=idle name=evil-idle >said.idle 2>&1 &
	for part in c s; do
		nice -n 19 stranger part "ipc://$d/$part" bytes=100000000 >said.part 2>&1 &
	done
}

best_alone=1000000 best_among=1000000
for round in $(seq $rounds); do
	for among in alone among; do
		stream $among
		settle
		took=$(cat milliseconds)
		note "$among: $took ms"
		eval "[ $took -ge \$best_$among ] || best_$among=$took"
		sum=$(digest out)
		[ "$among" = alone ] && expected=$sum
		is "$among: all end well, with the same files" "$(statuses source make sink) $sum" "0 0 0 $expected"
	done
done
check "no more than 5 % slower ($best_alone ms, $best_among ms)" test $((100 * best_among)) -le $((105 * best_alone))
check 'strangers are named' test "$(grep -c 'warning: evil-' errors.source)" -ge 4
note "$(grep -h warning errors.source errors.make | cut -c1-150)"
finish
