#!/bin/sh
# A model of two states gives the image of its atoms in P 1 in every Laue class.  tests/full/models.t has one state.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/models.sh"
scratch
needs 'gemmi' gemmi
export XDG_CACHE_HOME="$tap_scratch/cache"

laue_classes >classes
while read -r a b c alpha beta gamma space_group; do
	atoms "$space_group" "$a" "$b" "$c" "$alpha" "$beta" "$gamma"
	same_image --light
done <classes
finish
