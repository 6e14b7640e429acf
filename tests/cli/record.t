#!/bin/sh
# bragg-tap and bragg-replay: recordings of every edge, what is played from them, and what
# is left when something goes wrong.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
pipelines=$(cd "$BRAGG_TESTS/../pipelines" && pwd)
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"
d=$tap_scratch/run

geometry() { bragg-geometry --detpixels=64 --pixel=1 --ncells=5; }
orient() { bragg-orient --frames=6 --random --seed=5 --mosaic=0.1 --mosaic-domains=3; }
noise() { bragg-noise --seed="$1" --threads=1; }
images() { geometry | orient | bragg-intensity --threads=1; }

# sums NAME: of the files NAME_*.img, and the lineage of their index
sums() {
	cat "$1"_*.img | sha256sum
	sed -n 's/^bragg-index [0-9]* //p' "$1.img.index" | grep .
}

# count FILE: frames of a recording
count() {
	bragg-replay --allow-truncated "$1" 2>replay.err | bragg-tap --count | sed 's/^frames=\([0-9]*\).*/\1/'
}

# until COMMAND...: waits up to ten seconds for it to succeed
until_() {
	for _ in $(seq 100); do
		"$@" 2>/dev/null && return 0
		sleep 0.1
	done
	return 1
}

# --- the same bytes and lineage as without a recording
for seed in 3 4; do
	images | noise $seed | bragg-write "direct${seed}_%04d.img"
done
geometry | bragg-tap --record=geometry.rec
geometry | orient | bragg-tap --record=recipes.rec
images | bragg-tap --record=photons.rec
# a program behind a tap gets no frames and says so, unless the one before it has printed why
unfed() {
	: | bragg-write unfed.raw 2>said || true
	bragg-replay --quiet geometry.rec | bragg-tap --record=unfed.rec | bragg-write unfed.raw 2>>said || true
	bragg-geometry --distance=-1 2>>said | bragg-orient 2>>said | bragg-intensity 2>>said | bragg-write unfed.raw 2>>said || true
	rm unfed.rec
	cut -d';' -f1 said
}
is 'a stage without a stage before it, behind a tap, and behind one that failed' "$(unfed)" "bragg-write: stdin: ended without frames
bragg-write: stdin: ended without frames
bragg-geometry: --distance: '-1' is out of range"
is 'three edges are recorded, and nothing else is there' "$(ls ./*.rec*)" './geometry.rec
./photons.rec
./recipes.rec'
bragg-replay geometry.rec | orient | bragg-intensity --threads=1 | noise 3 | bragg-write 'a_%04d.img'
is 'behind a recorded experiment: the same files' "$(sums a)" "$(sums direct3)"
bragg-replay recipes.rec | bragg-intensity --threads=1 | noise 3 | bragg-write 'b_%04d.img'
is 'behind recorded recipes: the same files' "$(sums b)" "$(sums direct3)"
for seed in 3 4; do
	bragg-replay photons.rec | noise $seed | bragg-write "c${seed}_%04d.img"
	is "behind recorded images, noise $seed: the same files" "$(sums c$seed)" "$(sums direct$seed)"
done
# frames_of FILE: ids, types, metadata and pixels of all records; without the route, which names the run,
# and the times, of which the first is at byte 17: bragg-recording(5)
frames_of() {
	perl -0777 -ne '
		sub whole { ($_[0] + 63) & ~63 }
		for (my $at = 64; substr($_, $at, 8) eq "braggrec";) {
			my ($length, $time, $id, $type, $n) = unpack("x8 Q< Q< Q< L< L<", substr($_, $at, 64));
			my @sizes = unpack("Q<$n", substr($_, $at + 64));
			my $part = $at + whole(64 + 8 * $n);
			print "$type $id @sizes[1 .. $n - 1]\n";
			for my $size (@sizes) {
				print substr($_, $part, $size) if $part > $at + whole(64 + 8 * $n);
				$part += whole($size);
			}
			$at += $length;
		}' "$1" | sha256sum
}
bragg-replay photons.rec | bragg-tap --record=calm.rec
for kind in STORM INTERRUPTS; do
	bragg-replay photons.rec | env "FAULT_$kind=yes" LD_PRELOAD="$(command -v faults.so)" bragg-tap --record=$kind.rec
	is "signals while it is recorded ($kind): the same frames" "$? $(frames_of $kind.rec)" "0 $(frames_of calm.rec)"
