#!/bin/sh
# Very many domains in closed form, through whole pipes. That the photons are right:
# tests/unit/ensemble.c, tests/unit/closed.c.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'an ensemble' python:numpy
scratch

geometry='--detpixels=300,280 --pixel=0.2 --distance=100 --cell=79,79,38,90,90,90 --default-F=100 --shape=gauss'
geometry="$geometry --fluence=1e26 --oversample=2"
# frame 'GEOMETRY OPTIONS' 'ORIENT OPTIONS' 'INTENSITY OPTIONS' FILE...
frame() {
	more=$1 orient=$2 how=$3
	shift 3
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry $geometry $more | bragg-orient --misset=10,20,30 $orient 2>/dev/null |
		bragg-intensity $how | bragg-write "$@"
}
spread='--mosaic-model=gauss --mosaic-rms=0.1,0.06,0.08 --strain-rms=0.1 --divergence-rms=0.3 --ncells-across=2,0,-1'
frame "$spread" '--spectrum=sase --bandwidth=0.3' --threads=1 one.raw
frame "$spread" '--spectrum=sase --bandwidth=0.3' --threads=3 three.raw
check 'one thread and three: the same bytes' cmp one.raw three.raw
frame "$spread" '--spectrum=sase --bandwidth=0.3' '--threads=1 --isa=baseline' plain.raw
check 'any instruction set gives the same bytes' cmp one.raw plain.raw
frame '' '' --threads=2 dense.raw
frame '--mosaic-model=gauss' '' --threads=2 block.raw
# between two reflections the loop knows the nearer one only: there they differ, far below a photon
check 'without a spread the image is that of the loop over pixels' \
	bragg-compare --max-error=1e-5 --floor=1 --sum-tolerance=1e-6 --shape=300,280 dense.raw block.raw
frame '--mosaic-model=domains' '' --threads=2 domains.raw
check 'spread cells: both mosaic models give the same bytes' cmp dense.raw domains.raw

# --- a rotation: every reflection passes through all of its rocking curve, and keeps its photons
total() {
	perl -e 'local $/; my $s = 0; $s += $_ for unpack "f<*", <>; print "$s\n"' "$1"
}
rotation='--osc=3 --phi-steps=150'
frame '--mosaic-model=gauss' "$rotation" --threads=2 sharp.raw
frame "${spread% --ncells*}" "$rotation" --threads=2 wide.raw
note "sharp $(total sharp.raw), wide $(total wide.raw)"
check 'a spread of cells keeps the photons' sh -c 'awk -v a="$1" -v b="$2" "BEGIN { exit !(a > 0 && b / a > 0.97 && b / a < 1.03) }"' \
	sh "$(total sharp.raw)" "$(total wide.raw)"

# --- reflections and labels
# shellcheck disable=SC2086 # options are meant to split
bragg-geometry $geometry $spread | bragg-orient --misset=10,20,30 --spectrum=sase --bandwidth=0.3 2>/dev/null |
	bragg-intensity --threads=3 --reflections=10 --labels | bragg-tap --quiet --record=one.rec
bragg-replay --quiet one.rec | bragg-write labelled.raw
check 'labels change no pixel' cmp one.raw labelled.raw
check 'a recorded frame is computed again with them' bragg-replay --recompute one.rec:0

# --- what has no closed form
geometry_only() {
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry $geometry "$@"
}
check_status 'a shape that is no Gaussian' 2 geometry_only --mosaic-model=gauss --shape=square
check_status 'nanoBragg has none' 2 geometry_only --mosaic-model=gauss --physics=faithful
check_status 'a spread without the model' 2 geometry_only --mosaic-rms=0.1
check_status 'a spread of the other model' 2 geometry_only --mosaic-model=domains --mosaic-rms=0.1
# --- derivatives, by which frames find the orientation that they were made with
refined='--detpixels=128 --pixel=0.8 --ncells=8 --shape=gauss --oversample=1 --mosaic-model=gauss --mosaic-rms=0.15 --fluence=1e26'
bragg-geometry --quiet $refined | bragg-orient --quiet --misset=10.08,20.05,29.95 | bragg-tap --quiet --record=start.rec >ignored
bragg-geometry --quiet $refined | bragg-orient --quiet --misset=10,20,30 | bragg-intensity --quiet | bragg-noise --quiet --adc-offset=0 --seed=3 |
	bragg-refine --quiet --start=start.rec --parameters=rot,scale --table=fit.tsv >ignored
check 'a refinement finds the orientation' /usr/bin/python3 -c "
import csv, numpy
def turned(*deg):
    m = numpy.eye(3)
    for axis, angle in enumerate(numpy.radians(deg)):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        r = numpy.eye(3)
        r[i, i] = r[j, j] = numpy.cos(angle)
        r[j, i], r[i, j] = numpy.sin(angle), -numpy.sin(angle)
        m = r @ m
    return m
by = turned(10, 20, 30) @ turned(10.08, 20.05, 29.95).T
want = numpy.degrees([by[2, 1], by[0, 2], by[1, 0]])
(row,) = csv.DictReader(open('fit.tsv'), delimiter='\t')
for w, axis in zip(want, 'xyz'):
    found, error = float(row[f'rot_{axis}_deg']), float(row[f'error_rot_{axis}_deg'])
    print(axis, w, found, error)
    assert abs(found - w) < 4 * error < 0.3 * abs(w), axis"

refusal_of() {
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry $geometry --mosaic-model=gauss $1 2>/dev/null | bragg-orient $2 2>/dev/null | bragg-intensity $3 2>why | bragg-write refused.raw 2>/dev/null
	cat why
}
says() {
	check "$1" sh -c 'printf "%s\n" "$1" | grep -q -e "$2" && test "$(printf "%s\n" "$1" | grep -vc warning)" = 1' \
		sh "$(refusal_of "$3" "$4" "$5")" "$2"
}
says 'the reference engine' 'expected --engine=cpu' '' '' --engine=reference
says 'a curved panel' 'flat' --curved '' ''
says 'an ensemble and mosaic domains' '--mosaic of bragg-orient' '' --mosaic=0.2 ''
says 'a derivative' "does not support the derivative by 'polarization'" '' '' --derivatives=polarization
says 'a trace' '--trace-pixel does not work with' '' '' --trace-pixel=3,3
says 'an invalid matrix' 'positive definite' --ncells-across=30,0,0 '' ''
finish
