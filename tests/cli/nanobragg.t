#!/bin/sh
# bragg-nanobragg: flags and their side effects, files, refusals.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

base="-cell 70 80 90 75 85 95 -default_F 100 -N 4 -detpixels 32 -pixel 0.4 -oversample 1 -misset 10 20 30 -nopgm"

# Checksum of the float image for more flags after the base ones.
image() {
	rm -f floatimage.bin
	# shellcheck disable=SC2086 # arguments are words
	bragg-nanobragg $base "$@" >stdout 2>stderr || cat stderr
	sha256sum <floatimage.bin | cut -c1-16
}

same() {
	got=$(image $2)
	is "$1" "$got" "$(image $3)"
}

differ() {
	got=$(image $2)
	if [ "$got" = "$(image $3)" ]; then tap_result 1 "$1"; else tap_result 0 "$1"; fi
}

refused() {
	name=$1 status=$2
	shift 2
	rm -rf work && mkdir work
	got=0
	(cd work && exec bragg-nanobragg "$@" >../stdout 2>../stderr) || got=$?
	is "$name: status, lines, files" "$got $(wc -l <stderr) $(find work -type f | wc -l)" "$status 1 0"
}

same "-cell: trailing values are optional" "-cell 100" "-cell 100 100 100 90 90 90"
same "-cell: stops at a flag" "-cell 100 120 -seed 3" "-cell 100 120 100 90 90 90"
same "-wavelength is -lambda" "-wavelength 1.2" "-lambda 1.2"
same "-energy is a wavelength" "-energy 12398.42" "-lambda 1"
same "-N is all three" "-N 3" "-Na 3 -Nb 3 -Nc 3"
same "-N 0 is 1" "-N 0" "-N 1"
same "-mosaicity, -mosaic_domains" "-mosaicity 1 -mosaic_domains 5" "-mosaic 1 -mosaic_dom 5"
same "-mosaic alone: 10 domains, seed 12345678" "-mosaic 1" "-mosaic 1 -mosaic_domains 10 -mosaic_seed 12345678"
same "-divergence is both ranges" "-divergence 3 -divsteps 2" "-hdivrange 3 -vdivrange 3 -hdivsteps 2 -vdivsteps 2"
same "-xtalsize is three sizes" "-xtalsize 0.00004" "-xtal_x 0.00004 -sample_width 0.00004 -height 0.00004"
same "the last convention wins" "-xds -mosflm" ""
same "a convention drops vectors" "-fdet_vector 0 1 0 -mosflm" ""
differ "-pix0_vector chooses CUSTOM" "-pix0_vector 0 0 0" ""
same "negative values are values" "-misset -5 2 3 -Xbeam -1.5" "-Xbeam -1.50 -misset -5.0 2 3"
same "-polar cancels -nopolar" "-nopolar -polar 0" ""
same "-twotheta_axis is -twotheta too" "-twotheta_axis 3 0 0 -mosflm" "-twotheta 3 -mosflm"
differ "physical: it is not" "--physics=physical -twotheta_axis 3 0 0 -mosflm" "--physics=physical -twotheta 3 -mosflm"
same "-misset_seed takes two more arguments as angles" "-misset random -misset_seed 7 -seed 8" "-misset 7 0 8"
differ "physical: it does not" "--physics=physical -misset random -misset_seed 7 -seed 8" "--physics=physical -misset 7 0 8"
same "misset does not follow -seed" "-misset random -seed 8" "-misset random -seed 9"
same "-pivot does nothing in XDS" "-xds -twotheta 5 -pivot beam" "-xds -twotheta 5"
is "a warning names the flag without effect" "$(image -xds -pivot beam >/dev/null; grep -c 'no effect in this convention, as in nanoBragg: -pivot' stderr)" 1
differ "-pivot counts in CUSTOM" "-spindle_axis 0 0 1 -twotheta 5 -pivot beam" "-spindle_axis 0 0 1 -twotheta 5"
same "-Xbeam: pivot BEAM in CUSTOM" "-spindle_axis 0 0 1 -twotheta 5 -Xbeam 6" "-spindle_axis 0 0 1 -twotheta 5 -pivot beam -Xbeam 6"
same "-dials before a vector notes pivot BEAM" "-dials -spindle_axis 1 0 0 -detector_roty 5" "-adxv -spindle_axis 1 0 0 -detector_roty 5"
differ "-xds before a vector notes pivot SAMPLE" "-xds -spindle_axis 1 0 0 -detector_roty 5" "-adxv -spindle_axis 1 0 0 -detector_roty 5"
is "-oversample_thick without a sensor stops nothing" "$(image -oversample_thick)" "$(head -c 4096 /dev/zero | sha256sum | cut -c1-16)"
differ "physical: a sensor without thickness stops all" "--physics=physical -oversample_thick" "-oversample_thick"
differ "physical: -pivot counts everywhere" "--physics=physical -xds -twotheta 5 -pivot beam" "--physics=physical -xds -twotheta 5"
differ "physical: ORGX moves MOSFLM" "--physics=physical -ORGX 3" "--physics=physical"
same "faithful: it does not" "-ORGX 3" ""
same "flags without effect" "-stol none -density 3 -molecules 4 -printout -coherent" ""
is "one warning names them all" "$(image -stol none -density 3 -coherent >/dev/null; grep -c 'no effect: -stol -density -coherent' stderr)" 1
is "detector_abs inf, then thick: dark" "$(image -detector_abs inf -detector_thick 100 >/dev/null; cut -d, -f1 stdout)" "max_I = 0 at pixel 0 0"
same "detector_thick, then abs inf: no sensor" "-detector_thick 100 -detector_abs inf" ""

