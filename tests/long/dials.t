#!/bin/sh
# full/dials.t with a quarter of a turn and the cell unknown: symmetry, scaling and merging as well, and tens of
# thousands of reflections.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
quarter=1
. "$BRAGG_TESTS/full/dials.t"
