#!/bin/sh
# bragg-fisher: error bars against differences of images and numpy, against known answers;
# degenerate parameters; distances, threads, workers; bad input.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
says() { grep -q -- "$@"; }
cell='--cell=70,80,90,90,90,90 --default-F=100'
# shellcheck disable=SC2086 # the list is meant to split
bragg-geometry --detpixels=120 --pixel=0.12 --distance=90 --beam-center=7.1,6.9 $cell --ncells=6 --oversample=2 --fluence=1e26 |
	bragg-orient --quiet --frames=3 --random --seed=4 --phi0=10 --osc=0.3 --phi-steps=2 | bragg-tap --record=r.rec
told() { # OPTION...: of these frames
	bragg-replay --quiet r.rec | bragg-fisher --quiet --readout=1.5 "$@"
}
check 'error bars of frames that share the detector' sh -c 'bragg-replay --quiet r.rec |
	bragg-fisher --quiet --background=0.7 --readout=1.5 --parameters=cell,phi0,scale,background \
	--share=distance,beam_x,beam_y --prior=distance:0.05 --table=t.tsv >all'
if has python:numpy; then
	check 'error bars are those of differences of images' /usr/bin/python3 "$BRAGG_TESTS/cli/fisher_differences.py" t.tsv all
else
	skip 'error bars are those of differences of images' "$lack is missing"
fi
told --background=0.7 --parameters=cell,phi0,scale,background --share=distance,beam_x,beam_y --prior=distance:0.05 --engine=reference >reference
is 'both engines agree' "$(sed 's/  [a-z_]* [+-].*//' reference)" "$(sed 's/  [a-z_]* [+-].*//' all)"
told --background=0.7 --parameters=cell,phi0,scale,background --share=distance,beam_x,beam_y --prior=distance:0.05 --threads=1 --table=t1.tsv --engine=cpu >one
is 'any number of threads' "$(cat one t1.tsv)" "$(cat all t.tsv)"

# --- known answers: of a background alone, its error bar is 1/sqrt(photons)
bragg-geometry --quiet --detpixels=100 $cell --ncells=3 --fluence=1e-20 2>others | bragg-orient --quiet --frames=2 2>>others |
	bragg-fisher --quiet --parameters=background --background=4 >flat
is 'a flat background' "$(awk '/^background/ { print $3 }' flat)" 0.005
is 'all frames have it' "$(head -1 flat | cut -d' ' -f1-5)" '2 frames with error bars,'
bragg-replay --quiet r.rec | bragg-fisher --quiet --parameters=scale --background=0 >scale
photons=$(sed -n '1s/.*; \([0-9.e+]*\) photons.*/\1/p' scale)
check 'the scale of a crystal without anything else' awk -v p="$photons" -v s="$(awk '/^scale/ { print $3 }' scale)" \
	'BEGIN { exit !(s * sqrt(p) > 0.985 && s * sqrt(p) < 1.015) }'
told --parameters=scale,background --prior=scale:1e-6 >prior
check 'a prior' says '^scale  *-  *1e-06 ' prior

# --- distances
told --background=0.7 --parameters=rot,cell --distances=60,90,200 --table=d.tsv --report=d.html >distances
is 'a table for each distance' "$(grep -c 'photons of crystals in a frame' distances)" 3
told --background=0.7 --parameters=rot,cell >as_is
is 'the table of distances contains the distance of the experiment' "$(sed -n '/, 90 mm/,/^$/p' distances | grep -v '^$')" "$(cat as_is)"
check 'an experiment at another distance has error bars' sh -c 'bragg-geometry --detpixels=120 --pixel=0.12 --distance=200 --beam-center=7.1,6.9 \
	--cell=70,80,90,90,90,90 --default-F=100 --ncells=6 --oversample=2 --fluence=1e26 2>others |
	bragg-orient --quiet --frames=3 --random --seed=4 --phi0=10 --osc=0.3 --phi-steps=2 2>others |
	bragg-fisher --quiet --parameters=rot,cell --background=0.7 --readout=1.5 >far'
