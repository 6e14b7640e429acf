#!/bin/sh
# bragg-serve --protocol=dectris1: every part of a series in Stream V1, in all codings and details; masked pixels; clients
# that come late or leave, and policies.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'Stream V1' python:numpy python:zmq
scratch
S=ipc://$PWD/s

figure() {
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" stats
}
count=5
# frames BITS: $count images of 50 x 37 pixels, which fill no whole number of blocks; they are computed once
frames() {
	frames_file=$count.$1.rec
	[ -e "$frames_file" ] || bragg-geometry --detpixels=50,37 --pixel=2 --distance=120 --ncells=5 |
		bragg-orient --frames=$count --seed=7 --phi0=10 --osc=0.5 --phi-steps=4 | bragg-intensity --threads=1 |
		bragg-noise --seed=9 --bits="$1" --adc-offset=0 | bragg-tap --record="$frames_file" >recorded
	bragg-replay "$frames_file"
}
# serve BITS OPTION...: frames for clients in the background; the file `made` says that all stages before have ended
serve() {
	serve_bits=$1
	shift
	rm -f stats endpoint made
	{
		frames "$serve_bits"
		: >made
	} | timeout 60 bragg-serve --protocol=dectris1 --bind="$S" --stats=stats "$@" >endpoint 2>message &
	pipe=$!
}
client() {
	timeout 60 /usr/bin/python3 "$BRAGG_TESTS/cli/dectris1_client.py" "$S" "$@" >taken
}
ended() {
	status=0
	wait "$pipe" || status=$?
	is "$1" "$status $(tr '\n' ' ' <taken)$([ "$status" = 0 ] || cat message)" "$2"
}

for bits in 16 32; do
	mkdir files$bits
	frames $bits | bragg-write "files$bits/a_%d.raw"
	for coding in bslz4 lz4 none; do
		serve $bits --compression=$coding --series=7
		check "$bits bit, $coding: all parts" client series=7 bits=$bits coding=$coding detail=all shape=50x37 nimages=5 \
			masked=0 files=files$bits
		ended "$bits bit, $coding: frames from 0 without a gap" '0 header 0 1 2 3 4 end '
	done
done
is 'start and end are no frames' "$(figure taken) $(figure dropped)" '5 0'
is 'nothing is worth a word' "$(cat message)" ''
for detail in basic none; do
	serve 16 --header-detail=$detail --header-appendix='{"scan":1}' --image-appendix='per image'
	check "detail $detail, with appendices" client series=1 detail=$detail header='{"scan":1}' image='per image' coding=bslz4 files=files16
	ended "detail $detail: the end" '0 header 0 1 2 3 4 end '
done

# masked pixels, and a threshold above the energy
bragg-geometry --detpixels=50,37 --pixel=2 --distance=120 --ncells=5 --roi=10,39,5,30 | bragg-orient --frames=2 |
	bragg-intensity --threads=1 | bragg-noise --adc-offset=0 --bits=32 | timeout 60 bragg-serve --protocol=dectris1 --bind="$S" >endpoint 2>message &
pipe=$!
check 'pixels without data have the largest value, and are masked' client bits=32 masked=$((50 * 37 - 30 * 26))
ended 'masked: the end' '0 header 0 1 end '
# --exposure of bragg-geometry: the time between two images, or a part of the time that --rate says
# exposed PERIOD COUNT-TIME OPTION...: the times that a client is told, if frames are exposed for 50 ms
exposed() {
	period=$1
	counted=$2
	shift 2
	bragg-geometry --detpixels=50,37 --pixel=2 --distance=120 --ncells=5 --fluence=1e25 --exposure=0.05 |
		bragg-orient --frames=2 | bragg-intensity --threads=1 | bragg-noise --adc-offset=0 --bits=32 |
		timeout 60 bragg-serve --protocol=dectris1 --bind="$S" "$@" >endpoint 2>message &
	pipe=$!
	check "times of images: $period s, of which $counted s count" client period="$period" exposed="$counted"
	ended 'exposure: the end' '0 header 0 1 end '
}
exposed 0.05 0.0499999
exposed 0.1 0.05 --rate=10
exposed 0.2 0.1 --frame-time=0.2 --count-time=0.1
# --pixel-mask: two words in the part that is computed and one outside, where the word of the detector is added
/usr/bin/python3 - <<'EOF'
import numpy
more = numpy.zeros((37, 50), "<u4")
more[7, 12], more[20, 30], more[0, 0] = 2, 4, 16
more.tofile("more.raw")
more[:5] |= 1
more[31:] |= 1
more[:, :10] |= 1
more[:, 40:] |= 1
more.tofile("whole.raw")
more[:] = 2
more.tofile("all.raw")
EOF
mkdir roi
bragg-geometry --detpixels=50,37 --pixel=2 --distance=120 --ncells=5 --roi=10,39,5,30 | bragg-orient --frames=2 |
	bragg-intensity --threads=1 | bragg-noise --adc-offset=0 --bits=32 | bragg-tap --record=roi.rec >recorded
