#!/bin/sh
# bragg-noisify: rules that no reference case covers, and bad input.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# 5 x 5 pixels, 100 photons in the middle: the bytes of 100.0f are 00 00 c8 42.
head -c 48 /dev/zero >in.bin
printf '\000\000\310\102' >>in.bin
head -c 48 /dev/zero >>in.bin

# pixel FILE INDEX [BYTES]: count of a pixel after the header of 512 bytes.
pixel() {
	od -An -t "u${3:-2}" -j $((512 + $2 * ${3:-2})) -N "${3:-2}" "$1" | tr -d ' '
}
noisify() {
	bragg-noisify -bin in.bin -detpixels 5 -adc 0.5 -calibration 0 "$@"
}

# Without noise the point spread is in the ideal image.  Of a Gaussian two pixels
# wide half the light is further than one pixel: 2 for each of the 25.
check 'noise off' noisify -nonoise -psf gauss -psf_fwhm 200 -psf_radius 1
is 'light far away' "$(pixel intimage.img 0)" 2
is 'light on the diagonal' "$(pixel intimage.img 6)" 2
is 'light in the middle' "$(pixel intimage.img 12)" 22 # 0.5 + 2 + 100 erf(sqrt(ln 2)/2)^2 = 22.2
check 'no noise image' test ! -e noiseimage.img
check 'a preview' test -s image.pgm
rm -f ./*.img ./*.pgm

# With noise the ideal image has no point spread.
check 'noise on' noisify -psf gauss -psf_fwhm 200 -psf_radius 1 -nopgm
is 'ideal middle' "$(pixel intimage.img 12)" 100
is 'ideal corner' "$(pixel intimage.img 0)" 0
check 'no preview' test ! -e image.pgm

# 32 bits: 1e5 photons are beyond 65535; the ideal image is clipped all the same.
check '32 bits' noisify -scale 1000 -bits 32
is 'file size' "$(wc -c <noiseimage.img)" 612
is 'ideal, 32 bits' "$(pixel intimage.img 12 4)" 65535
count=$(pixel noiseimage.img 12 4)
check 'noise, 32 bits' test "$count" -gt 95000 -a "$count" -lt 105000
check '16 bits' noisify -scale 1000
is 'noise, 16 bits' "$(pixel noiseimage.img 12)" 65535
is 'file size, 16 bits' "$(wc -c <noiseimage.img)" 562

# Calibration seeds: -1 is what the default and any negative one come to; none
# matters once there is flicker.
run() {
	bragg-noisify -bin in.bin -detpixels 5 -scale 50 -calibration 0.2 -nopgm "$@" && sha256sum <noiseimage.img
}
default=$(run)
is 'default calibration seed' "$(run -calib_seed 1)" "$default"
is 'negative calibration seed' "$(run -calib_seed -77)" "$default"
check 'another calibration seed changes the image' test "$(run -calib_seed 2)" != "$default"
is 'dead calibration seed' "$(run -flicker 0.1 -calib_seed 2)" "$(run -flicker 0.1 -calib_seed 3)"
check 'another seed changes the image' test "$(run -seed 2)" != "$default"

# A header gives sizes, overrules flags and is copied as it is, here nanoBragg's own (tests/cli/golden.t).
check 'an image of nanoBragg' bragg-nanobragg -cell 70 80 90 90 90 90 -default_F 1 -N 2 -lambda 1.1 -distance 70 \
	-pixel 0.1 -detpixels 5 -phi 17.5 -osc 1 -twotheta 10 -seed 1 -nopgm -noisefile nano.img
check 'header' bragg-noisify -header nano.img -bin in.bin -intfile h.img -noisefile g.img -pixel 0.1
is 'the header names the rotation' "$(head -c 512 nano.img | grep -c -e '^PHI=17.5;$' -e '^TWOTHETA=10;$')" 2
for name in h g; do
	head -c 512 nano.img >expected
	head -c 512 $name.img >got
	check "the header of $name.img is a copy" cmp expected got
	is "$name.img holds 25 pixels" "$(wc -c <$name.img)" 562
done
is 'a header overrules flags' "$(bragg-noisify -header nano.img -bin in.bin -nonoise -nopgm -distance 7 -phi 3 -intfile h.img 2>&1)" \
	'bragg-noisify: warning: -header overrules these flags: -distance -phi'
check 'the sizes of the header count' cmp -s -n 512 nano.img h.img
check 'a header of other bits is said' sh -c 'bragg-noisify -header nano.img -bin in.bin -nonoise -nopgm -bits 32 -intfile h.img 2>&1 |
	grep -q "has TYPE=unsigned_short, but the pixels have 32 bits (-bits)"'
check 'a message names another byte order of the header' sh -c 'sed "s/little_endian/big_endian/;s/=512/=509/" nano.img >big.img &&
	bragg-noisify -header big.img -bin in.bin -nonoise -nopgm -intfile h.img 2>&1 | grep -q "another BYTE_ORDER"'

# What noisify writes into headers of its own.
check 'header of its own' noisify -nonoise -nopgm -bits 32 -pixel 0.2 -Xbeam 0.3 -Ybeam 0.2 -phi 3 -osc 0.5
is 'BEAM_CENTER_Y counts from the other edge' "$(head -c 512 intimage.img | sed -n 's/^BEAM_CENTER_Y=//p')" '0.8;'
is 'TYPE of 32 bits, and the rotation' "$(head -c 512 intimage.img | sed -n 's/^\(TYPE\|PHI\|OSC_RANGE\)=//p' | tr -d '\n')" \
	'long_integer;3;0.5;'

# The preview shows the ideal counts up to 255.
for bits in 16 32; do
	check "preview, $bits bits" bragg-noisify -bin in.bin -detpixels 5 -nonoise -scale 2 -adc 60 -bits $bits
	is "preview, $bits bits: its head" "$(head -n 4 image.pgm | tr '\n' ' ')" 'P5 5 5 # pixels scaled by 1 255 '
	is "preview, $bits bits: its pixels" "$(tail -c 25 image.pgm | od -An -tu1 -v | tr -s ' \n' ' ')" \
		' 60 60 60 60 60 60 60 60 60 60 60 60 255 60 60 60 60 60 60 60 60 60 60 60 60 '
done

# Bad input: one line, a status, no file.
rm -f ./*.img ./*.pgm
bad() {
	status=$1
	shift
	check_status "bad: $*" "$status" bragg-noisify "$@"
	is 'one line' "$(bragg-noisify "$@" 2>&1 | wc -l)" 1
}
printf '{\nHEADER_BYTES=512;\nSIZE1=nan;\n}' >bad.header
bad 2 -unknown
bad 2 -bin
bad 2 -bin in.bin -gain nan
bad 2 -bin in.bin -psf round
bad 2 -bin in.bin -bits 8
bad 2 -bin in.bin stray
bad 2 --engine=cpu
bad 3 -bin in.bin -detpixels 0 -detsize 0
bad 3 -bin in.bin -detpixels -5
bad 3 -bin in.bin -detpixels 9223372036854775807
bad 3 -bin in.bin -detpixels 5 -pixel 0
bad 3 -bin in.bin -detpixels 5 -psf gauss -psf_fwhm 0
bad 3 -bin in.bin -detpixels 5 -psf gauss -psf_radius -1
bad 3 -bin in.bin -detpixels 6
bad 3 -bin in.bin -detpixels 46000
bad 3 -bin in.bin -header bad.header
bad 1 -bin none.bin -detpixels 5
bad 1 -bin . -detpixels 5
bad 1 -bin in.bin -detpixels 5 -intfile no/such/folder.img
bad 1 -bin in.bin -detpixels 5 -intfile /dev/full
is 'nothing written' "$(echo *.img *.pgm *.??????)" '*.img *.pgm bad.header'

check 'flags without effect' noisify -badpix_seed 3 -nonoise
is 'one warning' "$(noisify -badpix_seed 3 -hotpix_seed 4 -nonoise 2>&1)" \
	'bragg-noisify: warning: these flags have no effect: -badpix_seed -hotpix_seed'
check 'version' bragg-noisify --version
check 'help' bragg-noisify --help
finish
