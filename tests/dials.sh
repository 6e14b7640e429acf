# Frames of lysozyme through Debian's DIALS, for tests/full/dials*.t, stills.t and multi-lattice.t:
# the scene, DIALS's programs, and checks of the figures that tests/full/dials_*.py print.

# What the scene is, for DIALS: the beam meets pixel (325.5, 333.64) along fast and slow, as --beam-center
# counts from the centre of the first pixel, slow before fast.
distance_mm=80
beam_fast_px=325.5
beam_slow_px=333.639535
polarized_fraction=0.8 # (1 + K)/2

# scene OPTION...: 2 theta reaches 35 degrees at the edges and 45 in the corners.  Spots are two pixels
# wide, ten apart.  At this wavelength the sensor stops what falls on it, as DIALS's parallax has it.
# The polarization is far from 1 and from none, so that an error of either kind is seen.
scene() {
	bragg-geometry --detpixels=660,672 --pixel=0.172 --distance=80 --wavelength=1.54 --beam-center=57.3,55.9 \
		--thickness=320 --absorption=67.54 --layers=4 --polarization=0.6 --beam-size=0.001 "$@"
}

# crystal: of nearly the same size along all axes, and without side lobes.
crystal() {
	scene --shape=gauss --ncells=12,10,24 --oversample=2 "$@"
}

# images OUTPUT...: of the recipes on the pipe
images() {
	bragg-intensity | bragg-background --water=0.002 | bragg-noise --seed=3 --adc-offset=0 --psf=gauss --psf-fwhm=150 --bits="${bits:-16}" |
		bragg-write "$@" 2>write.log
}

# The largest number of pixels of a spot, and the smallest, depend on the kind of detector in DIALS.
find_spots() {
	quiet dials.find_spots imported.expt nproc=2 filter.min_spot_size=3 filter.max_spot_size=1000 "$@"
}

# preload MODULE...: from now on, quiet and measure run programs in forks of one Python that has loaded these modules
# of DIALS.
preloaded=
preload() {
	mkfifo dials.requests dials.answers
	/usr/bin/python3 "$BRAGG_TESTS/full/dials_server.py" "$@" >preload.log 2>&1 &
	preloader=$!
	preloaded=$PWD
}
# unload: ends it, and its time counts as that of the test
unload() {
	[ "$preloaded" ] || return 0
	kill "$preloader"
	wait "$preloader" 2>/dev/null
	preloaded=
}
# python OUTPUT ERRORS PROGRAM ARGUMENT...: of Python
python() {
	if [ "$preloaded" ]; then
		printf '%s\0' "$PWD" "$@" >"$preloaded/dials.requests"
		read -r python_status <"$preloaded/dials.answers"
		return "$python_status"
	fi
	python_output=$1 python_errors=$2
	shift 2
	/usr/bin/python3 "$@" >"$python_output" 2>"$python_errors"
}

quiet() {
	if [ "$preloaded" ]; then
		quiet_name=$1
		shift
		python "$quiet_name.log" "$quiet_name.log" "$(command -v "$quiet_name")" "$@"
	else
		quiet_name=$1
		"$@" >"$1.log" 2>&1
	fi || {
		tail -n 20 "$quiet_name.log" | sed 's/^/# /'
		return 1
	}
}

export PYTHONDONTWRITEBYTECODE=1 # no files beside the scripts

# measure SCRIPT ARGUMENT...: prints what tests/full/SCRIPT finds and keeps it for `value`.
measure() {
	script=$1
	shift
	python figures figures.log "$BRAGG_TESTS/full/$script" "$@" || true
	sed 's/^/# /' figures
	tail -n 3 figures.log | sed 's/^/# /'
}
value() {
	sed -n "s/^$1 //p" figures
}
# near NAME FIGURE EXPECTED TOLERANCE
near() {
	check "$1" awk -v x="$(value "$2")" -v want="$3" -v by="$4" 'BEGIN { print x; exit !(x != "" && x - want < by && want - x < by) }'
}
# above NAME FIGURE LIMIT
above() {
	check "$1" awk -v x="$(value "$2")" -v limit="$3" 'BEGIN { print x; exit !(x != "" && x + 0 > limit) }'
}
# beyond NAME FIGURE EXPECTED TOLERANCE: what `near` must refuse
beyond() {
	check "$1" awk -v x="$(value "$2")" -v want="$3" -v by="$4" 'BEGIN { print x; exit !(x != "" && (x - want > by || want - x > by)) }'
}
