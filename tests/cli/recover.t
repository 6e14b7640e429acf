#!/bin/sh
# Runs that are cut short and continued: any stage killed and started again, and --resume.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"
frames=100
pause=20  # the time of a frame in ms

# pipeline ORIENT-ARGS NOISE-ARGS: writes p.yaml, all of whose stages are started again; teststage
# sets the speed
pipeline() {
	cat >p.yaml <<-END
		stages:
		  - {name: geometry, args: [--detpixels=48, --pixel=2, --distance=120, --ncells=5]}
		  - {name: orient, args: [--random, --frames=$frames, $1], restart: 9}
		  - {name: intensity, count: 2, restart: 9}
		  - {name: noise, args: [$2], restart: 9}
		  - {name: slow, program: teststage, args: [pass, --sleep=$pause], restart: 9}
		  - {name: write, args: [$tap_scratch/out/x_%04d.img], restart: 9}
	END
}

# digest: names and bytes of the images, and what the index says of them
digest() {
	(cd out && sha256sum *.img && grep -v '^[b#]' x.img.index | sort -u) | sha256sum
}

count() {
	find out -name '*.img' | wc -l
}

# meanwhile COMMAND...: waits until it succeeds, or the run has ended
meanwhile() {
	soon succeeds_or_over "$@"
}

succeeds_or_over() {
	"$@" || ! kill -0 $runner 2>/dev/null
}

# hit NAME...: kills all of their processes, once there are some
hit() {
	for name; do
		meanwhile running "$name"
		for pid in $(pids "$name"); do
			kill -9 "$pid" 2>/dev/null || true
		done
	done
}

grown() { # NUMBER
	[ "$(count)" -ge "$1" ]
}

more() {
	meanwhile grown $(($(count) + 5))
}

# named: ps knows the workers by their names
named() {
	for pid in $(pids intensity); do cat "/proc/$pid/comm"; done 2>/dev/null | sort -u >names
	[ "$(cat names)" = bragg-intensity ]
}

idle() {
	[ -z "$(pids '[a-z]*')" ]
}

# behind OPTION...: starts bragg-run in the background, as a terminal would, until frames arrive
behind() {
	setsid env --default-signal=INT bragg-run p.yaml "$@" >said 2>&1 &
	runner=$!
	meanwhile grown 5
}

# run_to_end: waits for it, leaving its exit status
run_to_end() {
	status=0
	wait $runner || status=$?
}

fresh() {
	rm -rf out
	mkdir out
}

pipeline
fresh
check 'a run that nobody disturbs' bragg-run --quiet p.yaml
expected=$(digest)

# --- any part is started again: also on a busy machine, the run must last longer than three kills
pause=60
pipeline
fresh
behind
for _ in 1 2 3; do
	hit orient
	more
	meanwhile named
done
run_to_end
is 'source killed three times: processes keep their names' "$(cat names)" bragg-intensity
is 'source killed three times: status, frames' "$status $(grep -c 'orient was killed by signal 9: started again' said)" '0 3'
is 'source killed three times: the same files' "$(digest)" "$expected"
is 'source killed three times: nothing is left' "$(find run -mindepth 1)$(pids '[a-z]*')" ''

fresh
behind
for _ in 1 2 3; do
	hit write
	more
done
hit intensity noise pass
more
hit orient write noise
run_to_end
is 'sink, all workers, then half of the stages killed: status' "$status" 0
is 'sink, all workers, then half of the stages killed: the same files' "$(digest)" "$expected"
pause=20

# --- small stages
small() { # SINK-ARGS...: writes p.yaml; the sink says in `log` what it does
	cat >p.yaml <<-END
		stages:
		  - {name: first, program: teststage, args: [first]}
		  - {name: source, program: teststage, args: [source, --frames=300], restart: 9}
		  - {name: make, program: teststage, args: [make, --sleep=8, --slow-every=3], count: 3, restart: 9}
		  - {name: sink, program: teststage, args: [$1, $tap_scratch/out, --log=$tap_scratch/log, --sleep=5], restart: 9 $2}
	END
	rm -f log
	fresh
}

logged() { # NUMBER of lines
	[ "$(cat log 2>/dev/null | wc -l)" -ge "$1" ]
}

# go_on: until more frames are there
go_on() {
	meanwhile logged $(($(wc -l <log) + 15))
}