done
is 'times are what differs between two recordings' "$(cmp -l calm.rec STORM.rec | awk 'NR == 1 { print ($1 > 16 && $1 < 25) }')" 1
bragg-replay photons.rec | bragg-tap --record=again.rec
bragg-replay again.rec | noise 4 | bragg-write 'd_%04d.img'
is 'a recording of a replay is as good' "$(sums d)" "$(sums direct4)"
check 'a pipeline file adds noise to a recording' \
	bragg-run --workdir=noisy --set=noise.seed=4 --set=noise.threads=1 "$pipelines/renoise.yaml"
is 'a pipeline file: the same files' "$(cat noisy/renoised_*.img | sha256sum)" "$(cat direct4_*.img | sha256sum)"
bragg-run --frames=2 --workdir=few "$pipelines/renoise.yaml"
is 'bragg-run --frames plays the first ones' "$(cd few && ls ./*.img)" './renoised_0000.img
./renoised_0001.img'

# --- what is played
bragg-replay --frames=1-2,5 photons.rec | noise 3 | bragg-write 'e_%04d.img'
is 'a list of frames' "$(ls e_*.img | tr '\n' ' ')" 'e_0001.img e_0002.img e_0005.img '
check 'frames of a list are the same' cmp e_0005.img direct3_0005.img
is 'the first frames of a list' "$(bragg-replay --frames=0,2-5 --first=3 photons.rec | bragg-tap | sed -n 's/^frame id=\([0-9]*\) .*/\1/p' | tr '\n' ' ')" '0 2 3 '
is 'no frames' "$(bragg-replay --first=0 photons.rec | bragg-tap --count | cut -d' ' -f1)" 'frames=0'
start=$(date +%s%N)
bragg-replay --rate=20 photons.rec | bragg-tap --count >/dev/null
took=$((($(date +%s%N) - start) / 1000000))
is '6 frames at 20 Hz take a quarter of a second at least' "$([ $took -ge 250 ] && echo yes)" yes
teststage first | teststage source --frames=4 | teststage make --sleep=100 | bragg-tap --record=slow.rec
start=$(date +%s%N)
bragg-replay --speed=real slow.rec | bragg-tap --count >/dev/null
took=$((($(date +%s%N) - start) / 1000000))
is '4 frames that came every 0.1 s take 0.3 s' "$([ $took -ge 290 ] && echo yes)" yes
start=$(date +%s%N)
setsid env --default-signal=INT bragg-replay --rate=0.01 --out=@ipc://$d/r photons.rec 2>said &
pid=$!
bragg-tap --print --hold=yes --in=ipc://$d/r >counted &
until_ grep -q '^frame id=0' counted
sleep 0.2
kill -INT $pid
wait $pid
status=$?
wait
is 'Ctrl-C does not wait for the next frame' "$status $(grep -c '^frame' counted)" '130 2'

# --- lines
bragg-replay photons.rec | bragg-tap >lines
is 'a line for each message' "$(cut -d' ' -f1 lines | uniq -c | tr -s ' ' | tr '\n' ',')" ' 1 experiment, 6 frame,'
is 'lines are words with values' "$(sed -n '2s/^frame id=0 from=bragg-replay kind=image bytes=[0-9]* crc=[0-9a-f]* attempt=0 seed=5 lattices=1 phi_deg=0 osc_deg=0 pixels=4096 type=float32 unit=photons min=[^ ]* max=[^ ]* sum=[^ ]*$/good/p' lines)" good
is 'experiments are described' "$(sed -n '1s/.* lineage=[0-9a-f]* panels=1 pixels=4096 size=64x64 wavelength_A=1 crystals=1 physics=physical$/good/p' lines)" good
bragg-replay photons.rec | bragg-tap --record=printed.rec --print >lines2
is 'recording and printing' "$(cut -d' ' -f2,6 lines2 | sha256sum) $(count printed.rec)" "$(cut -d' ' -f2,6 lines | sha256sum) 6"

# --- beside other last stages
# stream FRAMES SLEEP: sources and makers in the background, a sink on out
stream() {
	rm -rf out
	mkdir out
	teststage first --out=@ipc://$d/g &
	teststage source --in=ipc://$d/g --out=@ipc://$d/s --frames="$1" --window=8 2>source.err &
	source=$!
	teststage make --in=ipc://$d/s --out=@ipc://$d/m --sleep="$2" &
	teststage sink out --in=ipc://$d/m &
}
# flowing FILE: some frames are in it
flowing() { [ "$(wc -c <"$1")" -gt 4000 ]; }

