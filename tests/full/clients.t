#!/bin/sh
# Clients that vanish, stall, come back and send rubbish while a pipeline runs at a rate: the
# pipeline keeps its rate where the policy is to drop, memory does not grow, and counts add up.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
frames=1500 rate=150

# resident NAME: kilobytes that the gateway has in memory
resident() {
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$(cat "$1.pid")/status"
}
figure() {
	sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$1.stats"
}
# bad ENDPOINT: all kinds of them, over and over, until killed
bad() {
	trap 'kill $(jobs -p) 2>/dev/null; exit' TERM
	while :; do
		testclient stall "$1" 1 &
		testclient vanish "$1" 5 &
		testclient rubbish "$1" 100 &
		timeout 1 testclient pull "$1" 20 >/dev/null 2>&1 &
		timeout 1 testclient sub "$1" 20 >/dev/null 2>&1 &
		wait
	done
}

for socket in rep push pub series; do
	rm -f endpoint
	mkdir $socket
	how=--socket=$socket
	[ $socket != series ] || how=--protocol=dectris2
	bragg-geometry --detpixels=128 --pixel=0.8 --distance=120 --ncells=5 |
		bragg-orient --frames=$frames --random | bragg-intensity --threads=1 | bragg-noise |
		sh -c 'echo $$ >"$1.pid"; exec bragg-serve --bind=tcp://127.0.0.1:* $3 --policy=drop-old --queue=16 \
			--rate="$2" --linger=1 --stats="$1.stats"' serve $socket $rate "$how" >endpoint 2>message &
	pipe=$!
	until [ -s endpoint ]; do sleep 0.05; done
	endpoint=$(cat endpoint)
	bad "$endpoint" 2>/dev/null &
	bad=$!
	case $socket in rep) kind=req ;; push) kind=pull ;; pub) kind=sub ;; series) kind=series ;; esac
	testclient $kind "$endpoint" 100000 $socket >$socket.taken 2>/dev/null &
	good=$!
	sleep 3
	before=$(resident $socket)
	sleep 5
	after=$(resident $socket)
	status=0
	wait $pipe || status=$?
	kill $bad $good 2>/dev/null
	wait
	is "$socket: the pipeline ends well" "$status" 0
	is "$socket: every frame was taken or dropped" "$(($(figure $socket taken) + $(figure $socket some) + $(figure $socket dropped)))" $frames
	check "$socket: the good client had many of them" test "$(wc -l <$socket.taken)" -ge 100
	check "$socket: memory does not grow ($before to $after KiB)" test "$after" -le $((before + 4096))
	# frames wait for their time, 10 s in all, and for nothing else
	check "$socket: the pipeline was not held back" perl -ne '/"compute_s":([0-9.]+)/ and exit !($1 < 12)' $socket.stats
done
finish
