#!/bin/sh
# Dependencies run one way, and what is referred to is there.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
check 'layers are kept' "$BRAGG_TESTS/../scripts/check-layers"
check 'sections that comments and pages cite are there' "$BRAGG_TESTS/../scripts/check-citations"
finish
