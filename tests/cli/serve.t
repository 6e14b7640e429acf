#!/bin/sh
# bragg-serve: clients get the frames that the pipeline makes, by every kind of socket;
# its policies; what bad clients can and cannot do; how it ends.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
S=ipc://$PWD/s

# frames COUNT [OPTION]...: small noisy images on a pipe; options are bragg-orient's.
frames() {
	count=$1
	shift
	bragg-geometry --detpixels=64 --pixel=1.6 --distance=120 --ncells=5 |
		bragg-orient --frames="$count" --random --seed=7 "$@" |
		bragg-intensity --threads=1 | bragg-noise --seed=9
}
# figure NAME: a number of bragg-serve's line of statistics.
figure() {
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" stats
}
orientations= # options of bragg-orient
slow="--mosaic=0.5 --mosaic-domains=50" # frames that take long: a sanitizer makes fewer domains as slow
[ -z "${BRAGG_SANITIZED-}" ] || slow="--mosaic=0.5 --mosaic-domains=5"
# serve COUNT OPTION...: a pipe into bragg-serve, in the background; $pipe is its end.  The
# file `made` says that all stages before it have ended.
serve() {
	count=$1
	shift
	rm -f stats endpoint made
	{
		# shellcheck disable=SC2086 # several options
		frames "$count" $orientations
		: >made
	} | bragg-serve --bind="$S" --stats=stats "$@" >endpoint 2>message &
	pipe=$!
}
# ended NAME STATUS: the pipe ends with this status.
ended() {
	status=0
	wait "$pipe" || status=$?
	is "$1" "$status $([ "$status" = "$2" ] || cat message)" "$2 "
}
# same FOLDER COUNT: so many frames, each as bragg-write wrote it.
same() {
	for file in "$1"/*; do
		tail -c 8192 "files/a_$((${file##*/} - 10000000000)).img" | cmp - "$file" || return 1
	done
	[ "$(ls "$1" | wc -l)" = "$2" ]
}

mkdir files rep push pub group
frames 20 | bragg-write 'files/a_%d.img'

serve 20
check 'a client asks for all frames' testclient req "$S" 20 rep
ended 'the end of the pipeline' 0
check 'req: frames are those of the pipeline' same rep 20
is 'the endpoint is on stdout' "$(cat endpoint)" "$S"
is 'no socket stays behind' "$(ls -d s 2>/dev/null)" ''
is 'all were taken' "$(figure taken) $(figure dropped) $(figure rejected)" '20 0 0'
is 'req: no warning is printed' "$(cat message)" ''
check 'the bytes that clients took are counted' test "$(figure bytes_out)" -ge $((20 * 8192)) -a "$(figure bytes_out)" -le $((20 * (8192 + 8192)))

serve 20 --socket=push
testclient pull "$S" 20 push >taken1 &
one=$!
testclient pull "$S" 20 push >taken2 &
two=$!
check 'push: each frame goes to one of two' sh -c 'for i in $(seq 100); do
	[ "$(cat taken1 taken2 | wc -l)" = 20 ] && exit; sleep 0.1; done; exit 1'
kill $one $two 2>/dev/null || true  # one has all it wants, perhaps
ended 'push: it ends when its clients are gone' 0
check 'push: frames are those of the pipeline' same push 20

serve 20 --socket=pub
testclient sub "$S" 20 pub >taken1 &
other=$!
status=0
wait "$other" || status=$?
is 'published without loss when the policy is to wait' "$status $(tail -n 1 taken1)" '0 20'
ended 'pub: the end' 0
check 'pub: frames are those of the pipeline' same pub 20

# the same frames in two groups of last stages at once
bragg-geometry --detpixels=64 --pixel=1.6 --distance=120 --ncells=5 |
	bragg-orient --frames=20 --random --seed=7 --groups=2 | bragg-intensity --threads=1 |
	bragg-noise --seed=9 --out=@ipc://"$PWD"/images &