stream 150 10
setsid env --default-signal=INT bragg-tap --in=ipc://$d/m >watched 2>said &
watcher=$!
bragg-tap --in=ipc://$d/m >killed &
victim=$!
bragg-tap --record=held.rec --hold=no --in=ipc://$d/m &
until_ flowing watched && until_ flowing killed
kill -9 $victim
kill -INT $watcher
wait $watcher
is 'a watcher ends at Ctrl-C, without a word' "$? $(cat said)" '130 '
bragg-tap --record=/dev/full --hold=no --in=ipc://$d/m 2>full.err
is 'a watcher fails for itself' "$? $(cat full.err)" '1 bragg-tap: /dev/full: cannot write: No space left on device'
wait $source
is 'the stream does not mind' "$? $(find out -type f | wc -l)" '0 150'
wait
is 'every tap is a group: this one got all that came after it' \
	"$([ "$(count held.rec)" -gt 50 ] && echo yes) $(bragg-replay held.rec | bragg-tap | sed -n 's/^frame id=\([0-9]*\) .*/\1/p' | sort -n | tail -n 1)" 'yes 149'

# --- a recorder is killed, and another goes on where it was
teststage first --out=@ipc://$d/g &
teststage source --in=ipc://$d/g --out=@ipc://$d/s --frames=120 --window=8 2>source.err &
source=$!
teststage make --in=ipc://$d/s --out=@ipc://$d/m --sleep=15 &
for round in 1 2 3; do
	bragg-tap --record=kept.rec --in=ipc://$d/m 2>>kept.err &
	victim=$!
	until_ flowing kept.rec.part
	sleep 0.1
	[ $round = 3 ] || kill -9 $victim
	[ $round = 3 ] || wait $victim
	[ $round != 1 ] || { cp kept.rec.part early.rec.part && head -c -100 early.rec.part >torn.rec.part; }
done 2>/dev/null
wait $source
is 'a killed recorder is replaced' "$?" 0
wait
teststage first | teststage source --frames=120 | teststage make | bragg-tap --record=whole.rec
# payload NAME: id and checksum of each frame
payload() { bragg-replay "$1" 2>/dev/null | bragg-tap | sed -n 's/^frame id=\([0-9]*\) .* crc=\([0-9a-f]*\) .*/\1 \2/p' | sort; }
is 'the recording of a replaced recorder is whole' "$(payload kept.rec | sha256sum)" "$(payload whole.rec | sha256sum)"
early=$(count early.rec.part)
check 'the recording of a killed process can be played' test "$early" -gt 1
is 'a message says that the recording is not finished' "$(cat replay.err)" \
	"bragg-replay: warning: early.rec.part: the end of the recording is missing; it has $early complete frames"
is 'a torn record is dropped' "$(count torn.rec.part)" "$((early - 1))"
(bragg-replay early.rec.part; echo $? >replay.status) 2>replay.err | bragg-tap --count >counted
is 'bragg-replay plays all whole records and fails' "$(cat replay.status replay.err; sed 's/ .*//' counted)" \
	"3
bragg-replay: early.rec.part: the end of the recording is missing; it has $early complete frames. Use --allow-truncated to accept this
frames=$early"

# --- a reader that leaves, as head does
d2=$d/h
stage_of() { # a stream with a watcher and a sink, whose watcher's reader leaves
	teststage first | teststage source --frames=200 | teststage make --sleep=2 --out="@ipc://$d2" &
	(bragg-tap --print --in="ipc://$d2"; echo $? >tap.status) 2>tap.err | head -n 2 >head.out &
	bragg-tap --count --hold=yes --in="ipc://$d2"
	counted=$?
	wait
}
stage_of >counted
is 'a tap whose reader leaves ends well without a message, and the stream goes on' \
	"$(cat tap.status tap.err) $counted $(wc -l <head.out) $(cut -d' ' -f1 counted)" '0 0 2 frames=200'
(teststage first; echo $? >first.status) 2>head.err | (teststage source --frames=2000; echo $? >source.status) 2>>head.err |
	(teststage make; echo $? >make.status) 2>>head.err | (bragg-tap; echo $? >tap.status) 2>>head.err | head -n 2 >head.out
soon test -s source.status -a -s make.status -a -s tap.status
is 'the reader of a last stage leaves: all end, quietly' "$(cat source.status make.status tap.status head.err | tr '\n' ' ')" '1 1 1 '

# --- failures
images | bragg-tap --record=/dev/full 2>full.err
is 'full disk: one line' "$? $(grep -c . full.err) $(cat full.err)" '1 1 bragg-tap: /dev/full: cannot write: No space left on device'
images | bragg-tap --record=counted.rec --count 2>full.err >/dev/full
is 'a count that is lost, and a recording that is not' "$? $(ls counted.rec*) $(cat full.err)" \
	'1 counted.rec bragg-tap: cannot write to stdout: No space left on device'
