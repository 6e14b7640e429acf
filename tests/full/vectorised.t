#!/bin/sh
# The hot loops of the CPU engine are vectorised.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
check 'hot loops are vectorised' "$BRAGG_TESTS/../scripts/check-vectorised"
finish
