#!/bin/sh
# Streams with foreign readers (scripts/install-deps full): psi-mflow takes array-1.0 from push and pub sockets, psi-bsread and p4p take
# the streams of the sinks in Python.  bitshuffle with cbor2 decode images of lclstreamer and of jungfraujoch, for which no reader is on PyPI.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$(cd "$BRAGG_TESTS/.." && pwd)
python=$top/build/pypi-eiger/bin/python3 streams=$top/build/pypi-streams/bin/python3
scratch
bragg-geometry --detector=jungfrau-1m --distance=120 --ncells=10 |
	bragg-orient --frames=6 --random --seed=7 --hit-rate=0.8 --wavelength-jitter=0.2 --truth=truth.tsv | bragg-intensity |
	bragg-noise --seed=9 --bits=32 --adc-offset=0 | bragg-tap --record=frames.rec >/dev/null
frames() {
	bragg-replay frames.rec
}
frames | bragg-write 'a_%d.raw'
# served OPTION...: frames for a client in the background
served() {
	frames | timeout 60 bragg-serve "$@" >endpoint 2>message &
	pipe=$!
	soon test -s endpoint
}
# ended TEST: the pipe ends without a word, but for the warnings of a TCP socket without keys, and of a client that left early
ended() {
	status=0
	wait "$pipe" || status=$?
	is "$1" "$status $(grep -v 'has no encryption keys\|on their way to clients' message)" '0 '
}
installed() {
	"${2:-$python}" -c "import $1" 2>/dev/null
}
for kind in push pub; do
	if installed mflow; then
		served --protocol=array-1.0 --bind=tcp://127.0.0.1:* --socket=$kind
		check "mflow reads array-1.0: $kind" timeout 60 "$python" "$BRAGG_TESTS/full/streams_clients.py" mflow $kind "$(cat endpoint)"
		ended "array-1.0, $kind: the end"
	else
		skip "mflow reads array-1.0: $kind" 'mflow is missing: scripts/install-deps full'
	fi
done
if has python:cbor2 python:bitshuffle python:zmq python:numpy python:msgpack; then
	for dtype in uint32 uint16; do
		frames | timeout 60 bragg-serve --protocol=lclstreamer --connect=ipc://"$PWD/l" --dtype=$dtype >endpoint 2>message &
		pipe=$!
		check "bitshuffle decodes lclstreamer: $dtype" timeout 60 /usr/bin/python3 "$BRAGG_TESTS/full/streams_clients.py" lclstreamer push ipc://"$PWD/l"
		ended "lclstreamer, $dtype: the end"
	done
	for dtype in uint32 int32; do
		served --protocol=jungfraujoch --bind=ipc://"$PWD/j" --dtype=$dtype --peaks=100 --truth --metadata=ipc://"$PWD/jm"
		check "bitshuffle decodes jungfraujoch: $dtype" timeout 60 /usr/bin/python3 "$BRAGG_TESTS/full/streams_clients.py" jungfraujoch push ipc://"$PWD/j"
		ended "jungfraujoch, $dtype: the end"
	done
else
	skip 'bitshuffle decodes lclstreamer and jungfraujoch' "$lack is missing"
fi

if has python:h5py python:bitshuffle python:zmq python:numpy; then
	for batch in 1 4; do
		frames | timeout 60 bragg-serve --protocol=lclstreamer --payload=hdf5 --batch=$batch --connect=ipc://"$PWD/h" >endpoint 2>message &
		pipe=$!
		check "h5py reads lclstreamer in HDF5: $batch frames a message" timeout 60 /usr/bin/python3 "$BRAGG_TESTS/full/streams_clients.py" hdf5 push ipc://"$PWD/h"
		ended "lclstreamer in HDF5, $batch frames a message: the end"
	done
else
	skip 'h5py reads lclstreamer in HDF5' "$lack is missing"
fi

# listens: waits until the port is bound.  It does not connect, because frames would be sent to the connection.
listens() {
	soon grep -q "^ *[0-9]*: 0100007F:$(printf %04X "$port") 00000000:0000 0A " /proc/net/tcp
}
# sink PACKAGE MODULE PROGRAM ENDPOINT...: a sink in Python, and its client
sink() {
	sink_package=$1 sink_module=$2 sink_program=$3 sink_endpoint=$4
	shift 4
	if ! installed "$sink_module" "$streams"; then
		skip "$sink_package reads $sink_program" "$sink_package is missing: scripts/install-deps full"
		return 0
	fi
	frames | timeout 60 "$streams" "$top/pipelines/$sink_program" "$sink_endpoint" "$@" >out 2>message &
	pipe=$!
	[ "$sink_module" != bsread ] || listens # a client that is early could meet a connection of another program
	check "$sink_package reads $sink_program $*" timeout 60 "$streams" "$BRAGG_TESTS/full/streams_clients.py" "$sink_module" pull "$sink_endpoint"
	ended "$sink_program $*: the end"
}
export EPICS_PVA_ADDR_LIST=127.0.0.1 EPICS_PVA_AUTO_ADDR_LIST=NO
export PYTHONWARNINGS=ignore # of packages of Debian that p4p imports
port=$((20000 + $$ % 10000)) # below the range from which other connections take theirs
sink psi-bsread bsread send_bsread.py "tcp://127.0.0.1:$port"
sink psi-bsread bsread send_bsread.py "tcp://127.0.0.1:$port" --compression=none
sink p4p p4p send_pva.py "SIM$$:IMAGE" --rate=20
if installed p4p "$streams" && has mandoc; then
	mandoc -T utf8 -O width=78 "$top/stages/pages/braggpipe-examples.7" | col -bx |
		awk '/^[A-Z]/ { here = /^STREAMS/ } here && /^           /' | sed "/venv\|pip install/d; s/9998/$port/; s/12321/$((port + 1))/; s/SIM:IMAGE/SIM$$:PAGE/" >page.sh
	mkdir page
	cd page || exit 1
	ln -s "$top"/pipelines/send_*.py .
	ln -s "$top/build/pypi-streams" env
	status=0
	timeout 60 sh -e ../page.sh </dev/null >seen 2>errors || status=$?
	cd ..
	is 'braggpipe-examples(7): both clients print five images' "$status $(grep -c '^[0-4] [0-9]* [0-9]*$' page/seen) $(grep '^[0-4]' page/seen | sort -u | wc -l) $(cat page/errors)" '0 10 5 '
	is 'braggpipe-examples(7): numpy reads two, two and one image' "$(grep '^\[' page/seen | cut -d'(' -f2 | xargs)" '2, 1, 256, 256) 2, 1, 256, 256) 1, 1, 256, 256)'
else
	skip 'the examples of braggpipe-examples(7)' 'p4p or mandoc is missing'
fi
if installed bsread "$streams"; then
	frames | timeout 60 "$streams" "$top/pipelines/send_bsread.py" "tcp://127.0.0.1:$port" >out 2>message &
	pipe=$!
	listens
	status=0
	frames 2>/dev/null | "$streams" "$top/pipelines/send_bsread.py" "tcp://127.0.0.1:$port" >out 2>taken || status=$?
	is 'send_bsread.py: a port in use' "$status $(cat taken)" "1 send_bsread.py: tcp://127.0.0.1:$port: Address already in use. Choose another port"
	kill "$pipe" # it waits for a client
	wait "$pipe"
fi
finish
