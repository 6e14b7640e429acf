#!/bin/sh
# bragg-serve --payload=hdf5: messages of lclstreamer and of crystfel that are whole HDF5 files.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'messages in HDF5' python:numpy python:zmq python:h5py
scratch
client() {
	timeout 60 /usr/bin/python3 "$BRAGG_TESTS/cli/hdf5_client.py" "$@" >taken
}
# five stills on two panels
printf 'photon_energy = 9500 eV\nclen = 0.1 m\nres = 2000\n' >two.geom
for panel in 0 1; do
	printf 'p%s/%s\n' $panel "min_fs = 0" $panel "max_fs = 49" $panel "min_ss = $((20 * panel))" $panel "max_ss = $((20 * panel + 19))" \
		$panel "fs = +1.0x" $panel "ss = +1.0y" $panel "corner_x = -25" $panel "corner_y = $((22 * panel - 20))"
done >>two.geom
bragg-geometry --geom=two.geom --ncells=5 --fluence=2e28 | bragg-orient --frames=5 --random --seed=4 --hit-rate=0.5 --truth=truth.tsv 2>warnings |
	bragg-intensity --threads=1 2>>warnings | bragg-noise --adc-offset=0 | bragg-tap --record=frames.rec >/dev/null
frames() {
	bragg-replay frames.rec
}
frames | bragg-write 'a_%d.raw'
# served OPTION...: frames for clients in the background
served() {
	rm -f endpoint s
	frames | timeout 60 bragg-serve --payload=hdf5 "$@" >endpoint 2>message &
	pipe=$!
}
ended() {
	status=0
	wait "$pipe" || status=$?
	is "$1" "$status $(sed '/on their way to clients/d; /clients get frames with faults/d; /--inject: faults in/d' message)" '0 '
}
socket=ipc://$PWD/s

# --- LCLStreamer
# lclstreamer TYPE WHAT OPTION...
lclstreamer() {
	dtype=$1 what=$2
	shift 2
	served --protocol=lclstreamer --connect="$socket" "$@"
	check "lclstreamer: $dtype $what $*" client "lclstreamer:$dtype" pull bind "$socket" "$what"
	ended "lclstreamer, $dtype $what: the end"
}
lclstreamer uint16 1,1,1,1,1:bslz4
lclstreamer uint16 2,2,1:bslz4 --batch=2
lclstreamer float32 5:none --batch=256 --compression=none --dtype=float32
lclstreamer int32 3,2:gzip --batch=3 --compression=gzip --dtype=int32
lclstreamer uint32 5:bslz4:fields --batch=5 --dtype=uint32 \
	--fields=detector_data:/entry/raw/data,frame_id:/entry/id,photon_wavelength:/wave,lineage:/about/lineage,hit:/hit
served --protocol=lclstreamer --bind="$socket" --socket=pub --topic=run12 --batch=3
check 'a topic is the first part' client lclstreamer sub connect "$socket" 3,2:bslz4
ended 'a topic: the end'

# stats WORD: a number of the line of --stats
stats() {
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" message
}
served --protocol=lclstreamer --connect="$socket" --batch=2 --stats=- --sent=sent.tsv
client lclstreamer pull bind "$socket" 2,2,1:bslz4
wait "$pipe"
is 'taken counts frames' "$(stats taken) $(stats dropped)" '5 0'
is '--sent has a row for each frame of a message, in order' "$(awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "fate") c = i } NR > 1 { print $1, $c }' sent.tsv | uniq | tr '\n' ' ')" \
	'0 taken 1 taken 2 taken 3 taken 4 taken '
served --protocol=lclstreamer --connect="$socket" --batch=2 --policy=drop-new --linger=0 --queue=1 --stats=- --sent=sent.tsv --overwrite
wait "$pipe"
is 'a dropped message drops its frames' "$(stats taken) $(stats dropped) $(grep -c 'dropped' sent.tsv) $(sed -n 's/.*clients took 0 frames, \([0-9]*\) were dropped.*/\1/p' message)" \
	"0 5 $(($(wc -l <truth.tsv) - 1)) 5"
# a client that leaves: each of its messages counts with all frames
served --protocol=lclstreamer --bind="$socket" --batch=2 --rate=3 --stats=-
client lclstreamer pull connect "$socket" 2:bslz4
mv taken first
client lclstreamer pull connect "$socket" 2,1:bslz4
wait "$pipe"
# no message is on its way if the client leaves before the next one is sent
is 'a client that leaves may lose whole messages' "$(stats taken) $(($(stats perhaps_lost) % 2))" '5 0'
is 'no frame is taken twice' "$(cat first taken | sort | uniq -d)" ''
# a late client gets all messages, whose last one is not full
served --protocol=lclstreamer --bind="$socket" --batch=4
sleep 0.3
check 'a client that comes late' client lclstreamer pull connect "$socket" 4,1:bslz4
ended 'a client that comes late: the end'
# the message that is not full leaves at the end of a run that Ctrl-C ends early
setsid /usr/bin/python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp("sh", ["sh", "-c", sys.argv[1]])' "bragg-replay --rate=1 frames.rec | bragg-serve --payload=hdf5 --protocol=lclstreamer \
	--bind=$socket --batch=4 --stats=- --policy=drop-new --linger=0 >endpoint 2>message" &
group=$!
soon test -s endpoint
sleep 1
kill -INT -$group
soon grep -q dropped message
is 'Ctrl-C: the frames that wait for their message are counted' "$(stats taken) $(($(stats dropped) % 4 > 0))" '0 1'
wait "$group" || true

