#!/bin/sh
# The independent check of the whole chain: Debian's DIALS imports a rotation
# series, finds the cell without being told, refines, integrates, and its
# intensities are the squares of the structure factors that went in.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import
sweep 40 img
finish
