#!/bin/sh
# make on a system where packages are missing: one line says what to type.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$(cd "$BRAGG_TESTS/.." && pwd)
needs 'make' make gcc
scratch
# said VARIABLE... [GOAL]: the last line of a first build that fails before it compiles
said() {
	env -u MAKEFLAGS -u MAKELEVEL make -n -C "$top" --no-print-directory "BUILD=$PWD/none" CUDA=0 "$@" >out 2>&1 || sed 's/^Makefile:[0-9]*: //' out
}
advice="Type 'make deps && make': it installs the missing packages of Debian or Ubuntu, and builds.  Stop."
is 'no compiler' "$(said CC=no-such-gcc)" "*** not installed: no-such-gcc. $advice"
mkdir empty
is 'no headers of a library' "$(said CC="gcc -nostdinc -isystem $PWD/empty" HEADERS= all)" "*** not installed: zmq.h msgpack.h hdf5.h ccp4/cmtzlib.h \
png.h lz4.h zlib.h jansson.h cbor.h libwebsockets.h yaml.h. $advice"
is 'what installs packages itself is not refused' "$(said CC=no-such-gcc deps list)" ''
is 'nothing is missing here' "$(said list all)" ''
finish
