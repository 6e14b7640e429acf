#!/bin/sh
# bragg-serve --connect and --topic, and the protocols array-1.0, lclstreamer and jungfraujoch.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'streams' python:numpy python:zmq
scratch
client() {
	timeout 60 /usr/bin/python3 "$BRAGG_TESTS/cli/streams_client.py" "$@" >taken
}
# five stills on two panels
printf 'photon_energy = 9500 eV\nclen = 0.1 m\nres = 2000\n' >two.geom
for panel in 0 1; do
	printf 'p%s/%s\n' $panel "min_fs = 0" $panel "max_fs = 49" $panel "min_ss = $((20 * panel))" $panel "max_ss = $((20 * panel + 19))" \
		$panel "fs = +1.0x" $panel "ss = +1.0y" $panel "corner_x = -25" $panel "corner_y = $((22 * panel - 20))"
done >>two.geom
# record GEOMETRY [PULSES [NOISE]]: options of bragg-geometry, bragg-orient and bragg-noise
record() {
	rm -f frames.rec
	# shellcheck disable=SC2086 # several options
	bragg-geometry $1 --ncells=5 --fluence=2e28 | bragg-orient --frames=5 --random --seed=4 --hit-rate=0.5 --truth=truth.tsv --overwrite ${2-} 2>warnings |
		bragg-intensity --threads=1 2>>warnings | bragg-noise --adc-offset=0 ${3-} | bragg-tap --record=frames.rec >/dev/null
}
frames() {
	bragg-replay frames.rec
}
record --geom=two.geom
frames | bragg-write 'a_%d.raw'
# served ENDPOINT-OPTION OPTION...: frames for clients in the background
served() {
	rm -f endpoint
	frames | timeout 60 bragg-serve "$@" >endpoint 2>message &
	pipe=$!
}
ended() {
	status=0
	wait "$pipe" || status=$?
	is "$1" "$status $(sed '/on their way to clients/d' message)" '0 '
}
served --protocol=array-1.0 --bind=ipc://"$PWD/s"
check 'array-1.0' client array pull connect "ipc://$PWD/s" 0
ended 'array-1.0: the end'
served --protocol=array-1.0 --bind=ipc://"$PWD/s" --truth --peaks=20 --source=JF-SIM
check 'array-1.0 with spots and hits' client array pull connect "ipc://$PWD/s" 20
ended 'array-1.0 with spots and hits: the end'
served --protocol=array-1.0 --connect=ipc://"$PWD/s"
check 'array-1.0 to a client that binds' client array pull bind "ipc://$PWD/s" 0
ended 'a client that binds: the end'
served --protocol=lclstreamer --connect=ipc://"$PWD/s" --series=12
check 'lclstreamer' client lclstreamer pull bind "ipc://$PWD/s" 0
ended 'lclstreamer: the end'
for dtype in uint16 float32; do
	served --protocol=lclstreamer --bind=ipc://"$PWD/s" --series=12 --dtype=$dtype
	check "lclstreamer: $dtype" client lclstreamer pull connect "ipc://$PWD/s" 0
	ended "lclstreamer, $dtype: the end"
done
served --protocol=lclstreamer --bind=ipc://"$PWD/s" --socket=pub --topic=run12 --series=12
check 'a topic is the first part' client lclstreamer sub connect "ipc://$PWD/s" run12
ended 'a topic: the end'
served --protocol=array-1.0 --connect=ipc://"$PWD/s" --connect=ipc://"$PWD/t" --rate=5
is 'two clients that bind share the frames' "$(timeout 60 /usr/bin/python3 -c 'import json, sys, zmq
context, poller, seen = zmq.Context(), zmq.Poller(), {}
for endpoint in sys.argv[1:]:
    socket = context.socket(zmq.PULL)
    socket.bind(endpoint)
    poller.register(socket, zmq.POLLIN)
    seen[socket] = []
while sum(map(len, seen.values())) < 5:
    for socket, _ in poller.poll():
        seen[socket].append(json.loads(socket.recv_multipart()[0])["frame"])
