#!/bin/sh
# bragg-view: its page, values against the files, who may look, what browsers may do to it, and what
# they may not do to the stream.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'bragg-view' /usr/bin/python3
scratch
client() { /usr/bin/python3 "$BRAGG_TESTS/cli/view_client.py" "$@"; }
says() { grep -q "$@"; }
# view FILE OPTION...: plays a recording to it in the background, until `leave`; the address of its
# page is in `address`.
view() {
	file=$1
	shift
	rm -f address
	bragg-replay "$file" | bragg-view --bind=127.0.0.1:0 "$@" >address 2>message &
	viewer=$!
	soon test -s address
}
# leave NAME: after the stream, of whose end pages know before the program waits for a signal
leave() {
	sleep 0.5
	kill -TERM "$viewer"
	status=0
	wait "$viewer" || status=$?
	is "$1" "$status $(cat message)" '0 '
}
# part NAME PART...: of the client
part() {
	name=$1
	shift
	if client "$@" >part.log 2>&1; then
		tap_result 0 "$name: $(grep -c '^ok' part.log) checks"
	else
		tap_result 1 "$name"
		complain "$(grep -v '^ok' part.log)"
	fi
}

bragg-geometry --detpixels=61,40 --pixel=1.6 --distance=120 --ncells=15 |
	bragg-orient --frames=3 --random --seed=7 | bragg-intensity --threads=1 --reflections |
	bragg-noise --seed=9 | bragg-tap --record=a.rec
bragg-replay a.rec | bragg-write 'a_%d.img'

view a.rec
part 'the page and what is refused' http "$(cat address)"
part 'values' values "$(cat address)" 'a_%d.img'
part 'hostile messages' hostile "$(cat address)"
part 'hostile frames' frames "$(cat address)"
port=$(sed 's/.*:\([0-9]*\)\/.*/\1/' address)
check_status 'a port in use' 1 sh -c "bragg-replay a.rec 2>/dev/null | bragg-view --bind=127.0.0.1:$port 2>busy"
check 'a message has the address' says "^bragg-view: --bind=127.0.0.1:$port: Address already in use. Give another port, or port 0 for a free one\$" busy
leave 'a signal ends it'

# --- files, as they lie there
files() { # FILE...
	rm -f address
	bragg-view --bind=127.0.0.1:0 "$@" >address 2>message &
	viewer=$!
	soon test -s address
}
files a_0.img a_1.img a_2.img
part 'pixels of SMV files' files "$(cat address)" 'a_%d.img'
leave 'a signal ends it, and who plays them'
is 'nobody is left' "$(ps -o comm= --ppid $$ | grep -c bragg)" 0
bragg-replay a.rec | bragg-write --quiet 'a_%d.cbf' a.nxs
files a_0.cbf a_1.cbf a_2.cbf
part 'the page shows pixels of CBF files' files "$(cat address)" 'a_%d.img'
leave 'it ends'
files a.nxs
part 'the page shows pixels of NXmx' values "$(cat address)" 'a_%d.img'
leave 'it ends'
files a.rec
part 'the page shows pixels of a recording' values "$(cat address)" 'a_%d.img'
leave 'it ends'
mkdir folder
: >empty.cbf
mkdir part && cp a.nxs part
for bad in /dev/null nosuch.cbf folder empty.cbf 'nosuch_*.cbf' part/a.nxs; do
	status=0
	timeout 5 bragg-view --bind=127.0.0.1:0 "$bad" >address 2>said || status=$?
	is "$bad is no file to show: one line of bragg-view, and no address" "$((status > 0)) $(wc -l <said) $(grep -c '^bragg-view: ' said) $(wc -c <address)" '1 1 1 0'
done
check_status 'files and --in' 2 bragg-view --bind=127.0.0.1:0 --in=ipc:///tmp/x a_0.img

# --- connections that are no pages
files a_0.img
check 'websockets of other protocols, HTTP/2 and odd names are refused; silent connections make room' \
	timeout 30 /usr/bin/python3 "$BRAGG_TESTS/cli/view_strangers.py" "$(cat address)"
leave 'it ends'

# --- pages that ask for much and read nothing
bragg-geometry --quiet --detpixels=2100 --pixel=0.1 --ncells=1 --oversample=1 | bragg-orient --quiet --frames=1 |
	bragg-intensity --quiet | bragg-write --quiet --scale=1 large_%d.img
rm -f address
bragg-view --bind=127.0.0.1:0 --memory=64 large_0.img >address 2>message &
viewer=$!
soon test -s address
part '64 pages that ask for 16 MB each' hoard "$(cat address)" $viewer
kill -TERM $viewer
wait $viewer

