#!/bin/sh
# Stills through DIALS, find_spots and index, then bragg-refine from what it indexed: errors are what
# the error bars say, a tenth of what DIALS left and less, and DIALS's own predictions with the refined
# crystals lie nearer to its spots, as near as with the true ones.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
. "$BRAGG_TESTS/refine.sh"
scratch
needs 'stills that DIALS has found' dials.index python:bitshuffle.h5
crystal --fluence=1e27 | bragg-orient --frames=4 --random --seed=5 --truth=truth.tsv | bragg-tap --record=true.rec
bragg-replay true.rec | bragg-intensity | bragg-background --water=0.002 | bragg-noise --seed=3 --adc-offset=0 | bragg-write still.nxs 2>write.log
check 'DIALS imports them' quiet dials.import still.nxs output.experiments=imported.expt geometry.beam.polarization_fraction=$polarized_fraction
check 'DIALS finds spots' find_spots
check 'DIALS indexes the spots' quiet dials.index imported.expt strong.refl indexing.stills.indexer=sequences joint_indexing=False \
	indexing.known_symmetry.unit_cell=59.062,68.451,30.517,90,90,90 indexing.known_symmetry.space_group=P212121 \
	indexing.method=fft1d indexing.basis_vector_combinations.max_refine=4 indexing.refinement_protocol.n_macro_cycles=2 \
	detector.fix=all beam.fix=all

# from one still of the crystal that lies anywhere
crystal --fluence=8e26 | bragg-orient --quiet --random --seed=77 | bragg-tap --record=model.rec
check 'bragg-refine starts from what DIALS indexed' sh -c 'bragg-replay --quiet still.nxs |
	bragg-refine --quiet --start=model.rec --indexed=indexed.expt --parameters=rot,cell,scale,background --table=refined.tsv \
		--covariance=refined.cov --expt=refined.expt >said'
note "$(cat said)"
cp truth.tsv refined.truth
refined judged refined rot_x_deg=0 rot_y_deg=0 rot_z_deg=0 cell_a_A=59.062 cell_b_A=68.451 cell_c_A=30.517 scale=1.25 >figures
note "$(cat figures)"
is 'bragg-refine refines all stills' "$(figure frames)" 4
# 12 errors of each kind: rms within 1.5 of the bound, and e' F e as ever
check 'errors are as large as error bars say' awk -v most="$(figure rms | awk '{ for (i = 1; i <= NF; i++) sum += $i ^ 2; print sqrt(sum / NF) }')" \
	-v sds="$(figure sds)" 'BEGIN { print most, sds; exit !(most > 0.5 && most < 1.5 && sds > -4 && sds < 4) }'
check 'dials.show reads the refined list' quiet dials.show refined.expt
is 'the refined list has four crystals' "$(grep -c '^Crystal:' dials.show.log)" 4
measure refine_dials.py
is 'all four models are of the same stills' "$(value stills)" 4
above 'hundreds of spots' spots 800
above 'DIALS was off by' dials_deg 0.003
near 'two thousandths of a degree are left at most' refined_deg 0 0.002
check 'orientations have a tenth of the error that DIALS left' awk -v was="$(value dials_deg)" -v is="$(value refined_deg)" 'BEGIN { exit !(is < 0.1 * was) }'
check 'predictions are nearer to the spots than those of DIALS' awk -v was="$(value dials_px)" -v is="$(value refined_px)" 'BEGIN { exit !(is > 0 && is < 0.95 * was) }'
check 'predictions are as near to the spots as those of the true crystals' awk -v true="$(value true_px)" -v is="$(value refined_px)" 'BEGIN { exit !(is < 1.001 * true) }'
finish
