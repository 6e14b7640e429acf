#!/bin/sh
# The pipelines of README.md work when pasted, warn of nothing, and make pictures that show something.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
scratch
commands=$PWD/commands
# Its commands, one a line: what ends in | or \ goes on in the next.
awk '/^```/ { inside = !inside; next } inside { if (sub(/\\$/, "") || /[|]$/) printf "%s ", $0; else print }' \
	"$top/README.md" >commands
grep -E '^bragg-[a-z]+ -[-a-z]' commands | grep -v -e '^bragg-run --\(workdir\|view\)' -e '^bragg-eiger' >lines
is 'README.md shows its pipelines' "$(wc -l <lines)" 4
# A crystal in P 43 21 2 with as many atoms as a small protein has, anywhere: its mine.pdb.
awk 'BEGIN { srand(1); print "CRYST1   79.000   79.000   38.000  90.00  90.00  90.00 P 43 21 2    8"
	for (i = 1; i <= 1000; i++)
		printf "ATOM  %5d  C   ALA A%4d    %8.3f%8.3f%8.3f  1.00 20.00           C\n", i, i, 79 * rand(), 79 * rand(), 38 * rand() / 8
	print "END" }' >mine.pdb
has gemmi || {
	skip 'a crystal from a model' "$lack is missing"
	sed -i /--model=/d lines
}
export XDG_CACHE_HOME="$PWD/cache"
number=0
while read -r line; do
	number=$((number + 1))
	mkdir "$number"
	cp mine.pdb "$number"
	status=0
	(cd "$number" && sh -c "$line" </dev/null >out 2>warnings) || status=$?
	# A slow machine also reports how long a frame takes.
	is "pipeline $number ends well, without a warning" "$status $(grep -v ' takes about .* a frame' "$number/warnings")" '0 '
	check "pipeline $number wrote an image" sh -c "ls $number/*.img $number/*.cbf $number/*.nxs $number/*.rec 2>/dev/null | grep -q ."
	for picture in "$number"/*.png; do
		[ ! -e "$picture" ] || check "$picture shows something" picture "$picture"
	done
done <lines
bragg-geometry --quiet --detpixels=64 --cell=50,50,50,90,90,90 --default-F=0 | bragg-orient --quiet |
	bragg-intensity --quiet | bragg-write --quiet blank.png
check_status 'a blank picture is refused' 1 picture blank.png

cd "$(dirname */photons.rec)" || exit 1
grep '^for seed' "$commands" >again
check 'the recorded photons are played thrice' sh again
is 'the played photons give as many files' "$(ls seed?_*.img | wc -l)" 60
check 'a frame of them is made again as README.md says' sh -c "$(grep -o 'bragg-replay --recompute [^`]*' "$top/README.md")"
cd ..

# The live pipelines: as they stand, but for an endpoint that nobody else on this machine has.
live() {
	grep "^bragg-run --workdir=live.*$1" "$top/README.md" | sed "s|--workdir=live |&--quiet --frames=3 --set=serve.bind=ipc://$PWD/s |"
}
is 'README.md shows three live pipelines' "$(live karabo | wc -l) $(live crystfel | wc -l) $(live dectris | wc -l)" '1 1 1'
sh -c "$(live karabo)" </dev/null >/dev/null 2>warnings &
run=$!
if has karabo-bridge-glimpse; then
	check 'karabo-bridge-glimpse sees the first' sh -c "timeout 60 $(grep '^karabo-bridge-glimpse' "$top/README.md" | sed "s|tcp://[^ ]*|ipc://$PWD/s|")"
else
	skip 'karabo-bridge-glimpse sees the first' "$lack is missing"
fi
wait $run
if has python:zmq; then
	sh -c "$(live crystfel)" </dev/null >/dev/null 2>warnings &
	run=$!
	check 'a worker asks the second' timeout 60 /usr/bin/python3 -c "
import zmq
s = zmq.Context().socket(zmq.REQ)
s.connect('ipc://$PWD/s')
for i in range(3):
    s.send(b'next')
    assert len(s.recv_multipart()) == 1"
	status=0
	wait $run || status=$?
	is 'the second ends well, without a warning' "$status $(cat warnings)" '0 '
	check 'the pipeline writes geometry and cell files for CrystFEL' test -s live/lyso.geom -a -s live/lyso.cell
else
	skip 'a worker asks the second' "$lack is missing"
fi
sh -c "$(live dectris)" </dev/null >/dev/null 2>warnings &
run=$!
if has python:cbor2 python:zmq; then
	timeout 60 sh -c "$(grep watch_dectris "$commands" | sed "s|pipelines/|$top/&|; s|tcp://.*|ipc://$PWD/s|")" >seen
	is 'the client of the third shows a series' "$(tr -s ' \n' ' ' <seen)" 'start image 0 image 1 image 2 end '
else
	skip 'the client of the third shows a series' "$lack is missing"
fi
wait $run

# The scan of bragg-eiger, as it stands but for the ports
if has curl python:cbor2 python:zmq; then
	set -- $(/usr/bin/python3 -c '
import socket
sockets = [socket.socket() for _ in range(3)]
for s in sockets:
    s.bind(("127.0.0.1", 0))
    print(s.getsockname()[1])')
	sed -n '/^bragg-eiger/,/trigger$/p' "$commands" | sed "s/:8081/:$1/g; s/:31001/:$3/; s/ *# .*//; s|pipelines/watch|$top/&|; s/\.py .*[0-9]/& >seen/" >scan
	is 'the scan has a detector, a client and three curl lines' "$(grep -c '^bragg-eiger' scan) $(grep -c watch_dectris scan) $(grep -c '^curl' scan)" '1 1 3'
	sh -c "exec $(head -n 1 scan) --bind=127.0.0.1:$1 --legacy-port=$2 --cbor-port=$3" >address 2>warnings &
	detector=$!
	soon test -s address
	(sed 1d scan && echo wait) >control
	check 'the scan runs as README.md shows it' timeout 120 sh -e control
	is 'the client sees the scan' "$(sed -n '1p; 2p; $p' seen | tr -s ' \n' ' ')$(wc -l <seen)" 'start image 0 end 42'
	kill $detector
	wait $detector
else
	skip 'the scan runs as README.md shows it' "$lack is missing"
fi
finish
