#!/bin/sh
# bragg-geometry --signal=energy: a photon counts as its energy, relative to that of the beam.  Each image is
# that of counted photons with other weights.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# Three wavelengths and 80 of them, with weights that are not alike; and the same with weights times the energy.
sources() { # NAME FIRST STEP NUMBER: NAME.txt, NAME-energy.txt, and the mean of the weights of the second over that of the first
	awk -v name="$1" -v first="$2" -v step="$3" -v number="$4" 'BEGIN {
		for (i = 0; i < number; i++) {
			l = first + step * i; w = 1 + i % 3; sum += w; energy += w / l
			printf "-1 0 0 %.15g %.12ge-10\n", w, l >name ".txt"
			printf "-1 0 0 %.15g %.12ge-10\n", w / l, l >name "-energy.txt"
		}
		printf "%.15g\n", energy / sum }'
}
# image NAME SOURCES FLUENCE OPTION...: with water, of a crystal in a sensor
image() {
	name=$1 list=$2 fluence=$3
	shift 3
	bragg-geometry --quiet --detpixels=80 --pixel=0.8 --distance=100 --wavelength=1 --source-file="$list" --weights=apply --cell=40,50,60 \
		--default-F=100 --ncells=6 --fluence="$fluence" --thickness=320 --layers=1 "$@" | bragg-orient --quiet --misset=10,20,30 |
		bragg-intensity --quiet --threads=1 $engine | bragg-background --quiet --water=$water | bragg-write --quiet "$name.raw"
}
# alike NAME SOURCES MAX-ERROR OPTION...
alike() {
	alike_name=$1 sent=$2 error=$3
	shift 3
	factor=$(cat "$sent.factor")
	rm -f energy.raw* counted.raw* plain.raw*
	image energy "$sent.txt" 1e25 --signal=energy "$@"
	image counted "$sent-energy.txt" "$(awk -v f="$factor" 'BEGIN { printf "%.15g", f * 1e25 }')" "$@"
	image plain "$sent.txt" 1e25 "$@"
	check "$alike_name" bragg-compare --max-error="$error" energy.raw counted.raw
	check "$alike_name: photons without it have another sum" sh -c '! bragg-compare --max-error=0.02 energy.raw plain.raw'
}
sources few 0.75 0.3 3 >few.factor
sources many 0.7 0.0087 81 >many.factor
sources near 0.748 0.002 3 >near.factor
engine='' water=0.1
alike 'dense form' few 1e-5
engine=--precision=double
alike 'each pixel by itself' few 1e-5
engine=--engine=reference
alike 'the definition' few 1e-5
engine=
alike 'spots' few 1e-5 --shape=gauss
alike 'closed form, and background in bins' many 2e-3 --shape=gauss --mosaic-model=gauss
water=0
alike 'diffuse halos' near 1e-3 --diffuse-sigma=0.5 --diffuse-gamma=20 --dmin=4

# a spectrum of each frame: narrow bands join their channels for the background; the energy of the beam is another one
spectrum() { # NAME OPTION...
	name=$1
	shift
	bragg-geometry --quiet --detpixels=60 --pixel=0.8 --distance=100 --energy=10000 --cell=40,50,60 --ncells=6 --default-F=0 "$@" |
		bragg-orient --quiet --misset=10,20,30 --spectra=line.txt | bragg-intensity --quiet --threads=1 |
		bragg-background --quiet --water=1 | bragg-write --quiet "$name.raw"
}
printf '10098 1\n10100 1\n10102 1\n' >line.txt
spectrum energy-line --signal=energy --fluence=1e25
spectrum counted-line --fluence=1.01e25
check 'background of a spectrum of each frame' bragg-compare --max-error=1e-4 energy-line.raw counted-line.raw

