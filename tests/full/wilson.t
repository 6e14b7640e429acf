#!/bin/sh
# cctbx finds in the structure factors of --wilson the B, the scale, the distributions and the symmetry
# that were asked for.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs 'DIALS' dials.import python:msgpack python:cctbx

# statistics SYSTEM CELL SPACE-GROUP B DMIN
statistics() {
	rm -f run.rec
	bragg-geometry --quiet --detpixels=8 --cell="$2" --spacegroup="$3" --wilson="$4" --dmin="$5" | bragg-orient --quiet | bragg-tap --quiet --record=run.rec
	check "$1: cctbx reads the list" figures "$2" "$3" "$5"
	near "$1: no systematic absence has an F" absent 0 0.5
	near "$1: equivalents and Friedel mates are alike" spread_of_equivalents 0 1e-12
	near "$1: the asymmetric unit is complete" missing 0 0.5
	near "$1: and so are its equivalents" missing_equivalents 0 0.5
	near "$1: the B of a Wilson plot" B "$4" 1
	near "$1: the scale of a Wilson plot" scale 1 0.06
}
figures() {
	/usr/bin/python3 "$BRAGG_TESTS/full/wilson.py" run.rec "$@" >figures
}
statistics tetragonal 79,79,38,90,90,90 P43212 20 2
near 'acentric intensities: <I^2>/<I>^2' acentric_moment 2 0.15
near 'centric intensities: <I^2>/<I>^2' centric_moment 3 0.4
statistics 'centred monoclinic' 80,60,50,90,105,90 C2 35 2
near 'centred: acentric intensities' acentric_moment 2 0.15
statistics trigonal 80,80,100,90,90,120 'R 3 2 :H' 15 2
statistics triclinic 30,40,50,80,95,100 'P 1' 12 1.5
near 'triclinic: all are acentric' acentric_moment 2 0.15
statistics centrosymmetric 40,45,50,90,100,90 'P 1 21/c 1' 10 1.5
near 'a centre of symmetry: all are centric' centric_moment 3 0.2
near 'a glide plane: its reflections are twice as strong' special_mean 1 0.2
statistics cubic 100,100,100,90,90,90 'I 2 3' 25 2.2
finish
