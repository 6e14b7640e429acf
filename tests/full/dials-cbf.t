#!/bin/sh
# dials.t with mini-CBF.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch

if ! command -v dials.import >/dev/null; then
	skip 'DIALS' 'dials is not installed'
	finish
	exit
fi
series 0 'rot_%04d.cbf'
is 'twenty frames are written' "$(ls rot_*.cbf | wc -l)" 20
process rot_*.cbf
finish
