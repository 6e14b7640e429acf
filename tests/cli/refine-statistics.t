#!/bin/sh
# bragg-refine by statistics: errors of 50 stills are as large as it says, each and all together, with
# many photons and with few.  Other likelihoods, tried on the same stills, fail the same checks;
# more of it in tests/long/refine-statistics.t.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/refine.sh"
scratch
needs statistics python:numpy
[ "${BRAGG_SANITIZED-}" ] || export OMP_THREAD_LIMIT=1

geometry() {
	bragg-geometry --quiet --polarization=0 --distance=100 --oversample=2 --default-F=100 --cell="${cell:-70,80,90,90,90,90}" "$@"
}
# stills BACKGROUND FLUENCE MM ORIENT-OPTION... -- GEOMETRY-OPTION...: noisy.rec of true.rec, with
# truth.tsv
stills() {
	photons=$1 fluence=$2 mm=$3
	shift 3
	geometry --pixel="$mm" --fluence="$fluence" "$@" | bragg-orient --quiet --frames=50 --random --seed=5 \
		--mosaic=$spread --mosaic-domains=8 --truth=truth.tsv --overwrite | bragg-tap --record=true.rec --overwrite
	# shellcheck disable=SC2046 # a list
	bragg-replay --quiet true.rec | bragg-intensity --quiet | bragg-background --quiet $(flat "$photons" "$fluence" "$mm" 100) |
		bragg-noise --quiet --seed=3 | bragg-tap --record=noisy.rec --overwrite
}
# starts MOSAIC GEOMETRY-OPTION...
starts() {
	mosaic=$1
	shift
	geometry "$@" | bragg-orient --quiet --orientations=turned --mosaic="$mosaic" --mosaic-domains=8 | bragg-tap --record=start.rec --overwrite
}
# refines FOUND PARAMETERS BACKGROUND
refines() {
	check "$1: stills are refined" sh -c 'bragg-replay --quiet noisy.rec | bragg-refine --quiet --start=start.rec \
		--parameters="$2" --background="$3" --table="$1.tsv" --covariance="$1.cov" --expt="$1.expt"' sh "$@"
}
# judge FOUND NAME=VALUE...
judge() {
	cp truth.tsv "$1.truth"
	refined judged "$@" >figures
	note "$(cat figures)"
	is "$1: all frames are refined" "$(figure frames)" 50
	check "$1: errors are as large as error bars say" sound
}
# estimators BACKGROUND NAMES: of the same stills
estimators() {
	bragg-replay --quiet true.rec | bragg-intensity --quiet --derivatives="$2" | bragg-write --quiet 'model_%d.raw'
	refined estimators "$1" >figures
	note "$(cat figures)"
	check "background $1: error bars are right after one step from the ground truth" sound shifted_
	check "background $1: error bars are wrong with squares weighted by counts" unsound data_
}
unsound() {
	[ "$(figure "$1sds")" ] && ! sound "$1"
}
known='rot_x_deg=0 rot_y_deg=0 rot_z_deg=0 cell_a_A=70 cell_b_A=80 cell_c_A=90 scale=2'

# --- spots of a hundred photons, and one of background in every pixel
# shellcheck disable=SC2086 # lists
{
	spread=0.2
	stills 1 1e26 0.5 --detpixels=140 --ncells=12
	cell=70.1,79.9,90.1,90,90,90
	refined turned 0.1 >turned # the same orientations all along
	starts 0.1 --detpixels=140 --pixel=0.5 --ncells=8 --fluence=5e25
	cell=
	refines many rot,cell,ncells,mosaic,scale,background 1
	judge many $known ncells_a=12 ncells_b=12 ncells_c=12 mosaic=2 background=1
	check 'covariances have the error bars of the table' awk -F'\t' '
		NR == FNR { if (FNR == 1) for (i = 10; i <= NF; i += 2) name[i] = $(i - 1); else for (i in name) bar[$1 name[i]] = $i; next }
		FNR == 1 { for (i = 3; i <= NF; i++) at[$i] = i; next }
		{ r = sqrt($at[$2]) / bar[$1 $2]; lines++; if (r < 0.998 || r > 1.002) exit 1 }
		END { exit lines != 600 }' many.tsv many.cov
}

# --- a third of a photon in a pixel
# shellcheck disable=SC2086 # lists
{
	spread=0.5
	stills 0.3 3e26 0.3 --detpixels=200 --ncells=6
	cell=70.1,79.9,90.1,90,90,90
	starts 0.5 --detpixels=200 --pixel=0.3 --ncells=6 --fluence=1.5e26
	cell=
	refines few rot,cell,scale,background 0.3
	judge few $known background=1
	estimators 0.3 rot,cell,scale
	check 'error bars are wrong with a Gaussian whose variance is its mean' unsound gauss_
}
finish
