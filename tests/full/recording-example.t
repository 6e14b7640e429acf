#!/bin/sh
# The reader in Python that bragg-recording(5) shows works as it stands there.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'the example of bragg-recording(5)' python:msgpack python:numpy
sed -n '/^\.Bd -literal/,/^\.Ed/p' "$BRAGG_TESTS/../common/wire/bragg-recording.5" | sed '/^\./d; s/\\&//g' >sums.py
teststage first | teststage source --frames=3 | teststage make | bragg-tap --record=x.rec
is 'the example of bragg-recording(5) reads a recording' "$(/usr/bin/python3 sums.py x.rec | sort | tr '\n' ' ')" \
	'0 2016.0 1 2080.0 2 2144.0 '
head -c -500 x.rec >torn.rec
is 'the example reads what is left of a recording' "$(/usr/bin/python3 sums.py torn.rec | wc -l)" 2
finish