pipe=$!
bragg-write --in=ipc://"$PWD"/images 'group/a_%d.img' &
bragg-serve --in=ipc://"$PWD"/images --bind="$S" >endpoint &
mkdir both
check 'a gateway next to a writer' testclient req "$S" 20 both
ended 'both groups end, with status 0' 0
wait
check 'a gateway and a writer both have all frames' sh -c 'for i in 0 9 19; do cmp group/a_$i.img files/a_$i.img || exit 1; done'
check 'a gateway next to a writer sends the frames of the pipeline' same both 20

serve 20 --policy=drop-new --queue=4 --linger=0
ended 'drop-new: nobody is there and nothing waits' 0
is 'drop-new: all are counted' "$(figure taken) $(figure dropped)" '0 20'
check 'drop-new: a warning has the number of lost frames' grep -q '^bragg-serve: warning: clients took 0 frames, 20 were dropped, 0 late' message

serve 20 --policy=drop-old --queue=4 --linger=20
mkdir old
until [ -e made ]; do sleep 0.1; done
check 'drop-old: the newest are there for a late client' testclient req "$S" 4 old
ended 'drop-old: the end' 0
is 'drop-old: every frame is counted once' "$(($(figure taken) + $(figure dropped)))" 20
is 'drop-old: these four' "$(ls old | tr '\n' ' ')" '10000000016 10000000017 10000000018 10000000019 '

# waiting for a client is no hang
frames 6 --hang=0.5 --dead-after=1 2>hang | bragg-serve --bind="$S" --stats=hang.stats >endpoint 2>message &
pipe=$!
sleep 2.5
check 'a process that waits for a client does not count as hung' testclient req "$S" 6
ended 'the run without a client is whole' 0
check 'the wait is waiting for output, not computing' perl -ne '/"compute_s":([0-9.]+),"wait_out_s":([0-9.]+)/ and exit !($2 > $1 && $2 >= 1)' hang.stats

# the rate: 20 slots of 50 ms between the first frame and the last
serve 21 --rate=20 --policy=drop-old --queue=64 --linger=20
check 'a rate' testclient req "$S" 21
ended 'rate: the end' 0
if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'rate: the time between frames is waiting for output, not computing' 'a sanitizer makes frames slower than the rate'
else
	check 'rate: the time between frames is waiting for output, not computing' perl -ne '/"compute_s":([0-9.]+),"wait_out_s":([0-9.]+)/ and exit !($2 > $1 && $2 >= 0.5)' stats
fi
check 'a stream with a rate takes 20 periods at least' perl -ne '/"wall_s":([0-9.]+)/ and exit !($1 >= 0.999)' stats

# from a file; the port of the file may be taken
bragg-run --quiet --frames=8 --workdir=live --set=geometry.detpixels=64 --set=geometry.pixel=1.6 \
	--set=serve.rate=100 --set=serve.linger=20 --set=serve.bind="$S" "$BRAGG_TESTS/../pipelines/karabo.yaml" 2>message &
pipe=$!
check 'karabo.yaml serves' testclient req "$S" 8
ended 'the gateway with a rate ends' 0

# a series of Stream V2
mkdir series
serve 20 --protocol=dectris2 --compression=none
testclient series "$S" 100 series >taken
ended 'series: the end of the pipeline' 0
is 'series: start, images, end' "$(tr '\n' ' ' <taken)" "start $(seq 0 19 | tr '\n' ' ')end "
check 'series: images are those of the pipeline' sh -c 'for i in $(seq 0 19); do
	tail -c 8192 series/$i >a && tail -c 8192 files/a_$i.img | cmp - a || exit 1; done'
is 'series: start and end do not count' "$(figure taken) $(figure dropped)" '20 0'

serve 20 --protocol=dectris2 --policy=drop-old --queue=2 --linger=20
until [ -e made ]; do sleep 0.1; done
sleep 0.3
testclient series "$S" 100 >taken
ended 'series: dropping, the end' 0
is 'series: no policy drops start and end' "$(tr '\n' ' ' <taken)" 'start 18 19 end '
is 'series: what was dropped is counted' "$(figure taken) $(figure dropped)" '2 18'

serve 20 --protocol=dectris2
testclient series "$S" 3 >taken
testclient series "$S" 100 >>taken
ended 'series: one client after another' 0
is 'series: the second one gets the end' "$(head -n 1 taken) $(tail -n 1 taken)" 'start end'

