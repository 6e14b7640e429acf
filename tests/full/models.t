#!/bin/sh
# A model gives the image of its atoms in P 1 in every Laue class, with anomalous scattering and two states too.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/models.sh"
scratch
needs 'gemmi' gemmi
export XDG_CACHE_HOME="$tap_scratch/cache"

for option in '' --anomalous --light; do
	alike 'P 1' 30 34 38 80 97 105 $option
	alike 'C 1 2 1' 60 40 45 90 108 90 $option
	alike 'P 21 21 21' 35 40 45 90 90 90 $option
	alike 'P 41' 45 45 50 90 90 90 $option
	alike 'I 4 2 2' 60 60 70 90 90 90 $option
	alike 'P 32' 40 40 60 90 90 120 $option
	alike 'R 3 :H' 60 60 50 90 90 120 $option
	alike 'R 3 :R' 45 45 45 80 80 80 $option
	alike 'P 32 1 2' 40 40 60 90 90 120 $option
	alike 'P 31 2 1' 40 40 60 90 90 120 $option
	alike 'R 3 2 :H' 60 60 60 90 90 120 $option
	alike 'R 3 2 :R' 50 50 50 110 110 110 $option
	alike 'P 61' 45 45 70 90 90 120 $option
	alike 'P 63 2 2' 50 50 70 90 90 120 $option
	alike 'P 21 3' 60 60 60 90 90 90 $option
	alike 'F 4 3 2' 110 110 110 90 90 90 $option
done
finish
