# A rotation series through Debian's DIALS, for tests/full/dials*.t: from import to
# integration, and what comes out against what went in.

# crystal: spots are 1/(15*59) rad = 0.065 degrees wide.
crystal() {
	bragg-geometry --detpixels=1024 --pixel=0.172 --distance=150 --wavelength=1.0 --ncells=15 \
		--oversample=3 --fluence=1e26 --beam-size=0.001 --polarization=0
}

# images OFFSET: of the recipes on the pipe, with this offset of the detector
images() {
	bragg-intensity | bragg-background --water=0.0015 | bragg-noise --seed=3 --adc-offset="$1"
}

# series OFFSET OUTPUT...: 20 frames of half a degree
series() {
	offset=$1
	shift
	crystal | bragg-orient --frames=20 --phi0=0 --osc=0.5 --phi-steps=16 --misset=12.3,34.5,56.7 |
		images "$offset" | bragg-write "$@" 2>write.log
}

quiet() {
	"$@" >"$1.log" 2>&1 || {
		tail -n 20 "$1.log" | sed 's/^/# /'
		return 1
	}
}

# process FILE...: all steps, and the checks.  The size of a spot is said because DIALS
# guesses it from the kind of detector, which not every format tells.
process() {
	check 'DIALS imports one sweep' quiet dials.import "$@" output.experiments=imported.expt
	check 'finds spots' quiet dials.find_spots imported.expt nproc=2 filter.min_spot_size=3
	check 'indexes with the cell unknown' quiet dials.index imported.expt strong.refl
	check 'refines' quiet dials.refine indexed.expt indexed.refl scan_varying=False
	check 'integrates' quiet dials.integrate refined.expt refined.refl nproc=2
	/usr/bin/python3 "$BRAGG_TESTS/full/dials_truth.py" "$BRAGG_TESTS/../common/io/lysozyme.f32" >truth.txt 2>truth.log
	sed 's/^/# /' truth.txt
	sed 's/^/# /' truth.log | tail -n 3
	check 'cell within 0.1 %' awk -v x="$(value cell_error)" 'BEGIN {exit !(x != "" && x < 0.001)}'
	check 'orientation within 0.05 degrees' awk -v x="$(value misorientation_deg)" 'BEGIN {exit !(x != "" && x < 0.05)}'
	check 'over 90 % of the spots indexed' awk -v x="$(value indexed)" 'BEGIN {exit !(x > 0.9)}'
	check 'CC(I, F^2) > 0.98' awk -v x="$(value cc)" 'BEGIN {exit !(x > 0.98)}'
}
# sweep OFFSET SUFFIX: all of it with a file a frame
sweep() {
	series "$1" "rot_%04d.$2"
	is 'twenty frames are written' "$(ls rot_*."$2" | wc -l)" 20
	process rot_*."$2"
}
value() {
	sed -n "s/^$1 //p" truth.txt
}