context.destroy(linger=0)
print(sorted(sum(seen.values(), [])), all(seen.values()))' "ipc://$PWD/s" "ipc://$PWD/t")" '[0, 1, 2, 3, 4] True'
ended 'two clients that bind: the end'
is 'two clients that bind: both endpoints are printed' "$(sed "s~$PWD~~" endpoint | tr '\n' ' ')" 'ipc:///s ipc:///t '
rm -f t
served --protocol=array-1.0 --connect=ipc://"$PWD/s" --connect=tcp://192.0.2.1:9 --insecure --policy=drop-new --linger=0
wait "$pipe"
is 'a warning names the endpoint of another host without keys' "$(grep encrypted message)" 'bragg-serve: warning: frames to tcp://192.0.2.1:9 are not encrypted'
served --protocol=array-1.0 --connect=ipc://"$PWD/s"
sleep 0.5
check 'a client that comes late' client array pull bind "ipc://$PWD/s" 0
ended 'a client that comes late: the end'
served --protocol=array-1.0 --connect=ipc://"$PWD/s" --rate=3
check 'a client that leaves after two frames' client array pull bind "ipc://$PWD/s" 0 2
mv taken first
check 'the next client gets what was not on its way' client array pull bind "ipc://$PWD/s" 0 1
kill "$pipe" 2>/dev/null || true  # else it waits for a client that takes the other frames
wait "$pipe" || true
is 'no frame is taken twice' "$(cat first taken | sort | uniq -d)" ''

served --protocol=lclstreamer --connect=ipc://"$PWD/s" --series=12 --socket=pub --topic=run12
check 'a subscriber that binds' client lclstreamer sub bind "ipc://$PWD/s" run12
ended 'a subscriber that binds: the end'

