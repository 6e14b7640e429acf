#!/bin/sh
# A crystal that is turned through a reflection writes the spectrum of the beam on the detector: the
# profile of the spot is that of the formula, photon by photon.  Measured spectra from HDF5.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'spectra' python:numpy python:h5py
scratch
check 'spectra are written' /usr/bin/python3 "$BRAGG_TESTS/full/spectrum.py" write
printf '50 0 0 100\n-50 0 0 100\n' >one.hkl

# turned NAME OPTION...: one reflection, rocked through half a degree
turned() {
	name=$1
	shift
	bragg-geometry --quiet --detpixels=9,12400 --pixel=0.1 --distance=1000 --beam-center=620,0.4 --cell=100,100,100,90,90,90 --hkl=one.hkl \
		--ncells=150 --shape=gauss --oversample=3 --no-polarization --roi=0,8,560,780 --fluence=1e24 |
		bragg-orient --quiet --misset=0,0,104.4775 --osc=0.5 "$@" |
		bragg-intensity --quiet --precision=double | bragg-write --quiet "$name"
}
check 'three bumps, text' turned bumps.raw --phi-steps=600 --phi0=-0.25 --spectra=bumps.txt --channels=1000
check 'spectra of the file are three bumps, in photons' /usr/bin/python3 "$BRAGG_TESTS/full/spectrum.py" profile bumps.raw bumps.txt
note "$tap_output"
check 'one of many shots, HDF5' turned shots_%d.raw --phi-steps=600 --phi0=-1.25 --spectra=shots.h5 --channels=1000 --frames=3 --only=2
check 'the selected shot is without what the spectrometer added' /usr/bin/python3 "$BRAGG_TESTS/full/spectrum.py" profile shots_2.raw bumps.txt
note "$tap_output"
# short NAME FILE: the shot of a file, in a fiftieth of the steps: for comparing files
short() {
	turned "$1" --phi0=-1.25 --spectra="$2" --channels=1000 --frames=3 --only=2 --phi-steps=12
}
check 'the shot, in few steps' short few_%d.raw shots.h5

# --- a sensor under two wavelengths: 10 and 20 keV
printf -- '-10 0 0 1 6.19921e-11\n-10 0 0 1 1.239842e-10\n' >two.txt
printf '10 0 0 100\n-10 0 0 100\n' >ten.hkl

# sensor NAME GEOMETRY... -- OPTION...: one reflection, rocked through both wavelengths
sensor() {
	name=$1 geometry=
	shift
	while [ "$1" != -- ]; do
		geometry="$geometry $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --source-file=two.txt --weights=apply --detpixels=41,600 --pixel=0.16 --distance=100 --beam-center=95,3.28 \
		--cell=20,20,20,90,90,90 --hkl=ten.hkl --ncells=15 --shape=gauss --oversample=2 --no-polarization --fluence=1e30 $geometry |
		bragg-orient --quiet --misset=0,0,103.5 --osc=16 --phi0=-8 --phi-steps=160 | bragg-intensity --quiet "$@" | bragg-write --quiet "$name"
}
for how in dense double closed layer; do
	options='' mosaic='' layers=''
	case $how in double) options=--precision=double ;; closed) mosaic=--mosaic-model=gauss ;; layer) layers=--layers=1 ;; esac
	# shellcheck disable=SC2086 # options are meant to split
	check "spots of two wavelengths in a sensor, $how" sensor "$how.raw" --thickness=320 $mosaic $layers -- $options
	check "the sensor absorbs each as silicon does, $how" /usr/bin/python3 "$BRAGG_TESTS/full/spectrum.py" sensor "$how.raw"
	note "$tap_output"
done

check 'energies in keV, as their attribute says' short keV_%d.raw keV.h5
check 'compressed spectra are those of the shot' cmp keV_2.raw few_2.raw
check 'energies in joules' short joules_%d.raw joules.h5
check 'spectra of integers are those of the shot, except for rounding' bragg-compare --max-error=1e-5 joules_2.raw few_2.raw
# refused FILE WANTED
refused() {
	check_status "$1 is refused" 3 bragg-orient --out='ipc:///tmp/nobody' --in='ipc:///tmp/nobody' --spectra="$1"
	is "$1 is named" "$tap_output" "bragg-orient: $1: $2"
}
refused packed.h5 '/weights is compressed with filter 32000 (LZF), which cannot be read here. Repack it with h5repack --filter=GZIP=1'
refused watts.h5 "/weights: units are 'W'; expected relative numbers of photons, without units, or in photons or counts"
refused words.h5 '/weights has no numbers; expected integers or floats'
refused below.h5 'negative weights of spectrum 0 amount to 18.9 % of the positive ones; expected noise of at most 10 %. Subtract the background, or leave this spectrum out'
is 'noise below 0 is reported' "$(bragg-geometry --quiet --detpixels=8 --energy=12398.42 | bragg-orient --spectra=noise.h5 2>&1 >/dev/null | grep -c 'warning: noise.h5: .* of 1924 weights are negative and are set to 0; in spectrum')" 1
check_status 'energies of an unknown unit are refused' 3 bragg-orient --out='ipc:///tmp/nobody' --in='ipc:///tmp/nobody' --spectra=angstrom.h5
is 'the message names the unknown unit' "$tap_output" "bragg-orient: angstrom.h5: /energies: unknown units 'angstrom'; expected eV, keV, MeV or J"

# --- NXmx, as dxtbx reads it: the spectrum of each frame
# frames NAME GEOMETRY [ORIENT...]: five, two a file
frames() {
	name=$1 geometry=$2
	shift 2
	bragg-geometry --quiet --detpixels=32 --pixel=3.2 --distance=120 --ncells=5 --fluence=1e26 --energy=12398.42 $geometry |
		bragg-orient --quiet --frames=5 --random "$@" | bragg-intensity --quiet --threads=1 |
		bragg-noise --quiet --adc-offset=0 | bragg-write --quiet --compression=gzip --frames-per-file=2 "$name.nxs"
}
if has python:dxtbx; then
	check 'a beam of constant spectrum' frames constant '--dispersion=2 --dispersion-steps=5'
	check 'a spectrum in several directions' frames diverging '--dispersion=2 --dispersion-steps=5 --divergence=0.02 --divergence-steps=3'
	check 'five frames of four measured spectra' frames measured '' --spectra=shots.h5 --channels=60
	check 'five pulses' frames sase '' --spectrum=sase --pulse=10 --seed=4
	for name in constant diverging measured sase; do
		check "dxtbx has the spectrum of each frame: $name" /usr/bin/python3 "$BRAGG_TESTS/full/spectrum.py" dxtbx "$name.nxs"
		note "$tap_output"
	done
else
	skip 'spectra of frames in dxtbx' "$lack is missing"
fi

# --- damaged files
cut() { # BYTES: the file, cut off
	head -c "$1" shots.h5 >cut.h5
	bragg-orient --out='ipc:///tmp/nobody' --in='ipc:///tmp/nobody' --spectra=cut.h5
}
for bytes in 100 1000 3000 9000; do
	check_status "$bytes bytes of it are refused" 3 cut "$bytes"
	is "the refusal of $bytes bytes is one line" "$(printf '%s\n' "$tap_output" | wc -l)" 1
done
check_status 'an HDF5 file without spectra is refused' 3 bragg-orient --out='ipc:///tmp/nobody' --in='ipc:///tmp/nobody' --spectra=other.h5
finish
