#!/bin/sh
# Faint terms: --faint through whole pipes, what it stores, and what refuses it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# pipe 'GEOMETRY OPTIONS' 'INTENSITY OPTIONS' STAGE...
pipe() {
	more=$1 how=$2
	shift 2
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --detpixels=150,90 --pixel=0.05 --distance=60 --ncells=15 --fluence=1e24 $more |
		bragg-orient --quiet --frames=2 --random --seed=3 --mosaic=0.1 --mosaic-domains=8 |
		bragg-intensity --quiet $how | "$@"
}
pipe '' '--threads=2' bragg-write --quiet 'all_%d.raw' 'all_%d.img' --scale=1
pipe '' '--threads=2 --faint=0' bragg-write --quiet 'zero_%d.raw'
pipe '' '--threads=2 --faint=0.01' bragg-write --quiet 'some_%d.raw' 'some_%d.img' --scale=1
pipe '' '--threads=1 --faint=0.01' bragg-write --quiet 'one_%d.raw'
pipe '' '--threads=2 --faint=0.01 --reflections' bragg-write --quiet 'table_%d.raw'
check '--faint=0 changes no byte' cmp all_1.raw zero_1.raw
check '--faint=0.01 does' sh -c '! cmp -s all_1.raw some_1.raw'
check 'threads change no byte' cmp some_1.raw one_1.raw
check 'a reflection table changes no byte' cmp some_1.raw table_1.raw
check 'the images are alike' bragg-compare some_1.raw all_1.raw --max-error=0.01 --floor=1
check 'a frame is computed again from its header' bragg-replay --recompute some_1.img
is 'the header has the option' "$(head -c 8192 some_1.img | grep -c -a -e '--faint~0.01')" 1
is 'other headers do not have the option' "$(head -c 8192 all_1.img | grep -c -a 'faint')" 0

pipe '--sensor=smear --thickness=450' '--threads=2' bragg-write --quiet 'smear_%d.raw'
pipe '--sensor=smear --thickness=450' '--threads=2 --faint=0.01' bragg-write --quiet 'some_smear_%d.raw'
check 'a smeared sensor loses as little' bragg-compare some_smear_1.raw smear_1.raw --max-error=0.01 --floor=1
check 'a smeared sensor loses some photons' sh -c '! cmp -s some_smear_1.raw smear_1.raw'

# refused TEXT 'GEOMETRY OPTIONS' 'INTENSITY OPTIONS': one line has the text
refused() {
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --detpixels=16 --ncells=5 $2 2>/dev/null | bragg-orient --quiet 2>/dev/null |
		{ bragg-intensity --quiet --faint=1e-4 $3 2>err; echo $? >status; } |
		bragg-write --quiet --overwrite refused.raw 2>/dev/null
	is "refused: $1" "$(cat status) $(wc -l <err) $(grep -c -e "$1" err) $(ls refused* 2>/dev/null)" '3 1 1 '
}
refused 'does not work with --physics=faithful. Remove --faint' --physics=faithful ''
refused 'does not work with --mosaic-model=gauss' '--mosaic-model=gauss --shape=gauss' ''
refused 'does not work with --curved' --curved ''
refused 'does not work with --precision=double' '' --precision=double
finish
