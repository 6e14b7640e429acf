#!/bin/sh
# Stream V2 of Dectris, decoded by python3-cbor2, bitshuffle and lz4: every coding, byte by byte,
# and images as bragg-write writes them behind the same stages; the pipeline of README.md.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/gateways.sh"
needs 'Stream V2' python:cbor2 python:bitshuffle python:lz4.block python:numpy python:zmq
scratch

# pipeline NAME BITS OPTION...: a writer and a gateway behind the same stages, for $frames of
# $detector; 100 x 99 pixels fill no whole number of blocks
detector='--detpixels=100,99 --pixel=1' frames=6
pipeline() {
	name=$1 bits=$2
	shift 2
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $detector --distance=120 --ncells=5 |
		bragg-orient --frames=$frames --seed=7 --phi0=10 --osc=0.5 --phi-steps=8 --groups=2 | bragg-intensity --threads=1 |
		bragg-noise --seed=9 --bits="$bits" --out=@ipc://"$PWD/$name.images" &
	serve_beside "$name" raw --protocol=dectris2 --bind=tcp://127.0.0.1:* "$@"
}
client() {
	timeout 60 /usr/bin/python3 "$BRAGG_TESTS/full/dectris_client.py" "$(cat endpoint)" "$@"
}

for bits in 16 32; do
	for coding in bslz4 lz4 none; do
		pipeline "$coding$bits" $bits --compression=$coding --rate=50 --series=7
		check "$bits bit, $coding: layout and images" client "$coding" "$bits" "$coding$bits"
		wait
	done
done
pipeline channels 16 --thresholds=6000,20000 --rate=50 --series=7
check 'two channels, the second above the energy of the beam' client bslz4 16 channels 2
wait
for detail in basic none; do
	pipeline $detail 16 --header-detail=$detail --header-appendix=beamline --image-appendix='image 1' --rate=50 --series=7
	check "detail $detail: a brief start message, with appendices" client bslz4 16 $detail 1 beamline
	wait
done
pipeline json 16 --header-detail=basic --header-appendix='{"scan":[1,2.5]}' --image-appendix='image 1' --rate=50 --series=7
check 'an appendix in JSON' client bslz4 16 json 1 '{"scan":[1,2.5]}'
wait

frames=1
for panels in modules image; do
	detector="--detector=jungfrau-4m --panels=$panels"
	pipeline $panels 16 --compression=none
	check "$panels: panels of one plane are one image with masked gaps" \
		timeout 60 /usr/bin/python3 "$BRAGG_TESTS/full/dectris_panels.py" "$(cat endpoint)" $panels
	wait
done
bragg-geometry --detector=agipd-1m | bragg-orient | bragg-intensity |
	timeout 60 bragg-serve --protocol=dectris2 --bind="ipc://$PWD/tiles" 2>err >/dev/null
is 'tiles that stand apart are refused in one line' "$(cat err)" \
	'bragg-serve: panels 0 and 8 of 128 are not on one pixel grid, so they cannot be assembled to one image'

live=ipc://$PWD/live
live dectris.yaml testclient series "$live" 22
finish
