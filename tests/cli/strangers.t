#!/bin/sh
# Strangers that report to the source of a stream, or connect where its frames flow
# (tests/programs/stranger.c): no frame is lost, no run ended, who breaks the rules is named.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
frames=150
own=group=test-sink/nothing # of the sink that is asked for

# stream [OPTION]...: begins one, whose source has these options
stream() {
	fresh
	rm -f said.*
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" --frames=$frames --verbose "$@" &
	stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --sleep=6 &
	stage sink sink out --in="ipc://$d/w" &
	flowing
}

# attack NAME KIND [NAME=VALUE]...: at the control endpoint, as a process called evil-NAME
attack() {
	attack_name=$1 attack_kind=$2
	shift 2
	stranger "$attack_kind" "ipc://$d/c" name="evil-$attack_name" "$@" >"said.$attack_name" 2>&1 &
}

# hold: the sink takes no more frames, and so the stream lasts
hold() {
	kill -STOP "$(cat sink.pid)"
}

# met NAME...: these have all spoken; the stream goes on
met() {
	for met_name; do
		soon test -s "said.$met_name"
	done
	kill -CONT "$(cat sink.pid)"
}

# unharmed WHAT: all end well, with all files
unharmed() {
	settle
	is "$1: all end well" "$(statuses source make sink) $(find out -type f | wc -l)" "0 0 0 $frames"
	is "$1: the files are the same as without it" "$(digest out)" "$expected"
}

# said NAME: how that stranger ended
said() {
	sed '/^said$/d; s/frame [0-9]*/frame N/' "said.$1"
}

# named NAME: what the source said of it, once
named() {
	sed -n "s/^test-source: warning: evil-$1 (process [0-9]*) //p" errors.source | sed 's/frame [0-9]*/frame N/'
}

stream
settle
expected=$(digest out)

# --- acknowledgements, and the rest that is said of frames
stream
hold
attack ack ack first=0 last=9999 count=20 $own
attack path ack first=0 last=9999 count=20 up=1 $own
attack few ack first=0 last=2 up=1 $own
attack have have first=0 last=9999 count=20 up=1 $own
attack lost lost first=0 last=9999 count=20 up=1 $own
attack heart heartbeat first=0 last=9999 count=20 up=1 $own
attack bye bye why='an evil word' $own
met ack path few have lost heart bye
unharmed 'words from nowhere'
is 'frames that were not issued' "$(named ack)" 'is excluded: it acknowledged frame N, which was not sent'
is 'an excluded process reports the reason' "$(said ack)" 'out: it acknowledged frame N, which was not sent'
is 'a path that nobody confirms' "$(named path)" 'is excluded: it acknowledged frame N, which was not sent'
is 'frames that nothing sent it, for a moment' "$(named few)" ''
is 'a process that reports the loss of a frame that was not sent is excluded' "$(named lost)" 'is excluded: it lost frame N, which was not sent'
is 'processes that say what they have, or that they live, are not named' "$(named have)$(named heart)" ''
is 'a bye is named' "$(named bye)" 'ended with status 1: an evil word'

# --- floods
stream
attack hellos hellos count=20000
attack newcomers newcomers count=5000
attack watchers watchers count=5000
attack crowd crowd count=200
attack knocks knocks data="ipc://$d/w" count=5000
unharmed 'floods'
is 'hellos without end' "$(named hellos)" 'is excluded: it floods the source with messages'
is 'a process with the identity of another one is excluded' "$(named newcomers)" 'is excluded: it uses the identity of another process'

is 'a process that sends hello 1024 times to a port of frames is ignored' "$(grep -c 'evil-knocks (process [0-9]*) is ignored: it sent hello 1024 times' errors.make)" 1

# --- parts of a size that no message there has
stream
attack control part bytes=2000000
stranger part "ipc://$d/s" bytes=2000000 >said.data &
unharmed 'huge parts'
is 'processes that send a part larger than any message are cut off' "$(said control) $(said data)" 'cut cut'

