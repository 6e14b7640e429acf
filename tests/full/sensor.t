#!/bin/sh
# The sensor of a detector by its name, as it is by default: dxtbx reads thickness, material and
# attenuation from CBF and NXmx, and spots at 35 degrees are where its parallax puts them.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'a thick sensor' python:dxtbx python:numpy python:bitshuffle.h5

# frame WAVELENGTH [OPTION]: half a degree of rotation of spots as wide as two pixels
frame() {
	bragg-geometry --detector=pilatus-6m --distance=220 --wavelength="$1" ${2-} --cell=50,60,70,90,90,90 --default-F=300 \
		--ncells=15 --shape=gauss --oversample=2 --fluence=1e27 |
		bragg-orient --misset=10,20,30 --osc=0.5 --phi-steps=60 | bragg-intensity |
		bragg-write --scale=100 --cbf-header=pilatus "s$1_%d.cbf" "s$1.nxs"
}
# read_by_dxtbx WAVELENGTH: both files of a frame
read_by_dxtbx() {
	/usr/bin/python3 "$BRAGG_TESTS/full/sensor_readers.py" "s$1_0.cbf" "$PWD/s$1_0.cbf" "$PWD/s$1.nxs" >both 2>&1
	sed 's/^/# /' both
}
value() {
	sed -n "s/^$1 //p" found
}
# within NAME VALUE FROM TO
within() {
	check "$1" awk -v x="$2" -v from="$3" -v to="$4" 'BEGIN {exit !(x != "" && x >= from && x <= to)}'
}
for wavelength in 1.0 1.55; do
	check "a frame at $wavelength A" frame $wavelength $([ $wavelength != 1.0 ] || echo --roi=0,2462,0,1263) # half has spots enough
	read_by_dxtbx $wavelength
	for file in s${wavelength}_0.cbf s$wavelength.nxs; do
		sed -n "\\|^file .*/$file\$|,\$p" both | sed '1d; /^file /,$d' >found
		is "$file: the sensor's thickness" "$(value thickness_mm)" 0.32
		is "$file: the material of the sensor" "$(value material)" Si
		within "$file: dxtbx's mu is the simulation's" "$(value mu_ratio)" 0.99 1.01
		within "$file: spots are found" "$(value spots)" 20 1000
		within "$file: caught photons are where they belong" "$(value caught)" -0.03 0.03
		within "$file: all of them" "$(value spread)" 0 0.05
		# dxtbx counts what goes through the sensor as caught at its front: at 1 A a fifth
		[ $wavelength = 1.0 ] && short=0.12 || short=0.05
		within "$file: and where dxtbx expects them" "$(value dxtbx)" -0.02 $short
		within "$file: which is not where they were without a sensor" "$(value plain)" 0.2 1
	done
done
finish
