#!/bin/sh
# bragg-run: programs that are not ours, as supervised stages: `after`.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# file LAST...: a pipeline of four frames, with these lines of YAML at its end
file() {
	cat <<-END
		stages:
		  - {name: geometry, args: [--detpixels=32, --pixel=3.2, --ncells=5]}
		  - {name: orient, args: [--frames=4, --random]}
		  - {name: intensity}
		  - {name: noise}
	END
	printf '  - %s\n' "$@"
}
WRITE='{name: write, args: [a_%d.img]}'
SERVE="{name: serve, args: [--bind=ipc://$PWD/s]}"
run() {
	status=0
	timeout 60 bragg-run "$@" 2>message || status=$?
}

# one after the other, and frames go to those that take them
file "$WRITE" '{name: count, program: sh, args: [-c, "ls a_*.img | wc -l >counted"], after: write}' \
	'{name: say, program: sh, args: [-c, "cat counted --in=x 2>/dev/null; cp counted said; echo \"found $(cat counted)\"", --in=x], after: count}' >after.yaml
run --workdir=w after.yaml
is 'a program runs after a stage has ended, in the workdir' "$status $(cat w/counted)" '0 4'
is 'a program runs after a program that runs after a stage' "$(cat w/said)" 4
check 'output of a program that runs after a stage is shown' grep -q '^say| found 4' message
check 'a dry run names it' sh -c 'bragg-run --dry-run after.yaml | grep "^# after write: sh -c"'

# a client, which starts when it may connect, and has work left when all frames are gone
file "$SERVE" '{name: client, program: sh, args: [-c, "testclient req ipc://'"$PWD"'/s 4 && sleep 4.5 && echo fine >client"], after: serve}' >client.yaml
run --quiet --workdir=c client.yaml
is 'a client has all frames, and the time that it needs' "$status $(cat c/client message)" '0 fine'

# the loop of a live analysis: it tells hits from blanks, and what it sustains is said
if has python:zmq python:msgpack python:numpy; then
	mkdir files
	sed "s|tcp://127.0.0.1:4545|ipc://$PWD/s|" "$BRAGG_TESTS/../pipelines/loop-karabo.yaml" >files/loop.yaml
	cp "$BRAGG_TESTS/../pipelines/find_hits.py" files
	run --frames=60 --set=serve.ramp=10:50:1 --workdir=loop files/loop.yaml
	is 'loop-karabo: the end' "$status" 0
	check 'loop-karabo: a message has the sustained rate' grep -q '^serve| .*--ramp: clients sustained [0-9.]* frames/s' message
	check 'loop-karabo: a message counts the hits' grep -q '^find-hits| 60 frames, .* hits, 0 damaged' message
	check 'loop-karabo: a message scores the hits' grep -q '^score| hits .* score_roc_area 1$' message
	check 'loop-karabo: the loop writes a page' test -s loop/report.html
	cut -f1,2 loop/sent.tsv | awk 'NR > 1 { print $1, ($2 > 0) }' | sort -u >true
	awk 'NR > 1 { print $1, $3 }' loop/hits.tsv | sort >found
	is 'loop-karabo: hits and blanks are those of the messages' "$(comm -12 true found | wc -l) $(cut -d' ' -f2 true | sort -u | tr '\n' ' ')" '60 0 1 '
	run --frames=60 --set=serve.inject=truncate:0.2,empty:0.1,type:0.1 --set=serve.ramp=20:50:1 --workdir=fire files/loop.yaml
	is 'loop-karabo under fire: the end' "$status" 0
	check 'loop-karabo under fire: what the client did is counted' /usr/bin/python3 -c '
