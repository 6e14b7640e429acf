#!/bin/sh
# Rules of the stream that only show when somebody in the middle breaks them
# (tests/programs/relay.c), and what is told to who comes late.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
limits=--dead-after=2

# meddled HOW: a stream with a relay between maker and sink
meddled() {
	fresh
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=60 --verbose $limits &
	stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --sleep=2 &
	relay "$1" 23 "ipc://$d/w" "ipc://$d/x" &
	helper=$!
	stage sink sink out --in="ipc://$d/x" --verbose &
	settle_relay
}
fresh
teststage first | teststage source --frames=60 | teststage make | teststage sink out
expected=$(digest out)

{ teststage first --misplaced 2>errors.first; echo $? >first.status; } | { teststage source 2>errors.source; echo $? >source.status; } |
	teststage make 2>errors.make | teststage sink out 2>errors.sink || true
is 'the process that makes an experiment that does not fit names its fault' "$(cat first.status errors.first)" \
	"$(printf '3\n%s' 'test-first: the experiment is corrupt: panel 0 has an impossible size or place')"
check 'the neighbour of the faulty process ends without naming a fault of its own' sh -c '! grep corrupt errors.source errors.make errors.sink && [ "$(cat source.status)" != 0 ]'

for how in swallow lose; do
	meddled $how
	is "a frame that nobody has ($how): the relay lost the frame" "$relay_status" 0
	is "a frame that nobody has ($how): all end well" "$(statuses first source make sink)" '0 0 0 0'
	is "a frame that nobody has ($how) is issued again" "$(digest out)" "$expected"
	is "a frame that nobody has ($how): no death" "$(grep -h warning errors.*)" ''
done

meddled twice
is 'a frame that comes twice: all end well' "$(statuses first source make sink)" '0 0 0 0'
is 'a frame that comes twice: the same files' "$(digest out)" "$expected"
is 'a frame that comes twice is counted' "$(grep -v 'photons a frame$' errors.sink)" 'test-sink: dropped 1 frames that came twice'

meddled stale
is 'frames of other runs: all end well' "$(statuses first source make sink)" '0 0 0 0'
is 'frames of other runs: the same files' "$(digest out)" "$expected"
is 'frames of other runs are counted' "$(grep -v 'photons a frame$' errors.sink)" \
	'test-sink: dropped 2 messages that were corrupt or for another run'

meddled other
is 'a frame that comes with other bytes: all end with 1' "$(statuses source make sink)" '1 1 1'
is 'a frame that comes with other bytes is named' "$(cat errors.* | grep -v -e 'shows the progress of this run' -e 'photons a frame$')" \
	'test-sink: frame 23 came twice, the second time (from test-make) with other bytes. The stages before this one are not deterministic'

# Late: while the last frame is with the sink, and while the source waits for a bye at the end
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=1 &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" &
stage sink sink out --in="ipc://$d/w" --sleep=1500 &
while [ ! -e out/000000 ]; do sleep 0.05; done
stage late make --in="ipc://$d/s" --out="@ipc://$d/y" &
stage later sink out --in="ipc://$d/w" &
wait
is 'a process that joins when all frames are in flight ends with status 0' "$(statuses source make sink late later)" '0 0 0 0 0'
is 'a process that joins when all frames are in flight prints nothing' "$(cat errors.*)" ''

fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=1 &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --sleep=300 &
stage tap tap . --in="ipc://$d/w" &
stage sink sink out --in="ipc://$d/w" --sleep=1500 &
while [ ! -e out/000000 ]; do sleep 0.05; done
kill -STOP "$(cat tap.pid)"
while [ ! -e sink.status ]; do sleep 0.02; done
stage late make --in="ipc://$d/s" --out="@ipc://$d/y" &
while [ ! -e source.status ]; do sleep 0.1; done
kill -CONT "$(cat tap.pid)"
wait
is 'a process that joins after the end gets a message' "$(statuses source make sink late)" '0 0 0 0'
is 'a process that joins after the end prints nothing' "$(cat errors.late)" ''
finish
