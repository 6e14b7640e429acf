#!/bin/sh
# bragg-refine by numbers: the basin of convergence, both engines, and the page about it as it is pasted.
# Errors against error bars: refine-statistics.t; what DIALS found: refine-dials.t.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/refine.sh"
scratch
needs basin python:numpy

# --- 50 stills, turned away by 0.1, 0.5 and 5 degrees about any axis
geometry() {
	bragg-geometry --quiet --detpixels=600 --pixel=0.15 --distance=100 --oversample=2 --default-F=100 "$@"
}
geometry --cell=70,80,90,90,90,90 --ncells=20 --fluence=4e26 |
	bragg-orient --quiet --frames=50 --random --seed=8 --mosaic=0.1 --mosaic-domains=10 --truth=truth.tsv | bragg-tap --record=true.rec
bragg-replay --quiet true.rec | bragg-intensity --quiet | bragg-background --quiet --water=0.003 | bragg-noise --quiet | bragg-tap --record=noisy.rec
# start DEGREES: DEGREES.rec
start() {
	refined turned "$1" >orientations
	geometry --cell=70.1,79.9,90.1,90,90,90 --ncells=10 --fluence=2e26 |
		bragg-orient --quiet --orientations=orientations --mosaic=0.05 --mosaic-domains=10 | bragg-tap --record="$1.rec"
}
# refine DEGREES: DEGREES.tsv, and what is said
refine() {
	start "$1"
	bragg-replay --quiet noisy.rec | bragg-refine --quiet --start="$1.rec" --parameters=rot,cell,ncells,mosaic,scale,background --table="$1.tsv"
}
verdicts() {
	cut -f3 "$1.tsv" | sed 1d | sed 's/:.*//' | sort | uniq -c | tr -s ' ' | tr '\n' ' '
}
check 'a start 0.1 degrees away' sh -c ': >said' && refine 0.1 >said
is '50 of 50 frames are good' "$(verdicts 0.1)" ' 50 good '
# refine_one ENGINE
refine_one() {
	bragg-replay --quiet --first=1 noisy.rec | bragg-refine --quiet --start=0.1.rec --parameters=rot,cell,ncells,mosaic,scale,background \
		--engine="$1" --table="$1.tsv" --expt="$1.expt" >/dev/null
}
refine_one cpu
refine_one reference
is 'the reference engine finds the same, to a fiftieth of error bars' "$(sed 1d reference.tsv >row
	sed 1d cpu.tsv | paste - row | awk -F'\t' '{ half = NF / 2; for (i = 9; i < half; i += 2) bad += ($i - $(i + half)) ^ 2 > 4e-4 * $(i + 1) ^ 2; print half, bad + 0 }')" '32 0'
if has dials.show; then
	dials.show cpu.expt >shown 2>&1
	is 'dials.show reads its experiment list' "$(grep -c 'Domain size' shown)" 1
else
	skip 'dials.show reads its experiment list' "$lack is missing"
fi
refine 0.5 >said.far
is '0.5 degrees away they come to the same' "$(verdicts 0.5)" ' 50 good '
note "$(sed -n 2,4p said.far)"
start 5
bragg-replay --quiet --first=10 noisy.rec |
	bragg-refine --quiet --start=5.rec --parameters=rot,cell,ncells,mosaic,scale,background --table=5.tsv >said.lost 2>said.lost
note "$(verdicts 5)"
check '5 degrees away some are lost, and those that are called good are right' awk -F'\t' '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	$3 != "good" { lost++; next }
	{ for (name in column) if (name == "cell_a_A" || name == "ncells_a") {
		e = ($column[name] - (name == "ncells_a" ? 20 : 70)) / $column["error_" name]
		wrong += e * e > 36 } }
	END { exit !(lost > 3 && !wrong) }' 5.tsv

# --- braggpipe-refine(7), as it is pasted
if has mandoc python:matplotlib python:zmq python:msgpack; then
	mkdir page && cd page || exit 1
	mandoc -T utf8 -O width=78 "$BRAGG_TESTS/../stages/pages/braggpipe-refine.7" | col -bx |
		awk '/^TROUBLESHOOTING/ { exit } /^           / && !/of 5 frames|chi2|correlated|^ *(parameter|rot_x|cell_a|scale|ncells_a|distance|beam_x) / { print }' |
		sed 's|python3 |/usr/bin/python3 |' >pasted
	PYTHONPATH=$BRAGG_TESTS/../pipelines PATH=$PATH:$BRAGG_TESTS/../pipelines
	export PYTHONPATH
	check 'the page about it works' sh -e ./pasted
	is 'five frames are good' "$(cut -f3 refined.tsv | grep -c good)" 5
	check 'the distance is as it prints' awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "distance_mm") at = i }
		NR == 2 { exit !($at > 99.995 && $at < 100.01) }' refined.tsv
	check 'a picture' picture refine.png
	cd ..
else
	skip 'the page about it works' "$lack is missing"
fi
finish