# --- what belongs together
refused() { # NAME MESSAGE OPTION...
	refused_name=$1 message=$2
	shift 2
	check_status "$refused_name" 2 bragg-geometry "$@"
	check "$refused_name: the message" grep -q -e "$message" <<END
$tap_output
END
}
refused 'a detector that counts photons adds up no energies' 'the detector counts photons; expected --signal=count' --detector=pilatus-300k --signal=energy
refused 'the harmonic has no other signal than the beam' 'contradicts --signal=energy; expected 3' --third-harmonic=1 --harmonic-signal=1 --signal=energy
refused 'counted photons of the harmonic are one' 'contradicts --signal=count; expected 1' --third-harmonic=1 --harmonic-signal=3 --signal=count
refused 'nanoBragg counts photons' 'physics=physical' --physics=faithful --signal=energy
refused 'electrons have one energy' '' --probe=electron --wavelength=0.02 --signal=energy
harmonic() { # OPTION...
	bragg-geometry --quiet --detpixels=60 --pixel=0.8 --thickness=320 --third-harmonic=10 "$@" | bragg-orient --quiet --misset=10,20,30 |
		bragg-intensity --quiet --threads=1 | bragg-write --quiet --overwrite harmonic.raw
	cksum <harmonic.raw
}
is 'photons of the harmonic count as their energy' "$(harmonic --signal=energy)" "$(harmonic)"
is 'photons of the harmonic count as one' "$(harmonic --signal=count)" "$(harmonic --harmonic-signal=1)"
derive() { # PARAMETER
	bragg-geometry --quiet --detpixels=8 --source-file=few.txt --weights=apply --wavelength=1 --signal=energy | bragg-orient --quiet |
		bragg-intensity --quiet --derivatives="$1" 2>said | bragg-tap --quiet >/dev/null 2>&1
	grep -c 'the signal of a photon depends on its energy' said
}
is 'no derivative by the wavelength leaves the signal out' "$(derive wavelength)" 1
is 'no derivative by the dispersion leaves the signal out' "$(derive dispersion)" 1

# --- warnings about wide bands
warned() { # GEOMETRY-OPTIONS ORIENT-OPTIONS TEXT: how often
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --roi=0,9,0,9 --wavelength=1 $1 2>/dev/null | bragg-orient $2 2>said | bragg-tap --quiet >/dev/null 2>&1
	grep -c -e "$3" said
}
wide='--source-file=few.txt --weights=apply'
is 'an integrating detector that counts is reported' "$(warned "--detector=jungfrau-4m $wide" '' 'this detector adds up energies')" 1
is 'also for a band of --spectrum' "$(warned --detector=jungfrau-4m '--spectrum=tophat --bandwidth=10' 'this detector adds up energies')" 1
is 'not if it adds up' "$(warned "--detector=jungfrau-4m $wide --signal=energy" '' 'this detector adds up energies')" 0
is 'not if it is to count' "$(warned "--detector=jungfrau-4m $wide --signal=count" '' 'this detector adds up energies')" 0
is 'not for a detector that counts' "$(warned "--detector=pilatus-300k $wide" '' 'this detector adds up energies')" 0
is 'not for a narrow band' "$(warned --detector=jungfrau-4m '--spectrum=tophat --bandwidth=1' 'this detector adds up energies')" 0
printf '1 0 0 10\n-1 0 0 12\n' >mates.hkl
anomalous='--anomalous --hkl=mates.hkl --spacegroup=P1 --cell=40,50,60,90,90,90'
is 'anomalous scattering of one energy is reported for a wide band of sources' \
	"$(warned "$wide $anomalous" '' 'sources of the beam reach from 9184.01 to 16531.2 eV, but bragg-geometry --anomalous')" 1
is 'also for a wide band of --spectrum' "$(warned "$anomalous" '--spectrum=tophat --bandwidth=10' '--spectrum reaches from .* bragg-geometry --anomalous')" 1
is 'not for a narrow band of sources' "$(warned "--dispersion=1 --dispersion-steps=3 $anomalous" '' 'bragg-geometry --anomalous')" 0
finish
