#!/bin/sh
# The size of the crystal as Debian's DIALS sees it: the spots of a rotation series are larger,
# by what the crystal has, and lie where they were.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs footprint dials.import python:h5py

# found NAME GEOMETRY-OPTION...: a series and its spots
found() {
	name=$1
	shift
	bragg-geometry --detpixels=1024 --pixel=0.075 --distance=100 --ncells=20 --shape=gauss --oversample=2 \
		--polarization=0.99 --beam-size=1 "$@" |
		bragg-orient --frames=4 --osc=0.5 --phi-steps=20 --misset=12.3,34.5,56.7 | bragg-intensity |
		bragg-background --water=2e-10 | bragg-noise --seed=3 |
		bragg-write "${name}_%04d.img" "$name.nxs" 2>write.log
	check "$name: DIALS imports" quiet dials.import "$name"_*.img output.experiments="$name.expt"
	check "$name: finds spots" quiet dials.find_spots "$name.expt" output.reflections="$name.refl" nproc=2 \
		filter.min_spot_size=3 threshold.dispersion.kernel_size=9,9
}
found point --fluence=1e27
# as many photons: the crystal is 2.74e10 blocks
found crystal --crystal-size=0.3 --fluence=3.65e16
measure footprint_truth.py
check 'most spots are those of points' awk -v x="$(value matched)" 'BEGIN {exit !(x > 0.8)}'
check 'spots of extended crystals have not moved' awk -v x="$(value moved_fast)" -v y="$(value moved_slow)" \
	'BEGIN {exit !(x != "" && x * x < 4e-4 && y * y < 4e-4)}'
check 'DIALS gives them more pixels' awk -v x="$(value pixels)" 'BEGIN {exit !(x > 1.5)}'
check 'widths of spots are those of the geometry within 5 %' awk -v x="$(value width)" \
	'BEGIN {exit !(x > 0.95 && x < 1.05)}'
is 'NXmx has the edges of the crystal and the beam' "$(value sizes)" '0.0003 0.0003 0.0003 0.001 0.001'
finish
