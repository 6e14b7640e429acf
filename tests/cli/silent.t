#!/bin/sh
# What would be wrong without a word: photons that are no numbers, pixels that do not fit.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# recipes FRAMES OPTION...: of a small detector, whose lattices scatter everywhere
recipes() {
	frames=$1
	shift
	bragg-geometry --detpixels=64 --pixel=1.6 --distance=120 --wavelength=1.0 --ncells=5 "$@" 2>> upstream |
		bragg-orient --frames="$frames" 2>> upstream
}
# last NAME COMMAND...: a last stage but one, its status kept and its words in NAME
last() {
	name=$1
	shift
	"$@" 2> "$name" || echo $? > "$name.status"
}

# photons that are no numbers: by every engine, alone and with other stages in it
bad='frame 0: pixel 0,0 (fast, slow) of panel 0 has inf photons, must be finite and not negative'
n=0
for how in --engine=cpu --engine=reference --precision=double '--fuse=background --water=1' '--fuse=noise' '--fuse=noise --psf=gauss'; do
	n=$((n + 1))
	recipes 2 --fluence=1e60 --default-F=1e9 --cell=78,78,38,90,90,90 | last said bragg-intensity "$how" | bragg-write "a${n}_%d.raw" 2>> downstream
	is "too many photons, $how" "$(cat said said.status; ls a${n}_* 2> /dev/null)" "bragg-intensity: $bad
3"
	rm -f said.status
done
recipes 2 --fluence=1e60 --beam-size=10 | bragg-intensity 2>> upstream | last said bragg-background --water=1e6 |
	bragg-write b_%d.raw 2>> downstream
is 'too much background' "$(cat said said.status; ls b_* 2> /dev/null)" "bragg-background: $bad
3"
rm -f said.status

# what does not fit: counted, said once
counts='3 of 3 frames: N pixels saturated (50 ADU), N below 0'
noise='--adc-offset=3 --readout=3 --saturation=50'
# numbers FILE: with the numbers of pixels as N, where they are
numbers() {
	sed 's/ [1-9][0-9]* pixels/ N pixels/; s/ [1-9][0-9]* below/ N below/' "$1"
}
recipes 3 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | last said bragg-noise $noise | bragg-write c_%d.img 2>> downstream
is 'bragg-noise says what does not fit' "$(numbers said)" "bragg-noise: $counts"
recipes 3 --fluence=5e27 --default-F=100 | last fused bragg-intensity --fuse="noise $noise" | bragg-write d_%d.img 2>> downstream
is 'so does the stage that does its work' "$(sed 's/.*: 3 of/3 of/' fused)" "$(sed 's/.*: 3 of/3 of/' said)"
check 'of the same pixels' cmp c_2.img d_2.img
saturated=0 zero=0
for i in 0 1 2; do
	saturated=$((saturated + $(od -An -v -w2 -tu2 -j512 c_$i.img | grep -c ' 50$')))
	zero=$((zero + $(od -An -v -w2 -tu2 -j512 c_$i.img | grep -c ' 0$')))
done
is 'saturated pixels are those that read the most' "$(sed 's/.*: \([0-9]*\) pixels.*/\1/' said)" $saturated
check 'some of those that read 0 were below' test "$(sed 's/.* \([0-9]*\) below.*/\1/' said)" -lt $zero
recipes 3 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | last said bragg-noise $noise --quiet | bragg-write e_%d.img 2>> downstream
is 'not with --quiet' "$(cat said)" ''
recipes 3 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | last said bragg-noise | bragg-write f_%d.img 2>> downstream
is 'nothing where all fits' "$(cat said)" ''
recipes 2 --physics=faithful --fluence=5e27 --default-F=100 | bragg-intensity --engine=reference 2>> upstream |
	last said bragg-noise --generator=nanobragg --gain=2000 --adc-offset=3 --readout=3 | bragg-write g_%d.img 2>> downstream
is 'that of nanoBragg likewise' "$(numbers said)" 'bragg-noise: 2 of 2 frames: N pixels saturated (65535 ADU), N below 0'
recipes 2 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | bragg-write --scale=1e4 h_%d.img h_%d.cbf 2> said
is 'bragg-write --scale says it for each file' "$(numbers said)" 'bragg-write: h_%d.img: 2 of 2 frames: N pixels saturated (65535 ADU), 0 below 0'
finish
