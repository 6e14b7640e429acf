#!/bin/sh
# Images through shared memory: the same bytes, whatever dies, and nothing left behind.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"

edge=200  # 160 000 bytes an image
seed=${BRAGG_SEED:-1}
limits='--dead-after=3 --rejoin-timeout=20 --attempts=100'
port=$((20000 + $$ % 1000 * 10))

# images FOLDER OPTION...: a stream whose image stages get the options
images() {
	images_out=$1
	shift
	fresh
	teststage first --pixels=$edge | teststage source --frames=40 | teststage make "$@" --verbose 2>>errors.make |
		teststage relay "$@" --verbose 2>>errors.relay | teststage work "$@" --verbose 2>>errors.work |
		teststage file "$images_out" "$@" --verbose 2>>errors.file
	digest "$images_out"
}

expected=$(images out --transport=inline)
is 'messages carry all frames' "$(find out -type f | wc -l) $(cat out/000039)" "40 39 117 $((40000 * 41 + 39999 * 20000))"
is 'in messages: nothing is said' "$(grep -hv 'photons a frame$' errors.*)" ''
is 'shared memory carries the same files' "$(images out)" "$expected"
is 'in shared memory: nothing is said' "$(grep -hv 'photons a frame$' errors.*)" ''
is 'one stage that refuses: the same files' "$(fresh; teststage first --pixels=$edge | teststage source --frames=40 |
	teststage make | teststage relay --transport=inline | teststage work --verbose 2>errors.work | teststage file out; digest out)" "$expected"

# Slots that return together must not run out when few frames may be under way: each would wait, and 800 frames would
# take twenty times as long.
# small_window FRAMES: how many seconds 800 frames take with so many under way
small_window() {
	fresh
	window_begun=$(date +%s)
	teststage first --pixels=400 | teststage source --frames=800 --window="$1" | teststage make | teststage relay |
		teststage work | teststage file out
	echo $(($(date +%s) - window_begun))
}
usual=$(small_window 64)
took=$(small_window 2)
is 'a small window: all frames arrive' "$(find out -type f | wc -l)" 800
check "a small window does not wait for slots ($took s, with a large window $usual s)" test "$took" -le $((4 + 3 * usual))

# damaged TRANSPORT SINK...: pixels of frame 3 that are not those of their maker
damaged() {
	fresh
	damaged_transport=--transport=$1
	shift
	teststage first --pixels=$edge | teststage source --frames=9 --window=1 |
		teststage make --missum-at=3 $damaged_transport 2>/dev/null | "$@" $damaged_transport 2>&1
	echo "$? $(ls out)"
}
sizes=
for transport in auto inline; do
	is "damaged, $transport: no file of it, and one line" "$(damaged $transport teststage file out)" \
		"test-file: frame 3 from test-make was corrupted on its way
1 000000
000001
000002"
	is "corrupt frames, $transport: bragg-write ends as bragg-tap does" "$(damaged $transport bragg-write 'out/%d.raw' | grep -v index)" \
		"bragg-write: frame 3 from test-make was corrupted on its way
1 0.raw
1.raw
2.raw"
	is "corrupt frames, $transport: NXmx files end as well" "$(damaged $transport bragg-write out/x.nxs | grep -v index)" \
		"bragg-write: frame 3 from test-make was corrupted on its way
1 x_data_000001.h5.part"
	sizes="$sizes $(wc -c <out/x_data_000001.h5.part)"
	is "corrupt frames, $transport: bragg-report ends as bragg-tap does" "$(damaged $transport bragg-report out/page.html)" \
		"bragg-report: frame 3 from test-make was corrupted on its way
1 page.html"
done

# Through shared memory the checksum is verified while the image is compressed.
is 'corrupt frames: NXmx files have no record of them' "${sizes#* }" "${sizes##* } ${sizes##* }"

# tcp TRANSPORT: through two endpoints of this host
tcp() {
	fresh
	[ -e keys ] || bragg-run --make-keys=keys
	stage first first --pixels=$edge --out=@tcp://127.0.0.1:$port --keys=keys &
	stage source source --frames=40 --in=tcp://127.0.0.1:$port --out=@tcp://127.0.0.1:$((port + 1)) --keys=keys &
	stage make make --in=tcp://127.0.0.1:$((port + 1)) --out=@tcp://127.0.0.1:$((port + 2)) --transport="$1" --verbose --sleep=20 --keys=keys &
	stage relay relay --in=tcp://127.0.0.1:$((port + 2)) --out=@tcp://127.0.0.1:$((port + 3)) --transport="$1" --verbose --keys=keys &
	stage work work --in=tcp://127.0.0.1:$((port + 3)) --out=@tcp://127.0.0.1:$((port + 4)) --verbose --keys=keys &
	stage sink file out --in=tcp://127.0.0.1:$((port + 4)) --verbose --keys=keys &
	flowing
	maps=$(grep -c memfd:bragg "/proc/$(cat relay.pid)/maps")
	wait
}
tcp auto
is 'tcp: the same files' "$(digest out)" "$expected"
is 'tcp: only the own side is mapped' "$maps" 1
tcp inline
is 'tcp, no shared memory: the same files' "$(digest out)" "$expected"
is 'tcp, no shared memory: none is mapped' "$maps" 0

