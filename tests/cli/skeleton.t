#!/bin/sh
# The stage and the sink to copy: what they do with pixels, and what they refuse.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# photons OPTION...: a small image of one crystal; options of bragg-intensity
photons() {
	bragg-geometry --quiet --detpixels=32 --ncells=5 --fluence=1e27 --default-F=100 --cell=60,70,80,90,90,90 |
		bragg-orient --quiet | bragg-intensity --quiet "$@"
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

# The derivative by the scale of the image is the image.
photons --derivatives=scale | bragg-skeleton --quiet --factor=4 | bragg-write --quiet scaled.raw
pixels scaled.raw >image
pixels scaled.scale.raw >derivative
is 'derivative images are multiplied, too' "$(paste image derivative | awk '($2 - $1) ^ 2 > (1e-5 * $1) ^ 2' | wc -l)" 0

check_status 'a factor below 0 is a usage error' 2 bragg-skeleton --factor=-1
photons | bragg-noise --quiet | { bragg-skeleton 2>errors || echo $? >status; } | bragg-write --quiet bad.raw 2>after
is 'an image with noise is bad input' "$(cat status)" 3
check 'the message says what to do' grep -q 'Put this stage before bragg-noise' errors

# the sink: a line for each frame
frames() {
	bragg-geometry --quiet --detpixels=32 --cut=1,2 --ncells=5 --fluence=1e27 --default-F=100 --cell=60,70,80,90,90,90 "$@" |
		bragg-orient --quiet --frames=3 --random | bragg-intensity --quiet --threads=1
}
bright() { # FILE...: how many pixels of each raw image are above 0.01 photons
	for file; do od -An -v -t f4 -w4 "$file" | awk '$1 > 0.01 { n++ } END { print n + 0 }'; done
}
frames | bragg-write --quiet 'all_%d.raw'
frames | bragg-skeleton-sink --quiet --order --above=0.01 >lines
is 'a line for each frame: its number and its bright pixels' "$(tr '\n' ' ' <lines)" \
	"$(bright all_?.raw | awk '{ printf "%d %d ", NR - 1, $1 }')"
check 'there are bright pixels' awk '$2 > 10 { n++ } END { exit n < 2 }' lines
{ printf '{\nHEADER_BYTES=  512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nSIZE1=32;\nSIZE2=32;\n}\f' | dd bs=512 conv=sync
	{ head -c 1024 /dev/zero && head -c 1024 /dev/zero | tr '\0' '\1'; }; } >mask.img 2>/dev/null
frames --mask=mask.img | bragg-skeleton-sink --quiet --order --above=-1 >lines
is 'masked pixels do not count' "$(tr '\n' ' ' <lines)" '0 512 1 512 2 512 '
status=0
frames | bragg-skeleton-sink --quiet >/dev/full 2>errors || status=$?
is 'a full disk ends the run' "$status $(cat errors)" '1 bragg-skeleton-sink: cannot write to stdout: No space left on device'
frames | { bragg-skeleton-sink --quiet 2>errors || echo $? >status; } | true
is 'a reader that leaves gets no message' "$(cat errors)" ''
finish
