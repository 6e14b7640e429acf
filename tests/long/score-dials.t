#!/bin/sh
# bragg-score on what real DIALS finds in simulated stills and in a series, and how fast it scores.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
needs 'scores of DIALS' dials.stills_process python:bitshuffle.h5 python:h5py
scratch
cell=indexing.known_symmetry.unit_cell=59.062,68.451,30.517,90,90,90 group=indexing.known_symmetry.space_group=P212121

# bounded NAME FIGURE=VALUE~TOLERANCE...: of the JSON object that was written last
bounded() {
	bounded_name=$1
	shift
	check "$bounded_name" /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" score.json "$@"
}
# frames OUTPUT ORIENT...: with their reflections, a background and noise
frames() {
	output=$1 fluence=$2
	shift 2
	crystal --fluence="$fluence" | bragg-orient "$@" | bragg-intensity --reflections | bragg-background --water=0.002 |
		bragg-noise --seed=3 --adc-offset=0 --psf=gauss --psf-fwhm=150 | bragg-write "$output" 2>write.log
}

frames still.nxs 1e27 --frames=4 --random --seed=5
check 'DIALS imports stills' quiet dials.import still.nxs output.experiments=imported.expt
check 'DIALS finds spots in stills' find_spots
check 'bragg-score reads spots of DIALS' bragg-score --json=score.json still.nxs imported.expt strong.refl
bounded 'all that were found are true, bright ones are found, in their places' frames=4 hits.true_positive=4 spots.precision=1~0.01 \
	spots.recall=0.8~0.1 spots.by_photons.from_1024.recall=1 found_px.fast=0~0.01 found_px.slow=0~0.01 geometry_px.fast=0 geometry_px.slow=0
check 'dials.stills_process takes them' quiet dials.stills_process still.nxs mp.nproc=2 output.composite_output=False \
	indexing.stills.indexer=sequences $cell $group spotfinder.filter.min_spot_size=3 spotfinder.filter.max_spot_size=1000 \
	profile.gaussian_rs.parameters.sigma_b_cutoff=0.5 geometry.beam.polarization_fraction=$polarized_fraction
check 'bragg-score reads lattices and intensities of dials.stills_process' bragg-score --json=score.json still.nxs idx-*_integrated.refl
bounded 'they are right, and the errors are honest' lattices.true=4 lattices.right=4 lattices.wrong=0 angle_deg.median=0.01~0.03 \
	cell.a.relative_error=0~0.001 predicted_px.fast=0~0.05 intensities.cc=1~0.001 intensities.slope=1~0.01 intensities.chi2=1~0.3 \
	intensities.slope_median=1~0.02 intensities.chi2_robust=1~0.3

mkdir series
frames series.nxs 3e26 --frames=20 --phi0=10 --osc=0.5 --phi-steps=10 --misset=10,5,3
cd series || exit 1
check 'a series is imported' quiet dials.import ../series.nxs output.experiments=imported.expt
check 'spots are found' find_spots
check 'DIALS indexes the spots' quiet dials.index imported.expt strong.refl $cell $group
check 'refined' quiet dials.refine indexed.expt indexed.refl
check 'DIALS integrates the refined lattices' quiet dials.integrate refined.expt refined.refl nproc=2
check 'bragg-score reads integrated intensities of DIALS' bragg-score --json=score.json ../series.nxs integrated.refl
bounded 'lattices in all images, photons of all images of a reflection' frames=20 frames_without_answer=0 lattices.right=20 lattices.wrong=0 \
	angle_deg.max=0.01~0.03 predicted_px.fast=0~0.05 predicted_px.slow=0~0.05 intensities.cc=1~0.002 intensities.slope=1~0.01 \
	intensities.by_photons.from_512.chi2=1~0.5
cd ..

# --- Friedel mates apart: selenium in a small cell, what dials.merge and dials.scale make of a perfect table
if has gemmi; then
	mkdir sad
	cd sad || exit 1
	crystal --fluence=3e26 --model="$BRAGG_TESTS/../pipelines/sad.pdb" --anomalous |
		bragg-orient --quiet --frames=60 --phi0=10 --osc=0.5 --phi-steps=6 --misset=10,5,3 | bragg-intensity --reflections |
		bragg-write --reflections=run.refl truth.nxs 2>write.log
	check 'a crystal with selenium: its symmetry' quiet dials.reindex run.expt run.refl space_group=P212121
	check 'dials.merge' quiet dials.merge reindexed.expt reindexed.refl anomalous=True
	check 'dials.scale' quiet dials.scale reindexed.expt reindexed.refl anomalous=True
	check 'dials.merge merges Friedel mates apart' quiet dials.merge scaled.expt scaled.refl anomalous=True output.mtz=scaled.mtz
	for name in merged scaled; do
		check "$name intensities are scored" sh -c "bragg-score --json=score.json truth.nxs $name.mtz >table"
		bounded "$name: they and the differences of mates are right" merged.cc=1~0.004 merged.r=0~0.04 merged.B_A2=0~0.5 \
			merged.mates.cc=0.9~0.1 merged.mates.slope=1~0.1 merged.mates.n=200~50
		check "$name: nothing is wrong with them" sh -c '! grep wrong table'
	done
	cd ..
else
	skip 'Friedel mates' "$lack is missing"
fi

# 2000 frames of 100 spots a second on one core, by CPU time, without what starting takes
bragg-geometry --quiet --detpixels=512 --pixel=0.2 --distance=120 --ncells=20 | bragg-orient --quiet --frames=60 --random --seed=3 |
	bragg-intensity --quiet --reflections=20 | bragg-write --quiet truth.nxs
/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" truth.nxs 0.2 120
cat >rate.py <<'END'
import os, resource, subprocess, sys, json

def cpu_s(result):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["bragg-score", "--json=score.json", "truth.nxs", result], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

all_s, one_s = (min(cpu_s(r) for _ in range(5)) for r in ("perfect.stream", "one.stream"))
cpu_s("perfect.stream")
spots = json.load(open("score.json"))["spots"]["found"]
rate = spots / 100 / max(all_s - one_s, 1e-3)
print(f"{rate:.0f} frames of 100 spots per second of CPU, {spots} spots in {all_s:.3f} s, start {one_s:.3f} s")
sys.exit(rate < 2000)
END
sed '/----- End chunk -----/q' perfect.stream >one.stream
check 'bragg-score reads at least 2000 frames of 100 spots per second' /usr/bin/python3 rate.py
note "$tap_output"
finish
