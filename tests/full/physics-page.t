#!/bin/sh
# The formulas of braggpipe-physics(7), written once more from the page alone, give the same photons
# as the reference engine: conventions, tilts, cells, shapes, sensor, polarization, rotation, halos.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'the formulas' python:numpy
scratch
fixed='detpixels=40 pixel=2 fluence=1e27 cell=70,80,90,75,85,95 default-F=100 misset=10,20,30 beam-center=33,46'
# formulas NAME [KEY=VALUE...]: options of bragg-orient are told from those of bragg-geometry
formulas() {
	name=$1
	shift
	geometry= orient=
	for word in $fixed "$@"; do
		case $word in
		misset=* | osc=* | phi-steps=* | phi0=*) orient="$orient --$word" ;;
		*) geometry="$geometry --$word" ;;
		esac
	done
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry --quiet --oversample-each-polarization --oversample-each-solid-angle --oversample-each-thickness $geometry |
		bragg-orient --quiet $orient | bragg-intensity --quiet --engine=reference | bragg-write --quiet --overwrite image.raw
	# shellcheck disable=SC2086
	check "$name" /usr/bin/python3 "$BRAGG_TESTS/full/physics_page.py" image.raw $fixed "$@"
	note "$tap_output"
}
for convention in mosflm denzo adxv xds dials; do
	formulas "convention $convention, tilted" convention=$convention rotate=3,5,7 twotheta=10 ncells=3 oversample=1
done
for shape in square round gauss tophat; do
	formulas "shape $shape" shape=$shape ncells=4 fudge=1.3 oversample=2
done
formulas 'a sensor in layers' thickness=450 absorption=250 layers=3 ncells=3 oversample=1
formulas 'polarized the other way' polarization=-0.5 ncells=3 oversample=1
formulas 'a rotation of three steps' osc=2 phi-steps=3 phi0=7 ncells=3 oversample=1
formulas 'a spectrum' dispersion=4 dispersion-steps=5 wavelength=1.3 ncells=3 oversample=1
fixed='detpixels=10 pixel=4 distance=200 fluence=1e27 cell=70,80,90,75,85,95 default-F=100 misset=10,20,30 beam-center=13,16'
formulas 'diffuse halos' diffuse-sigma=0.7,0.4,0.5 diffuse-gamma=40,60,50 ncells=3 oversample=1
finish