roi() {
	bragg-replay roi.rec
}
roi | bragg-write roi/a_%d.raw
for blank in 4294967295 0; do
	option=
	[ $blank != 0 ] || option=--mask-to-zero
	# shellcheck disable=SC2086 # no word, or one
	roi | timeout 60 bragg-serve --protocol=dectris1 --bind="$S" --pixel-mask=more.raw $option >endpoint 2>message &
	pipe=$!
	check "--pixel-mask, masked pixels are $blank" client bits=32 masked=$((50 * 37 - 30 * 26 + 2)) words=whole.raw blank=$blank files=roi
	ended "--pixel-mask, $blank: the end" '0 header 0 1 end '
done
serve 16 --pixel-mask=more.raw
check '--pixel-mask with a detector that has no mask: each image' client masked=3
ended 'no mask: the end' '0 header 0 1 2 3 4 end '
head -c 100 more.raw >short.raw
cat more.raw short.raw >long.raw
for name in missing short long all; do
	serve 16 --pixel-mask=$name.raw
	status=0
	wait "$pipe" || status=$?
	is "--pixel-mask=$name.raw is refused" "$([ $status != 0 ] && grep -c "$name.raw: " message)" 1
done
mkdir zeros
for i in 0 1 2 3 4; do head -c $((50 * 37 * 4)) /dev/zero >zeros/a_$i.raw; done
serve 16 --thresholds=20000
check 'a threshold above the energy of the beam counts nothing' client files=zeros
ended 'threshold: the end' '0 header 0 1 2 3 4 end '

# clients
count=20
serve 16 --rate=20  # else all messages may be on their way to the first client when it leaves
client messages=3
is 'a client that leaves' "$(tr '\n' ' ' <taken)" 'header 0 1 '
client
is 'the second client gets the end of the series' "$(tail -n 1 taken)" end
: >taken
ended 'clients one after another: the end' '0 '
count=5
serve 16 --policy=drop-old --queue=2 --linger=20
until [ -e made ]; do sleep 0.1; done
sleep 0.3
check 'a late client' client files=files16
ended 'drop-old: no policy drops header and end' '0 header 3 4 end '
is 'drop-old: the others are counted' "$(figure taken) $(figure dropped)" '2 3'
: >taken
serve 16 --policy=drop-new --queue=2 --linger=0
ended 'no client: nothing waits' '0 '
is 'no client: all are counted' "$(figure taken) $(figure dropped)" '0 5'
check 'a warning says that no client took the start message' grep -q 'warning: no client took the start message of the series' message
serve 16 --socket=pub --rate=20
check 'a publisher' client socket=pub
ended 'a publisher: the end' '0 header 0 1 2 3 4 end '

# faults: a message that ends half-way, with the checksum of the whole one
serve 16 --inject=shape:1
check 'fault shape: half of the rows, and the message is consistent' client image_shape=50x18
ended 'fault shape: the end' '0 header 0 1 2 3 4 end '
serve 16 --inject=header:1
check_status 'fault header: the client finds it' 1 client 2>/dev/null
kill $pipe 2>/dev/null
wait

# Ctrl-C: the series ends
cat >series.sh <<END
bragg-geometry --detpixels=50 --pixel=2 --ncells=5 | bragg-orient --frames=5000 | bragg-intensity --threads=1 | bragg-noise --adc-offset=0 |
	bragg-serve --protocol=dectris1 --bind=$S --rate=20
END
setsid env --default-signal=INT sh series.sh >endpoint 2>message &
group=$!
: >taken
client &
reader=$!
until [ "$(wc -l <taken)" -ge 3 ]; do sleep 0.05; done
kill -INT -$group
wait "$reader"
is 'Ctrl-C: the series ends' "$(head -n 1 taken) $(tail -n 1 taken)" 'header end'
wait
finish
