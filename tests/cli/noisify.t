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
check 'another calibration seed' test "$(run -calib_seed 2)" != "$default"
is 'dead calibration seed' "$(run -flicker 0.1 -calib_seed 2)" "$(run -flicker 0.1 -calib_seed 3)"
check 'another seed' test "$(run -seed 2)" != "$default"

# A header gives sizes, flags overrule it.
check 'header' bragg-noisify -header noiseimage.img -bin in.bin -nonoise -distance 70 -intfile h.img
is 'pixels of the header' "$(head -c 512 h.img | grep -c -e '^SIZE1=5;$' -e '^DISTANCE=70;$')" 2

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
