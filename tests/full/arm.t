#!/bin/sh
# A detector on a turned arm, in headers of beamlines: braggpipe and dxtbx read the same panel, within 0.00001 mm.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'images of a turned arm' python:dxtbx python:h5py python:numpy
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