# --- who may look
view a.rec --token
part 'a token that was made' token "$(cat address)"
leave 'it ends'
echo 0123456789abcdef-_ >token
chmod 600 token
view a.rec --token=token
part 'a token of a file' token "$(cat address)"
is 'the token is part of the address' "$(sed 's/.*token=//' address)" '0123456789abcdef-_'
leave 'it ends'
# refuses NAME STATUS TEXT OPTION...
refuses() {
	what=$1
	want=$2
	text=$3
	shift 3
	check_status "$what" "$want" sh -c 'bragg-replay a.rec 2>/dev/null | bragg-view "$@" 2>said' sh "$@"
	check "$what: the message gives the reason" says "^bragg-view: .*$text" said
	is "$what: the message is one line" "$(wc -l <said)" 1
}
chmod 640 token
refuses 'a token that others may read' 3 'token: other users may read the token; set its mode with chmod 600' --token=token
echo short >token
chmod 600 token
refuses 'a short token' 3 'token:1: a token has 16 to 127 characters' --token=token
refuses 'no file of a token' 3 'none: No such file' --token=none
refuses 'other hosts without a token' 2 '0.0.0.0:8080 needs --token' --bind=0.0.0.0:8080
for bad in 8080 localhost 127.0.0.1: 127.0.0.1:70000 127.0.0.1:-1 ::1:8080 example.org:80 /tmp/x:1 300.0.0.1:1; do
	refuses "--bind=$bad" 2 'is not ADDRESS:PORT' "--bind=$bad"
done

# --- beside a stage that writes: whoever looks, all frames are written, and memory stays flat
mkdir out
bragg-geometry --detpixels=512 --pixel=0.2 --ncells=5 | bragg-orient --frames=4 --random |
	bragg-intensity --threads=1 | bragg-tap --record=b.rec
rm -f address
bragg-view --in=ipc://"$PWD/s" --bind=127.0.0.1:0 --memory=8 --linger=30 >address 2>message &
viewer=$!
soon test -s address
client crowd "$(cat address)" >crowd.log 2>&1 &
crowd=$!
client follow "$(cat address)" >seen 2>&1 &
follow=$!
high() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$viewer/status"; }
bragg-replay --loop=15 --rate=20 --out=@ipc://"$PWD/s" b.rec 2>log &
soon test -S s
check 'a stream with 52 pages is written' bragg-write --in=ipc://"$PWD/s" 'out/x_%d.bin'
high=$(high)
check "memory is bounded: $high kB" test "${high:-999999}" -lt 200000
status=0
wait "$crowd" || status=$?
is 'pages in a crowd' "$status $(grep -v '^ok' crowd.log)" '0 1..3'
is 'the stream with 52 pages is written in full' "$(ls out | grep -c 'x_[0-9]*.bin')" 60
wait "$follow"
check "a page sees frames as they come: $(cat seen)" test "$(cat seen)" -ge 10
leave 'it ends with the stream'

# --- a passive page skips frames, but not the last one
rm -f address
bragg-view --in=ipc://"$PWD/s" --bind=127.0.0.1:0 --linger=30 >address 2>message &
viewer=$!
soon test -s address
bragg-replay --loop=4 --rate=20 --out=@ipc://"$PWD/s" b.rec 2>log &
soon test -S s
bragg-write --quiet --overwrite --in=ipc://"$PWD/s" 'out/x_%d.bin'
part 'after the end' last "$(cat address)" 16
leave 'a signal ends it'

# --- bragg-run --view
printf 'stages:\n  - name: replay\n    args: [b.rec, --loop=20, --rate=10]\n  - name: write\n    args: [run_%%d.bin]\n' >p.yaml
sed -i "s|b.rec|$PWD/b.rec|" p.yaml
bragg-run --view="127.0.0.1:$port" p.yaml 2>run.log &
run=$!
check 'the title of its page is the name of the pipeline file' sh -c 'bragg-run --view --dry-run p.yaml | grep -q -e --title=p.yaml'
check 'bragg-run --view says where the page is' soon says "^bragg-run: ready: view shows the stream at http://127.0.0.1:$port/$" run.log
client course "http://127.0.0.1:$port/" >course.log 2>&1
is 'the page has frames and the pipeline' "$? $(grep -v '^ok' course.log)" '0 1..2'
is 'its address is printed once' "$(grep -c http run.log)" 1
soon test -e run_79.bin
check 'without a terminal, too, the page stays, and a line says how it ends' soon says "^bragg-run: the page stays after the last frame; Ctrl-C or 'kill $run' ends the page and the run" run.log
sleep 0.5
check 'after the run' /usr/bin/python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/', timeout=5)"
kill "$run"
status=0
wait "$run" || status=$?
is 'SIGTERM ends it; all frames are written' "$status $(ls | grep -c '^run_[0-9]*.bin')" '0 80'
rm -f run_*
/usr/bin/python3 -c "
import socket, time
taken = socket.create_server(('127.0.0.1', 0))
print(taken.getsockname()[1], flush=True)
time.sleep(60)" >taken &
taker=$!
soon test -s taken
bragg-run --view="127.0.0.1:$(cat taken)" p.yaml 2>run.log
is 'a port that another program has is refused before the run' "$? $(cat run.log) $(ls | grep -c '^run_.*bin')" \
	"1 bragg-run: --view=127.0.0.1:$(cat taken): Address already in use. Give another port, or port 0 for a free one 0"
