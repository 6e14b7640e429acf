#!/bin/sh
# Pixels that travel packed through tcp: the same files, whoever receives them and whatever happens
# to them on their way.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
BRAGG_TESTS=${BRAGG_TESTS:-$(dirname "$0")/..}
. "$BRAGG_TESTS/faults.sh"
limits='--dead-after=5 --rejoin-timeout=20'
at=tcp://127.0.0.1
port=$(free_ports 1)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BRAGG_TESTS/../pipelines" TMPDIR="$tap_scratch"

# A panel whose pixels are no multiple of 8
bragg-geometry --detpixels=301 --pixel=0.3 --distance=120 --ncells=8 | bragg-orient --quiet --frames=4 --random |
	bragg-intensity --quiet | bragg-tap --record=photons.rec --quiet
photons() {
	bragg-replay --quiet photons.rec "$@"
}
counts() {
	photons | bragg-noise --quiet "$@"
}
# sends NAME OPTION...: photons or counts through tcp; what the sender says of itself is in ./NAME.stats
sends() {
	sends_stats=$1.stats
	rm -f "$sends_stats"
	shift
	"$@" --insecure --out="@$at:$port" --stats="$sends_stats"
}
# writes FOLDER OPTION...: a writer that takes it, in the background
writes() {
	rm -rf "$1" && mkdir "$1"
	writes_folder=$1
	shift
	bragg-write --quiet --insecure "$@" "$writes_folder/x_%d.${suffix:-img}" &
}
# bytes NAME: that it has sent
bytes() {
	sed 's/.*"bytes_out":\([0-9]*\).*/\1/' "$1.stats"
}

for what in 'counts --bits=16' 'counts --bits=32' photons; do
	suffix=img
	[ "$what" != photons ] || suffix=raw
	writes plain --in="$at:$port"
	sends plain $what
	wait
	writes packed --in="$at:$port"
	sends packed $what --compress
	wait
	check "$what: the files are the same without compression" diff -r plain packed
	is "$what: four" "$(find packed -name "x_*.$suffix" | wc -l)" 4
	note "$what: $(bytes packed) of $(bytes plain) bytes"
	case $what in
	counts*) check "$what: less than a half on the wire" [ $((2 * $(bytes packed))) -lt "$(bytes plain)" ] ;;
	*) check "$what: less on the wire" [ "$(bytes packed)" -lt "$(bytes plain)" ] ;;
	esac
done
suffix=img

# --- NXmx files, whose chunks are the packed images as they came
for way in plain packed; do
	mkdir "nxmx.$way"
	SOURCE_DATE_EPOCH=1700000000 bragg-write --quiet --insecure --in="$at:$port" --preview="nxmx.$way/x_%d.png" "nxmx.$way/x.nxs" &
	sends $way counts $(echo $way | sed '/plain/d; s/.*/--compress/')
	wait
done
check 'NXmx files and previews are the same without compression' diff -r nxmx.plain nxmx.packed
is 'NXmx: five pictures and files, with the index' "$(find nxmx.packed -type f | wc -l)" 7

# --- who else receives
writes plain --in="$at:$port"
sends plain counts
wait
bragg-tap --quiet --record=counts.rec --in="$at:$port" --insecure &
sends packed counts --compress
wait
writes replayed --in="ipc://$d/r"
bragg-replay --quiet counts.rec --out="@ipc://$d/r"
wait
check 'a recording holds the pixels as they are' diff -r plain replayed
writes ordered --in="$at:$port" --order
sends packed counts --compress
wait
check 'compressed images come in order' diff -r plain ordered
bragg-noise --quiet --in="$at:$port" --out="@ipc://$d/n" --insecure &
writes middle --in="ipc://$d/n"
sends packed photons --compress
wait
check 'a stage in the middle unpacks' diff -r plain middle
cat >sums.py <<-'END'
	import sys
	import braggpipe
	from braggpipe import _packed
	if len(sys.argv) > 2:
	    _packed._DECOMPRESS = None
	for number, total in sorted((frame.number, int(frame.image.sum())) for frame in braggpipe.open(sys.argv[1], insecure=True)):
	    print(number, total)
	END
if has python:zmq python:msgpack python:numpy; then
	for way in plain packed foreign; do
		/usr/bin/python3 sums.py "$at:$port" $(echo $way | sed -n 's/foreign/&/p') >$way.sums &
		sends $way counts $(echo $way | sed '/plain/d; s/.*/--compress/')
		wait
	done
	is 'Python unpacks' "$(cat packed.sums)" "$(cat plain.sums)"
	check 'Python has read compressed images' [ $((2 * $(bytes packed))) -lt "$(bytes plain)" ]
	is 'a process that does not announce compression gets plain pixels' "$(cat foreign.sums) $(bytes foreign)" "$(cat plain.sums) $(bytes plain)"
else
	skip 'Python' "$lack is missing"
fi

# --- on their way: chunks that lie, are cut off or damaged
expected=$(plain 60)
for how in flip bomb cut; do
	for order in '' --order; do
		fresh
		set -- $(free_ports 2)
		stage first first --out="@ipc://$d/g" &
		stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=60 --verbose $limits &
		stage make make --in="ipc://$d/s" --out="@$at:$1" --sleep=2 --compress $guard &
		rm -f taken
		stage work work --in="$at:$2" --out="@ipc://$d/w" --log="$tap_scratch/taken" --verbose $order $guard &
		stage sink sink out --in="ipc://$d/w" &
		relay $how 23 "$at:$1" "$at:$2" 2>relay.errors &
		helper=$!
		settle_relay
		is "$how $order: done to a frame, all end well" "$relay_status $(statuses first source make work sink)" '0 0 0 0 0 0'
		is "$how $order: the same files" "$(digest out)" "$expected"
		[ -z "$order" ] || check "$how $order: in order" sort -n -c -u taken
		is "$how $order: no death" "$(grep -h -e 'going on' -e 'waiting' -e 'died' errors.*)" ''
		is "$how $order: one, counted" "$(grep -v insecure errors.work)" 'test-work: dropped 1 messages that were corrupt or for another run'
	done
done

# --- a network that flips bits and truncates
compress=--compress first_options=--pixels=100
expected=$(plain 300)
fresh
network 300 "${BRAGG_SEED:-1}" ft 60
settle
is 'a network: all end well' "$(statuses first source make1 make2 work sink)" '0 0 0 0 0 0'
is 'a network: the same files' "$(digest out)" "$expected"
note "$(tr '\n' ' ' <harm)"
finish
