#!/bin/sh
# Floods of strangers at the source of a stream and where its frames flow, all the time: it is no
# more than 5 % slower, the best of several runs each, one after the other, and all frames are there.
# What strangers need of this machine is not counted: they are nice.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
frames=${BRAGG_STRANGER_FRAMES:-2000} rounds=3

# stream: one, in ./seconds how long it took
stream() {
	fresh
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" --frames=$frames &
	stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --sleep=5 &
	soon test -S run/w
	begin_ns=$(date +%s%N)
	(
		stage sink sink out --in="ipc://$d/w"
		echo $((($(date +%s%N) - begin_ns) / 1000000)) >milliseconds
	) &
	[ "$1" = alone ] && return
	flowing
	for kind in hellos newcomers watchers anew; do
		nice -n 19 stranger $kind "ipc://$d/c" count=200000 name="evil-$kind" >"said.$kind" 2>&1 &
	done
	for kind in ack lost have heartbeat; do
		nice -n 19 stranger $kind "ipc://$d/c" first=0 last=4 count=5000 up=1 group=test-sink/nothing name="evil-$kind" >"said.$kind" 2>&1 &
	done
	nice -n 19 stranger crowd "ipc://$d/c" count=2000 name=evil-crowd >said.crowd 2>&1 &
	nice -n 19 stranger knocks "ipc://$d/c" data="ipc://$d/w" count=100000 name=evil-knocks >said.knocks 2>&1 &
	nice -n 19 stranger sink "ipc://$d/c" data="ipc://$d/w" credit=0 group=idle name=evil-idle >said.idle 2>&1 &
	for part in c s; do
		nice -n 19 stranger part "ipc://$d/$part" bytes=100000000 >said.part 2>&1 &
	done
}

# --- another user who may read a file of bragg-write's own, and locks it
cat >holder.py <<'PYTHON'
import fcntl
import os
import struct
import sys

file = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 1, 0))  # F_OFD_SETLK
print(os.getpid(), flush=True)
sys.stdin.read()
PYTHON
write() {
	bragg-geometry --quiet --detpixels=32 --ncells=5 | bragg-orient --quiet --frames="$1" | bragg-intensity --quiet --threads=1 | bragg-noise --quiet |
		timeout 20 bragg-write --resume 'l_%d.img' 2>said.write
}
write 2
mkfifo hold
/usr/bin/python3 holder.py l.img.index <hold >holder &
exec 8>hold
soon test -s holder
begin_ns=$(date +%s%N)
status=0
write 4 || status=$?
took_ms=$((($(date +%s%N) - begin_ns) / 1000000))
is 'a lock of somebody who reads ends bragg-write, not a wait without end' \
	"$status $(grep -c "^bragg-write: l.img.index: process $(cat holder) holds a lock on it" said.write)" '1 1'
check "after some seconds: $took_ms ms" test "$took_ms" -lt 10000
exec 8>&-
wait
write 4
is 'once it is given back, all is written' "$? $(ls l_*.img | wc -l)" '0 4'

best_alone=1000000 best_among=1000000
for round in $(seq $rounds); do
	for among in alone among; do
		stream $among
		settle
		took=$(cat milliseconds)
		note "$among: $took ms"
		eval "[ $took -ge \$best_$among ] || best_$among=$took"
		sum=$(digest out)
		[ "$among" = alone ] && expected=$sum
		is "$among: all end well, with the same files" "$(statuses source make sink) $sum" "0 0 0 $expected"
	done
done
check "no more than 5 % slower ($best_alone ms, $best_among ms)" test $((100 * best_among)) -le $((105 * best_alone))
check 'strangers are named' test "$(grep -c 'warning: evil-' errors.source)" -ge 4
note "$(grep -h warning errors.source errors.make | cut -c1-150)"
finish