# --- jungfraujoch: both panels are one image, whose dead pixels have the value without data
geometry='--detpixels=50,40 --pixel=0.5 --distance=100 --energy=9.5keV --cut=1,2'
record "$geometry" '' --dead=0.02
frames | bragg-write --overwrite 'a_%d.raw'
jungfraujoch() { # TYPE SPOTS OPTION...
	dtype=$1 spots=$2
	shift 2
	served --protocol=jungfraujoch --series=12 --magic=77 "$@"
	check "jungfraujoch: $dtype $*" client "jungfraujoch:$dtype" $way $end "ipc://$PWD/s" "$spots"
	ended "jungfraujoch, $dtype $*: the end"
}
way=pull end=connect
jungfraujoch uint16 0 --bind=ipc://"$PWD/s"
jungfraujoch int32 20 --bind=ipc://"$PWD/s" --dtype=int32 --peaks=20 --truth --image-appendix='{"scan":3}'
jungfraujoch uint32 0 --bind=ipc://"$PWD/s" --dtype=uint32 --compression=none
served --protocol=jungfraujoch --series=12 --magic=77 --bind=ipc://"$PWD/s" --metadata=ipc://"$PWD/m" --peaks=20 --truth --image-appendix='{"scan":3}' --inject=duplicate:0
check 'jungfraujoch: a second socket has the metadata' client jungfraujoch:uint16 pull connect "ipc://$PWD/s" 20 5 "ipc://$PWD/m"
wait "$pipe"
is 'jungfraujoch: both endpoints are printed' "$(sed "s~$PWD~~" endpoint | tr '\n' ' ')" 'ipc:///s ipc:///m '
is 'jungfraujoch: no socket stays behind' "$(find . -type s)" ''
served --protocol=jungfraujoch --series=12 --magic=77 --bind=ipc://"$PWD/s" --metadata=ipc://"$PWD/m"
check 'jungfraujoch: images do not wait for readers of metadata' client jungfraujoch:uint16 pull connect "ipc://$PWD/s" 0
ended 'jungfraujoch: nobody reads the metadata'
record "$geometry" '--facility=swissfel --pump=1:1' --dead=0.02
end=bind
jungfraujoch uint16 0 --connect=ipc://"$PWD/s"
record "$geometry" '' --dead=0.02
way=sub
jungfraujoch uint16 run12 --connect=ipc://"$PWD/s" --socket=pub --topic=run12
served --protocol=jungfraujoch --bind=ipc://"$PWD/s" --rate=50
testclient series "ipc://$PWD/s" 3 >taken
testclient series "ipc://$PWD/s" 100 >>taken
ended 'jungfraujoch: one client after another'
is 'jungfraujoch: the second client gets the end' "$(head -n 1 taken) $(tail -n 1 taken)" 'start end'
{ frames && : >made; } | timeout 60 bragg-serve --protocol=jungfraujoch --bind=ipc://"$PWD/s" --policy=drop-old --queue=2 --linger=20 >endpoint 2>message &
pipe=$!
soon test -e made
sleep 0.3
testclient series "ipc://$PWD/s" 100 >taken
status=0
wait "$pipe" || status=$?
is 'jungfraujoch: no policy drops start and end' "$status $(tr '\n' ' ' <taken)" '0 start 3 4 end '
figure() { tail -n 1 stats | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
# a client that comes when all frames are made: the policy decides what is left for it
for protocol in array-1.0 json-array lclstreamer; do
	for policy in drop-old drop-new; do
		rm -f made
		{ frames && : >made; } | timeout 60 bragg-serve --protocol=$protocol --bind=ipc://"$PWD/s" --policy=$policy --queue=2 --linger=20 --stats=stats --sent=sent.tsv --overwrite >endpoint 2>message &
		pipe=$!
		soon test -e made
		sleep 0.3
		messages=2
		[ $protocol != lclstreamer ] || messages=4  # start and end, which no policy drops
		timeout 20 testclient pull "ipc://$PWD/s" $messages >none 2>&1
		wait "$pipe"
		is "$protocol, $policy: a late client and --sent agree on the frames that are left" "$(($(figure taken) + $(figure dropped))) $(($(figure dropped) > 0)) $(figure taken)" \
			"5 1 $(awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
				$at["fate"] == "taken" && !seen[$at["frame"]]++ { n++ } END { print n + 0 }' sent.tsv)"
	done
done

# int32 pixels of a CBF of Pilatus: -1 (gap) and -2 (bad pixel) get the value without data
bragg-geometry --detector=pilatus-300k --ncells=5 --fluence=1e26 | bragg-orient --random | bragg-intensity --threads=1 2>>warnings |
	bragg-noise --adc-offset=0 --bits=32 --dead=0.01 | bragg-write 'p_%d.cbf'
bragg-replay p_0.cbf 2>>warnings | timeout 60 bragg-serve --protocol=jungfraujoch --bind=ipc://"$PWD/s" --compression=none >endpoint 2>message &
pipe=$!
mkdir series
testclient series "ipc://$PWD/s" 100 series >taken
wait "$pipe"
is 'jungfraujoch: pixels without data of a CBF' "$(/usr/bin/python3 -c '
import numpy
pixels = numpy.frombuffer(open("series/0", "rb").read()[-487 * 619 * 4:], "<i4")
print((pixels == -2**31).mean() > 0.005, (pixels < 0).sum() == (pixels == -2**31).sum())') $(cat message)" \
	'True True bragg-serve: warning: frame 0: pixels of -1 and -2 mean no data; clients receive -2147483648 for them'

# --- faults on purpose reach the client
# faulty NAME FAULT OPTION...: all messages have a fault, which the client sees
faulty() {
	faulty_name=$1 faulty_kind=$2
	shift 2
	served "$@" --inject=${faulty_kind#*-}:1 --sent=sent.tsv --overwrite
	check "$faulty_name" client "$faulty_kind" "$way" connect "ipc://$PWD/s" "$topic"
	wait "$pipe"
}
way=pull topic=0
for kind in header lie shape type large; do
	faulty "jungfraujoch: $kind" jfj-$kind --protocol=jungfraujoch --series=12 --magic=77 --bind=ipc://"$PWD/s"
done
record --geom=two.geom
for kind in header lie shape type; do
	faulty "array-1.0: $kind" $kind --protocol=array-1.0 --bind=ipc://"$PWD/s" --truth
done
faulty 'lclstreamer: the type of the pixels agrees with itself' lcls-type --protocol=lclstreamer --series=12 --bind=ipc://"$PWD/s"
way=sub topic=run12
faulty 'an empty message has its topic' empty --protocol=array-1.0 --bind=ipc://"$PWD/s" --socket=pub --topic=run12
is 'one line says that frames are exposed for longer than their time' "$(bragg-geometry --detpixels=16 --fluence=1e25 --exposure=0.5 | bragg-orient |
	bragg-intensity | bragg-noise | timeout 20 bragg-serve --protocol=dectris1 --bind=ipc://"$PWD/s" --rate=10 --policy=drop-new --linger=0 2>&1 >endpoint |
	grep -c 'frames are exposed for 0.5 s, but --rate=10 gives them 0.1 s')" 1

# --- sinks in Python: what needs no package of theirs
sinks=$BRAGG_TESTS/../pipelines
# blocked PACKAGE PROGRAM ARGUMENT...: a sink on a machine without PACKAGE
blocked() {
	timeout 20 /usr/bin/python3 -c 'import runpy, sys
sys.modules[sys.argv.pop(1)] = None
sys.argv.pop(0)
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")' "$@" </dev/null
}
if has python:msgpack; then
	is 'send_pva.py names its package' "$(blocked p4p "$sinks/send_pva.py" A:B 2>&1)" 'send_pva.py: the package p4p is missing. Run: pip install p4p'
	is 'send_bsread.py names its package' "$(blocked bsread "$sinks/send_bsread.py" tcp://127.0.0.1:9 2>&1)" \
		'send_bsread.py: the package bsread is missing. Run: pip install psi-bsread'
	for sink in 'send_pva.py p4p' 'send_bsread.py bsread'; do
		check "--help without the package: $sink" sh -c 'grep -q "bragg-geometry |" help' "$(blocked "${sink#* }" "$sinks/${sink% *}" --help >help)"
	done
	# wrong TEXT PROGRAM ARGUMENT...
	wrong() {
		wrong_text=$1
		shift
		status=0
		blocked p4p "$@" 2>refusal || status=$?
		is "${1##*/}: $wrong_text" "$status $(grep -c -e "$wrong_text" refusal) $(wc -l <refusal)" '2 1 1'
	}
	wrong 'the endpoint is malformed (got ipc:///tmp/a)' "$sinks/send_bsread.py" ipc:///tmp/a
	wrong 'the endpoint is malformed (got tcp://127.0.0.1:70000)' "$sinks/send_bsread.py" tcp://127.0.0.1:70000
	wrong 'Use --insecure to allow it' "$sinks/send_bsread.py" 'tcp://*:9'
	wrong '--rate is out of range (got 0)' "$sinks/send_pva.py" A --rate=0
	wrong 'the name of the channel is malformed' "$sinks/send_pva.py" 'A B'
	wrong 'the endpoint is malformed (got tcp://:12321)' "$sinks/send_npz.py" tcp://:12321
	wrong 'leave this host without encryption' "$sinks/send_npz.py" tcp://192.0.2.1:12321
	wrong '--batch is out of range (got 0)' "$sinks/send_npz.py" tcp://127.0.0.1:12321 --batch=0
	frames | bragg-write --overwrite 'a_%d.raw'
	port=$((20000 + $$ % 10000)) # below the range from which other connections take theirs
	frames | timeout 60 /usr/bin/python3 "$sinks/send_npz.py" "tcp://127.0.0.1:$port" --batch=3 >none 2>message &
	pipe=$!
	check 'numpy.load reads messages of send_npz.py as PeakNet does' client npz pull bind "tcp://127.0.0.1:$port" 0
	ended 'send_npz.py: the end'
else
	skip 'sinks in Python' "$lack is missing"
fi

# --- refused
# refused NAME TEXT OPTION...: status 2, one line
refused() {
	refused_name=$1 refused_text=$2
	shift 2
	status=0
	bragg-serve --in=ipc://"$PWD/none" "$@" >none 2>refusal || status=$?
	is "$refused_name" "$status $(grep -c -e "$refused_text" refusal) $(wc -l <refusal)" '2 1 1'
}
refused 'neither end of a connection' 'give --bind=ENDPOINT for clients'
refused 'both ends' 'connect' --bind=ipc://"$PWD/s" --connect=ipc://"$PWD/s"
refused 'requests from the wrong end' '--connect needs --socket=push or pub' --connect=ipc://"$PWD/s" --protocol=karabo-bridge
refused 'a topic without subscribers' '--topic has an effect only with --socket=pub' --topic=a --bind=ipc://"$PWD/s" --protocol=array-1.0
refused 'a topic that CrystFEL takes for a frame' '--topic has 16 bytes; expected 1 to 15' --topic=0123456789abcdef --socket=pub --bind=ipc://"$PWD/s"
refused 'a topic without a letter' '--topic: the value is empty' --topic= --socket=pub --bind=ipc://"$PWD/s"
for wrong in --compression=lz4 --image-key=a --thresholds=6000 --first-channel=2 --header-detail=basic --mask-to-zero --mark-lost --inject=nan:1 --socket=rep \
	--magic=-1 --protocol-version=2; do
	refused "jungfraujoch refuses $wrong" "${wrong%%=*}" --protocol=jungfraujoch --bind=ipc://"$PWD/s" $wrong
done
refused 'metadata of other hosts without keys' "tcp://0.0.0.0:9999' can be reached by other hosts" --protocol=jungfraujoch --bind=ipc://"$PWD/s" --metadata=tcp://0.0.0.0:9999
refused 'metadata of another protocol' '--metadata has an effect only with --protocol=jungfraujoch' --protocol=dectris2 --bind=ipc://"$PWD/s" --metadata=ipc://"$PWD/m"
refused 'a magic number without Jungfraujoch' '--magic' --magic=7 --protocol=dectris2 --bind=ipc://"$PWD/s"
record --detpixels=16
is 'float32 is refused by name' "$(frames | bragg-serve --protocol=jungfraujoch --bind=ipc://"$PWD/s" --dtype=float32 2>&1 >none)" \
	'bragg-serve: frame 0: the protocol does not support pixels of type float32'
refused 'another host without --insecure' 'insecure' --connect=tcp://192.0.2.1:4000 --protocol=array-1.0
refused 'another host after this one' 'tcp://192.0.2.1:4000' --connect=ipc://"$PWD/s" --connect=tcp://192.0.2.1:4000 --protocol=array-1.0
finish
