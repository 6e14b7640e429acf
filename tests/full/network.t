#!/bin/sh
# Connections through a network that cuts, delays, truncates and damages what passes
# (tests/programs/proxy.c): the run goes on, and its output is the same.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"

seed=${BRAGG_SEED:-1}
BRAGG_TESTS=${BRAGG_TESTS:-$(dirname "$0")/..}
limits='--dead-after=5 --rejoin-timeout=20' # three deaths at a frame would be an error
first_options=--pixels=100

expected=$(plain 600)
bragg-run --make-keys=keys
for kind in c t d f ctdf keys; do
	guard=--insecure
	case $kind in
	keys) what='a network that does all of it, with keys' kind=ctdf guard=--keys=$tap_scratch/keys ;;
	c) what='a network that cuts' ;;
	t) what='a network that truncates' ;;
	d) what='a network that delays' ;;
	f) what='a network that flips bits' ;;
	*) what='a network that does all of it' ;;
	esac
	fresh
	network 600 "$seed" $kind 100
	settle
	is "$what: all end well" "$(statuses first source make1 make2 work sink)" '0 0 0 0 0 0'
	is "$what: the files are the same" "$(digest out)" "$expected"
	note "$(tr '\n' ' ' <harm)"
	check "$what: the fault occurs often" awk '{sum += $2} END {exit !(sum >= 3)}' harm
	is "$what: no death" "$(grep -h -e 'going on' -e 'waiting' -e 'died' errors.*)" ''
	[ $kind != f ] || check "$what: counted" grep -q 'dropped [1-9][0-9]* messages that were corrupt' errors.*
done

# who is no stage
fresh
guard=--insecure
set -- $(free_ports 3)
stage first first $first_options --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@$at:$1" --control="$at:$2" --frames=600 --verbose $guard $limits &
stage make1 make --in="$at:$1" --out="@$at:$3" --sleep=4 --verbose $guard &
stage work work --in="$at:$3" --out="@ipc://$d/x" $guard &
stage sink sink out --in="ipc://$d/x" $guard &
flowing
check 'strangers: a stream stands what they say' rawpeer "$seed" 4000 "$at:$2" "$at:$1" "$at:$3"
settle
is 'strangers: all end well' "$(statuses first source make1 work sink)" '0 0 0 0 0'
is 'strangers: the same files' "$(digest out)" "$expected"
is 'strangers: no death' "$(grep -h -e 'going on' -e 'waiting' -e 'died' errors.*)" ''
note "$(grep -h dropped errors.*)"
finish