# --- keys
if has bragg-run; then
	bragg-run --make-keys=keys 2>message
	served --protocol=lclstreamer --bind="$socket" --batch=2 --client-keys=keys
	soon grep -q s endpoint
	is 'a client without keys gets nothing' "$(timeout 1 /usr/bin/python3 "$BRAGG_TESTS/cli/hdf5_client.py" lclstreamer pull connect "$socket" 2:bslz4 2>&1)" ''
	check 'a client with keys gets its messages' timeout 60 /usr/bin/python3 -c 'import sys, zmq, zmq.auth
socket = zmq.Context().socket(zmq.PULL)
socket.curve_publickey, socket.curve_secretkey = zmq.auth.load_certificate("keys/client.key_secret")
socket.curve_serverkey = zmq.auth.load_certificate("keys/server.key")[0]
socket.connect(sys.argv[1])
socket.RCVTIMEO = 30000
assert all(socket.recv()[:4] == b"\x89HDF" for _ in range(3))' "$socket"
	wait "$pipe" || true
fi

# --- CrystFEL
served --protocol=crystfel --bind="$socket" --geom=hdf5.geom --cell=hdf5.cell
check 'crystfel: asked for' client crystfel req connect "$socket" -
ended 'crystfel: the end'
is 'the geometry names the data sets' "$(grep -c '^photon_energy = /LCLS/photon_energy_eV eV$\|^clen = /LCLS/detector_1/EncoderValue mm$\|^p[01]/data = /entry_1/data_1/data$' hdf5.geom) $(grep -c 'dim0\|peak_list' hdf5.geom)" '4 0'
served --protocol=crystfel --bind="$socket" --dtype=float32 --truth
check 'crystfel: float32, with the ground truth' client crystfel:float32 req connect "$socket" truth
ended 'crystfel, float32: the end'
served --protocol=crystfel --bind="$socket" --socket=pub --topic=run12
check 'crystfel: published with a topic' client crystfel sub connect "$socket" -
ended 'crystfel, published: the end'
for kind in type lie; do
	served --protocol=crystfel --bind="$socket" --inject=$kind:1
	check "crystfel: the fault $kind" client crystfel req connect "$socket" $kind
	ended "crystfel, $kind: the end"
done

# --- refused
# refused TEXT OPTION...: status 2, one line
refused() {
	refused_text=$1
	shift
	status=0
	bragg-serve --in=ipc://"$PWD/none" --bind="$socket" "$@" >none 2>refusal || status=$?
	is "refused: $*" "$status $(grep -c -e "$refused_text" refusal) $(wc -l <refusal)" '2 1 1'
}
refused '--payload has an effect only with' --protocol=karabo-bridge --payload=hdf5
refused '--payload=msgpack: lclstreamer has no such messages; expected simplon or hdf5' --protocol=lclstreamer --payload=msgpack
refused '--payload=simplon: crystfel has no such messages; expected msgpack or hdf5' --protocol=crystfel --payload=simplon
refused '--batch has an effect only with --payload=hdf5' --protocol=lclstreamer --batch=2
refused '--batch' --protocol=crystfel --payload=hdf5 --batch=2
refused '--fields' --protocol=crystfel --payload=hdf5 --fields=detector_data:/a
refused '--peaks' --protocol=crystfel --payload=hdf5 --peaks=20
refused '--compression' --protocol=crystfel --payload=hdf5 --compression=gzip
refused '--image-key' --protocol=crystfel --payload=hdf5 --image-key=a
refused '--series' --protocol=lclstreamer --payload=hdf5 --series=2
refused '--compression' --protocol=lclstreamer --compression=none
refused '--compression=lz4: clients of lclstreamer do not read it; expected bslz4, gzip or none' --protocol=lclstreamer --payload=hdf5 --compression=lz4
refused '--compression=gzip: clients of dectris2 do not read it; expected bslz4, lz4 or none' --protocol=dectris2 --compression=gzip
refused '--compression=gzip: clients of jungfraujoch do not read it; expected bslz4 or none' --protocol=jungfraujoch --compression=gzip
refused '--inject: a fault concerns one frame' --protocol=lclstreamer --payload=hdf5 --batch=2 --inject=drop:1
refused "--fields: 'detector_data' is malformed" --protocol=lclstreamer --payload=hdf5 --fields=detector_data
refused "--fields: '' is malformed" --protocol=lclstreamer --payload=hdf5 --fields=detector_data:/a,
refused '--fields: the path of detector_data is malformed (got a)' --protocol=lclstreamer --payload=hdf5 --fields=detector_data:a
refused '--fields: the path of detector_data is malformed (got /a/)' --protocol=lclstreamer --payload=hdf5 --fields=detector_data:/a/
refused '--fields: the paths of detector_data and timestamp exclude each other (got /data and /data/time)' --protocol=lclstreamer --payload=hdf5 \
	--fields=detector_data:/data,timestamp:/data/time
refused '--fields: timestamp is given twice' --protocol=lclstreamer --payload=hdf5 --fields=timestamp:/a,timestamp:/b,detector_data:/c
refused '--fields: the image is missing' --protocol=lclstreamer --payload=hdf5 --fields=timestamp:/a
status=0
frames 2>warnings | bragg-serve --protocol=lclstreamer --payload=hdf5 --bind="$socket" --fields=detector_data:/a,color:/b >none 2>refusal || status=$?
is 'a field that no frame has' "$status $(cat refusal)" '2 bragg-serve: --fields: frame 0 has no color; bragg-serve(1) lists the names'
finish
