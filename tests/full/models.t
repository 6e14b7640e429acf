#!/bin/sh
# A model gives the image of its atoms in P 1 in every Laue class, with anomalous scattering, and two states in some of them.
# tests/long/models.t has two states in every one.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/models.sh"
scratch
needs 'gemmi' gemmi
export XDG_CACHE_HOME="$tap_scratch/cache"

laue_classes >classes
while read -r a b c alpha beta gamma space_group; do
	atoms "$space_group" "$a" "$b" "$c" "$alpha" "$beta" "$gamma"
	same_image
	same_image --anomalous
	case $space_group in P\ 1 | I\ 4\ 2\ 2 | R\ 3\ 2\ :R | P\ 21\ 3) same_image --light ;; esac
done <classes
finish