serve 20 --protocol=dectris2 --policy=drop-old --linger=0
ended 'series: nobody is there' 0
check 'series: nobody took the start, and that is said' grep -q 'warning: no client took the start message of the series' message

# json-array, with the client of the manual page
if has python:zmq python:numpy; then
	sed -n '/^import json, numpy, zmq/,/^\.Ed/p' "$BRAGG_TESTS/../stages/serve/bragg-serve.1" |
		sed "/^\.Ed/d; s|tcp://[^\"]*|$S|; s/while True:/for _ in range(5):/" >client.py
	serve 5 --protocol=json-array
	check 'json-array: the client of the manual page' sh -c 'timeout 20 /usr/bin/python3 client.py >taken'
	ended 'json-array: the end' 0
	is 'json-array: frames and their largest pixels' "$(cat taken)" \
		"$(frames 5 | bragg-tap --print | sed -n 's/^frame id=\([0-9]*\).* max=\([0-9]*\) .*/\1 \2/p')"
else
	skip 'json-array: the client of the manual page' "$lack is missing"
fi

# peaks for CrystFEL: a frame without a crystal has none, whatever its noise
peaks() { # peaks NOISE OPTION...: how many each of four frames has; options are bragg-orient's
	noise=$1
	shift
	# shellcheck disable=SC2086 # several options
	bragg-geometry --detpixels=512 --pixel=0.2 --distance=120 --ncells=12 --oversample=2 --fluence=3e25 |
		bragg-orient --frames=4 --random --seed=7 "$@" | bragg-intensity --threads=1 | bragg-background --water=0.1 |
		bragg-noise --seed=9 $noise | bragg-serve --bind="$S" --protocol=crystfel --peaks=300 >endpoint &
	testclient peaks "$S" 4 | tr '\n' ' '
	wait $!
}
is 'blanks have no peaks' "$(peaks --gain=1 --hit-rate=0)" '0 0 0 0 '
is 'blanks have no peaks on a detector with noise and a gain' "$(peaks '--gain=5 --readout=3' --hit-rate=0)" '0 0 0 0 '
hits=$(peaks --gain=5)
check "hits have many: $hits" test "$(echo "$hits" | tr ' ' '\n' | awk '$1 >= 20' | wc -l)" = 4

# bad clients beside a good one
S=tcp://127.0.0.1:*
serve 300
until [ -s endpoint ]; do sleep 0.05; done
S=$(cat endpoint)
testclient stall "$S" 2 &
stalled=$!
testclient rubbish "$S" 200 &
testclient vanish "$S" 20 >/dev/null
mkdir good
timeout 300 testclient req "$S" 300 good >taken &
good=$!
ended 'bad clients: the pipeline ends' 0
kill "$good" "$stalled" 2>/dev/null
wait
is 'bad clients: every frame was taken' "$(figure taken) $(figure dropped)" '300 0'
check 'bad clients: most frames reached the good one' test "$(ls good | wc -l)" -ge 250
check 'bad clients: rubbish is counted' test "$(figure rejected)" -ge 80
S=ipc://$PWD/s

# one that pulls and never reads: few frames are lost with it, and that is said
S=tcp://127.0.0.1:*
serve 200 --socket=push --linger=0.5
soon test -s endpoint
S=$(cat endpoint)
testclient hoard "$S" 60 &
hoarder=$!
bragg_serve=$(pgrep -n -f "bragg-serve --bind=tcp.*--socket=push")
idle() { # it waits for somebody who takes a frame
	before=$(cut -d' ' -f14,15 "/proc/$bragg_serve/stat") && sleep 2 && [ "$before" = "$(cut -d' ' -f14,15 "/proc/$bragg_serve/stat")" ]
}
soon idle
kill -9 $hoarder
testclient pull "$S" 200 >taken &
client=$!
ended 'push: a client that never reads' 0
kill $client
note "push: $(wc -l <taken) of 200 frames reached the one after it"
check 'push: with it few frames are lost' test "$(wc -l <taken)" -ge 192
is 'push: lost frames are counted' "$(figure perhaps_lost)" 4
check 'push: which is said' grep -q '; up to 4 were on their way to clients that left$' message

