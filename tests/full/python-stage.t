#!/bin/sh
# A stage in Python stands in the middle of a pipeline: it changes every pixel as it says, lives as
# long as it works, comes back after a death, and says why it ends.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$(cd "$BRAGG_TESTS/.." && pwd)
needs 'a stage in Python' python:zmq python:msgpack python:numpy
scratch
. "$BRAGG_TESTS/faults.sh"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$top/pipelines"

# python NAME BODY [IMPORT]: an executable NAME.py whose function has this body
python() {
	printf '#!/usr/bin/python3\nimport braggpipe, os, time\n%s\n\n\ndef %s(image, frame):\n    %s\n\n\nbraggpipe.transform("%s", %s)\n' \
		"$3" "$1" "$2" "$1" "$1" >"$1.py"
	chmod +x "$1.py"
}

# photons NAME [COMMAND]: three frames of 200 x 200 pixels through a stage
photons() {
	name=$1
	shift
	bragg-geometry --detpixels=200 | bragg-orient --frames=3 --random | bragg-intensity | "$@" |
		bragg-write "$name"_%d.raw
}
check 'through a stage that changes nothing' photons plain "$top/pipelines/vignette.py" 0
check 'through a stage that darkens' photons dark "$top/pipelines/vignette.py" 1
is 'three frames come out' "$(ls dark_*.raw | wc -l)" 3
check 'pixels are those that the function computes' /usr/bin/python3 -c '
import numpy
y, x = numpy.mgrid[-1:1:200j, -1:1:200j]
for i in range(3):
    a, b = (numpy.fromfile(f"{n}_{i}.raw", "f4").reshape(200, 200) for n in ("plain", "dark"))
    assert a.sum() > 0 and numpy.allclose(b, a * (1 - (x * x + y * y) / 2), rtol=1e-6, atol=0)'
is 'another strength has another lineage' \
	"$(head -n 1 dark.raw.index | cut -d' ' -f3 | grep -c "$(head -n 1 plain.raw.index | cut -d' ' -f3)")" 0

# --- why it ends
# fails NAME LINE BODY: such a function ends the run, with this line
fails() {
	python "$1" "$3"
	status=0
	photons "$1" "./$1.py" 2>messages || status=$?
	is "$1: status, files, line" "$status $(find . -name "$1_*" | wc -l) $(grep -c "^$1: frame [0-2]: $2\$" messages)" '1 0 1'
	check "$1: nobody else has more to say" test "$(grep -vc "^$1: " messages)" = 0
}
fails broken 'TypeError: unsupported .*NoneType. (broken.py:7)' 'return image / None'
fails short 'the function returned 39800 pixels; expected 40000' 'return image[1:]'
fails forgets 'the function returned None; expected an image' 'image *= 2'
fails words 'the function returned <U4; expected numbers' 'return [["dark"]]'
fails infinite 'pixel 7 is inf; expected a finite number that fits into 32 bits' 'image[0, 7] = float("inf"); return image'
fails large 'pixel 3 is 4294967296; expected a finite number that fits into 32 bits' 'image = image.astype(int); image[0, 3] = 1 << 32; return image'
fails leaves 'SystemExit: 0 (leaves.py:7)' 'raise SystemExit(0)'
mkdir temporary
python dead 'os.kill(os.getpid(), 9)'
status=0
TMPDIR=$PWD/temporary photons dead ./dead.py 2>messages || status=$?
is 'a stage that dies ends the run' "$status" 1
check 'a stage that dies leaves no socket' soon sh -c '[ -z "$(ls temporary)" ]'
is 'a stage that dies leaves no file' "$(find . -name 'dead_*' | wc -l)" 0

# refused NAME LINE OPTION...: status 2 and one line
refused() {
	name=$1 line=$2
	shift 2
	status=0
	"$top/pipelines/vignette.py" "$@" </dev/null >said 2>&1 || status=$?
	is "refused: $name" "$status $(wc -l <said) $(grep -c "^v[a-z.]*: .*$line" said)" '2 1 1'
}
refused 'an unknown option' 'unrecognized arguments: --bogus' --bogus
refused 'half an option' 'unrecognized arguments: --gro=x' --gro=x
refused 'an option twice' '--group is given more than once; give it once' --group=a --group=b
refused 'no number' 'argument strength: invalid float value' much
refused 'no pipe' 'stdout is not a pipe. Put a stage after this one, or name an endpoint with --out=ENDPOINT'
refused 'an endpoint without a transport' "endpoint 'x': expected ipc://PATH or tcp://HOST:PORT" --in=x --out="@ipc://$PWD/o"
refused 'tcp without keys' 'needs keys. Use --keys=DIR .*or --insecure' --in=tcp://127.0.0.1:9 --out="@ipc://$PWD/o"
refused 'keys, and none' '--keys and --insecure exclude each other' --in=tcp://127.0.0.1:9 --out="@ipc://$PWD/o" --keys=none --insecure
check_status 'keys that are not there: status' 1 "$top/pipelines/vignette.py" --in=tcp://127.0.0.1:9 --out="@ipc://$PWD/o" --keys="$PWD/none"
echo user >mine
refused 'a file instead of a socket' 'mine: exists already, and is not a socket' --in="ipc://$PWD/i" --out="@ipc://$PWD/mine"
is 'a file that exists stays as it was' "$(cat mine)" user
check 'help says what it takes' sh -c "'$top/pipelines/vignette.py' --help | grep -q -e --keys"
"$top/pipelines/vignette.py" --in="ipc://$PWD/i" --out="@ipc://$PWD/o" --start-timeout=0.5 2>said
is 'nobody is there' "$? $(grep -c "ipc://$PWD/i: no process binds this endpoint. One end needs @" said)" '1 1'