kill $taker
# run_refuses NAME TEXT OPTION...: in one line, which does not say that a page is there
run_refuses() {
	what=$1
	want=$2
	shift 2
	status=0
	bragg-run "$@" p.yaml 2>run.log || status=$?
	is "$what" "$((status > 1)) $(wc -l <run.log) $(grep -c -e "$want" run.log) $(ls | grep -c '^run_.*bin')" '1 1 1 0'
}
run_refuses 'bragg-run refuses an address of all hosts without a token' '^bragg-run: --view=0.0.0.0:8099 needs a token' --view=0.0.0.0:8099
run_refuses '--view with port 0 needs a token' '^bragg-run: --view=0.0.0.0:0 needs a token' --view=0.0.0.0:0
run_refuses 'an address of another option' '^bragg-run: --bind=0.0.0.0:8099 needs a token' --view --set=view.bind=0.0.0.0:8099
run_refuses 'before a job is made of it' '^bragg-run: --view=0.0.0.0:8099 needs a token' --view=0.0.0.0:8099 --launcher=slurm
run_refuses '--view is refused before commands are printed' '^bragg-run: --view=0.0.0.0:8099 needs a token' --view=0.0.0.0:8099 --dry-run
echo short >bad-token
chmod 600 bad-token
run_refuses 'a short token' '^bragg-run: bad-token:1: a token has 16' --view --set=view.token=bad-token
run_refuses 'no file of a token' "^bragg-run: stage 'view': --token: no file 'absent' found" --view --set=view.token=absent
chmod 644 bad-token
run_refuses 'a token that others may read' '^bragg-run: bad-token: other users may read' --view --set=view.token=bad-token
run_refuses 'two pages at one port' "^bragg-run: --bind=127.0.0.1:8080: stage 'view' has 2 processes" --view --count=view=2
run_refuses 'one file for a trace and a report' '^bragg-run: --trace and --report: both name the file x.html' --trace=x.html --report=x.html
run_refuses 'a token that nobody would see' "^bragg-run: stage 'view': --token needs a file" --view --set=view.token
chmod 600 token
echo 0123456789abcdef-_ >token
bragg-run --view="127.0.0.1:$port" --set=view.token="$PWD/token" --set=replay.loop=1 --set=view.linger=0 p.yaml >run.log 2>&1
is 'a page with a token: the line does not show the token' "$? $(grep -c "^bragg-run: ready: view shows the stream at http://127.0.0.1:$port/?token=...$" run.log) $(grep -c 0123 run.log)" '0 1 0'
rm -f run_*.bin
for bad in 8080 127.0.0.1: 127.0.0.1:70000 ::1:8080 example.org:80 '127.0.0.1:0;id' ' '; do
	bragg-run --view="$bad" p.yaml 2>run.log
	is "--view=$bad of bragg-run gives one line" "$? $(cat run.log)" \
		"2 bragg-run: --view: '$bad' is not ADDRESS:PORT, such as 127.0.0.1:8080; ADDRESS is localhost or an IPv4 address, and port 0 is any free port"
done
sed 's/--loop=20/--loop=1/' p.yaml >once.yaml
bragg-run --view=127.0.0.1:0 --set=view.linger=0 once.yaml >run.log 2>&1
is 'any free port: its address is printed once' "$? $(grep -c http run.log) $(grep -c '^bragg-run: ready: view shows the stream at http://127.0.0.1:[1-9][0-9]*/$' run.log)" '0 1 1'
bragg-run --view="127.0.0.1:$port" --report=r.html once.yaml >run.log 2>&1
is 'with a report the page ends with the run, and a line says so' "$? $(grep -c 'the page of --view ends with the run, because --report is written then' run.log) $(ls r.html)" '0 1 r.html'
bragg-run --view="127.0.0.1:$port" --report=r.html --set=view.linger=0 once.yaml >run.log 2>&1
is 'no line says how the page ends if the user has given --linger' "$? $(grep -c 'ends with the run' run.log)" '0 0'
bragg-run --view="127.0.0.1:$port" --quiet --report=r.html once.yaml >run.log 2>&1
is '--quiet prints nothing about the page' "$? $(cat run.log)" '0 '
printf 'stages:\n  - name: replay\n    args: [%s/b.rec]\n  - name: view\n    args: ["--bind=127.0.0.1:0"]\n' "$PWD" >ends.yaml
bragg-run ends.yaml >run.log 2>&1 &
run=$!
soon says 'at http://127.0.0.1:[1-9]' run.log
sleep 0.5
check 'a pipeline file may end in view: its page stays' /usr/bin/python3 -c "import urllib.request; urllib.request.urlopen('$(sed -n 's/^bragg-run: ready: .* at \(http.*\)/\1/p' run.log)', timeout=5)"
kill "$run"
status=0
wait "$run" || status=$?
is 'the page stays until a signal ends the run' "$status $(grep -c 'the page stays after the last frame' run.log)" '0 1'
printf 'stages:\n  - name: geometry\n  - name: tap\n' >q.yaml
check_status 'a pipeline without images has no page' 2 bragg-run --view q.yaml
finish
