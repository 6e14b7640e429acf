#!/bin/sh
# dials.t with mini-CBF.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import
sweep 0 cbf
finish