mkdir small
if unshare -m mount -t tmpfs none small 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs -o size=64k none small && cd small && bragg-replay ../photons.rec | bragg-tap --record=x.rec
		echo $?; ls; bragg-replay x.rec.part 2>/dev/null | bragg-tap --count' >full.out 2>full.err
	is 'full disk: whole frames are kept' "$(sed 's/ .*//; s/frames=[1-9]$/some/' full.out | tr '\n' ' ')" '1 x.rec.part some '
	is 'a full disk: the writer reports it' "$(sed 's/about .* free/.../' full.err)" "bragg-tap: warning: 6 frames need ...
bragg-tap: x.rec.part: cannot write: No space left on device
bragg-tap: warning: x.rec.part keeps $(sed -n 's/^frames=\([0-9]*\).*/\1/p' full.out) frames"
else
	skip 'full disk: whole frames are kept' 'needs the right to mount'
fi
cp photons.rec flipped.rec
printf 'x' | dd of=flipped.rec bs=1 seek=$(($(wc -c <photons.rec) - 2000)) conv=notrunc 2>/dev/null
bragg-replay flipped.rec 2>flip.err | bragg-tap >/dev/null 2>&1
is 'a flipped bit is found' "$(grep -c 'bragg-replay: flipped.rec: the record at byte [0-9]* is corrupt' flip.err)" 1
check_status 'an existing recording is not replaced' 1 sh -c 'bragg-replay photons.rec | bragg-tap --record=again.rec'
check '--overwrite replaces a recording' sh -c 'bragg-replay photons.rec | bragg-tap --record=again.rec --overwrite --fsync'
check 'a recording is resumed for more frames' \
	sh -c "bragg-geometry --detpixels=64 --pixel=1 --ncells=5 | bragg-orient --frames=2 --random | bragg-tap --record=more.rec &&
		bragg-geometry --detpixels=64 --pixel=1 --ncells=5 | bragg-orient --frames=5 --random | bragg-tap --record=more.rec --resume --count >lacked"
is 'a resumed recording is whole, and only what it lacked was computed' "$(count more.rec) $(cut -d' ' -f1 lacked)" '5 frames=3'
cp more.rec same.rec

# --- some frames of a run (bragg-orient --only): the same bytes as in the whole run
# part FILE OPTION...: images of these frames
part() {
	part_file=$1
	shift
	bragg-geometry --quiet --detpixels=48 --pixel=1 --ncells=5 | bragg-orient --random --mosaic=0.2 --wavelength-jitter=1 "$@" |
		bragg-intensity --quiet --threads=1 | bragg-noise --quiet | bragg-write --quiet --resume "$part_file"
}
part whole_%d.img --quiet --frames=10
check 'frames of a list' part 'part_%d.img' --only=7,2-4
is '--only records the frames of a list' "$(echo part_*.img)" 'part_2.img part_3.img part_4.img part_7.img'
is 'recorded frames of a list have the bytes of the whole run' "$(for i in 2 3 4 7; do cmp whole_$i.img part_$i.img; done)" ''
is 'a second list adds its frames' \
	"$(part 'part_%d.img' --only=4-5,7 --frames=9 --verbose 2>&1 | grep -c ' 3 of 9 frames, spots') $(ls part_*.img | wc -l)" '1 5'
bragg-geometry --detpixels=64 --pixel=1 --ncells=5 | bragg-orient --frames=5 --random --seed=2 | bragg-tap --record=more.rec --resume 2>changed.err
is 'a changed option is named' "$(grep bragg-tap changed.err)" \
	'bragg-tap: more.rec.part: has frames that were made with other options (bragg-orient: --seed was 1, is 2). Use --overwrite to replace them'
check 'a recording with a changed option stays as it was' cmp more.rec same.rec
cp early.rec.part other.rec.part
check_status 'frames of another experiment are not continued' 1 sh -c 'bragg-replay photons.rec | bragg-tap --record=other.rec'
check 'recordings of other experiments stay as they were' cmp early.rec.part other.rec.part
bragg-replay recipes.rec 2>kind.err | bragg-write 'x_%d.img' 2>kind.err
is 'kinds are checked' "$(cat kind.err)" 'bragg-write: expected images, but bragg-replay sends recipes. Put bragg-intensity between the two'
is 'no socket is left' "$(find run -mindepth 1)" ''
finish
