#!/bin/sh
# A stream whose sockets get 100,000 inputs of somebody who speaks ZMTP badly, or no language of
# ours (tests/programs/rawpeer.c): it neither ends nor hangs nor grows by more than 8 MiB, and
# serves good stages afterwards.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
inputs=${BRAGG_FUZZ_OTHERS:-100000} seed=${BRAGG_SEED:-1}
first_options=--pixels=100

# attack INPUTS
attack() {
	rawpeer "$seed" "$1" "$at:$control" "$at:$source" "$at:$work" "ipc://$d/s" "ipc://$d/x"
	seed=$((seed + 1))
}

# resident: KiB of each stage
resident() {
	for name in source make1 work sink; do
		sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$(cat $name.pid)/status"
	done | tr '\n' ' '
}

# grown: by how much the one that grew most did
grown() {
	echo "$before$after" | awk '{for (i = 1; i <= 4; i++) if ($(4 + i) - $i > most) most = $(4 + i) - $i; print most + 0}'
}

expected=$(plain 200)
fresh
set -- $(free_ports 3)
at=tcp://127.0.0.1 source=$1 control=$2 work=$3
stage first first $first_options --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@$at:$source" --out="@ipc://$d/s" --control="$at:$control" \
	--frames=200 --rejoin-timeout=60 --hang=10000 --verbose $guard &
# so slow that the stream is still under way when the attack is over
stage make1 make --in="$at:$source" --out="$at:$work" --sleep=1000000 --verbose $guard &
stage work work --in="@$at:$work" --out="ipc://$d/x" --verbose $guard &
stage sink sink out --in="@ipc://$d/x" $guard &
soon test -S run/x

# what is allocated once comes with the first inputs
check 'the stream stands the first inputs' attack $((inputs / 5))
before=$(resident)
check "the stream stands $inputs inputs" attack $((inputs - inputs / 5))
note "$tap_output"
after=$(resident)
check "memory does not grow ($(grown) KiB)" test "$(grown)" -le 8192

stage make2 make --in="$at:$source" --out="$at:$work" --verbose $guard &
soon test -s make2.pid
kill -9 "$(cat make1.pid)"
settle
is 'good stages are served: all end well' "$(statuses first source make2 work sink)" '0 0 0 0 0'
is 'good stages are served: the files are the same' "$(digest out)" "$expected"
note "$(grep -h 'dropped [0-9]* messages' errors.* | tr '\n' ' ')"
finish
