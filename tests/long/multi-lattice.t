#!/bin/sh
# Two lattices in one sweep: Debian's DIALS, told only that there are two, indexes both,
# and their setting matrices are those of the table of bragg-orient.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import python:bitshuffle.h5

# 20 frames of half a degree, in each of them the same two orientations
for _ in $(seq 20); do
	echo 0.8 0.4 -0.4 0.2
	echo 0.5 -0.5 0.7 0.1
done >orientations
bits=32
crystal --fluence=1e28 |
	bragg-orient --osc=0.5 --phi-steps=10 --lattices=2 --shares=1,0.6 --orientations=orientations --truth=truth.tsv | images rot.nxs
check 'DIALS imports one sweep' quiet dials.import rot.nxs output.experiments=imported.expt
check 'finds spots' find_spots
check 'DIALS indexes two lattices' quiet dials.index imported.expt strong.refl max_lattices=2 refinement_protocol.n_macro_cycles=3
measure dials_lattices.py
is 'DIALS finds both lattices' "$(grep -c '^lattice' figures)" 2
check 'cell edges are right within 0.1 %' awk '/^lattice/ { n++; if (!($3 < 0.001)) bad = 1 } END { exit bad || n != 2 }' figures
check 'orientations are right within 0.02 degrees' awk '/^lattice/ { n++; if (!($4 < 0.02)) bad = 1 } END { exit bad || n != 2 }' figures
above 'over 90 % of the spots belong to them' indexed 0.9
finish
