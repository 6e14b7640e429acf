#!/bin/sh
# Processes join a run and leave it again: the same files, nothing computed twice, no error.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir bin far
cp "$BRAGG_TESTS/standin/ssh.sh" bin/ssh
chmod +x bin/ssh
export FAR="$tap_scratch/far" PATH="$tap_scratch/bin:$PATH" XDG_RUNTIME_DIR="$tap_scratch"
cat >p.yaml <<'END'
stages:
  - {name: geometry, args: [--detpixels=96, --pixel=1, --distance=120, --ncells=8, --oversample=4]}
  - {name: orient, args: [--random, --frames=200, --dead-after=60]}
  - {name: intensity, threads: 1}
  - {name: noise}
  - {name: write, args: ["x_%04d.img"]}
END

digest() {
	(cd "$1" && sha256sum ./*.img) | sha256sum
}

# begun WORKDIR: the run there has files
begun() {
	[ -e "$1/x_0003.img" ]
}

# begin WORKDIR OPTION...: starts a run, waits until it makes files
begin() {
	folder=$1
	shift
	bragg-run --workdir="$folder" --stats "$@" p.yaml >"$folder.stats" 2>"$folder.said" &
	run=$!
	soon begun "$folder"
	held=$(pids write)
	kill -STOP "$held"
}

# ends NAME FOLDER: the run goes on, and ends well
ends() {
	kill -CONT "$held"
	wait "$run" && status=0 || status=$?
	is "$1" "$status $(digest "$2")" "0 $expected"
}

# asked STATUS TEXT OPTION...: what bragg-run says to that
asked() {
	wanted=$1 text=$2
	shift 2
	said=$(bragg-run "$@" 2>&1) && status=0 || status=$?
	is "$*" "$status $(echo "$said" | grep -c . ) $(echo "$said" | grep -c -- "$text")" "$wanted 1 1"
}

# made WORKDIR: frames that its workers made
made() {
	awk '/^intensity/ { n += $2 } END { print n }' "$1.stats"
}

bragg-run --quiet --workdir=one p.yaml
expected=$(digest one)

begin two
asked 0 '^intensity: 3 processes$' --add=intensity=2 two
asked 0 '^intensity: 4 processes$' --add=intensity=1 p.yaml
asked 0 '^intensity: 1 process; removed processes finish' --remove=intensity=3
asked 0 '^intensity: 2 processes$' --add intensity=1
asked 2 "one must remain" --remove=intensity=2 two
asked 2 "the process count of 'noise' is fixed during a run; only 'intensity' can change" --add=noise=1 two
asked 2 "the process count of 'orient' is fixed" --remove=orient=1 two
asked 2 "the process count of 'write' is fixed" --add=write=1 two
asked 2 "no stage is called 'x'; p.yaml has" --add=x=1 two
asked 2 'out of range; expected a value from 1 to 1000' --add=intensity=0 two
asked 2 'out of range' --add=intensity=1001 two
asked 2 'expected STAGE=VALUE' --add=intensity two
asked 2 'expected STAGE=N' --add="$(printf '%0100d' 1)" two
asked 2 '^bragg-run: --quiet cannot be used with --add' --add=intensity=1 --quiet two
asked 2 'not found; expected an endpoint' --add=intensity=1 nowhere
ends 'the run ends well, with the same files' two
is 'nothing is computed twice' "$(made two)" 200
is 'nothing is said of it' "$(grep -v 'subpixels\|limits the speed' two.said)" ''
is 'all five are reported' "$(grep -c '^intensity' two.stats)" 5
asked 1 'no pipeline is running in two' --add=intensity=1 two

# One that leaves and is killed meanwhile is not started again; a new one is.
begin three --count=intensity=2
asked 0 '3 processes' --add=intensity=1 three
pkill_worker() {
	for pid in $(pids intensity); do
		kill -9 "$pid"
		break
	done
}
check 'a worker is killed' pkill_worker
asked 0 '2 processes' --remove=intensity=1 three
ends 'the run ends well all the same' three

# On other hosts.
begin four --launcher=ssh --hosts=a,b --count=intensity=2
asked 0 '4 processes' --add=intensity=2 four
asked 0 '1 process;' --remove=intensity=3 four
ends 'a run on several hosts ends well' four
is 'nothing is computed twice there' "$(made four)" 200

# What is no wish, and who may ask.
begin five
folder=$(find . -maxdepth 1 -name 'bragg-run-*')
printf 'remove ../../x=1 ; rm -rf .\n' >"$folder/wish-1"
: >"$folder/wish-2"
soon [ -e "$folder/told-1" ]
is 'a file that is no wish is answered' "$(cat "$folder/told-1")" \
	"2 --remove: no stage is called '../../x'; p.yaml has geometry, orient, intensity, noise, write"
is 'the folder is for its user alone' "$(stat -c %a "$folder")" 700
kill -TERM "$run"
asked 1 'is ending\|has ended\|no pipeline is running' --add=intensity=1 five
kill -CONT "$held"
wait "$run" && status=0 || status=$?
is 'a signal ends it' "$status" 1
finish
