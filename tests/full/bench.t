#!/bin/sh
# The benchmark: its results are JSON, and it believes no time of a wrong image.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
TMPDIR=$PWD
export TMPDIR

if ! has bench; then
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

small='--sizes=32 --iterations=2 --isa=baseline --threads=1'
check 'kernels are timed' bench --parts=kernel --workload='one step' $small --out=kernel.jsonl --commit=abc
check 'results are lines of JSON' parses kernel.jsonl
is 'a line for the machine, the reference and the engine' "$(cut -d, -f1 kernel.jsonl | tr '\n' ' ')" \
	'{"part": "machine" {"part": "kernel" {"part": "kernel" '
check 'the machine, its build and the image are named' grep -q '"compiler": .*"commit": "abc"' kernel.jsonl
check 'image checksum, accuracy and variation are there' \
	grep -q '"variation": .*"crc32c": "[0-9a-f]\{8\}", "worst": ' kernel.jsonl
for threads in '' --threads=3; do
	rm kernel.jsonl
	check "kernels are timed with ${threads:-as many threads as processors}" \
		bench --parts=kernel --workload='one step' --sizes=32 --iterations=2 --isa=baseline --out=kernel.jsonl $threads
	is 'the last row has the number of processes and their gain' \
		"$(sed -n '$s/.*"threads": \([0-9]*\),.*"speed_up": [0-9.]*,.*/\1/p' kernel.jsonl)" \
		"$([ "$threads" ] && echo 3 || getconf _NPROCESSORS_ONLN)"
done
is 'nothing is left behind' "$(echo *)" kernel.jsonl

check 'background, noise, wire, files and pipelines are timed' \
	bench --parts=background,noise,stream,transport,output,cold,pipeline,diagnose --sizes=32 \
	--iterations=2 --processes=1 --frames=3 --out=rest.jsonl
check 'the other results are JSON' parses rest.jsonl
is 'each part has results' "$(sed 's/.*"part": "\([a-z]*\).*/\1/' rest.jsonl | uniq | tr '\n' ' ')" \
	'machine background noise stream transport output cold pipeline diagnose '
is 'the chain is timed with compressed output too' "$(grep -c '"part": "pipeline", "kind": ' rest.jsonl)" 3
is 'the engine is set up once' "$(sed -n 's/.*"setups": \([0-9]*\), "setup_hits": \([0-9]*\).*/\1 \2/p' rest.jsonl)" '1 2'
rm rest.jsonl

check 'the closed form is timed' bench --parts=closed --sizes=32 --iterations=2 --out=closed.jsonl
rm closed.jsonl
check 'a Laue pattern is timed' bench --parts=laue --sizes=32 --iterations=2 --out=laue.jsonl
is 'sums over terms, and closed forms' "$(sed -n 's/.*"workload": "\([a-z]*\)[ ,].*"ratio": [0-9].*/\1/p' laue.jsonl | tr '\n' ' ')" 'sum closed closed sum closed '
rm laue.jsonl
check 'frames that vary and a powder are timed' bench --parts=varied --sizes=64 --iterations=1 --frames=3 --out=varied.jsonl
is 'each of them has a row' "$(grep -c '"varies": ".*"ratio_to": "orientation"' varied.jsonl)" 6
rm varied.jsonl
check 'the smear of a sensor is timed' bench --parts=smear --sizes=32 --iterations=1 --out=smear.jsonl
rm smear.jsonl
# The time of a frame is a difference of two runs: with few small frames chance makes it negative.
check 'the sinks are timed, and what they send and write is right' bench --parts=sinks --sizes=64 --iterations=1 --frames=100 --out=sinks.jsonl
is 'compared with compression alone' "$(sed -n 's/.*"contestant": "\([^"]*\)".*"to_packing": [0-9].*/\1/p' sinks.jsonl | tr '\n' ';')" \
	'packing alone;bragg-serve, Stream V2;bragg-write, NXmx;bragg-serve, Stream V2, packed frames;bragg-write, NXmx, packed frames;bragg-write, NXmx without compression;'
rm sinks.jsonl
check 'halos are timed' bench --parts=diffuse --sizes=32 --iterations=1 --out=halos.jsonl
rm halos.jsonl
check 'the cost of reflections is timed' bench --parts=reflections --sizes=32 --iterations=2 --out=key.jsonl
is 'reflections are timed without and with, in two beams' "$(sed -n 's/.*"workload": "\(one step\|25[^"]*\|50[^"]*\)".*"cost": .*/\1/p' key.jsonl | uniq -c |
	tr -s ' \n' ' ')" ' 4 one step 4 25 domains x 5 wavelengths 4 50 phi x 10 domains '
rm key.jsonl

check 'the cost of derivatives is timed' bench --parts=derivatives --sizes=32 --iterations=1 --out=slopes.jsonl
is 'two shapes, four requests each' "$(sed -n 's/.*"workload": "\([a-z]*\)", "asked": .*"images": .*/\1/p' slopes.jsonl | uniq -c |
	tr -s ' \n' ' ')" ' 4 square 4 gauss '
