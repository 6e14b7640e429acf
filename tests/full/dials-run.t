#!/bin/sh
# One table of reflections for a rotation: DIALS shows, merges and scales it, and finds the structure factors.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.merge dials.scale dials.reindex
preload dials_import report merge scale reindex
crystal --fluence=3e26 | bragg-orient --frames=60 --phi0=10 --osc=0.5 --phi-steps=10 --misset=10,5,3 |
	bragg-intensity --reflections=1 | bragg-noise --seed=3 --adc-offset=0 |
	bragg-write --reflections=run.refl 'run_%04d.cbf' 2>write.log || complain "$(cat write.log)"
check 'dials.show shows it, with its images' \
	sh -c 'dials.show run.expt run.refl >shown && grep -q "number of images:   60" shown'
check 'dials.report reports it' quiet dials.report run.expt run.refl
check 'dials.image_viewer reads it' python viewed viewed "$BRAGG_TESTS/full/dials_viewer.py" run.expt run.refl
check 'corrections of the table are those that DIALS computes' /usr/bin/python3 -c '
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory
table = flex.reflection_table.from_file("run.refl")
experiments = ExperimentListFactory.from_json_file("run.expt", check_format=True)
table.assert_experiment_identifiers_are_consistent(experiments)
assert len(experiments) == 1 and experiments[0].imageset.size() == 60 and len(table) > 5000
assert experiments[0].imageset.get_raw_data(59)[0].all() == (672, 660)
lp, qe = table["lp"].deep_copy(), table["qe"].deep_copy()
table.compute_corrections(experiments)
assert flex.max(flex.abs(lp / table["lp"] - 1)) < 1e-9 and flex.max(flex.abs(qe / table["qe"] - 1)) < 1e-9
whole = table.select(table.get_flags(table.flags.integrated_sum))
whole.map_centroids_to_reciprocal_space(experiments)
import numpy as np
A = np.array(experiments[0].crystal.get_A()).reshape(3, 3)
away = np.array(whole["rlp"]) @ np.linalg.inv(A).T - np.array(whole["miller_index"])
print("# fractional indices", abs(away).mean(0))
assert (abs(np.median(away, axis=0)) < 0.02).all() and np.median(abs(away)) < 0.06
'
check 'dials.reindex sets the symmetry' quiet dials.reindex run.expt run.refl space_group=P212121
check 'dials.merge merges the table as it is' quiet dials.merge reindexed.expt reindexed.refl
check 'dials.scale scales it' quiet dials.scale reindexed.expt reindexed.refl
check 'dials.merge merges the scaled table' quiet dials.merge scaled.expt scaled.refl output.mtz=scaled.mtz
for name in merged scaled; do
	measure dials_run.py "$BRAGG_TESTS/../common/io/structure_factors/lysozyme.f32" $name.mtz
	above "$name: thousands of reflections" merged 3500
	above "$name: intensities are F^2" merged_cc 0.998
	check "$name: R below 0.02" awk -v r="$(value merged_r)" 'BEGIN { exit !(r != "" && r < 0.02) }'
done

# a rotation backwards: DIALS takes no negative width
mkdir back
crystal --fluence=3e26 | bragg-orient --frames=6 --phi0=20 --osc=-0.5 --phi-steps=5 --misset=10,5,3 |
	bragg-intensity --reflections=1 | bragg-noise --seed=3 --adc-offset=0 |
	bragg-write --compression=gzip --reflections=back/run.refl 'back/b_%04d.cbf' back/b.nxs 2>write.log
check 'backwards: CBF is warned of' grep -q 'CBF cannot store a negative rotation (--osc=-0.5)' write.log
check 'backwards: DIALS imports NXmx' quiet dials.import back/b.nxs output.experiments=back/imported.expt
check 'backwards: table and file have the same inverted axis, and spots are where DIALS has them' /usr/bin/python3 -c '
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory
import numpy as np
table = flex.reflection_table.from_file("back/run.refl")
experiments = ExperimentListFactory.from_json_file("back/run.expt", check_format=True)
imported = ExperimentListFactory.from_json_file("back/imported.expt", check_format=False)
for one in (experiments[0], imported[0]):
    assert np.allclose(one.goniometer.get_rotation_axis(), (-1, 0, 0)) and np.allclose(one.scan.get_oscillation(), (-20, 0.5))
table.map_centroids_to_reciprocal_space(experiments)
A = np.array(experiments[0].crystal.get_A()).reshape(3, 3)
away = np.array(table["rlp"]) @ np.linalg.inv(A).T - np.array(table["miller_index"])
assert len(table) > 300 and (abs(np.median(away, axis=0)) < 0.02).all() and np.median(abs(away)) < 0.06
'

# stills in NXmx: experiments name their images
mkdir stills
crystal --fluence=3e26 | bragg-orient --frames=4 --random --lattices=2 | bragg-intensity --reflections=5 |
	bragg-noise --seed=3 --adc-offset=0 |
	bragg-write --compression=gzip --reflections=stills/all.refl stills.nxs 2>write.log || complain "$(cat write.log)"
check 'stills: an experiment for each lattice, with its image' /usr/bin/python3 -c '
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory
table = flex.reflection_table.from_file("stills/all.refl")
experiments = ExperimentListFactory.from_json_file("stills/all.expt", check_format=True)
table.assert_experiment_identifiers_are_consistent(experiments)
assert len(experiments) == 8 and sorted(set(table["id"])) == list(range(8))
for i, experiment in enumerate(experiments):
    spots = table.select(table["id"] == i)
    spots = spots.select(spots["intensity.sum.value"] > 5000)
    pixels = experiment.imageset.get_raw_data(0)[0]
    seen = [pixels[int(y), int(x)] for x, y, z in spots["xyzobs.px.value"]]
    assert experiment.imageset.size() == 1 and len(seen) > 3 and sum(v > 100 for v in seen) >= 0.9 * len(seen), (i, seen)
'
check 'dials.show shows them' sh -c 'dials.show stills/all.expt stills/all.refl >shown && grep -q "Experiment 7" shown'
unload
finish
