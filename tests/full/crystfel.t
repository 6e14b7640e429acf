#!/bin/sh
# Frames for CrystFEL, taken by a stand-in that is stricter than indexamajig, with the
# geometry and cell files beside them.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/gateways.sh"
needs 'a client as strict as CrystFEL' python:zmq python:msgpack python:numpy
full=$BRAGG_TESTS/full
scratch

# pipeline FRAMES NAME OPTION...: a writer and a gateway behind the same stages
pipeline() {
	count=$1 name=$2
	shift 2
	mkdir "$name" # for the truth
	bragg-geometry --detpixels=600 --pixel=0.15 --distance=120 --ncells=12 --oversample=2 --fluence=1e28 --beam-center=43.1,47.2 |
		bragg-orient --frames="$count" --random --seed=7 --groups=2 --truth="$name/truth" | bragg-intensity |
		bragg-noise --seed=9 --out=@ipc://"$PWD/$name.images" &
	serve_beside "$name" img --protocol=crystfel --bind=ipc://"$PWD/$name.socket" \
		--geom="$name/lyso.geom" --cell="$name/lyso.cell" "$@"
	until [ -s "$name/lyso.cell" ]; do sleep 0.05; done
}
client() {
	timeout 120 /usr/bin/python3 "$full/crystfel_client.py" "$@"
}

pipeline 20 req
check 'asked for: frames as written, spots where the geometry has them' \
	client "ipc://$PWD/req.socket" req 20 req/lyso.geom req/truth req/a_%d.img
note "$tap_output"
wait
is 'the unit cell file' "$(tr -s '\n' ' ' <req/lyso.cell)" 'CrystFEL unit cell file version 1.0 lattice_type = orthorhombic centering = P a = 59.062 A b = 68.451 A c = 30.517 A al = 90 deg be = 90 deg ga = 90 deg '
pipeline 5 peaks --peaks=25
check 'a list of the 25 brightest peaks, where the geometry has them' \
	client "ipc://$PWD/peaks.socket" req 5 peaks/lyso.geom peaks/truth peaks/a_%d.img
note "$tap_output"
wait
pipeline 5 sub --socket=pub
check 'a published stream, where the geometry has it' client "ipc://$PWD/sub.socket" sub 5 sub/lyso.geom sub/truth sub/a_%d.img
wait
finish