# --- a last stage that counts wrong, among those that count well
stream
attack shift sink data="ipc://$d/w" shift=1 $own
unharmed 'off by one'
is 'a process that shifts its frames is excluded' "$(named shift)" 'is excluded: it acknowledged frame N, which was not sent'

# --- one that takes frames, keeps none, and is found out late
stream
attack late sink data="ipc://$d/w" lie=30 $own
unharmed 'a liar that is found out late'
is 'frames that it had acknowledged are computed again' \
	"$(grep -c '^test-source: warning: [0-9]* frames are computed again: only excluded processes acknowledged them$' errors.source)" 1

# --- one that takes all, and has made less durable than it acknowledged
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" --frames=20 &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" &
soon test -S run/w
soon test -S run/c
attack less sink data="ipc://$d/w" durable=19
settle
is 'a total that is not that of the acknowledgements' \
	"$(cat source.status) $(sed 's/process [0-9]*/process N/' errors.source)" \
	'1 test-source: evil-less (process N) saved 19 frames, but acknowledged 20'

# --- groups that nobody asked for: one that takes frames, one that takes none; and one that is
# there before the one that was asked for by name, with one that fills the room for early words
stream
attack greedy sink data="ipc://$d/w" group=greedy
attack idle sink data="ipc://$d/w" group=idle credit=0
hold
attack wrong wrong data="ipc://$d/w"
attack leaver leaver data="ipc://$d/w" group=leaver why='no more'
soon grep -q 'wrong end' errors.make
soon grep -q 'no more' errors.make
soon grep -q 'group idle' errors.source
met leaver
unharmed 'groups that nobody asked for'
is 'groups that the source does not wait for are named once' "$(grep -c 'the run does not wait for group greedy: --groups of the source asks for 1\. ' errors.source) $(grep -c 'group idle' errors.source)" '1 1'

is 'the error names the process at the wrong end, or the one that failed' \
	"$(sed -n 's/^test-make: warning: evil-\([a-z]*\) (process [0-9]*) \([^@]*\) of ipc.*/\1 \2/p; s/.*evil-\(l[a-z]*\) (process [0-9]*)/\1/p' errors.make | sort)" \
	'leaver ended with status 1: no more
wrong connected to the wrong end'

fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" --frames=$frames --groups=test-sink/nothing &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" &
soon test -S run/w
soon test -S run/c
attack first sink data="ipc://$d/w" group=first credit=0
soon grep -q met said.first
attack hoard have ranges=32768 count=32 $own # all there is room for
soon grep -q said said.hoard
attack modest have $own
soon grep -q 'evil-hoard .* is excluded' errors.source
stage sink sink out --in="ipc://$d/w" &
unharmed 'a stranger comes first'
is 'the run does not wait for it' "$(grep -c 'the run does not wait for group first: --groups of the source asks for test-sink/nothing' errors.source)" 1
is 'the process with the most reports is excluded and makes room for others' "$(named hoard), $(named modest)" \
	'is excluded: it reports too many ranges of frames, '
for groups in 0 65 '' a, ,a a,a 1000000000000000000000; do
	check_status "--groups=$groups is refused" 2 teststage source --in="ipc://$d/g" --out="@ipc://$d/s" --groups="$groups"
done

# --- a gateway's socket, too
bragg-geometry --detpixels=64 --pixel=1.6 --ncells=5 | bragg-orient --frames=3 | bragg-intensity --threads=1 | bragg-noise |
	bragg-serve --bind="ipc://$d/gateway" >gateway &
soon test -S run/gateway
is 'a huge request' "$(stranger part "ipc://$d/gateway" bytes=2000000)" cut
check 'clients of a gateway with a huge request get their frames' testclient req "ipc://$d/gateway" 3

