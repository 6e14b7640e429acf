#!/bin/sh
# Dependencies run one way.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
check 'layers are kept' "$BRAGG_TESTS/../scripts/check-layers"
finish
