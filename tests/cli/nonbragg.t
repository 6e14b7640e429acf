#!/bin/sh
# bragg-nonbragg: rules that no reference case covers, and bad input.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
printf '0 8\n0.05 6.9\n0.1 5\n0.2 3.3\n0.3 2.5\n0.5 1.6\n' >a.stol
printf '0 8\n0.2 6.9\n0.4 5\n0.8 3.3\n1.2 2.5\n2 1.6\n' >a.4stol

# run OUTPUT FLAGS...: a small image as floats.
run() {
	out=$1
	shift
	bragg-nonbragg -stol a.stol -detpixels 20 -pixel 1 -distance 50 -nonoise -nopgm -floatfile "$out" "$@"
}
key() {
	tr '\f' '\n' <intimage.img | sed -n "s/^$1=\\(.*\\);\$/\\1/p" | head -1
}
# ratio A B: of the first pixels of two float images, times 1000, as a whole number.
ratio() {
	{
		od -An -t f4 -N 4 "$1"
		od -An -t f4 -N 4 "$2"
	} | awk 'NR == 1 { a = $1 } NR == 2 { printf "%.0f\n", 1000 * a / $1 }'
}

check 'runs' run base.bin
check '-4stol' run four.bin -4stol a.4stol
is '-4stol is four times -stol' "$(ratio four.bin base.bin)" 1000
awk '{ printf "%.17g %s\n", $1 * 4 * atan2(0, -1), $2 }' a.stol >a.q
check '-Q' run q.bin -Q a.q
is '-Q is 4 pi times -stol' "$(ratio q.bin base.bin)" 1000

# The sample across the beam is cut to the beam, 0.1 mm by default.
check '-width' run wide.bin -width 5 -heigh 5
check 'cut to the beam' cmp wide.bin base.bin
check '-beamsize' run narrow.bin -width 0.05
is 'half the width' "$(ratio narrow.bin base.bin)" 500
check '-thickness' run thick.bin -thickness 0.3
is 'three times the thickness' "$(ratio thick.bin base.bin)" 3000
check 'the last size counts' run last.bin -samplesize 5 -thickness 0.3
is 'a size, then a thickness' "$(ratio last.bin base.bin)" 3000
check '-density' run dense.bin -density 2
is 'twice the density' "$(ratio dense.bin base.bin)" 2000
check '-MW' run heavy.bin -MW 36
is 'half the molecules' "$(ratio heavy.bin base.bin)" 500
check '-molecules' run one.bin -molecules 33456343277777777
is 'a microgram of water' "$(ratio one.bin base.bin)" 1000

# -Fmap: the table's own F at the beam centre, and no photons; -gain is accepted and does nothing.
rm -rf fmap && mkdir fmap && (cd fmap && printf '0 8\n1 8\n' >flat.stol &&
	bragg-nonbragg -stol flat.stol -detpixels 8 -Fmap -gain 3 >out 2>warning)
is '-Fmap writes F' "$(od -An -tf4 -N8 fmap/floatimage.bin | tr -s ' ')" ' 8 8'
check '-gain is warned about' grep -q -- -gain fmap/warning

# Sources: weights as they are, wavelengths used.
printf -- '-1 0 0 3 1e-10\n' >one.src
check '-sourcefile' run source.bin -sourcefile one.src
is 'weight of a source' "$(ratio source.bin base.bin)" 3000
check '-dispersion' run spread.bin -dispersion 10 -dispsteps 3
check 'wavelengths matter' sh -c '! cmp -s spread.bin base.bin'
check 'divergence' run fan.bin -divergence 20 -divsteps 3
check 'divergence matters' sh -c '! cmp -s fan.bin base.bin'

# 10.03 mm of 0.1 mm pixels: 101 here, 100 in nanoBragg; X is fast.
check '-detsize' bragg-nonbragg -stol a.stol -detsize 10.03 -pixel 0.1 -nonoise -nopgm -floatfile x.bin
is 'pixels round up' "$(key SIZE1)" 101
check 'centre' run x.bin -Xbeam 6 -Ybeam 4
is 'BEAM_CENTER_X' "$(key BEAM_CENTER_X)" 6
is 'BEAM_CENTER_Y' "$(key BEAM_CENTER_Y)" 16
is 'ORGX' "$(key ORGX)" 6
check 'ORGX is a number of pixels' run x.bin -ORGX 7 -ORGY 5
is 'ORGX as given' "$(key ORGX)" 7
check 'region' run roi.bin -roi 3 4 5 6
is 'pixels outside stay 0' "$(od -An -v -t f4 -w4 roi.bin | awk '$1 != 0' | wc -l)" 4

# Bad input: one line, a status, no file.
rm -f ./*.img ./*.bin
bad() {
	status=$1
	shift
	check_status "bad: $*" "$status" bragg-nonbragg -detpixels 4 "$@"
	is 'one line' "$(bragg-nonbragg -detpixels 4 "$@" 2>&1 | wc -l)" 1
}
: >empty.stol
printf '0 8\n0 7\n' >twice.stol
printf '0 nan\n1 3\n' >nan.stol
bad 2
bad 2 -stol
bad 2 -stol a.stol -cell 100
bad 2 -stol a.stol -detector_thick 400
bad 2 -stol a.stol -lambda inf
bad 2 -stol a.stol -pivot corner
bad 3 -stol a.stol -lambda 0
bad 3 -stol a.stol -MW 0
bad 3 -stol a.stol -density -1
bad 3 -stol a.stol -oversample 0
bad 3 -stol a.stol -distance 0
bad 3 -stol a.stol -pixel 0
bad 3 -stol a.stol -detsize 1e9 -detpixels 0
bad 3 -stol a.stol -roi 5 9 5 9
bad 3 -stol a.stol -beam_vector 0 0 0
bad 3 -stol a.stol -polar_vector 1 0 0
bad 3 -stol empty.stol
bad 3 -stol twice.stol
bad 3 -stol nan.stol
bad 1 -stol none.stol
bad 1 -stol .
bad 1 -stol a.stol -floatfile no/such/folder.bin
bad 1 -stol a.stol -floatfile /dev/full
is 'nothing written' "$(echo ./*.img ./*.bin)" './*.img ./*.bin'
check 'version' bragg-nonbragg --version
finish
