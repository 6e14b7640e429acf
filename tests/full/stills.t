#!/bin/sh
# Stills of NXmx through dials.stills_process, with the cell known: each is indexed, turned as
# bragg-orient says, and integrated, and its spots are where they belong.  The indexer for sequences
# is Debian's only one that works for stills (the other needs a module that Debian leaves out).
# It refines four candidates of a still instead of 50: the best of them are the same.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs stills dials.stills_process python:bitshuffle.h5
crystal --fluence=1e27 | bragg-orient --frames=4 --random --seed=5 --truth=truth.tsv |
	images still.nxs
check 'DIALS imports them' quiet dials.import still.nxs output.experiments=imported.expt
check 'DIALS imports the images as stills' grep -q 'num stills: 4' dials.import.log
check 'dials.stills_process takes them' quiet dials.stills_process still.nxs output.composite_output=False \
	indexing.stills.indexer=sequences indexing.known_symmetry.unit_cell=59.062,68.451,30.517,90,90,90 \
	indexing.known_symmetry.space_group=P212121 spotfinder.filter.min_spot_size=3 spotfinder.filter.max_spot_size=1000 \
	indexing.basis_vector_combinations.max_refine=4 profile.gaussian_rs.parameters.sigma_b_cutoff=0.5 geometry.beam.polarization_fraction=$polarized_fraction
measure dials_stills.py
is 'all four are indexed and integrated' "$(value stills)" 4
near 'orientation within 0.1 degrees' misorientation_deg 0 0.1
near 'about the beam within 0.005 degrees' about_beam_deg 0 0.005
above 'hundreds of spots' indexed 500
near 'mean dx below 0.02 px' mean_dx 0 0.02
near 'mean dy below 0.02 px' mean_dy 0 0.02
above 'hundreds of reflections integrated' integrated 200
finish
