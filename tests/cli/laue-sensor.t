#!/bin/sh
# Wide bands in a sensor: silicon of 320 um detects 0.4404, 0.7399 and 0.9606 of the photons of 0.75, 1 and 1.35 A along its normal.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

awk 'BEGIN { for (i = 0; i <= 400; i++) printf "-1 0 0 1 %.12g\n", (0.7 + 0.7 * i / 400) * 1e-10 }' >band.txt
# Three wavelengths, between two that give photons to no spot of the three.
printf -- '-1 0 0 1 %se-10\n' 0.6 0.75 1 1.35 1.6 >lines.txt
crystal() { # NAME SOURCES OPTION...
	name=$1 sources=$2
	shift 2
	bragg-geometry --quiet --detpixels=1000 --pixel=0.2 --distance=100 --beam-center=99.9,99.9 --cell=40,50,60 --default-F=100 --ncells=12 \
		--no-polarization --fluence=1e26 --dmin=1.6 --roi=300,699,300,699 --source-file="$sources" --weights=apply --wavelength=1 "$@" |
		bragg-orient --quiet --misset=10,20,30 | bragg-intensity --quiet --threads=1 --reflections=0.01 $engine |
		bragg-write --quiet --reflections="$name.tsv" "$name.raw"
}
# fractions NAME: photons of NAME-sensor over those of NAME-bare, relative to the fractions above; mu is nearly as the third power of the
# wavelength, rays are slanted, and the sensor's depth lessens the solid angle by 0.2 %
fractions() {
	awk 'BEGIN { wave[1] = 0.75; wave[2] = 1; wave[3] = 1.35; known[1] = 0.4404; known[2] = 0.7399; known[3] = 0.9606 }
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		FNR == 1 { next }
		{ k = $at["h"] " " $at["k"] " " $at["l"] }
		NR == FNR { bare[k] = $at["photons"]; next }
		k == "0 0 0" || !(bare[k] > 0.1) || $at["fast"] < 303 || $at["fast"] > 696 || $at["slow"] < 303 || $at["slow"] > 696 { next }
		{ x = ($at["fast"] - 499.5) * 0.2; y = ($at["slow"] - 499.5) * 0.2; cosine = 100 / sqrt(x * x + y * y + 1e4)
		  for (i = 1; i <= 3; i++) {
			l = $at["wavelength"] / wave[i]
			if (l < 0.99 || l > 1.01) continue
			n[i]++; found[i] += $at["photons"]; expected[i] += bare[k] * (1 - exp(log(1 - known[i]) / cosine * l ^ 2.9)) * 0.998
		  } }
		END { for (i = 1; i <= 3; i++) { r = found[i] / expected[i]; good += n[i] > 15 && r > 0.99 && r < 1.01 }
			if (good < 3) for (i = 1; i <= 3; i++) print wave[i], n[i], found[i] / expected[i]
			print good + 0 }' "$1-bare.tsv" "$1-sensor.tsv"
}
engine=
crystal closed-bare band.txt --shape=gauss --oversample=2 --mosaic-model=gauss
crystal closed-sensor band.txt --shape=gauss --oversample=2 --mosaic-model=gauss --thickness=320 --layers=1
is 'closed form: each wavelength as the table of silicon says, within 1 %' "$(fractions closed)" 3
crystal spots-bare lines.txt --shape=gauss --oversample=3
crystal spots-sensor lines.txt --shape=gauss --oversample=3 --thickness=320 --layers=1
is 'spots: likewise' "$(fractions spots)" 3
crystal dense-bare lines.txt --oversample=3
crystal dense-sensor lines.txt --oversample=3 --thickness=320 --layers=1
is 'dense form: likewise' "$(fractions dense)" 3
finish