rm -rf ./* && bragg-nanobragg -cell 100 -default_F 1 -detpixels 16 >out
is "default names" "$(echo *)" "floatimage.bin image.pgm intimage.img noiseimage.img out"
rm -rf ./* && bragg-nanobragg -cell 100 -default_F 1 -detpixels 16 -nonoise -nopgm -floatimage a -intimage b >out
is "chosen names" "$(echo *)" "a b out"
bragg-nanobragg -cell 100 -default_F 1 -detpixels 16 -seed 1 >/dev/null && mv noiseimage.img one.img
bragg-nanobragg -cell 100 -default_F 1 -detpixels 16 >/dev/null
check "the default seed is fixed" cmp one.img noiseimage.img

# one generator for all: a noise seed that does not start it anew goes on after the mosaic
noise() {
	image "$@" >/dev/null
	sha256sum <noiseimage.img | cut -c1-16
}
is "-seed starts the generator" "$(noise -seed 5 -mosaic_seed 1)" "$(noise -seed 5 -mosaic_seed 2)"
if [ "$(noise -seed -5 -mosaic_seed 1)" = "$(noise -seed -5 -mosaic_seed 2)" ]; then got=same; else got=other; fi
is "a negative -seed goes on" $got other

# structure factors: -hkl leaves a dump; a dump is read by name only
printf '0 0 0 10\n1 0 0 20\n0 1 0 30\n0 0 1 40\n-1 0 0 50\n' >few.hkl
from_hkl=$(image -hkl few.hkl)
check "-hkl writes Fdump.bin" test -s Fdump.bin
is "a dump that lies there is not read" "$(image)" "$(rm -f Fdump.bin; image)"
image -hkl few.hkl -dump F.bin >/dev/null
is "-dump without -hkl reads it" "$(image -dump F.bin)" "$from_hkl"
rm -f F.bin
image --physics=physical -hkl few.hkl >/dev/null
check "physical: no dump unless named" test ! -e Fdump.bin

# traces end in the pixel that is written
bragg-nanobragg $base --trace-pixel=17,14 >trace
photons=$(sed -n 's/^trace: photons \([^ ]*\) photons$/\1/p' trace)
pixel=$(od -An -tf4 -j $((4 * (14 * 32 + 17))) -N4 floatimage.bin)
is "--trace-pixel" "$(printf '%.5e' "$photons")" "$(printf '%.5e' $pixel)"
bragg-nanobragg $base -printout_pixel 17 14 >again
check "-printout_pixel is the same" cmp trace again

# the other engine keeps the set-up quirks and refuses those of the loop
image >/dev/null && cp floatimage.bin reference.bin
image --engine=cpu >/dev/null
od -An -v -tf4 -w4 reference.bin >r
od -An -v -tf4 -w4 floatimage.bin >c
is "--engine=cpu, faithful set-up: relative error at most 1e-5" "$(paste r c | awk '
	{ want[NR] = $1; got[NR] = $2; sum += $1 }
	END {
		for (i = 1; i <= NR; i++) {
			d = got[i] - want[i]
			if (d < 0) d = -d
			floor = want[i] > 1e-3 * sum / NR ? want[i] : 1e-3 * sum / NR
			if (d > 1e-5 * floor) bad++
		}
		print NR, bad + 0
	}')" "1024 0"
refused "cpu: factors on the running sum" 2 --engine=cpu -cell 100 -oversample_omega
refused "cpu: layers" 2 --engine=cpu -cell 100 -detector_thick 100 -detpixels 16
refused "cpu: water" 2 --engine=cpu -cell 100 -water 5 -detpixels 16
refused "cpu: phi 0" 2 --engine=cpu -cell 100 -osc 1 -phisteps 2 -detpixels 16
check "cpu: phi steps without 0 pass" bragg-nanobragg --engine=cpu -cell 100 -phi 1 -osc 1 -phisteps 2 -detpixels 16
check "cpu: physical passes" bragg-nanobragg --engine=cpu --physics=physical -cell 100 -water 5 -oversample_omega -detpixels 16

refused "unknown flag" 2 -cell 100 -bogus
refused "unknown option" 2 -cell 100 --bogus=1
refused "unknown engine" 2 --engine=gpu -cell 100
refused "missing value" 2 -cell 100 -distance
refused "no number" 2 -cell 100 -distance 10mm
refused "NaN" 2 -cell 100 -lambda nan
refused "stray argument" 2 -cell 100 -xds 17
refused "no crystal" 3 -detpixels 16
refused "impossible cell" 3 -cell 10 10 10 30 30 90
refused "zero pixel" 3 -cell 100 -pixel 0
refused "too many pixels" 3 -cell 100 -detpixels 2147483648
refused "2^63" 2 -cell 100 -detpixels 9223372036854775808
refused "empty ROI" 3 -cell 100 -detpixels 16 -roi 20 30 0 5
refused "missing hkl" 1 -cell 100 -hkl none.hkl
refused "folder as hkl" 1 -cell 100 -hkl .
refused "missing matrix" 1 -mat none.mat
refused "missing source file" 1 -cell 100 -sourcefile none
refused "missing mask" 1 -cell 100 -mask none.img
refused "no dump" 1 -cell 100 -dump none.bin
refused "half a pixel to trace" 2 -cell 100 -detpixels 16 --trace-pixel=1,1.5
refused "pixel to trace off the detector" 3 -cell 100 -detpixels 16 --trace-pixel=16,0
cp intimage.img mask.img 2>/dev/null || bragg-nanobragg -cell 100 -detpixels 16 -nopgm -nonoise -intfile mask.img >/dev/null
refused "mask of another size" 3 -cell 100 -detpixels 17 -mask "$PWD/mask.img"
refused "folder as output" 1 -cell 100 -detpixels 16 -noisefile .
refused "unwritable folder" 1 -cell 100 -detpixels 16 -pgmfile /dev/null/x.pgm

finish
