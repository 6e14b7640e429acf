#!/bin/sh
# Background and noise in the program of bragg-intensity give the files of three programs,
# lineage and history included.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
awk 'BEGIN { for (s = 0; s <= 1; s += 0.02) print s, 8 * exp(-5 * s * s) + 2 }' >'my table'
stol="'--stol=$PWD/my table' --thickness=50 --molecular-weight=28"

# What comes before; the options are of each case.
geometry='' orient='' size='--detpixels=100' frames=3
recipes() {
	# shellcheck disable=SC2086 # options are words
	bragg-geometry $size --pixel=0.8 --distance=120 --ncells=8 $geometry |
		bragg-orient --quiet --frames=$frames --seed=7 $orient
}

# INTENSITY BACKGROUND NOISE, '' for a stage that is left out: into this folder
programs() {
	recipes | eval "bragg-intensity $1 ${2:+| bragg-background $2} ${3:+| bragg-noise $3} | bragg-write $file"
}
one_program() {
	# shellcheck disable=SC2086 # options are words
	recipes | bragg-intensity $1 ${2:+--fuse "background $2"} ${3:+--fuse "noise $3"} | bragg-write $file
}

# same NAME INTENSITY BACKGROUND NOISE
same() {
	name=$1 file=n_%d.img
	shift
	[ "$3" ] || file=n_%d.raw
	rm -rf programs one_program
	for way in programs one_program; do
		mkdir "$way"
		(cd "$way" && $way "$@") 2>"said_$way" || complain "$name: $way failed"
	done
	is "$name: one program writes as many bytes as three" "$(cat one_program/* | wc -c)" "$(cat programs/* | wc -c)"
	check "$name: files of three programs" diff -r programs one_program
	is "$name: all files, and their index" "$(find one_program -name 'n*' | wc -l)" $((frames + 1))
}

orient='--random --lattices=2 --mosaic=0.5 --mosaic-domains=2'
same 'cpu engine' '--threads=2' '--water=0.1 --air=1' '--seed=9 --readout=1 --flicker=0.02 --calibration=0.03'
grep -aho '^BRAGG_STAGE_[0-9]=bragg-[a-z]*' one_program/n_0.img >stages
is 'the history names all stages' "$(tr '\n' ' ' <stages)" "$(for stage in \
	1=bragg-geometry 2=bragg-orient 3=bragg-intensity 4=bragg-background 5=bragg-noise; do printf 'BRAGG_STAGE_%s ' $stage; done)"
check 'a frame of one program can be recomputed by three' bragg-replay --recompute one_program/n_1.img
same 'cpu engine in double precision' '--precision=double' '' '--bits=32 --gain=3.5 --saturation=900'
geometry='--oversample=1 --thickness=450 --absorption=300 --layers=3 --dispersion=1 --dispersion-steps=3' orient='--random --wavelength-jitter=0.01'
# joins NAME FRAMES INTENSITY BACKGROUND NOISE: as many frames pass all stages row by row
joins() {
	name=$1 want=$2 file=j_%d.img
	shift 2
	rm -f joined j*.img j.img.index
	one_program "$1 --stats=joined" "$2" "$3" 2>said
	is "$name" "$(sed -n 's/.*"frames_joined":\([0-9]*\).*/\1/p' joined)" "$want"
}
joins 'rows pass all stages, after the first frame' 2 '--threads=2' '--water=0.1 --jitter=10' '--seed=9'
geometry='--oversample=3 --thickness=4500 --absorption=3000 --sensor=smear' orient='--random'
joins 'parts of the image of a smeared sensor pass all stages' 2 '--threads=2' '--water=0.1' '--seed=9'
same 'a smeared sensor' '--threads=2' '--water=0.1' '--seed=9 --readout=1'
geometry="$geometry --roi=10,70,20,81"
same 'a smeared sensor, a region of interest' '--threads=2' '--water=0.1' '--seed=9'
size='--detpixels=77,50' geometry='--oversample=3 --thickness=4500 --absorption=3000 --sensor=smear --cut=1,2'
same 'a smeared sensor of two panels' '--threads=3' '' '--seed=9 --dead=0.02'
size='--detpixels=100' geometry='--oversample=1 --thickness=450 --absorption=300 --layers=3 --dispersion=1 --dispersion-steps=3' orient='--random --wavelength-jitter=0.01'
joins 'reflections need the whole image' 0 '--reflections' '--water=0.1' '--seed=9'
joins 'a point spread needs the whole image' 0 '' '--water=0.1' '--psf=gauss'
size='--detpixels=77,50' orient='--random --lattices=2 --hit-rate=0.6'
frames=10 geometry='--cut=1,2'
same 'two panels, rows of an odd length, blank frames' '--threads=3' '--flat=0.5 --water=1' '--bits=32 --adc-offset=0 --saturation=3 --dead=0.02 --hot=0.01 --flicker=0.1'
saturated() {
	sed -n 's/.* \([0-9]* pixels saturated\).*/\1/p' "$1" | grep .
}
is 'the same pixels are saturated' "$(saturated said_one_program)" "$(saturated said_programs || echo none)"
size='--detpixels=100' frames=3
same 'reference engine, spectra of their own' '--engine=reference' "$stol --water=2" ''
same 'point spread' '' '--water=1' '--psf=fiber --psf-fwhm=600 --no-poisson'
same 'defects of the detector give the same bytes' '--reflections' '--water=1' '--dead=0.01 --hot=0.01 --beamstop=4 --psf=gauss'
geometry='--physics=faithful --curved' orient=''
same "noisify's generator" '--engine=reference' '--air=30' '--generator=nanobragg --flicker=0.1 --readout=2'
geometry='' orient=''
finish
