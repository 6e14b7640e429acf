#!/bin/sh
# bragg-serve --connect and --topic, and the protocols array-1.0 and lclstreamer.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'streams' python:numpy python:zmq
scratch
client() {
	timeout 60 /usr/bin/python3 "$BRAGG_TESTS/cli/streams_client.py" "$@" >taken
}
# frames OPTION...: five stills on two panels
printf 'photon_energy = 9500 eV\nclen = 0.1 m\nres = 2000\n' >two.geom
for panel in 0 1; do
	printf 'p%s/%s\n' $panel "min_fs = 0" $panel "max_fs = 49" $panel "min_ss = $((20 * panel))" $panel "max_ss = $((20 * panel + 19))" \
		$panel "fs = +1.0x" $panel "ss = +1.0y" $panel "corner_x = -25" $panel "corner_y = $((22 * panel - 20))"
done >>two.geom
frames() {
	bragg-geometry --geom=two.geom --ncells=5 --fluence=2e28 | bragg-orient --frames=5 --random --seed=4 --hit-rate=0.5 --truth=truth.tsv 2>warnings |
		bragg-intensity --threads=1 | bragg-noise --adc-offset=0
}
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
served --protocol=array-1.0 --connect=ipc://"$PWD/s"
sleep 0.5
check 'a client that comes late' client array pull bind "ipc://$PWD/s" 0
ended 'a client that comes late: the end'
served --protocol=array-1.0 --connect=ipc://"$PWD/s" --rate=3
check 'a client that leaves after two frames' client array pull bind "ipc://$PWD/s" 0 2
mv taken first
check 'the next client gets what was not on its way' client array pull bind "ipc://$PWD/s" 0 1
wait "$pipe"
is 'no frame is taken twice' "$(cat first taken | sort | uniq -d)" ''

served --protocol=lclstreamer --connect=ipc://"$PWD/s" --series=12 --socket=pub --topic=run12
check 'a subscriber that binds' client lclstreamer sub bind "ipc://$PWD/s" run12
ended 'a subscriber that binds: the end'

# --- faults on purpose reach the client
# faulty NAME FAULT OPTION...: all messages have a fault, which the client sees
faulty() {
	faulty_name=$1 faulty_kind=$2
	shift 2
	served "$@" --inject=${faulty_kind#lcls-}:1 --sent=sent.tsv --overwrite
	check "$faulty_name" client "$faulty_kind" "$way" connect "ipc://$PWD/s" "$topic"
	wait "$pipe"
}
way=pull topic=0
for kind in header lie shape type; do
	faulty "array-1.0: $kind" $kind --protocol=array-1.0 --bind=ipc://"$PWD/s" --truth
done
faulty 'lclstreamer: the type of the pixels agrees with itself' lcls-type --protocol=lclstreamer --series=12 --bind=ipc://"$PWD/s"
way=sub topic=run12
faulty 'an empty message has its topic' empty --protocol=array-1.0 --bind=ipc://"$PWD/s" --socket=pub --topic=run12
is 'one line says that frames are exposed for longer than their time' "$(bragg-geometry --detpixels=16 --fluence=1e25 --exposure=0.5 | bragg-orient |
	bragg-intensity | bragg-noise | timeout 20 bragg-serve --protocol=dectris1 --bind=ipc://"$PWD/s" --rate=10 --policy=drop-new --linger=0 2>&1 >endpoint |
	grep -c 'frames are exposed for 0.5 s, but --rate=10 gives them 0.1 s')" 1

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
refused 'another host without --insecure' 'insecure' --connect=tcp://192.0.2.1:4000 --protocol=array-1.0
finish