is 'the table of distances is right for the other distance' "$(sed -n '/, 200 mm/,/^$/p' distances)" "$(cat far)"
is 'a line for each frame and distance' "$(tail -n +2 d.tsv | cut -f1,2 | tr '\t\n' ': ')" '60:0 60:1 60:2 90:0 90:1 90:2 200:0 200:1 200:2 '
check 'a page with plots' sh -c 'test "$(grep -o "<svg" d.html | wc -l)" = 6 && grep -q "<h2>200 mm" d.html'
told --background=0.7 --parameters=rot --share=scale --report=share.html >share
is 'the page has the error bars from all frames, also of parameters that are not shared' \
	"$(grep -o '"all frames">[^<]*' share.html | cut -d'>' -f2 | paste -sd' ')" "$(awk 'NR > 2 && NF { print $4 }' share | paste -sd' ')"
is 'without shared parameters the page does not mention all frames' "$(grep -ci 'all frames' d.html)" 0

# --- blanks, and degenerate parameters
bragg-geometry --quiet --detpixels=100 $cell --ncells=6 --fluence=1e26 | bragg-orient --quiet --frames=8 --random --hit-rate=0.5 --seed=1 |
	bragg-fisher --quiet --parameters=rot,scale --table=blank.tsv >blanks
is 'blanks are counted' "$(head -1 blanks | sed 's/,.*degenerate.*//')" "$(grep -c good blank.tsv) frames with error bars"
is 'blanks are not failures' "$(cut -f5 blank.tsv | grep -cx 'good\|blank') $(grep -c blank blank.tsv | grep -cx '[1-7]')" '8 1'
# refuses NAME STATUS TEXT OPTION...
refuses() {
	what=$1 want=$2 text=$3
	shift 3
	check_status "$what" "$want" sh -c 'bragg-replay --quiet r.rec 2>others | bragg-fisher --quiet "$@" 2>said' sh "$@"
	check "$what: the message gives the reason" says "^bragg-fisher: .*$text" said
	is "$what: the message is one line" "$(wc -l <said)" 1
}
refuses 'rotation about the spindle and phi0' 3 'at 90 mm no frame has error bars: rot_z, phi0 (degenerate' --parameters=rot,phi0
refuses 'shared parameters that cannot be separated are refused' 3 'cannot separate the shared parameters: rot_z, phi0' --parameters=scale --share=rot,phi0
check 'a prior separates rotation about the spindle and phi0' sh -c 'bragg-replay --quiet r.rec | bragg-fisher --quiet --parameters=rot,phi0 --prior=phi0:0.01 >known'
refuses 'a name that there is not' 2 "'rott'" --parameters=rott
refuses 'a parameter that is given twice is refused' 2 "'scale' is given twice" --parameters=scale --share=scale
refuses 'two backgrounds' 2 "'background' is given twice" --parameters=background,background
refuses 'no background' 2 'needs --background above 0' --parameters=background --background=0
refuses 'one mosaic domain' 3 'has one mosaic domain' --parameters=mosaic
refuses 'a prior of none' 2 "does not name a parameter; expected one of scale" --parameters=scale --prior=cell:1
refuses 'a prior without a number' 2 'expected NAME:SIGMA' --parameters=scale --prior=scale
refuses 'a prior of 0' 2 'sigma is not above 0' --parameters=scale --prior=scale:0
refuses 'a distance of 0' 2 "'0' is out of range" --distances=0
refuses 'an engine that there is not' 2 "'opencl' is unknown; expected one of reference, cpu, cuda" --engine=opencl
echo mine >mine
refuses 'a file in the way' 1 'mine' --parameters=scale --table=mine
is 'a file that is no report stays' "$(cat mine)" mine
refuses 'a full disk' 1 'No space' --parameters=scale --table=/dev/full
finish
