#!/bin/sh
# Models of atoms by gemmi itself: every kind of file and of symmetry gives the structure factors of its atoms.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/models.sh"
scratch
needs 'gemmi' gemmi
export XDG_CACHE_HOME="$tap_scratch/cache"

# --- an image is that of all atoms of the cell, listed in P 1
alike 'P 31 2 1' 40 40 60 90 90 120
alike 'R 3 :H' 60 60 50 90 90 120 --anomalous
alike 'P 1 21 1' 40 45 50 90 97 90 --light
finish
