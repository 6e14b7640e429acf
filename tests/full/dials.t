#!/bin/sh
# The independent check of the whole chain: Debian's DIALS imports a rotation series in NXmx, finds
# the cell without being told, refines, integrates, scales and merges.  Spots are where the true
# crystal has them on the detector that the file describes, what DIALS refines is what was said, and
# corrected intensities are the squares of the structure factors that went in, in all directions.
# tests/long/dials.t sets `quarter` and has the same with a quarter of a turn.  Here it is a fifth of that with
# the cell known, and what needs more of the reciprocal lattice is left out.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import python:bitshuffle.h5
factors=$BRAGG_TESTS/../common/io/structure_factors/lysozyme.f32

# In a quarter of a turn each axis of the crystal comes through the Ewald sphere: all three
# screws can be told.
bits=32
frames=40
[ -z "${quarter:-}" ] || frames=180
[ "${quarter:-}" ] || preload dials_import find_spots index refine integrate
crystal --fluence=1e28 --exposure=0.0625 | bragg-orient --frames=$frames --phi0=10 --osc=0.5 --phi-steps=10 --misset=10,5,3 --truth=truth.tsv |
	images rot.nxs

measure dials_truth.py rot.nxs
if [ -n "$(value polarization_fraction)" ]; then
	near 'the file contains the polarization' polarization_fraction $polarized_fraction 0.0005
else
	skip 'the file contains the polarization' 'NXmx says nothing of it'
	printf 'polarization_fraction %s\npolarization_normal 0,1,0\n' $polarized_fraction >figures
fi
check 'DIALS imports one sweep' quiet dials.import rot.nxs output.experiments=imported.expt \
	geometry.beam.polarization_fraction="$(value polarization_fraction)" geometry.beam.polarization_normal="$(value polarization_normal)"
is 'with the exposure' "$(tr -d ' \n' <imported.expt | grep -o '"exposure_time":\[[0-9.]*')" '"exposure_time":[0.0625'
if [ "${quarter:-}" ]; then
	check 'finds spots at both ends of it' find_spots spotfinder.scan_range=1,40 spotfinder.scan_range=141,180
	check 'DIALS indexes with the cell unknown' quiet dials.index imported.expt strong.refl
else
	check 'finds spots' find_spots
	check 'DIALS indexes with the cell known' quiet dials.index imported.expt strong.refl \
		unit_cell=59.062,68.451,30.517,90,90,90 space_group=P212121 indexing.method=real_space_grid_search
fi
check 'DIALS refines' quiet dials.refine indexed.expt indexed.refl scan_varying=False
check 'DIALS integrates' quiet dials.integrate refined.expt refined.refl nproc=2 profile.fitting=False
if [ "${quarter:-}" ]; then
	check 'DIALS finds the symmetry' quiet dials.symmetry integrated.expt integrated.refl
	check 'scales' quiet dials.scale symmetrized.expt symmetrized.refl nproc=2
	check 'merges' quiet dials.merge scaled.expt scaled.refl
fi

# What the file says, with the true crystal, against the spots.
positions() {
	measure dials_positions.py "$1" indexed.refl refined.expt
}
positions imported.expt
near 'mean dx below 0.01 px' mean_dx 0 0.01
near 'mean dy below 0.01 px' mean_dy 0 0.01
near 'angle of the spots within 0.003 degrees' mean_dphi_deg 0 0.003
near 'no radial shift: the sensor is what the file says' radial_px 0 0.03
above 'over 98 % of the spots lie there' kept 0.98
above 'thousands of spots lie there' spots $((frames < 180 ? 2000 : 5000))
near 'orientation within 0.005 degrees' misorientation_deg 0 0.005
near 'about the spindle within 0.003 degrees' spindle_deg 0 0.003
near 'lengths within 0.02 %' strain 0 0.0002

measure dials_models.py imported.expt
near 'the file says the distance' distance_mm $distance_mm 1e-6
near 'the file says where the beam is, along fast' beam_fast_px $beam_fast_px 1e-4
near 'the file says where the beam is, along slow' beam_slow_px $beam_slow_px 1e-4
measure dials_models.py refined.expt refined.refl
near 'refined distance within 0.01 mm' distance_mm $distance_mm 0.01
near 'refined beam within 0.02 px, along fast' beam_fast_px $beam_fast_px 0.02
near 'refined beam within 0.02 px, along slow' beam_slow_px $beam_slow_px 0.02
above 'over 95 % of the spots indexed' indexed 0.95
near 'RMSD below 0.05 px along fast' rmsd_x_px 0 0.05
near 'along slow' rmsd_y_px 0 0.05
near 'RMSD below 0.05 degrees in phi' rmsd_phi_deg 0 0.05
if [ "${quarter:-}" ]; then
	measure dials_models.py scaled.expt
	is 'space group' "$(value space_group)" 'P 21 21 21'
fi

intensities() {
	measure dials_intensities.py "$1" integrated.refl "$factors"
}
if [ "${quarter:-}" ]; then
	measure dials_intensities.py scaled.expt scaled.refl "$factors" merged.mtz
	above 'thousands of whole reflections' whole 10000
	above 'thousands of merged reflections' merged 5000
	above 'CC(merged, F^2) > 0.999' merged_cc 0.999
else
	intensities integrated.expt
	above 'thousands of whole reflections' whole 2000
fi
above 'CC(I, F^2) > 0.999' cc 0.999
near 'I lp/F^2 is flat in azimuth within 1 %' azimuth 0 0.01
near 'I lp/F^2 is flat in 2 theta within 2 %' two_theta 0 0.02
above 'lp matters' raw_azimuth 0.1

# The same checks fail for files that tell something else.
mutant() {
	python mutated mutated "$BRAGG_TESTS/full/dials_mutant.py" "$1" mutant.expt "$2"
	note "$2:"
}
mutant imported.expt half-pixel
positions mutant.expt
beyond 'a detector half a pixel off is seen' mean_dx 0 0.4
mutant imported.expt phi-start
positions mutant.expt
beyond 'phi of the front of a step is seen' mean_dphi_deg 0 0.02
mutant imported.expt spindle
positions mutant.expt
near 'a spindle that turns the other way is seen' kept 0 0.9
[ "${quarter:-}" ] && seen=0.02 || seen=0.01
for fault in unpolarized crossed kahn; do
	mutant integrated.expt $fault
	intensities mutant.expt
	beyond "a beam that is $fault is seen" azimuth 0 $seen
done

# the refined detector, beam, axis and crystal in place of what they were refined from; every
# reflection as strong as the others, as DIALS may name the axes of the cell in another order
same='--ncells=10 --default-F=100 --oversample=2'
# shellcheck disable=SC2086 # the options are meant to split
scene --cell=59.062,68.451,30.517,90,90,90 $same |
	bragg-orient --only=7 --phi0=10 --osc=0.5 --phi-steps=10 --misset=10,5,3 | bragg-intensity | bragg-write 'said_%d.raw' 2>>write.log
# shellcheck disable=SC2086
bragg-geometry --expt=refined.expt --matrix=refined.expt $same |
	bragg-orient --only=7 --scan=refined.expt --phi-steps=10 | bragg-intensity | bragg-write 'refined_%d.raw' 2>>write.log
correlation=$(bragg-compare said_7.raw refined_7.raw | sed -n 's/^correlation *//p')
note "correlation $correlation"
check 'spots of the model refined by DIALS are those of the image' awk -v x="$correlation" 'BEGIN {exit !(x > 0.99)}'
unload
finish
