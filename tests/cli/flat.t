#!/bin/sh
# bragg-background --flat: the same photons in each pixel that is computed, whatever else there is;
# after --fuse and --recompute, too.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
# photons NAME OPTION...: two frames as NAME_0.raw and NAME_1.raw, by $geometry and $orient
photons() {
	name=$1
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --detpixels=40,30 --pixel=0.5 --distance=15 --cell=40,50,60 $geometry |
		bragg-orient --quiet --frames=2 --seed=4 $orient | bragg-intensity --quiet --threads=1 |
		bragg-background --quiet --threads=1 "$@" | bragg-write --quiet "${name}_%d.raw"
}
numbers() {
	od -An -v -tf4 -w4 "$@"
}
values() {
	numbers "$@" | awk '{ print $1 }' | sort -gu | paste -sd' '
}
geometry='--default-F=0 --thickness=50 --absorption=100' orient='--spectrum=sase --bandwidth=0.2 --fluence-jitter=50'
photons flat --flat=0.25 --water=0 --jitter=80
is 'solid angle, polarization, sensor, fluence and jitter do not change it' "$(values flat_0.raw flat_1.raw)" 0.25
geometry='--default-F=0 --roi=10,39,0,29' orient=--hit-rate=0
photons part --flat=1.5
is 'none outside of the region of interest; the frame needs no crystal' "$(values part_1.raw)" '0 1.5'
is 'in all pixels of the region of interest' "$(numbers part_1.raw | grep -c '1\.5')" 900
geometry='--default-F=100 --ncells=5 --fluence=1e27' orient=
photons water --water=3
photons both --water=3 --flat=20
is 'it adds to photons of crystals and water' "$(numbers water_1.raw both_1.raw | awk 'NR <= 1200 { a[NR] = $1; next }
	{ d = $1 - a[NR - 1200] - 20; n += d < -1e-4 || d > 1e-4; t += a[NR - 1200] } END { print n, (t > 10) }')" '0 1'
photons none --water=3 --flat=0
check 'none: the bytes without the option' cmp none_1.raw water_1.raw
orient=--fluence-jitter=50
photons vary --water=3 --flat=20
photons wet --water=3
is 'frames have the same' "$(numbers wet_0.raw wet_1.raw vary_0.raw vary_1.raw | awk 'NR <= 2400 { a[NR] = $1; next }
	{ d = $1 - a[NR - 2400] - 20; n += d < -1e-4 || d > 1e-4 } END { print n }')" 0

# --- what comes of it
recipe() {
	bragg-geometry --quiet --detpixels=40,30 --pixel=0.5 --distance=15 --cell=40,50,60 --default-F=100 --ncells=5 --fluence=1e27 | bragg-orient --quiet --frames=2
}
recipe | bragg-intensity --quiet --threads=1 --fuse='background --water=3 --flat=20' | bragg-write --quiet 'fused_%d.raw'
check 'the same bytes with --fuse' cmp fused_1.raw both_1.raw
recipe | bragg-intensity --quiet --threads=1 | bragg-background --quiet --water=3 --flat=20 | bragg-noise --quiet | bragg-write --quiet run.nxs
check 'computed again from its own file' bragg-replay --recompute run.nxs:1
recipe | bragg-intensity --quiet --threads=1 --reflections | bragg-background --quiet --flat=20 | bragg-write --quiet --reflections=run.tsv --overwrite run.nxs
is 'reflections have it as background' "$(awk 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ n++; bad += $at["background"] != 20 * $at["pixels"] } END { print (n > 5), bad + 0 }' run.tsv)" '1 0'
check_status 'nothing to add' 2 sh -c 'bragg-background --quiet --jitter=5 </dev/null'
check_status 'fewer than none' 2 sh -c 'bragg-background --flat=-1 </dev/null'
finish