# more connections than a process can have, which say nothing: others are served
(
	ulimit -n 300
	S=tcp://127.0.0.1:*
	orientations=$slow # the client is not done soon
	serve 40
	soon test -s endpoint
	S=$(cat endpoint)
	mkdir crowded
	timeout 300 testclient req "$S" 40 crowded >taken &
	client=$!
	soon test -e crowded/10000000000
	kill -STOP $client # and no frame moves until the crowd is there
	(ulimit -n 2000 2>/dev/null; testclient crowd "$S" 280 >crowd) &
	soon grep -q 'turned away' crowd
	kill -CONT $client
	ended 'a crowd of connections: the run goes on' 0
	echo "$tap_count $tap_failed" >counts
	wait
)
read -r tap_count tap_failed <counts
check 'a crowd of connections: some are cut off, and counted' grep -q '; there was no room for [1-9][0-9]* connections$' message

# a rate that is not reached: who is to blame
S=ipc://$PWD/s
orientations=$slow
serve 10 --rate=100000
check 'rate: a client' testclient req "$S" 10
ended 'rate: the end of the pipeline' 0
orientations=
check 'rate: the end line says that the rate waited for frames' grep -q '; rate: [0-9.e+]* of 100000 frames/s, waiting for frames$' message
serve 5 --rate=100
for _ in 1 2 3 4 5; do testclient req "$S" 1 >taken && sleep 1; done
ended 'rate: slow clients, the end' 0
check 'rate: the end line says that the rate waited for clients' grep -q '; rate: [0-9.]* of 100 frames/s, waiting for clients$' message
serve 3 --rate=100 --inject=stall:1:0.2
check 'rate: a client during stalls on purpose' testclient req "$S" 3
ended 'rate: stalls on purpose, the end' 0
blamed='rate: the end line blames the stalls, not the clients'
if [ "${BRAGG_SANITIZED-}" ]; then
	skip "$blamed" 'with sanitizers a frame may take longer than a stall'
else
	check "$blamed" grep -q '; rate: [0-9.]* of 100 frames/s, stalls and cuts of --inject$' message
fi

# a subscriber that never reads: what it missed counts as dropped
rm -f endpoint stats
{
	soon test -e go
	bragg-geometry --detpixels=512 --pixel=0.2 --ncells=1
} | bragg-orient --frames=40 | bragg-intensity --threads=1 |
	bragg-serve --bind="$S" --stats=stats --socket=pub --policy=drop-new --linger=0 >endpoint 2>message &
pipe=$!
soon test -s endpoint
testclient stall "$S" 60 &
stalled=$!
sleep 0.5
: >go
ended 'published past a slow client: the pipeline does not wait' 0
is 'each frame is counted once' "$(($(figure taken) + $(figure dropped)))" 40
check 'no bytes of dropped frames' test "$(figure bytes_out)" -le $(($(figure taken) * (512 * 512 * 4 + 8192)))
check 'frames without room at the client are counted as dropped' test "$(figure dropped)" -ge 20
kill $stalled

# Ctrl-C, with nobody there to take a frame
cat >interrupted <<END
trap : INT
bragg-geometry --detpixels=64 --pixel=1.6 --ncells=5 | (trap - INT; exec bragg-orient --frames=50) | bragg-intensity --threads=1 |
	(trap - INT; exec bragg-serve --bind=$S --stats=stats) >endpoint
: >over
END
rm -f endpoint stats over
setsid env --default-signal=INT sh ./interrupted 2>errors &
group=$!
soon test -s endpoint
sleep 1
kill -INT -$group
check 'Ctrl-C: nobody is there and nothing waits' soon test -e over
kill -INT -$group 2>/dev/null
wait "$group"
is 'Ctrl-C: no socket stays behind' "$(ls -d s 2>/dev/null)" ''
is 'Ctrl-C: nothing counts as taken' "$(figure taken)" 0
check 'Ctrl-C: all that was issued counts as dropped' test "$(figure dropped)" -gt 0