# --- alive as long as it works
python slow 'time.sleep(0.2); return image'
small='bragg-geometry --detpixels=64 --pixel=1.6 --distance=120 --ncells=5'
check 'a slow function is not presumed dead' sh -c "$small | bragg-orient --frames=40 --random --hang=2 |
	bragg-intensity --threads=1 | ./slow.py | bragg-write s_%d.raw"
is 'all frames of the slow function are written' "$(ls s_*.raw | wc -l)" 40
python busy 'end = time.thread_time() + 4
    while time.thread_time() < end: pass
    return image'
check 'a function that computes for longer than --hang is not presumed dead' sh -c "$small | bragg-orient --frames=1 --random --hang=2 |
	bragg-intensity --threads=1 | ./busy.py | bragg-write b_%d.raw"
python stuck 'time.sleep(1000)'
status=0
timeout 60 sh -c "$small | bragg-orient --frames=40 --random --hang=2 | bragg-intensity --threads=1 | ./stuck.py | bragg-write t_%d.raw" 2>messages || status=$?
is 'one that stands still is' "$status" 1
check 'a message names the stage that stands still' grep -q -e '^stuck: the source presumed this process dead' -e 'stuck (the stage [a-z]* this one) died' messages

# --- many of them, from a file
# pipeline STAGE COUNT FRAMES: p.yaml with this stage in the middle
pipeline() {
	cat >p.yaml <<-END
		stages:
		  - {name: geometry, args: [--detpixels=64, --pixel=1.6, --distance=120, --ncells=5]}
		  - {name: orient, args: [--frames=$3, --random, --hang=2, --attempts=100], restart: 100}
		  - {name: intensity, count: 2, threads: 1}
		  - {name: python, program: $1, count: $2, restart: 100}
		  - {name: noise, threads: 1}
		  - {name: write, args: [x_%04d.img]}
	END
}
# images FOLDER
images() {
	(cd "$1" && sha256sum x_*.img) | sha256sum
}
pipeline "$top/pipelines/vignette.py" 1 60
check 'bragg-run starts one' bragg-run --quiet --workdir=one p.yaml
pipeline "$top/pipelines/vignette.py" 2 60
check 'bragg-run starts two, and learns what they cost' sh -c 'bragg-run --workdir=two --stats --trace=trace p.yaml >report'
is 'two processes make the images of one' "$(images two)" "$(images one)"
is 'both processes compute frames' "$(awk '/^python/ && $2 > 0 && $3 > 0 {sum += $2} END {print sum}' report)" 60
check 'the trace has the work of both processes' /usr/bin/python3 -c '
import json
spans = [e for e in json.load(open("trace")) if e["ph"] == "X"]
pids = {e["pid"] for e in json.load(open("trace")) if e.get("args", {}).get("name") == "vignette"}
assert len({e["args"]["frame"] for e in spans if e["pid"] in pids and e["name"] == "compute"}) == 60'

pipeline "$PWD/slow.py" 3 100
sed -i 's/time.sleep(0.2)/time.sleep(0.1)/' slow.py
bragg-run --workdir=killed p.yaml 2>messages &
runner=$!
for count in 5 15 30 45 60; do # a worker is killed whenever so many frames are there
	soon sh -c "[ \$(ls killed 2>/dev/null | grep -c img) -gt $count ]"
	kill -9 "$(pgrep -f "$PWD/slow.py" | shuf -n 1)"
done
status=0
wait "$runner" || status=$?
is 'workers that are killed are started again' "$status $(grep -c 'killed by signal 9: started again' messages)" '0 5'

bragg-run --workdir=anew p.yaml 2>messages &
runner=$!
for count in 5 40; do
	soon sh -c "[ \$(ls anew 2>/dev/null | grep -c img) -gt $count ]"
	kill -9 "$(pgrep -f "bragg-orient.*$PWD" || pgrep bragg-orient)"
done
status=0
wait "$runner" || status=$?
is 'processes start again with a source that is started again' \
	"$status $(grep -c 'orient was killed by signal 9: started again' messages)" '0 2'

pipeline "$PWD/slow.py" 1 100
sed -i 's/time.sleep(0.1); //' slow.py
check 'a run that nobody disturbs' bragg-run --quiet --workdir=whole p.yaml
is 'killed processes change no image' "$(images killed) $(images anew)" "$(images whole) $(images whole)"
is 'no process and no socket is left' "$(pgrep -f "$PWD/slow.py")$(ls -A run)" ''

