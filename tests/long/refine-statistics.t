#!/bin/sh
# bragg-refine by statistics: three times 50 stills of lysozyme from a start that is a tenth of a degree
# and two tenths of a percent off.  Errors are as large as error bars say, each and all together;
# those of other likelihoods on the same stills are not.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/refine.sh"
scratch
needs statistics python:numpy
PYTHONPATH=$BRAGG_TESTS/full /usr/bin/python3 - "$BRAGG_TESTS/../common/io/structure_factors/lysozyme.f32" >lysozyme.hkl <<'PYTHON'
import sys

import dials_truth

for hkl, f in dials_truth.structure_factors(sys.argv[1]).items():
    print(*hkl, "%.6g" % f)
PYTHON
geometry() { # EDGES OPTION...
	edges=$1
	shift
	bragg-geometry --quiet --polarization=0 --detpixels=1024 --pixel=0.1 --distance=120 --oversample=2 --hkl=lysozyme.hkl \
		--spacegroup=P212121 --cell="$edges,90,90,90" "$@"
}
judge() {
	refined judged "$1" rot_x_deg=0 rot_y_deg=0 rot_z_deg=0 cell_a_A=59.062 cell_b_A=68.451 cell_c_A=30.517 \
		ncells_a=20 ncells_b=20 ncells_c=20 mosaic=2 scale=2 background=1.25 >figures
	note "$(cat figures)"
}
together() { # [LIKELIHOOD_]
	awk -v sds="$(figure "$1sds")" 'BEGIN { print sds; exit !(sds != "" && sds > -4 && sds < 4) }'
}
for seed in 1 2 3; do
	geometry 59.062,68.451,30.517 --ncells=20 --fluence=1e26 | bragg-orient --quiet --frames=50 --random --seed=$seed --mosaic=0.1 \
		--mosaic-domains=10 --truth=truth.tsv --overwrite 2>others | bragg-tap --record=true.rec --overwrite
	# shellcheck disable=SC2046 # a list
	bragg-replay --quiet true.rec | bragg-intensity --quiet | bragg-background --quiet $(flat 1 1e26 0.1 120) |
		bragg-noise --quiet --seed=$seed | bragg-tap --record=noisy.rec --overwrite
	refined turned 0.1 >turned
	geometry 59.18,68.314,30.578 --ncells=10 --fluence=5e25 | bragg-orient --quiet --orientations=turned --mosaic=0.05 \
		--mosaic-domains=10 2>others | bragg-tap --record=start.rec --overwrite
	check "seed $seed: stills are refined" sh -c 'bragg-replay --quiet noisy.rec | bragg-refine --quiet --start=start.rec --overwrite \
		--parameters=rot,cell,ncells,mosaic,scale,background --background=0.8 --table=$1.tsv --covariance=$1.cov --expt=$1.expt' sh $seed
	cp truth.tsv $seed.truth
	judge $seed
	is "seed $seed: all 50" "$(figure frames)" 50
	check "seed $seed: all errors together are as large as error bars say" together
	check "seed $seed: chi2 is 1 within 0.01" awk -F'\t' 'NR > 1 { sum += $7 } END { exit !(sum > 49.5 && sum < 50.5) }' $seed.tsv
done
# each of 12 parameters is known to 10 % by 50 stills, to 6 % by all of them
judge 1,2,3
check 'the chi2 of each parameter is sound for 150 stills' sound

# every other likelihood on these stills, six of them
bragg-replay --quiet --first=6 true.rec | bragg-intensity --quiet --derivatives=rot,cell,ncells,mosaic,scale | bragg-write --quiet 'model_%d.raw'
refined estimators 1 >figures
note "$(cat figures)"
check 'one step from the truth comes to them' together shifted_
check 'squares weighted by counts do not come to the truth' awk -v sds="$(figure data_sds)" 'BEGIN { exit !(sds > 100) }'
finish
