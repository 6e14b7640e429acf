#!/bin/sh
# The independent check of the whole chain: Debian's DIALS imports a rotation
# series, finds the cell without being told, refines, integrates, and its
# intensities are the squares of the structure factors that went in.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch

if ! command -v dials.import >/dev/null; then
	skip 'DIALS' 'dials is not installed'
	finish
	exit
fi
series 40 'rot_%04d.img'
is 'twenty frames are written' "$(ls rot_*.img | wc -l)" 20
process rot_*.img
finish