import json
figures = json.load(open("fire/score.json"))
cut, empty, other = (figures["faults"][kind] for kind in ("truncate", "empty", "type"))
assert cut["n"] > 3 and cut["reported"] == cut["n"] and cut["wrong"] == 0, cut
assert empty["n"] > 1 and empty["ignored"] == empty["n"], empty
assert other["n"] > 1 and other["answered"] == other["n"] and other["reported"] == other["wrong"] == 0, other
assert figures["answers_false_alarm"] == 0 and not cut["died"] | empty["died"], figures'
else
	skip 'loop-karabo' "$lack is missing"
fi

# its status
file "$WRITE" '{name: score, program: sh, args: [-c, "echo too bad; exit 3"], after: write}' >score.yaml
run --workdir=s score.yaml
is 'the status of a failed program is that of the run' "$status" 3
is 'the last message names the failed program' "$(tail -n 1 message)" 'bragg-run: stage score ended with status 3'
check 'the last words of the failed program are shown' grep -q '^score| too bad' message
is 'the frames are there' "$(ls s/a_*.img | wc -l)" 4
sed 's/exit 3/exit 1/' score.yaml >one.yaml
run --quiet --workdir=s1 one.yaml
is 'status 1, too, though all frames are there' "$status" 1

# the program that it waited for may be the cause, though its status is 0
file "$WRITE" '{name: find, program: sh, args: [-c, "seq -f line_%g 7; exit 0"], after: write}' \
	'{name: score, program: sh, args: [-c, "echo no spots; exit 3"], after: find}' >waited.yaml
run --workdir=wait waited.yaml
is 'the last lines of the stage that it waited for come first' "$status $(grep '^find|\|^score|' message | tr '\n' ' ')" \
	'3 find| line_3 find| line_4 find| line_5 find| line_6 find| line_7 score| no spots '
run --verbose --workdir=wait2 waited.yaml
is '--verbose has shown the last lines already' "$(grep -c '^find|' message)" 7

# it dies
file "$WRITE" '{name: fragile, program: sh, args: [-c, "echo x >>tries; [ $(wc -l <tries) = 3 ] || kill -9 $$"], after: write, restart: 2}' >fragile.yaml
run --workdir=f fragile.yaml
is 'one that died is started again' "$status $(wc -l <f/tries)" '0 3'
sed 's/, restart: 2//' fragile.yaml >brittle.yaml
run --workdir=b brittle.yaml
is 'a program that died is not started again without an option' "$status $(wc -l <b/tries)" '1 1'

# a stage fails: what comes after it does not start
file '{name: write, args: [/no/where_%d.img]}' '{name: never, program: touch, args: [never], after: write}' >never.yaml
run --workdir=n never.yaml
is 'after a failure nothing starts' "$((status != 0)) $(ls n 2>/dev/null)" '1 '

# Ctrl-C reaches one that would not end
file "$WRITE" '{name: waits, program: sleep, args: [1003], after: write}' >waits.yaml
env --default-signal=INT bragg-run --quiet --workdir=i waits.yaml 2>message &
run=$!
soon test -e i/a_3.img
sleep 1
kill -INT $run
status=0
wait $run || status=$?
is 'Ctrl-C ends all' "$status $(pgrep -x sleep -a | grep -c 1003)" '130 0'

refuse() { # NAME TEXT LAST...
	name=$1 text=$2
	shift 2
	file "$WRITE" "$@" >bad.yaml
	run bad.yaml
	is "$name" "$status $(wc -l <message) $(grep -c -e "$text" message)" '3 1 1'
}
refuse 'after nobody' "bad.yaml:7: after: no stage above this one is called 'wrte'" '{name: x, program: true, after: wrte}'
refuse 'after itself' "no stage above this one is called 'x'" '{name: x, program: true, after: x}'
refuse 'frames for one that takes none' "threads: not allowed with 'after'" '{name: x, program: true, after: write, threads: 2}'
refuse 'frames of one that gives none' "input: 'x' has 'after' and gives no frames" '{name: x, program: true, after: write}' '{name: tap, input: x}'
refuse 'no program' 'the program is missing' '{name: x, after: write}'
finish
