#!/bin/sh
# NXmx in other hands: dxtbx reads rotation series and stills of every compression, with the
# geometry of SMV; h5py reads the truth; stills are indexed.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs NXmx dials.import python:bitshuffle.h5 python:h5py
# frames NAME COMPRESSION ORIENTATION OPTION...: four as NAME.nxs and SMV; the last of bragg-geometry.
frames() {
	name=$1 compression=$2 orientation=$3
	shift 3
	# shellcheck disable=SC2086 # the list is meant to split
	bragg-geometry --detpixels=300,200 --pixel=0.172 --distance=90 --wavelength=1.0332 \
		--ncells=10 --fluence=1e26 "$@" 2>>geometry.log |
		bragg-orient --frames=4 $orientation |
		bragg-intensity |
		bragg-background --water=0.0015 |
		bragg-noise --seed=3 --adc-offset=0 |
		bragg-write "$name.nxs" "${name}_%04d.img" $more --frames-per-file=3 --compression="$compression" 2>>write.log
}
mask() {
	perl -e '$h = "{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\n" .
		"SIZE1=300;\nSIZE2=200;\nPIXEL_SIZE=0.172;\n}\n";
		print $h, " " x (512 - length $h), pack("v*", map {$_ % 37 != 5} 0 .. 59999)'
}
mask >mask.img
rotation='--phi0=30 --osc=0.5 --phi-steps=9 --misset=10,20,30'
centre=--beam-center=20.1,30.7
more=
for compression in bslz4 lz4 gzip none; do
	frames "still_$compression" $compression '--random' $centre
done
frames rotation bslz4 "$rotation" $centre
frames xds gzip "$rotation" --convention=xds
more='masked_%04d.cbf'
frames masked bslz4 "$rotation" $centre --mask=mask.img
agree() {
	check "$2" grep -qx "$1 agrees" readers
}
/usr/bin/python3 "$BRAGG_TESTS/full/nxmx_readers.py" still_bslz4 still_lz4 still_gzip still_none rotation xds masked \
	>readers 2>readers.log || complain "$(cat readers.log)"
for compression in bslz4 lz4 gzip none; do
	agree "still_$compression" "stills, $compression"
done
agree rotation 'a rotation series'
agree xds 'the axes of another convention'
agree masked 'a mask'

check 'the truth is that of the SMV headers' /usr/bin/python3 "$BRAGG_TESTS/full/nxmx_truth.py" still_bslz4
check 'DIALS imports stills as they are' sh -c 'dials.import still_bslz4.nxs output.experiments=stills.expt >import.log 2>&1'
is 'four of them' "$(sed -n 's/^ *num stills: *//p' import.log)" 4
finish
