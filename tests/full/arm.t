#!/bin/sh
# A detector on a turned arm, in headers of beamlines: braggpipe and dxtbx read the same panel, within 0.00001 mm.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'images of a turned arm' python:dxtbx python:h5py python:numpy python:fabio
scratch
images="/usr/bin/python3 $BRAGG_TESTS/full/arm_images.py"
make_flat() { bragg-orient --quiet --frames=2 --osc=0.5 | bragg-intensity --quiet | bragg-noise --quiet | bragg-write --quiet --overwrite "$@"; }
bragg-geometry --quiet --detpixels=100x80 --pixel=0.2 --distance=70 --ncells=5 | make_flat flat.nxs
$images write
for image in full_0001.cbf tall_0001.cbf saturn_0001.img arm.nxs; do
	$images panel $image >theirs 2>none
	bragg-replay --quiet $image 2>said | bragg-write --quiet --overwrite played.nxs
	is "$image: played, the panel of dxtbx, wavelength and rotation" "$($images panel played.nxs 2>none)" "$(cat theirs)"
	is "$image: not a word" "$(cat said)" ''
	bragg-geometry --quiet --detector=$image --ncells=3 | make_flat simulated.nxs
	is "$image: bragg-geometry takes the same panel" "$($images panel simulated.nxs 2>none | cut -d' ' -f1-10)" "$(cut -d' ' -f1-10 theirs)"
done
is 'the panel is turned by 20 deg' "$($images panel full_0001.cbf 2>none | cut -d' ' -f1-6)" '1.00000 0.00000 0.00000 0.00000 -0.93969 -0.34202'

is 'the distance and the beam of its stream are those on the turned panel' "$(bragg-replay --quiet full_0001.cbf | bragg-write --quiet --overwrite c_%d.cbf &&
	strings c_0.cbf | sed -n 's/^# Detector_distance \([0-9.]\{6\}\).*/\1/p; s/^# Beam_xy (\([0-9]*\)[.0-9]*, \([0-9-]*\).*/\1 \2/p' | tr '\n' ' ')" '0.0906 241 487 '
# --- files of bragg-write: CBF and SMV have the panel of NXmx, for DIALS and for bragg-replay
own() { # NAME OPTIONS_OF_GEOMETRY [OPTION_OF_WRITE]
	bragg-geometry --quiet --distance=70 --ncells=5 --thickness=0 $2 | bragg-orient --quiet --frames=2 --osc=0.5 --phi0=10 | bragg-intensity --quiet |
		bragg-noise --quiet --adc-offset=0 --bits=16 | bragg-write --quiet --overwrite ${3-} t_%04d.cbf t_%04d.img t.nxs 2>none
	for image in t_0000.cbf t_0000.img; do
		bragg-replay --quiet $image 2>said | bragg-write --quiet --overwrite played_$image.nxs
		is "$1: bragg-replay says nothing about $image" "$(cat said)" ''
	done
	is "$1: panel, pixels, mask and plane of polarization, by DIALS and fabio" \
		"$($images same t.nxs t_0000.cbf t_0000.img played_t_0000.cbf.nxs played_t_0000.img.nxs 2>&1)" "$4"
	rm -f t_* t.nxs
}
small='--detpixels=100x80 --pixel=0.2'
flat='0.9900 0.000 1.000 0.000'
own '2theta' "$small --twotheta=20" '' "$flat"
own 'other tilts' "$small --twotheta=-35 --rotate=3,5,7" '' "$flat"
own 'a mirrored image, masked pixels' "$small --convention=adxv --twotheta=20 --roi=10,50,10,50" '' "$flat"
own 'another coordinate system' "$small --convention=dials --twotheta=20" '' "$flat"
own 'a vertical rotation axis' "$small --convention=custom --spindle=0,1,0 --slow-axis=0,1,0 --polarization-vector=0,1,1 --rotate=0,15,0" '' '0.9900 0.707 0.707 0.000'
own 'a header of a Pilatus' '--detector=pilatus-300k --twotheta=20' --cbf-header=pilatus '0.9990 0.000 1.000 0.000'
own 'a header of an Eiger' '--detector=eiger2-500k --twotheta=20' --cbf-header=eiger "$flat"

refused() { # FILE TEXT
	bragg-replay --quiet $1 2>said >none
	is "refused: $2" "$? $(grep -c -e "$2" said) $(wc -l <said)" '3 1 1'
	bragg-geometry --quiet --detector=$1 2>said >none
	is "bragg-geometry refuses, too: $2" "$? $(grep -c -e "$2" said) $(wc -l <said)" '3 1 1'
}
refused mini_0001.cbf 'turned by 20 deg, about an axis that is not in the header'
refused lies_0001.cbf '2theta is 20 deg, but the axes do not turn the detector'
sed 's/_diffrn_scan_frame_axis.angle/_diffrn_scan_frame_axis.other/; s/ELEMENT_Y 1 0 0 0 0 0/ELEMENT_X 1 0 0 0 0 0/' full_0001.cbf >loop_0001.cbf
refused loop_0001.cbf 'axis ELEMENT_X depends on itself'
sed 's/DETECTOR_PITCH 0 -1 0 -41/DETECTOR_YAW 0 -1 0 -41/' full_0001.cbf >gone_0001.cbf
refused gone_0001.cbf 'axis DETECTOR_YAW is not in the table of axes'
sed 's/SOURCE general source . 0 0 1/SOURCE general source . 0 1 0/' full_0001.cbf >source_0001.cbf
refused source_0001.cbf 'the axis of the source is 0, 1, 0; expected 0, 0, 1'
sed 's/CCD_GONIO_VALUES=1.5 -20/CCD_GONIO_VALUES=1.5;  /' saturn_0001.img >short_0001.img
refused short_0001.img 'GONIO_VALUES: expected 6 numbers'
finish
