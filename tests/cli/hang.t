#!/bin/sh
# --hang: who uses the CPU on a frame is at work however long it takes; who sleeps stands still.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"

# long MAKE-OPTION...: frame 0 takes the maker 5 s, of which 1.5 s are allowed without progress
long() {
	fresh
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=10 --hang=1.5 --rejoin-timeout=0.5 &
	stage make make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=5000 --slow-every=100 "$@" &
	stage sink sink out --in="@ipc://$d/w" &
	settle
}

long --spin
is 'a process at work on a frame for longer than --hang is left alone' "$(statuses source make sink) $(find out -type f | wc -l) $(cat errors.*)" '0 0 0 10 '
long
is 'asleep for longer than --hang' "$(statuses source make sink) $(grep -c 'test-make .* hangs' errors.source)" '1 1 1 1'

# Who is heard less often than that stands still only when it says so.
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=300 --hang=0.5 --rejoin-timeout=0.5 &
stage make make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=6 &
stage sink sink out --in="@ipc://$d/w" &
settle
is 'a short --hang, and frames that flow' "$(statuses source make sink) $(find out -type f | wc -l) $(cat errors.*)" '0 0 0 300 '
finish