# --- by hand: what others do, and a network that does harm
python work 'return image + 1'
# harm KINDS: makers and the stage behind a proxy
harm() {
	set -- "$1" $(free_ports 8)
	at=tcp://127.0.0.1
	proxy 1 "$1" 100 "$3:$2" "$5:$4" >harm &
	helper=$!
	stage first first $first_options --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --control="$at:$6" --frames=300 --dead-after=5 --rejoin-timeout=20 --insecure &
	stage make make --in="ipc://$d/s" --out="@$at:$2" --sleep=4 --insecure &
	stage work env ./work.py --in="$at:$3" --out="@$at:$4" --insecure --quiet &
	stage sink sink out --in="$at:$5" --insecure &
	settle
}
stage() { # as in faults.sh, but env is no test stage
	stage_name=$1
	shift
	sh -c 'echo $$ >"$0.pid"; case $1 in env) exec "$@" ;; esac; exec env --default-signal=INT teststage "$@"' "$stage_name" "$@" 2>>"errors.$stage_name"
	stage_status=$?
	echo $stage_status >"$stage_name.status"
	return $stage_status
}
first_options=--pixels=100
expected=$(plain 300)
for kind in f ct; do
	fresh
	harm $kind
	is "a network ($kind): all end well" "$(statuses first source make work sink)" '0 0 0 0 0'
	is "a network ($kind): the same files" "$(digest out)" "$expected"
done

# --- keys: two stages in Python with tcp between them, and strangers
# keys FOLDER
keys() {
	mkdir -m 700 "$1"
	/usr/bin/python3 -c 'import sys, zmq.auth; [zmq.auth.create_certificates(sys.argv[1], n) for n in ("server", "client", "watcher")]' "$1"
	chmod 600 "$1"/*
}
keys ours
keys theirs
set -- $(free_ports 1)
at=tcp://127.0.0.1:$1
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=850 &  # longer than all thieves
stage make make --in="ipc://$d/s" --out="@ipc://$d/m" --sleep=30 &
stage upper env ./work.py --in="ipc://$d/m" --out="@$at" --keys=ours &
stage lower env ./work.py --in="$at" --out="@ipc://$d/x" --keys=ours &
stage sink sink out --in="ipc://$d/x" &
flowing
mkdir -m 700 mixed
cp ours/server.key theirs/client.key_secret mixed
# thief NAME LINE OPTION...: such a stage ends with status 1 and this line
thief() {
	name=$1 line=$2
	shift 2
	rm -f errors.thief
	stage thief env ./work.py --in="$at" --out="@ipc://$d/t" --start-timeout=3 "$@"
	is "$name: status and line" "$(statuses thief) $(grep -c "^work: $line\$" errors.thief)" '1 1'
}
thief "another client's key" "$at: the other end refuses the keys of this stage. Give both ends the same --keys" --keys=mixed
thief 'other keys' "$at: every connection ends before the first message. Give both ends the same --keys" --keys=theirs
thief 'no keys' "$at: every connection ends before the first message. Give both ends the same --keys" --insecure
chmod 644 mixed/client.key_secret
stage thief env ./work.py --in="$at" --out="@ipc://$d/t" --keys=mixed
is 'keys that others can read' "$(statuses thief) $(grep -c 'other users can read or change this file. Run: chmod go-rwx' errors.thief)" '2 1'
settle
is 'keys: all end well' "$(statuses first source make upper lower sink)" '0 0 0 0 0 0'
is 'keys: all frames are there' "$(find out -type f | wc -l)" 850
check 'keys: refused connections are counted' grep -q '^work: warning: [1-9][0-9]* connections were refused' errors.upper

bragg-run --make-keys="$PWD/made"
rm made/watcher.* # nobody watches
set -- $(free_ports 4)
at=tcp://127.0.0.1
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@$at:$1" --control="$at:$2" --frames=100 --keys=made &
stage make make --in="$at:$1" --out="@$at:$3" --keys=made &
stage work env ./work.py --in="$at:$3" --out="@$at:$4" --keys=made &
stage sink sink out --in="$at:$4" --keys=made &
settle
is 'keys of bragg-run: all end well' "$(statuses first source make work sink) $(find out -type f | wc -l)" '0 0 0 0 0 100'

# a durable group that nobody asked for takes no frame, and nobody waits for it
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" --frames=100 --verbose &
stage make make --in="ipc://$d/s" --out="@ipc://$d/m" --sleep=6 &
stage work env ./work.py --in="ipc://$d/m" --out="@ipc://$d/w" &
stage sink sink out --in="ipc://$d/w" &
flowing
timeout 60 stranger sink "ipc://$d/c" name=idle data="ipc://$d/w" group=idle credit=0 >said.idle 2>&1 &
settle
is 'a group that the source did not ask for does not delay the run' \
	"$(statuses first source make work sink) $(find out -type f | wc -l) $(grep -c 'idle.*died' errors.source)" '0 0 0 0 0 100 0'

finish
