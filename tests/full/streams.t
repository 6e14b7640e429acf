#!/bin/sh
# Streams with foreign readers: psi-mflow (scripts/install-deps full) takes array-1.0 from push and pub sockets, and bitshuffle
# with cbor2 decode images of lclstreamer.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
python=$(cd "$BRAGG_TESTS/.." && pwd)/build/pypi-eiger/bin/python3
scratch
frames() {
	bragg-geometry --detector=jungfrau-1m --distance=120 --ncells=10 | bragg-orient --frames=6 --random --seed=7 | bragg-intensity |
		bragg-noise --seed=9 --bits=32 --adc-offset=0
}
frames | bragg-write 'a_%d.raw'
# served OPTION...: frames for a client in the background
served() {
	frames | timeout 60 bragg-serve "$@" --rate=20 >endpoint 2>message &
	pipe=$!
	soon test -s endpoint
}
# ended TEST: the pipe ends without a word, but for the warning of a TCP socket without keys
ended() {
	status=0
	wait "$pipe" || status=$?
	is "$1" "$status $(grep -v 'has no encryption keys' message)" '0 '
}
installed() {
	"$python" -c "import $1" 2>/dev/null
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
if has python:cbor2 python:bitshuffle python:zmq python:numpy; then
	for dtype in uint32 uint16; do
		frames | timeout 60 bragg-serve --protocol=lclstreamer --connect=ipc://"$PWD/l" --dtype=$dtype >endpoint 2>message &
		pipe=$!
		check "bitshuffle decodes lclstreamer: $dtype" timeout 60 /usr/bin/python3 "$BRAGG_TESTS/full/streams_clients.py" lclstreamer push ipc://"$PWD/l"
		ended "lclstreamer, $dtype: the end"
	done
else
	skip 'bitshuffle decodes lclstreamer' "$lack is missing"
fi
finish