# Ctrl-C in the middle of a series, with a client
sed "s/(trap - INT; exec bragg-serve/bragg-noise | & --protocol=dectris2 --rate=10/; s/--frames=50/--frames=5000/" interrupted >series.sh
rm -f endpoint stats
setsid env --default-signal=INT sh ./series.sh 2>errors &
group=$!
: >taken
testclient series "$S" 10000 >>taken &
client=$!
while kill -0 "$client" 2>/dev/null && [ "$(wc -l <taken)" -le 3 ]; do sleep 0.05; done
kill -INT -$group
wait "$client"
is 'Ctrl-C: the series ends' "$(head -n 1 taken) $(tail -n 1 taken)" 'start end'
wait "$group"
is 'Ctrl-C: what came counts as taken' "$(figure taken)" "$(($(wc -l <taken) - 2))"

# bragg-run says when clients may come; the files for them are complete then
cat >live.yaml <<END
stages:
  - {name: geometry, args: [--detpixels=64, --pixel=1.6, --distance=120, --ncells=5]}
  - {name: orient, args: [--frames=3, --random]}
  - {name: intensity}
  - {name: noise}
  - {name: serve, args: [--protocol=crystfel, "--bind=$S", --geom=l.geom, --cell=l.cell]}
END
bragg-run --workdir=live live.yaml 2>said &
pipe=$!
check 'bragg-run: a gateway is ready, while it waits for clients' soon grep -q ready said
is 'geometry and cell files are complete then' "$(tail -n 1 live/l.geom) $(tail -n 1 live/l.cell)" \
	'p0/ss = +0.000000000x +1.000000000y +0.000000000z ga = 90 deg'
is 'one line says that serve listens' "$(cat said)" "bragg-run: ready: serve listens at $S"
kill $pipe
wait $pipe || true
bragg-run --set=serve.linger=0 --set=serve.policy=drop-new --workdir=live live.yaml 2>said
is 'the line about the endpoint is not repeated at the end' "$(sed 's/warning: .*/warning/' said)" \
	"$(printf 'bragg-run: ready: serve listens at %s\nserve| bragg-serve: warning' "$S")"
bragg-run --quiet --set=serve.policy=drop-new --set=serve.linger=0 --workdir=live live.yaml 2>said
is 'with --quiet nothing is said' "$(cat said)" ''

# killed: the next one takes its place, its path and its frames
G="bragg-geometry --detpixels=64 --pixel=1.6 --distance=120 --ncells=5"
$G | bragg-orient --frames=20 --random --seed=7 --dead-after=1 2>>message | bragg-intensity --threads=1 |
	bragg-noise --seed=9 --out=@ipc://"$PWD"/images 2>message &
pipe=$!
bragg-serve --in=ipc://"$PWD"/images --bind="$S" >endpoint &
first=$!
mkdir again
check 'a client takes some' testclient req "$S" 5 again
kill -9 $first
wait $first 2>/dev/null
bragg-serve --in=ipc://"$PWD"/images --bind="$S" --stats=stats >endpoint &
testclient req "$S" 20 again >taken &
client=$!
ended 'after kill -9 another one goes on to the end' 0
kill $client 2>/dev/null
check 'after kill -9: the client has all frames' same again 20

# --- published: the file of --sent says which frames were taken
# fates NAME...: frames that the file of --sent of `published` gives one of these fates
fates() {
	for fate; do awk -F'\t' -v fate="$fate" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["fate"] == fate { printf "1%010d\n", $at["frame"] }' sent.tsv; done | sort -n
}
# connected COUNT: so many clients are connected to the endpoint
connected() {
	[ "$(grep -c "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$(sed 's/.*://' endpoint)") [0-9A-F:]* 01 " /proc/net/tcp)" = "$1" ]
}
# Frames are played, as fast as clients could ever be: a machine that computes slowly would drop none.
bragg-geometry --detpixels=192 --ncells=5 | bragg-orient --quiet --frames=60 --random | bragg-intensity --threads=1 |
	bragg-noise --quiet | bragg-tap --quiet --record=pub.rec
