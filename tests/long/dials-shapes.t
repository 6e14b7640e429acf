#!/bin/sh
# Crystals of every shape through DIALS: spots lie where they belong, and their sums are the squares of
# the structure factors on one scale, less what the tails of SQUARE and ROUND leave outside.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import python:bitshuffle.h5
factors=$BRAGG_TESTS/../common/io/structure_factors/lysozyme.f32
bits=32

# shape NAME: eight degrees, indexed with the cell known
shape() {
	mkdir "$1" && cd "$1" || return
	scene --ncells=12,10,24 --oversample=2 --fluence=1e28 --shape="$1" |
		bragg-orient --frames=16 --phi0=10 --osc=0.5 --phi-steps=10 --misset=10,5,3 --truth=truth.tsv | images rot.nxs
	check "$1: DIALS imports" quiet dials.import rot.nxs output.experiments=imported.expt \
		geometry.beam.polarization_fraction=$polarized_fraction
	check "$1: finds spots" find_spots
	check "$1: DIALS indexes" quiet dials.index imported.expt strong.refl \
		unit_cell=59.062,68.451,30.517,90,90,90 space_group=P212121 indexing.method=real_space_grid_search detector.fix=all
	check "$1: DIALS integrates" quiet dials.integrate indexed.expt indexed.refl nproc=2 profile.fitting=False \
		profile.gaussian_rs.parameters.sigma_m=0.25 profile.gaussian_rs.parameters.sigma_b=0.12
	measure dials_positions.py imported.expt indexed.refl indexed.expt
	near "$1: mean dx below 0.02 px" mean_dx 0 0.02
	near "$1: mean dy below 0.02 px" mean_dy 0 0.02
	near "$1: phi within 0.003 degrees" mean_dphi_deg 0 0.003
	measure dials_intensities.py integrated.expt integrated.refl "$factors"
	above "$1: hundreds of whole reflections" whole 800
	above "$1: CC(I, F^2) > 0.99" cc 0.99
	near "$1: flat in azimuth within 2 %" azimuth 0 0.02
	[ "$1" = square ] && square=$(value scale)
	near "$1: within 8 % of the size of square ones" scale "$square" "$(awk -v x="$square" 'BEGIN {print 0.08 * x}')"
	cd ..
}
for name in square round gauss tophat; do
	shape $name
done
finish
