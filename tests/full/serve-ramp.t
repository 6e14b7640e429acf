#!/bin/sh
# bragg-serve --ramp: a rate that rises finds what a client sustains, and says so.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a client' python:zmq
scratch
S=ipc://$PWD/s

# A client that works so long on each frame, until bragg-serve has ended.
cat >client.py <<'END'
import os, sys, time, zmq
kind, endpoint, work = sys.argv[1], sys.argv[2], float(sys.argv[3])
socket = zmq.Context().socket(zmq.REQ if kind == "req" else zmq.PULL)
socket.setsockopt(zmq.RCVHWM, 1)
socket.connect(endpoint)
while True:
    if kind == "req":
        socket.send(b"next")
    while not socket.poll(100):
        if os.path.exists("status"):
            os._exit(0)
    socket.recv_multipart()
    time.sleep(work)
END
# ramp CLIENT WORK FRAMES OPTION...: what bragg-serve says is in `message`, its status in `status`
ramp() {
	kind=$1 work=$2 count=$3
	shift 3
	rm -f endpoint status
	{
		bragg-geometry --detpixels=32 --pixel=3.2 --distance=120 --ncells=5 |
			bragg-orient --frames="$count" --random | bragg-intensity --threads=1 |
			bragg-noise | bragg-serve --bind="$S" --linger=0.2 "$@" >endpoint 2>message
		echo $? >status
	} &
	soon test -s endpoint
	/usr/bin/python3 client.py "$kind" "$S" "$work"
	wait
}
number() { # NAME FILE: of a JSON object
	sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p" "$2"
}

# The client does 10 a second at most, fewer on a busy machine.
ramp req 0.1 30 --ramp=5:60:4 --policy=drop-new --queue=5 --ramp-json=refused.json --sent=refused.sent
is 'a frame is refused: the end' "$(cat status)" 0
check 'a frame is refused: the client is said to be the limit' grep -q '"limit":"client"' refused.json
check "a frame is refused: the client sustains $(number sustained_Hz refused.json) Hz of 10" \
	awk -v hz="$(number sustained_Hz refused.json)" 'BEGIN { exit !(hz > 3 && hz < 12) }'
check 'a frame is refused: which is less than was asked for' \
	awk -v hz="$(number sustained_Hz refused.json)" -v asked="$(number asked_Hz refused.json)" 'BEGIN { exit !(asked > hz) }'
check "a frame is refused: the client works $(number median refused.json) s on a frame" \
	awk -v s="$(number median refused.json)" 'BEGIN { exit !(s > 0.098 && s < 1) }'
check 'a message has the sustained rate and the cause' grep -q '^bragg-serve: --ramp: clients sustained [0-9.]* frames/s (rate [0-9.]* frames/s): clients fell behind; clients took [0-9.]* ms for a frame (median)' message
check '--sent lists the rising rate' sh -c 'cut -f38 refused.sent | head -n 8 | tail -n +2 | sort -g -c && [ "$(cut -f38 refused.sent | sort -u | wc -l)" -gt 6 ]'

ramp req 0.1 48 --ramp=5:200:4 --ramp-json=behind.json
check 'frames wait for three seconds: the client is the limit' grep -q '"limit":"client"' behind.json
check "frames wait for three seconds: the client sustains $(number sustained_Hz behind.json) Hz of 10" \
	awk -v hz="$(number sustained_Hz behind.json)" 'BEGIN { exit !(hz > 3 && hz < 12) }'

ramp req 0.1 25 --protocol=crystfel --ramp=5:60:4 --policy=drop-new --queue=5 --ramp-json=crystfel.json
check "the protocol of CrystFEL: the client sustains $(number sustained_Hz crystfel.json) Hz of 10, $(number median crystfel.json) s on a frame" \
	awk -v hz="$(number sustained_Hz crystfel.json)" -v s="$(number median crystfel.json)" 'BEGIN { exit !(hz > 3 && hz < 12 && s > 0.098 && s < 1) }'

ramp req 0 150 --ramp=10:60:4 --inject=stall:1:0.1 --ramp-json=stalls.json
is 'stalls on purpose are the limit, not the client' "$(sed 's/.*"limit":"\([a-z]*\)".*/\1/' stalls.json)" faults
ramp pull 0 60 --protocol=dectris2 --ramp=20:30:1 --inject=drop:0.3 --ramp-json=drops.json
is 'frames that are dropped on purpose are no fault of the client' "$(sed 's/.*"limit":"\([a-z]*\)".*/\1/' drops.json)" none

ramp pull 0 45 --protocol=dectris2 --ramp=20:30:1 --ramp-json=up.json
is 'a client that keeps up' "$(sed 's/.*"sustained_Hz":\([0-9]*\).*"limit":"\([a-z]*\)".*/\1 \2/' up.json)" '30 none'
check 'work of clients that do not ask is not reported' sh -c '! grep work_s up.json'
ramp req 0 5 --ramp=20:30:10
check 'frames that end first' grep -q 'sustained 20.* frames/s .*there were no more frames' message

B="bragg-serve --in=ipc://$PWD/none --bind=$S"
refuse() { # NAME STATUS TEXT OPTION...
	name=$1 want=$2 text=$3
	shift 3
	status=0
	$B "$@" >/dev/null 2>message || status=$?
	is "$name" "$status $(wc -l <message) $(grep -c -e "$text" message)" "$want 1 1"
}
refuse 'a ramp that falls' 2 'TO is not above FROM (got TO 1 and FROM 5)' --ramp=5:1:3
refuse 'no ramp' 2 "'5:10' is malformed; expected FROM:TO:SECONDS" --ramp=5:10
refuse 'a ramp and a rate' 2 'cannot be used together; remove one of them' --ramp=1:2:3 --rate=4
refuse '--ramp-json is refused without --ramp' 2 'needs --ramp' --ramp-json=x.json
refuse '--ramp-json does not replace another file' 1 'up.json exists' --ramp=1:2:3 --ramp-json=up.json
finish