# --- sockets of another user, whose frames would be taken for one's own
# The search for leaks can wait for ever in a process of another user.
another() {
	timeout -k 1 "${patience:-3}" env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" setpriv --reuid="$1" --regid="$1" --clear-groups sh -c "umask 0; $2"
}
foreign='belongs to user 61234; expected your own (user [0-9]*) or root'"'"'s\. Use a folder that only you can write to, such as \$XDG_RUNTIME_DIR$'
frames_of() { # frames_of ENDPOINT: the end of a pipe that another user's frames come from
	another 61234 "bragg-geometry --quiet --detpixels=16 | bragg-orient --quiet --frames=2 | bragg-intensity --quiet --threads=1 --start-timeout=300 $1" 2>/dev/null &
}
if [ "$(id -u)" = 0 ] && setpriv --reuid=61234 --regid=61234 --clear-groups "$(command -v bragg-geometry)" --version >/dev/null 2>&1; then
	chmod 711 . run
	mkdir -m 1777 open
	open=$PWD/open
	patience=30 # four programs meet this pipeline one after another
	frames_of "--out=@ipc://$open/frames"
	patience=3
	soon test -S open/frames
	check_status 'the frames of another user are refused' 1 sh -c "timeout 60 bragg-write --in=ipc://$open/frames 'theirs_%d.img' 2>said.theirs"
	check 'bragg-write gives the reason why frames of another user are refused' grep -q "^bragg-write: ipc://$open/frames: the socket $foreign" said.theirs
	is 'bragg-write refuses frames of another user in one line' "$(wc -l <said.theirs)" 1
	is 'bragg-write writes no frame of another user' "$(ls | grep -c theirs_)" 0
	check_status 'bragg-view refuses them' 1 sh -c "timeout 60 bragg-view --bind=127.0.0.1:0 --in=ipc://$open/frames >said.address 2>said.theirs"
	is 'bragg-view gives the reason why frames of another user are refused' "$(grep -c "^bragg-view: ipc://$open/frames: the socket $foreign" said.theirs)" 1
	check_status 'bragg-serve refuses them' 1 sh -c "timeout 60 bragg-serve --in=ipc://$open/frames --bind=ipc://$PWD/own >/dev/null 2>said.theirs"
	is 'bragg-serve gives the reason why frames of another user are refused' "$(grep -c "^bragg-serve: ipc://$open/frames: the socket $foreign" said.theirs)" 1
	if has python:zmq python:msgpack python:numpy; then
		check_status 'the Python module refuses them' 1 sh -c "PYTHONPATH='$BRAGG_TESTS/../pipelines' timeout 60 /usr/bin/python3 -c '
import braggpipe
with braggpipe.open(\"ipc://$open/frames\") as frames:
    for frame in frames: print(frame.id)' >said.frames 2>said.theirs"
		is 'the Python module gives the reason why frames of another user are refused' "$(tail -n 1 said.theirs | grep -c "^braggpipe.*: ipc://$open/frames: the socket $foreign") $(wc -l <said.frames)" '1 0'
	else
		skip 'the Python module refuses them' "$lack is missing"
	fi
	# the one who waits is there first
	timeout 60 bragg-write --in="ipc://$open/late" 'theirs_%d.img' 2>said.theirs &
	waits=$!
	sleep 0.3
	frames_of "--out=@ipc://$open/late"
	status=0
	wait "$waits" || status=$?
	is 'frames of another user that come late are refused' "$status $(grep -c "^bragg-write: ipc://$open/late: the socket $foreign" said.theirs) $(ls | grep -c theirs_)" '1 1 0'
	# a socket of one's own that all may connect to
	(umask 0; exec timeout 60 bragg-write --in="@ipc://$open/mine" 'theirs_%d.img' 2>said.mine) &
	waits=$!
	soon test -S open/mine
	knock() { # whether a connection of a user is answered
		another "$1" "exec perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un(\"$open/mine\")) or die; print sysread(S, \$b, 10) ? \"yes\" : \"no\"'"
	}
	is 'another user cannot send frames to a socket that all may open' "$(knock 61234) $(knock 0)" 'no yes'
	kill $waits $(pids intensity)
	wait
else
	skip 'sockets of another user' 'it takes root, and programs that others can start'
fi
finish
