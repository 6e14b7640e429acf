#!/bin/sh
# Locks of other processes on the index of a run: bragg-write waits a little, then names the file and who holds it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'locks' /usr/bin/python3
scratch
# hold KIND SECONDS: a process that holds a lock on x.img.index, once `held` is there
cat >hold <<'E2'
import fcntl, os, struct, sys, time
kind, seconds = sys.argv[1], float(sys.argv[2])
file = os.open("x.img.index", os.O_RDONLY if kind in ("reader", "far") else os.O_RDWR)
F_OFD_SETLK = 37
if kind == "flock":
    fcntl.flock(file, fcntl.LOCK_EX)
elif kind == "process":
    fcntl.lockf(os.dup(file), fcntl.LOCK_EX, 1, 0)
else:
    start, length = ((1 << 62) - 4096, 4096) if kind == "far" else (0, 0)
    fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK if kind == "reader" else fcntl.F_WRLCK if kind == "writer" else fcntl.F_RDLCK, 0, start, length, 0))
open("held", "w").close()
time.sleep(seconds)
E2
bragg-geometry --quiet --detpixels=32 --ncells=10 --oversample=1 --fluence=1e30 | bragg-orient --quiet --frames=4 --random 2>/dev/null |
	bragg-intensity --quiet | bragg-noise --quiet 2>/dev/null | bragg-tap --quiet --record=a.rec
# write KIND SECONDS: frames while such a process holds a lock; $status, message, $ms
write() {
	rm -f x_* x.img.index held
	: >x.img.index
	/usr/bin/python3 hold "$@" &
	holder=$!
	soon test -e held
	begin=$(date +%s%N)
	status=0
	bragg-replay --quiet a.rec 2>/dev/null | timeout 100 bragg-write --quiet 'x_%d.img' 2>message || status=$?
	ms=$((($(date +%s%N) - begin) / 1000000))
}
# refused KIND LEAST MOST: in that many milliseconds
refused() {
	write "$1" 100
	is "$1: one line names the file and the process" "$status $(cat message)" \
		"1 bragg-write: x.img.index: process $holder holds a lock on it and does not release it. End that process, or write to a folder that other users cannot read"
	check "$1: after $ms ms" test "$ms" -ge "$2" -a "$ms" -lt "$3"
	is "$1: no frame is left" "$(ls | grep -c '^x_')" 0
	kill $holder
	wait $holder 2>/dev/null
}
refused reader 2900 20000
refused writer 29000 60000
refused process 29000 60000
write reader 1
is 'a lock that is given back is waited for' "$status $(cat message) $(ls | grep -c '^x_[0-9]*.img$')" '0  4'
for kind in flock far; do
	write $kind 100
	is "$kind: does no harm" "$status $(cat message) $(ls | grep -c '^x_[0-9]*.img$')" '0  4'
	kill $holder
done
finish