# A process of another user gets the pixels in messages, and says so once.
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
	fresh
	chmod 755 . run
	chmod 777 out
	stage first first --pixels=$edge --out="@ipc://$d/g" &
	stage source source --frames=10 --in="ipc://$d/g" --out="@ipc://$d/s" --control="@ipc://$d/c" &
	stage make make --in="ipc://$d/s" --out="@ipc://$d/x" --verbose &
	until chmod 777 run/c run/x 2>/dev/null; do sleep 0.1; done
	setpriv --reuid=65534 --clear-groups "$(command -v teststage)" file out --in="ipc://$d/x" --verbose 2>errors.other
	other=$?
	wait
	is 'another user gets all frames' "$other $(find out -type f | wc -l)" '0 10'
	is 'another user: each side says so once' "$(sed '/photons a frame$/d; s/process [0-9]*/process N/' errors.other errors.make)" \
		'test-file: images of test-make arrive inside messages, not in shared memory: cannot open the shared memory of the previous stage: Permission denied
test-make: images for test-file (process N) are sent inside messages, not in shared memory'
else
	skip 'another user gets all frames' 'needs root'
	skip 'another user: each side says so once' 'needs root'
fi

fresh
teststage first --pixels=$edge | teststage source --frames=40 | (ulimit -f 16; exec teststage make 2>errors.make) |
	teststage relay | teststage work | teststage file out
is 'no shared memory to be had: the same files' "$(digest out)" "$expected"
is 'no shared memory to be had: one line' "$(cat errors.make)" \
	'test-make: warning: cannot create shared memory: File too large; images are sent inside the messages instead'

# The real programs; with a point spread the noise needs photons that it may write to.
# real TRANSPORT OPTION...: the sum over their files; the options are those of the noise
real() {
	fresh
	real_transport=--transport=$1
	shift
	bragg-geometry --detpixels=200 --ncells=5 | bragg-orient --frames=4 --random |
		bragg-intensity $real_transport | bragg-background --water=0.1 $real_transport |
		bragg-noise "$@" $real_transport | bragg-write 'out/x_%d.img' $real_transport
	find out -name '*.img' | wc -l
	digest out
}
is 'the real programs: the same files' "$(real auto)" "$(real inline)"
is 'the real programs: all of them' "$(find out -name '*.img' | wc -l)" 4
is 'the real programs, point spread: the same files' "$(real auto --psf=gauss)" "$(real inline --psf=gauss)"

# Killed and frozen: all that make and read shared memory.
expected=$(fresh; teststage first --pixels=$edge | teststage source --frames=300 | teststage make --transport=inline |
	teststage relay --transport=inline | teststage file out; digest out)

# net FRAMES: two makers, two relays that read in place, one sink
net() {
	fresh
	stage first first --pixels=$edge --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames="$1" $limits &
	for i in 1 2; do
		keep make$i make --in="ipc://$d/s" --out="@ipc://$d/$i" --sleep=15 &
		keep relay$i relay --in="ipc://$d/1" --in="ipc://$d/2" --out="ipc://$d/x" --sleep=15 &
	done
	keep sink file out --in="@ipc://$d/x" --sleep=2 &
	flowing
}

net 300
is 'both sides of a relay are mapped' "$(grep -c memfd:bragg "/proc/$(cat sink.pid)/maps") $(grep -c memfd:bragg "/proc/$(cat relay1.pid)/maps")" '2 3'
hits=$(kill_all "$seed" 8 0.1 0.5 make1 make2 relay1 relay2)
settle
is 'killed anywhere: source and sink end well' "$(statuses source sink)" '0 0'
is 'killed anywhere: the same files' "$(digest out)" "$expected"
check "killed anywhere: often ($hits)" test "$hits" -ge 4

net 300
frozen_make=$(cat make1.pid) frozen_relay=$(cat relay2.pid)
kill -STOP "$frozen_make" "$frozen_relay"
sleep 4.5
kill -CONT "$frozen_make" "$frozen_relay"
settle
is 'a long freeze: source and sink end well' "$(statuses source sink)" '0 0'
is 'a long freeze: the same files' "$(digest out)" "$expected"
is 'a long freeze: both processes are reported' "$(sort -u errors.make1 errors.relay2)" \
	'test-make: the source presumed this process dead and excluded it. See --dead-after and --hang of the source
test-relay: the source presumed this process dead and excluded it. See --dead-after and --hang of the source'

net 300
frozen=$(cat sink.pid)
kill -STOP "$frozen"
sleep 4.5
kill -CONT "$frozen"
settle
find out -name '*.part' -delete
is 'the sink frozen for long: the same files' "$(cat source.status) $(digest out)" "0 $expected"

# the memory has no name: it goes with the last process that maps it
echo "$tap_scratch/" >mine
is 'nothing is left' "$(find run -mindepth 1; grep -laF -f mine /proc/[0-9]*/cmdline 2>/dev/null)" ''
finish
