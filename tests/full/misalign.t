#!/bin/sh
# Panels that bragg-geometry --misalign moves are found by DIALS: it refines the places of the panels from spots, starting
# with the nominal ones, and bragg-score --geometry scores what it returns.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.refine

bragg-geometry --detpixels=600 --pixel=0.15 --distance=100 --cut=2,4 --dmin=1.5 --ncells=20 --crystal-size=0.05 --beam-size=0.05 \
	--flux=5e11 --exposure=0.05 --shape=gauss --mosaic-model=gauss --mosaic-rms=0.05 \
	--misalign='panel shift=90,90,180um tilt=1.5mrad' --write-geom=nominal.geom --write-true-geom=true.geom |
	bragg-orient --frames=20 --osc=2.5 --misset=10,20,30 | bragg-intensity --reflections=1 | bragg-noise --seed=3 |
	bragg-write --reflections=run.refl run.nxs 2>write.log || complain "$(cat write.log)"

# error METRIC FILE
error() {
	bragg-score --geometry="$2" run.nxs | tr -s ' ' '\n' | grep -A 1 -x "$1" | tail -n 1
}
# within NAME VALUE LEAST MOST
within() {
	note "$1: $2"
	check "$1" awk -v x="$2" -v least="$3" -v most="$4" 'BEGIN { exit !(x >= least && x <= most) }'
}
within 'the experiment list of the ground truth has the nominal panels' "$(error rms run.expt)" 0.8 1
is '... as the nominal geometry file has' "$(error rms run.expt | cut -c 1-5)" "$(error rms nominal.geom | cut -c 1-5)"

# refine FILE LEVEL OPTION...: the outlier rejection of DIALS would remove most spots of panels that are far off
refine() {
	output=$1 level=$2
	shift 2
	quiet dials.refine run.expt run.refl scan_varying=False outlier.algorithm=null detector.panels=hierarchical \
		detector.hierarchy_level="$level" output.experiments="$output" output.reflections=refined.refl "$@"
}
check 'DIALS refines the panels with a known cell' refine panels.expt 1 crystal.fix=cell reflections_per_degree=200
within 'the panels are found' "$(error rms panels.expt)" 0 0.04
within '... also without the rotation about the beam' "$(error rms_no_turn panels.expt)" 0 0.03
check 'DIALS refines the panels and the cell' refine cell.expt 1 reflections_per_degree=60
within 'the panels are found without the distance, which a free cell takes' "$(error rms_no_distance cell.expt)" 0 0.05
check 'DIALS refines the detector as one' refine whole.expt 0 reflections_per_degree=60
within 'panels are not found if all move as one' "$(error rms_no_tilt whole.expt)" 0.4 1
finish
