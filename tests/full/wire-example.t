#!/bin/sh
# The stage in Python that bragg-wire(5) shows works as it stands there.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'the example of bragg-wire(5)' python:zmq python:msgpack python:numpy
sed -n '/^\.Bd -literal$/,/^\.Ed/p' "$BRAGG_TESTS/../common/wire/bragg-wire.5" | sed '/^\./d' >mean.py
{
	teststage first | teststage source --frames=5 | teststage make | /usr/bin/python3 mean.py
	echo "status $?"
} >got
is 'the example of bragg-wire(5) is a sink' "$(cat got)" '0 31.5
1 32.5
2 33.5
3 34.5
4 35.5
status 0'
teststage first | teststage source --frames=5 | teststage make --fail-at=2 2>/dev/null | /usr/bin/python3 mean.py >/dev/null
is 'the example of bragg-wire(5) ends when another stage fails' "$?" 1
finish