start_small() { # OPTION...
	setsid env --default-signal=INT bragg-run p.yaml "$@" >said 2>&1 &
	runner=$!
	meanwhile logged 20
}

# A sink that cannot tell from its files: nothing comes again but what it says
small file
start_small --verbose
for _ in 1 2; do
	hit source
	go_on
done
run_to_end
is 'a sink without an index remembers: status, frames' "$status $(find out -type f | wc -l) $(sort -u log | wc -l)" '0 300 300'
check 'a sink without an index remembers' test "$(sort log | uniq -d | wc -l)" -le "$(grep -c 'cut short' said)"

# What gave the source its experiment has not quite ended yet
small file
sed -i 's/args: .first./args: [first, --sleep=60000]/' p.yaml
start_small
hit source
run_to_end
is 'source killed before the one before it has ended' "$status $(find out -type f | wc -l) $(grep -c killed said)" '0 300 1'

# In order, whoever dies, and continued
small sink ', order: true'
start_small
hit source
go_on
hit sink
go_on
hit source make
go_on
kill -INT $runner
run_to_end
before=$(wc -l <log)
start_small --resume
meanwhile logged $((before + 15))
hit source
run_to_end
is 'in order through restarts and --resume: status, frames' "$status $(find out -type f ! -name '*.part' | wc -l)" '0 300'
check 'in order through restarts and --resume' sort -n -u -c log

pipeline
sed -i 's/restart: 9/restart: 1/' p.yaml
fresh
behind
hit orient
more
hit orient
run_to_end
is 'a source has a limit of restarts too' "$status $(tail -n 1 said)" '1 bragg-run: stage orient was killed by signal 9 (Killed)'
is 'at the limit nothing is left' "$(find run -mindepth 1)$(pids '[a-z]*')" ''

# --- resume
check '--resume after a failure' bragg-run --quiet --resume p.yaml
is '--resume after a failure: the same files' "$(digest)" "$expected"
check_status 'nothing is lacking' 0 bragg-run --resume p.yaml
is 'a message says that all frames are finished already' "$tap_output" "orient| bragg-orient: all $frames frames are finished already; nothing to compute"

fresh
behind
kill -INT $runner
run_to_end
is 'Ctrl-C' "$status" 130
there=$(count)
bragg-run --resume --stats p.yaml >table
is '--resume after Ctrl-C: the same files' "$(digest)" "$expected"
is '--resume after Ctrl-C: the rest is computed' "$(awk '$1 == "write" {print $2}' table)" $((frames - there))

fresh
behind
kill -9 $runner
hit '[a-z]*'
soon idle
wait
check '--resume after kill -9 of everything' bragg-run --quiet --resume p.yaml
is '--resume after kill -9 of everything: the same files' "$(digest)" "$expected"

rm out/x_0007.img
truncate -s 100 out/x_0009.img
printf '9999\t0000' >>out/x.img.index
bragg-run --resume --stats p.yaml >table
is 'corrupt files are written again' "$(awk '$1 == "write" {print $2}' table)" 2
is 'corrupt files are written again: the same files' "$(digest)" "$expected"

# --- a recipe that has changed
before=$(digest)
changed() { # ORIENT-ARGS NOISE-ARGS WHAT
	pipeline "$1" "$2"
	check_status "changed: $3" 3 bragg-run --resume p.yaml
	is "changed: $3, is named" "$(echo "$tap_output" | grep -c "frames that were made with other options ($3). Use --overwrite")" 1
}
changed --seed=8 '' 'bragg-orient: --seed was 1, is 8'
changed '' '--gain=2.5' 'bragg-noise: --gain was 1, is 2.5'
is 'changed: nothing is touched' "$(digest)" "$before"

pipe() { # FRAMES SEED RESUME
	bragg-geometry --detpixels=48 --pixel=2 --distance=120 --ncells=5 | bragg-orient --random --frames="$1" --seed="$2" |
		bragg-intensity | bragg-noise | bragg-write pipe/x_%04d.img $3
}
mkdir pipe
pipe 4 1
pipe 4 2 --resume 2>said
is 'a shell pipe refuses a changed seed too' "$? $(grep -c 'bragg-orient: --seed was 1, is 2' said)" '3 1'
cp -p pipe/x_0003.img first
pipe 7 1 --resume
is 'more frames are an extension' "$? $(ls pipe | wc -l)" '0 8'
check 'more frames are an extension: the others stay' test ! pipe/x_0003.img -nt first

finish
