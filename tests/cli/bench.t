#!/bin/sh
# The benchmark: its results are JSON, and it believes no time of a wrong image.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
TMPDIR=$PWD
export TMPDIR

if ! command -v bench >/dev/null; then
	skip 'benchmark' 'bench is not built (make units)'
	finish
	exit
fi

parses() { # every line is an object of JSON
	if [ -x /usr/bin/python3 ]; then
		/usr/bin/python3 -m json.tool --json-lines "$1" /dev/null
	else
		! grep -v '^{"part": ".*}$' "$1"
	fi
}

small='--sizes=32 --iterations=2 --isa=baseline'
check 'kernels are timed' bench --parts=kernel --workload='one step' $small --out=kernel.jsonl --commit=abc
check 'results are lines of JSON' parses kernel.jsonl
is 'a line for the machine, the reference and the engine' "$(cut -d, -f1 kernel.jsonl | tr '\n' ' ')" \
	'{"part": "machine" {"part": "kernel" {"part": "kernel" '
check 'the machine, its build and the image are named' grep -q '"compiler": .*"commit": "abc"' kernel.jsonl
check 'image checksum, accuracy and variation are there' \
	grep -q '"variation": .*"crc32c": "[0-9a-f]\{8\}", "worst": ' kernel.jsonl
is 'nothing is left behind' "$(echo *)" kernel.jsonl

check 'noise, wire, files and pipelines are timed' bench --parts=noise,stream,transport,output,cold,pipeline,diagnose --sizes=32 \
	--iterations=2 --processes=1 --frames=3 --out=rest.jsonl
check 'these results are JSON too' parses rest.jsonl
is 'each part has results' "$(sed 's/.*"part": "\([a-z]*\).*/\1/' rest.jsonl | uniq | tr '\n' ' ')" \
	'machine noise stream transport output cold pipeline diagnose '
rm rest.jsonl
is 'and leaves nothing behind' "$(echo *)" kernel.jsonl

# peer NAME COMMAND: a program that writes an image of 32 x 32 float32 in its own way
peer() {
	printf '#!/bin/sh\n%s > float.bin\n' "$2" >"$1"
	chmod +x "$1"
}
refused() { # NAME PEER MESSAGE
	status=0
	bench --parts=kernel --workload='one step' $small --peer="./$2" >table 2>message || status=$?
	is "$1 is refused" "$status" 1
	check "$1: it says why" grep -q "$3" message
	is "$1: no time is printed" "$(grep -c '^| one step' table)" 0
}
check 'a peer whose image is right is timed' bench --parts=kernel,noise --workload='one step' $small \
	--peer="$(command -v bragg-nanobragg)" --noise-peer="$(command -v bragg-noisify)" --out=peer.jsonl
is 'a ratio to the peer is there' "$(grep -c '"ratio_to": "peer"' peer.jsonl)" 2
is 'a ratio to the noise peer is there' "$(grep -c '"peer_ns_per_pixel": ' peer.jsonl)" 7
peer zeros 'head -c 4096 /dev/zero'
refused 'an image of zeros' zeros 'its time means nothing'
peer nans 'head -c 4096 /dev/zero | tr "\000" "\377"'
refused 'an image of NaN' nans 'its time means nothing'
peer short 'head -c 100 /dev/zero'
refused 'a short image' short 'must hold 1024 pixels'
check_status 'a peer that is not there is refused' 2 bench --peer=./none
check_status 'an unknown part is refused' 2 bench --parts=kernels
finish
