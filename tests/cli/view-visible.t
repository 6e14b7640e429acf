#!/bin/sh
# bragg-view --visible: a page marks only the reflections whose z is above the limit; without the option it marks all.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'bragg-view --visible' /usr/bin/python3
scratch

# --- readout noise of 12 photons hides reflections that are bright enough for the background
bragg-geometry --quiet --detpixels=256 --pixel=0.3 --distance=120 --ncells=12 --fluence=1e27 |
	bragg-orient --quiet --random --seed=3 --frames=3 | bragg-intensity --quiet --threads=1 --reflections |
	bragg-background --quiet --water=0.05 | bragg-noise --quiet --gain=4 --readout=48 | bragg-tap --quiet --record=noisy.rec
bragg-replay --quiet noisy.rec | bragg-write --quiet --reflections=all.tsv all.nxs

# marks NAME LIMIT FILE OPTION...: the page of FILE marks the rows of all.tsv whose z is above LIMIT
marks() {
	name=$1 limit=$2 file=$3
	shift 3
	rm -f address
	bragg-view --bind=127.0.0.1:0 "$@" "$file" >address 2>message &
	viewer=$!
	soon test -s address
	if /usr/bin/python3 "$BRAGG_TESTS/cli/view_client.py" marks "$(cat address)" all.tsv "$limit" >part.log 2>&1; then
		tap_result 0 "$name: $(grep -c '^ok' part.log) frames"
	else
		tap_result 1 "$name"
		complain "$(cat part.log)"
	fi
	kill -TERM "$viewer"
	wait "$viewer" || complain "bragg-view ended with $?: $(cat message)"
}
marks 'all reflections are marked' 0 noisy.rec
marks '--visible: those with z above 5' 5 noisy.rec --visible
marks '--visible=20: those with z above 20' 20 noisy.rec --visible=20
marks '--visible of an NXmx file' 5 all.nxs --visible

is '--visible=0 is refused' "$(bragg-view --visible=0 noisy.rec 2>&1 | head -n 1 | cut -c 1-23)" 'bragg-view: --visible: '
finish