# published POLICY CLIENTS: a fast stream for slow clients, whose frames are in the folders 1, 2
published() {
	rm -rf sent.tsv stats endpoint go 1 2
	{
		soon test -e go
		bragg-replay pub.rec
	} | bragg-serve --bind='tcp://127.0.0.1:*' --socket=pub --policy="$1" --queue=3 --rate=200 --linger=3 \
		--stats=stats --sent=sent.tsv >endpoint 2>message &
	pipe=$!
	soon test -s endpoint
	listeners=
	for listener in $(seq "$2"); do
		mkdir "$listener"
		testclient slow "$(cat endpoint)" 60 "$listener" >/dev/null &
		listeners="$listeners $!"
	done
	# the first frame is for all of them: it begins when they are connected and had time to subscribe
	soon connected "$2"
	sleep 0.5
	: >go
	ended "pub, $1, $2 clients: the end" 0
	# shellcheck disable=SC2086 # several
	wait $listeners
}
published drop-new 1
is 'pub: --sent lists the frames that the only client received as taken' "$(fates taken | tr '\n' ' ')" "$(ls 1 | tr '\n' ' ')"
is 'pub: --sent lists no frame that perhaps somebody got' "$(fates some | wc -l) $(figure some)" '0 0'
check 'pub: others are dropped' test "$(fates dropped | wc -l)" -gt 0
published drop-old 2
ls 1 | sort >1.list
ls 2 | sort >2.list
sort -u 1.list 2.list >got
is 'pub, two clients: both got what is taken' "$(fates taken | comm -23 - 1.list; fates taken | comm -23 - 2.list)" ''
is 'pub, two clients: somebody got what some took' "$(fates some | comm -23 - got)" ''
is 'pub, two clients: nobody got what was dropped' "$(fates dropped | comm -12 - got)" ''
is 'pub, two clients: every frame has one fate' "$(fates taken some dropped | wc -l) $(($(figure taken) + $(figure some) + $(figure dropped)))" '60 60'

# --- one client that subscribes to more than it may: it is cut off, memory stays small, others are served
high_kB() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }
S=tcp://127.0.0.1:*
serve 40 --socket=pub --rate=40 --sent="$PWD/topics.tsv"
soon test -s endpoint
S=$(cat endpoint)
server=$(pids serve)
testclient topics "$S" 20000 1 &
mkdir beside
check 'pub: a client with many subscriptions does not block other clients' testclient sub "$S" 30 beside
high=$(high_kB "$server")
check 'pub: later clients get frames' testclient sub "$S" 10 beside
ended 'pub: the end' 0
if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'pub: 20 MB of subscriptions take little memory' 'AddressSanitizer takes more memory than the limit for itself'
else
	check "pub: 20 MB of subscriptions take little memory: $high kB" test "${high:-999999}" -lt 40000
fi
check 'pub: a warning counts the connections that were cut off' grep -q '[1-9][0-9]* connections exceeded the limits for subscriptions and were cut off$' message
wait

# --- idle connections that fill all the room: one that asks gets in
S=tcp://127.0.0.1:*
for kind in rep:req:REQ pub:sub:SUB; do
	type=${kind##*:} kind=${kind%:*}
	(
		ulimit -S -n 200
		serve 20 --socket=${kind%:*}
		soon test -s endpoint
		(ulimit -S -n 400; exec testclient idle "$(cat endpoint)" 300 "$type" >crowd) &
		crowd=$!
		soon grep -q idle crowd
		sleep 0.3
		# without its frames the pipeline would wait for ever
		timeout 60 testclient ${kind#*:} "$(cat endpoint)" 20 >taken || kill "$pipe"
		kill $crowd
		ended "${kind%:*}: behind a crowd of idle connections" 0
		echo "$tap_count $tap_failed" >counts
	)
	read -r tap_count tap_failed <counts
	is "${kind%:*}: a client behind 300 idle connections in 100 places" "$(tail -n 1 taken)" 20
	check "${kind%:*}: the crowd is counted" grep -q '; there was no room for [1-9][0-9]* connections$' message
done
finish