rm slopes.jsonl

if has python:numpy; then
	check 'refinement is timed' sh -c 'PATH=$PATH:$BRAGG_TESTS/../bench bench --parts=refine --iterations=1 --out=fits.jsonl >fits.md'
	is 'all stills are found, with errors as error bars have it' "$(sed -n 's/.*"contestant": "bragg-refine".*"frames": 4, .*"found": 4, "errors": \(0\.[89]\|1\.[01234]\).*/4/p' fits.jsonl)" 4
	check 'comparison with diffBragg, or the reason why there is none' grep -q '^| diffBragg | \([0-9]\|skipped: .*simtbx\)' fits.md
	rm fits.jsonl fits.md
else
	skip 'refinement is timed' "$lack is missing"
fi

check 'scores are timed' bench --parts=score --iterations=1 --out=score.jsonl
is 'short and long results, and followed ones' "$(sed -n 's/.*"part": "score".*"frames": \([0-9]*\), "spots": \([0-9]*\)[0-9]\{4\}, .*"peak_bytes": [1-9].*/\1 \2/p' \
	score.jsonl | tr '\n' ' ')" '100 1 2000 21 100 1 2000 21 '
check 'score.jsonl has the rate of frames' grep -q '"frames_of_100_spots_per_s": [1-9]' score.jsonl
rm score.jsonl

check 'the boundary between processes is timed' bench --parts=boundary --sizes=32 --iterations=1 --frames=3 \
	--out=boundary.jsonl
is 'the boundary is timed with shared memory and with messages' "$(sed -n 's/.*"stages": "\([a-z ]*\)".*/\1/p' boundary.jsonl | sort | uniq -c |
	tr -s ' \n' ' ')" ' 2 messages 2 shared memory '
rm boundary.jsonl

check 'packed pixels are timed' bench --parts=compress --workload='16 bits, background 3' --sizes=64 --iterations=1 \
	--frames=3 --out=compress.jsonl
is 'three links, as they are and packed, which is less' "$(sed -n 's/.*"packed": \([01]\), "mb": \([0-9.e-]*\),.*/\1 \2/p' compress.jsonl |
	awk '{ bytes[$1] += $2; n[$1]++ } END { print n[0], n[1], bytes[1] < bytes[0] }')" '3 3 1'
check 'workers of one source are counted' bench --parts=workers --iterations=1 --frames=3 --out=workers.jsonl
check 'a hundred of them and more' grep -q '"workers": 100, "frames_per_s": [1-9]' workers.jsonl
check 'a pipeline is compared with its slowest stage' bench --parts=pace --sizes=64 --iterations=1 --frames=3 --out=pace.jsonl
is 'pipelines with 1, 4 and 8 sinks are compared' "$(grep -c '"percent": [1-9]' pace.jsonl)" 6
check 'the busiest thread is timed' bench --parts=busiest --sizes=64 --iterations=1 --frames=3 --out=busiest.jsonl
is 'three programs' "$(sed -n 's/.*"part": "busiest", "stage": "\([a-z-]*\)".*"busiest_ms": [0-9].*/\1/p' busiest.jsonl | tr '\n' ' ')" \
	'bragg-intensity bragg-background bragg-noise '
rm compress.jsonl workers.jsonl pace.jsonl busiest.jsonl

is 'nothing else is left' "$(echo *)" kernel.jsonl

# peer NAME COMMAND: a program that writes an image of 32 x 32 float32 in its own way
peer() {
	printf '#!/bin/sh\n%s > float.bin\n' "$2" >"$1"
	chmod +x "$1"
}
refused() { # NAME PEER MESSAGE
	status=0
	bench --parts=kernel --workload='one step' $small --peer="./$2" >table 2>message || status=$?
	is "$1 is refused" "$status" 1
	check "$1: the message gives the reason" grep -q "$3" message
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
refused 'a short image' short 'wrong size; expected 1024 pixels'
check_status 'a peer that is not there is refused' 2 bench --peer=./none
check_status 'an unknown part is refused' 2 bench --parts=kernels
finish
