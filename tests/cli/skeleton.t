#!/bin/sh
# The stage to copy: what it does to pixels, and what it refuses.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# photons: a small image of one crystal
photons() {
	bragg-geometry --quiet --detpixels=32 --ncells=5 --fluence=1e27 --default-F=100 --cell=60,70,80,90,90,90 |
		bragg-orient --quiet | bragg-intensity --quiet
}
# pixels FILE: the float32 values of a raw image, a line each
pixels() {
	od -An -v -t f4 -w4 "$1"
}

photons | bragg-write --quiet one.raw
photons | bragg-skeleton --quiet --factor=1 | bragg-write --quiet same.raw
photons | bragg-skeleton --quiet --factor=4 | bragg-write --quiet four.raw
check 'a factor of 1 leaves the pixels as they are' cmp one.raw same.raw
pixels one.raw >one
pixels four.raw >four
check 'the image is not dark' awk '$1 > 0 { lit = 1 } END { exit !lit }' one
is 'every pixel is multiplied' "$(paste one four | awk '($2 - 4 * $1) ^ 2 > (1e-5 * $2) ^ 2' | wc -l)" 0

check_status 'a factor below 0 is a usage error' 2 bragg-skeleton --factor=-1
photons | bragg-noise --quiet | { bragg-skeleton 2>errors || echo $? >status; } | bragg-write --quiet bad.raw 2>after
is 'an image with noise is bad input' "$(cat status)" 3
check 'the message says what to do' grep -q 'Put this stage before bragg-noise' errors
finish
