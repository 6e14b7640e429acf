#!/bin/sh
# Files as detectors, by the programs that they come from: pyFAI puts the pixels of a poni file
# where they are here, and what DIALS reads from an NXmx file gives the pixels that we read from it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs detector dials.import python:h5py python:pyFAI

# --- pyFAI
# poni NAME DETECTOR LINE...
poni() {
	name=$1
	{
		printf 'Detector: %s\n' "$2"
		shift 2
		printf '%s\n' 'Distance: 0.17' 'Poni1: 0.05' 'Poni2: -0.02' 'Rot1: 0.21' 'Rot2: -0.34' 'Rot3: 0.55' \
			'Wavelength: 1.05e-10' "$@"
	} >"$name.poni"
	# shellcheck disable=SC2086 # there may be none
	bragg-geometry --detector="$name.poni" --ncells=5 $size --write-geom="$name.geom" 2>>log | bragg-tap --print >>log
}
size=--detpixels=900,700
poni four Detector 'PixelSize1: 0.0001' 'PixelSize2: 0.0001'
size=
poni one Detector 'poni_version: 2' 'Detector_config: {"pixel1": 0.0001, "pixel2": 0.0001, "max_shape": [700, 900]}'
poni two Pilatus1M 'poni_version: 2' 'Detector_config: {}'
poni three 'Eiger2 4M' 'poni_version: 2' 'Detector_config: {}'
for name in one two three four; do
	measure detector_truth.py $name
	check "pyFAI: $name has the pixels that we say" [ "$(value pixels)" = 1 ]
	check "pyFAI: $name lies where it is within the digits of the file" awk -v x="$(value off)" 'BEGIN { exit !(x != "" && x < 3e-5) }'
	check "pyFAI: $name has the gaps of it" [ "$(value masks)" = 1 ]
done

# --- DIALS
# photons NAME OPTION...: of one orientation
photons() {
	name=$1
	shift
	bragg-geometry --ncells=5 --oversample=1 --fluence=1e28 --polarization=0.98 "$@" 2>>log |
		bragg-orient --misset=10,20,30 2>>log | bragg-intensity 2>>log | bragg-write --overwrite "$name.raw" 2>>log
}
bragg-geometry --detector=eiger-1m --energy=12000 --distance=150 --twotheta=20 --rotate=5,-10,15 --ncells=5 --oversample=1 2>>log |
	bragg-orient --osc=0.1 2>>log | bragg-intensity 2>>log | bragg-noise --adc-offset=0 2>>log | bragg-write one.nxs 2>>log
/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" arm one.nxs arm.nxs
/usr/bin/python3 "$BRAGG_TESTS/cli/foreign_images.py"
for file in one.nxs arm.nxs pilatus_0001.cbf adsc_0001.img; do
	check "DIALS imports $file" quiet dials.import $file output.experiments=$file.expt
	photons ours --detector=$file
	photons theirs --expt=$file.expt
	# gaps are masks of images, which experiment lists do not have
	measure detector_truth.py same
	check "$file: DIALS and we put pixels in the same places, within 1e-4 of each pixel" awk -v x="$(value error)" 'BEGIN { exit !(x != "" && x < 1e-4) }'
done

# --- masks as detectors pack them, in HDF5 by the plugins
# bad FILE: where its mask is, as geometry files of CrystFEL have it
bad() {
	bragg-geometry --detector="$1" --ncells=5 --write-geom="$1.geom" 2>>log | bragg-tap --print >>log
	grep '^bad' "$1.geom"
}
for filter in 32008 32004; do
	/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" pack one.nxs packed_$filter.nxs $filter
	is "a mask that is packed by filter $filter" "$(bad packed_$filter.nxs)" "$(bad one.nxs)"
done
check 'the geometry file has bad regions' grep -q '^bad' one.nxs.geom
finish
