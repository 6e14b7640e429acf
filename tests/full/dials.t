#!/bin/sh
# The independent check of the whole chain: Debian's DIALS imports a rotation
# series, finds the cell without being told, refines, integrates, and its
# intensities are the squares of the structure factors that went in.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

if ! command -v dials.import >/dev/null; then
	skip 'DIALS' 'dials is not installed'
	finish
	exit
fi

# 20 frames of half a degree; spots are 1/(15*59) rad = 0.065 degrees wide.
bragg-geometry --detpixels=1024 --pixel=0.172 --distance=150 --wavelength=1.0 --ncells=15 \
	--oversample=3 --fluence=1e26 --beam-size=0.001 |
	bragg-orient --frames=20 --phi0=0 --osc=0.5 --phi-steps=16 --misset=12.3,34.5,56.7 |
	bragg-intensity |
	bragg-background --water=0.0015 |
	bragg-noise --seed=3 |
	bragg-write 'rot_%04d.img' 2>write.log
is 'twenty frames are written' "$(ls rot_*.img | wc -l)" 20

quiet() {
	"$@" >"$1.log" 2>&1 || {
		tail -n 20 "$1.log" | sed 's/^/# /'
		return 1
	}
}
check 'DIALS imports one sweep' quiet dials.import rot_*.img output.experiments=imported.expt
check 'finds spots' quiet dials.find_spots imported.expt nproc=2
check 'indexes with the cell unknown' quiet dials.index imported.expt strong.refl
check 'refines' quiet dials.refine indexed.expt indexed.refl scan_varying=False
check 'integrates' quiet dials.integrate refined.expt refined.refl nproc=2

/usr/bin/python3 "$BRAGG_TESTS/full/dials_truth.py" "$BRAGG_TESTS/../common/io/lysozyme.hkl" >truth.txt 2>truth.log
cat truth.txt | sed 's/^/# /'
sed 's/^/# /' truth.log | tail -n 3
value() {
	sed -n "s/^$1 //p" truth.txt
}
check 'cell within 0.1 %' awk -v x="$(value cell_error)" 'BEGIN {exit !(x != "" && x < 0.001)}'
check 'orientation within 0.05 degrees' awk -v x="$(value misorientation_deg)" 'BEGIN {exit !(x != "" && x < 0.05)}'
check 'over 90 % of the spots indexed' awk -v x="$(value indexed)" 'BEGIN {exit !(x > 0.9)}'
check 'CC(I, F^2) > 0.98' awk -v x="$(value cc)" 'BEGIN {exit !(x > 0.98)}'
finish
