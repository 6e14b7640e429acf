#!/bin/sh
# Rings of ice: their photons by the formula of powder diffraction; frames with and without; jets.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'ice' python:numpy
scratch
# frames NAME GEOMETRY... -- OPTION...: of background alone
frames() {
	name=$1 geometry=
	shift
	while [ "$1" != -- ]; do
		geometry="$geometry $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --oversample=1 --distance=100 --wavelength=1 --no-polarization --default-F=0 --cell=79,79,38,90,90,90 --beam-size=0.005 --fluence=1e24 $geometry |
		bragg-orient --quiet --frames=${count:-1} | bragg-intensity --quiet | bragg-background --quiet "$@" | bragg-write --quiet --overwrite "${name}_%03d.raw"
}
rings() {
	/usr/bin/python3 "$BRAGG_TESTS/full/ice.py" "$@"
}
check 'rings' frames fine --detpixels=1400 --pixel=0.1 -- --ice=10
check 'rings have the photons of the formula' rings photons fine_000.raw 1400 0.1
note "$tap_output"
check 'rings of large crystals on coarse pixels' frames coarse --detpixels=280 --pixel=0.5 -- --ice=10 --ice-crystal=5000
check 'sharp rings are as wide as a pixel, with the same photons' rings photons coarse_000.raw 280 0.5
note "$tap_output"

# --- a ring and a spot of the same spacing, in a sensor of 1 mm, at 20 keV: the reflection 10 0 0 of a
# cell of 22.485 A, rocked, and ice at 2.2485 A
printf '10 0 0 100\n-10 0 0 100\n' >ten.hkl
# deep NAME F GEOMETRY... -- OPTION...
deep() {
	name=$1 geometry=
	shift
	while [ "$1" != -- ]; do
		geometry="$geometry $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --wavelength=0.62 --detpixels=41,400 --pixel=0.1 --distance=100 --beam-center=38,2.05 --cell=22.485,22.485,22.485,90,90,90 \
		--hkl=ten.hkl --ncells=30 --shape=gauss --oversample=2 --no-polarization --fluence=1e27 --beam-size=0.005 --thickness=1000 --absorption=700 $geometry |
		bragg-orient --quiet --misset=0,0,97.926 --osc=3 --phi0=-1.5 --phi-steps=60 | bragg-intensity --quiet | bragg-background --quiet "$@" |
		bragg-write --quiet --overwrite "$name"
}
for layers in 1 16; do
	check "a spot in a thick sensor of $layers layers" deep spot.raw --layers=$layers -- --water=1e-6
	check "a thick sensor of $layers layers has rings of ice" deep both.raw --layers=$layers -- --ice=10 --ice-crystal=5000
	check "the ring and the spot stand where photons stop in the sensor, $layers" rings depth spot.raw both.raw $layers
	note "$tap_output"
done

count=400
check 'ice in some frames, in jets' frames jet --detpixels=40 --pixel=3 -- --water=20 --ice=5 --ice-frames=0.25 --jitter=30
check 'rings in a jet are as frequent and as strong as requested' rings frames 400 0.25 0.3 jet_%03d.raw
note "$tap_output"
check 'a pipeline without jets has rings in all frames' frames still --detpixels=40 --pixel=3 -- --water=20 --ice=5
is 'all are alike' "$(sha256sum still_*.raw | cut -d' ' -f1 | sort -u | wc -l)" 1

# --- in one process, the same bytes
count=12
small='--detpixels=40 --pixel=3 --oversample=1'
# shellcheck disable=SC2086
bragg-geometry --quiet $small --cell=79,79,38,90,90,90 --default-F=50 | bragg-orient --quiet --random --spectrum=sase --frames=$count |
	bragg-intensity --quiet | bragg-background --quiet --ice=5 --ice-frames=0.5 --jitter=30 | bragg-noise --quiet --seed=3 | bragg-write --quiet two_%03d.img
# shellcheck disable=SC2086
bragg-geometry --quiet $small --cell=79,79,38,90,90,90 --default-F=50 | bragg-orient --quiet --random --spectrum=sase --frames=$count |
	bragg-intensity --quiet --fuse='background --ice=5 --ice-frames=0.5 --jitter=30' --fuse='noise --seed=3' | bragg-write --quiet one_%03d.img
for k in 000 005 011; do
	check "fused, frame $k" sh -c "tail -c 3200 one_$k.img >a; tail -c 3200 two_$k.img >b; cmp a b"
done
finish
