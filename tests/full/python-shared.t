#!/bin/sh
# What a stage in Python makes goes through shared memory: the same bytes, whatever dies or lies, and nothing left behind.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$(cd "$BRAGG_TESTS/.." && pwd)
needs 'a stage in Python' python:zmq python:msgpack python:numpy
scratch
. "$BRAGG_TESTS/faults.sh"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$top/pipelines"
limits='--dead-after=3 --rejoin-timeout=20 --attempts=100'
printf '#!/usr/bin/python3\nimport braggpipe, time\n\n\ndef relay(image, frame):\n    time.sleep(0.015)\n    image += 1\n    return image if frame.number %% 2 else image.copy()\n\n\nbraggpipe.transform("relay", relay)\n' >relay.py
chmod +x relay.py
stage() { # as in faults.sh, but env is no test stage
	stage_name=$1
	shift
	sh -c 'echo $$ >"$0.pid"; case $1 in env) exec "$@" ;; esac; exec env --default-signal=INT teststage "$@"' "$stage_name" "$@" 2>>"errors.$stage_name"
	stage_status=$?
	echo $stage_status >"$stage_name.status"
	return $stage_status
}

check 'slots: taken, given back, used up, sealed, of no use to liars' timeout 60 /usr/bin/python3 "$BRAGG_TESTS/python/slots.py"

# net EDGE FRAMES SINK_MS [OPTION...]: a maker, two relays in Python, one sink that reads where the pixels are
net() {
	fresh
	edge=$1 frames=$2 pause=$3
	shift 3
	stage first first --pixels="$edge" --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames="$frames" $limits "$@" &
	keep make make --in="ipc://$d/s" --out="@ipc://$d/1" &
	for i in 1 2; do keep relay$i env ./relay.py --in="ipc://$d/1" --out="ipc://$d/x" --quiet & done
	keep sink file out --in="@ipc://$d/x" --sleep="$pause" --verbose &
	flowing
}

# expected EDGE FRAMES: the digest of the same without Python, in messages
expected() {
	fresh
	teststage first --pixels="$1" | teststage source --frames="$2" | teststage make --transport=inline |
		teststage relay --transport=inline | teststage file out
	digest out
}

mapped() { # by who reads
	[ "$(grep -c memfd:bragg "/proc/$(cat sink.pid)/maps")" = "$pools" ]
}

for edge in 100 200 600; do # too small for it, small, and large, where as many slots as frames under way must do
	expected=$(expected $edge 200)
	net $edge 200 5 --window=3
	pools=$((edge > 127 ? 2 : 0)) # of both relays, once the second one is up, too
	check "$edge pixels: the reader maps the shared memory" soon mapped
	settle
	is "$edge pixels: the same files" "$(statuses source relay1 relay2 sink) $(digest out)" "0 0 0 0 $expected"
	is "$edge pixels: nothing is said" "$(grep -hv 'photons a frame$' errors.*)" ''
done

expected=$(expected 200 300)
net 200 300 2
hits=$(kill_all "${BRAGG_SEED:-1}" 8 0.1 0.5 make relay1 relay2)
settle
is 'killed anywhere: the same files' "$(statuses source sink) $(digest out)" "0 0 $expected"
check "killed anywhere: often ($hits)" test "$hits" -ge 4

net 200 300 2
frozen=$(cat relay2.pid)
kill -STOP "$frozen"
sleep 4.5
kill -CONT "$frozen"
settle
is 'a long freeze: the same files' "$(statuses source sink) $(digest out)" "0 0 $expected"

# who reads is frozen, and counts as dead: its slots are used again, and it must not take others' pixels for its own
net 200 300 20
frozen=$(cat sink.pid)
kill -STOP "$frozen"
sleep 4.5
kill -CONT "$frozen"
settle
find out -name '*.part' -delete
is 'a frozen sink: the same files' "$(cat source.status) $(digest out)" "0 $expected"

# who takes frames from a relay dies: what that had sent there, and has its credit not back, is issued again
grep -v sleep relay.py >quick.py
chmod +x quick.py
fresh
stage first first --pixels=64 --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=40 $limits &
stage make make --in="ipc://$d/s" --out="@ipc://$d/1" &
stage relay1 env ./quick.py --in="ipc://$d/1" --out="@ipc://$d/y" --quiet &
for i in 1 2; do stage work$i relay --in="ipc://$d/y" --out="ipc://$d/x" --sleep=100 & done
stage sink file out --in="@ipc://$d/x" &
flowing
kill -9 "$(cat work1.pid)"
soon test -e source.status || kill "$(cat source.pid)"
settle
is 'the receiver of its frames is killed: the run continues' "$(statuses source relay1 work2 sink) $(find out -type f | wc -l)" '0 0 0 0 40'

# no memory, or another user's: images go into the messages
small=$(expected 200 40)
fresh
teststage first --pixels=200 | teststage source --frames=40 | teststage make | (ulimit -f 16; exec ./relay.py 2>errors.relay) |
	teststage file out
is 'no shared memory to be had: the same files' "$(digest out)$(cat errors.relay)" "$small"
fresh
teststage first --pixels=200 | teststage source --frames=40 | teststage make | ./relay.py | teststage file out --transport=inline
is 'a reader that refuses: the same files' "$(digest out)" "$small"

# the memory has no name: it goes with the last process that maps it
echo "$tap_scratch/" >mine
is 'nothing is left' "$(find run -mindepth 1; grep -laF -f mine /proc/[0-9]*/cmdline 2>/dev/null)" ''
finish
