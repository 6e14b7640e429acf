#!/bin/sh
# The independent check of the whole chain: Debian's DIALS imports a rotation
# series, finds the cell without being told, refines, integrates, and its
# intensities are the squares of the structure factors that went in.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import
sweep 40 img

# the refined detector, beam, axis and crystal in place of what they were refined from; every
# reflection as strong as the others, as DIALS may name the axes of the cell in another order
same='--ncells=15 --default-F=100 --oversample=3 --polarization=0'
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry --detpixels=1024 --pixel=0.172 --distance=150 --cell=59.062,68.451,30.517,90,90,90 $same |
	bragg-orient --only=7 --osc=0.5 --phi-steps=16 --misset=12.3,34.5,56.7 | bragg-intensity | bragg-write 'said_%d.raw'
# shellcheck disable=SC2086
bragg-geometry --expt=refined.expt --matrix=refined.expt $same |
	bragg-orient --only=7 --scan=refined.expt --phi-steps=16 | bragg-intensity | bragg-write 'refined_%d.raw'
correlation=$(bragg-compare said_7.raw refined_7.raw | sed -n 's/^correlation *//p')
note "correlation $correlation"
check 'what DIALS refined has its spots where they were' awk -v x="$correlation" 'BEGIN {exit !(x > 0.99)}'
finish
