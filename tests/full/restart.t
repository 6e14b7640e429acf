#!/bin/sh
# bragg-run under many kills and freezes: the files of a run that nobody disturbs.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"

sums() {
	(cd out && find . -type f ! -name '*.part' ! -name '*.index' | sort | xargs sha256sum | sha256sum)
}

files() {
	find out -type f ! -name '*.part' | wc -l
}

# pids PROGRAM: of the processes of the run whose command line begins so, in any folder
pids() {
	ps -o pid=,args= --ppid "$runner" | sed -n "s|^ *\([0-9]*\) [^ ]*$1 .*|\1|p"
}

running() {
	kill -0 "$runner" 2>/dev/null
}

grown() { # NUMBER of files
	[ "$(files)" -ge "$1" ] || ! running
}

told() { # NUMBER of restarts
	[ "$(grep -c 'started again' said)" -ge "$1" ] || ! running
}

# begin: starts bragg-run on p.yaml, until frames arrive
begin() {
	rm -rf out
	mkdir out
	bragg-run p.yaml >said 2>&1 &
	runner=$!
	soon grown 20
}

# end_of NAME: waits for it: the same files
end_of() {
	status=0
	wait "$runner" || status=$?
	is "$1: status, files" "$status $(sums)" "0 $expected"
	is "$1: nothing is left" "$(find run -mindepth 1)" ''
	[ "$status" = 0 ] || note "$(tail -n 5 said)"
}

# --- 200 workers killed, three a second.  Not even one death makes a frame that is given up.
# small FRAMES MS: a pipeline with three makers
small() {
	cat >p.yaml <<-END
		stages:
		  - {name: first, program: teststage, args: [first]}
		  - {name: source, program: teststage, args: [source, --frames=$1, --attempts=1]}
		  - {name: make, program: teststage, args: [make, --sleep=$2], count: 3}
		  - {name: sink, program: teststage, args: [sink, $tap_scratch/out]}
	END
}

small 5000 0
begin
wait "$runner"
expected=$(sums)
small 5000 30
begin
hits=0
for number in $(awk 'BEGIN { srand(1); for (i = 0; i < 400; i++) print 1 + int(3 * rand()) }'); do
	[ $hits -lt 200 ] && running || break
	kill -9 "$(pids 'teststage make' | sed -n "${number}p")" 2>/dev/null && hits=$((hits + 1))
	sleep 0.33
done
end_of "$hits kills of workers"
is '200 kills of workers' $hits 200
is '200 kills of workers: each is reported' "$(grep -c 'make[.][123] was killed by signal 9: started again$' said)" 200

# --- a frame is not to blame for who was frozen at work on it
small 4 1000
sed -i 's/--attempts=1/&, --window=1, --dead-after=1/;s/, count: 3//' p.yaml
rm -rf out
mkdir out
bragg-run p.yaml >said 2>&1 &
runner=$!
soon grown 1
for times in 1 2 3; do
	kill -STOP "$(pids 'teststage make')"
	soon told $times
	sleep 0.5 # it is at work on the same frame again
done
status=0
wait "$runner" || status=$?
is 'frozen three times at work on a frame' "$status $(files) $(grep -c 'make no longer answers: started again$' said)" '0 4 3'

# --- real programs, frozen for ever
cat >p.yaml <<END
stages:
  - {name: geometry, args: [--detpixels=48, --pixel=2, --distance=120, --ncells=5]}
  - {name: orient, args: [--random, --frames=300, --dead-after=2]}
  - {name: intensity, count: 2, threads: 1}
  - {name: noise}
  - {name: slow, program: teststage, args: [pass, --sleep=30]}
  - {name: write, args: [$tap_scratch/out/x_%04d.img]}
END
begin
wait "$runner"
expected=$(sums)
for order in 'bragg-intensity bragg-write bragg-orient' 'bragg-orient bragg-noise bragg-write bragg-orient' \
	'bragg-intensity,bragg-noise,bragg-write'; do
	begin
	times=0
	for names in $order; do
		for name in $(echo "$names" | tr , ' '); do
			kill -STOP "$(pids "$name" | head -n 1)" && times=$((times + 1))
		done
		soon told $times
		soon grown $(($(files) + 10))
	done
	end_of "frozen: $order"
	is "frozen: $order: each is told" "$(grep -c 'no longer answers: started again$' said)" $times
done

# --- lack of memory is called that, where a group of processes with a limit can be made
group=$(sed -n 's|^[0-9]*:memory:|/sys/fs/cgroup/memory|p;s|^0::|/sys/fs/cgroup|p' /proc/self/cgroup | while read -r path; do
	[ -d "$path" ] || path=${path%%/memory/*}/memory
	mkdir "$path/bragg-$$" 2>/dev/null || continue
	for limit in memory.limit_in_bytes memory.max; do
		echo 200000000 2>/dev/null >"$path/bragg-$$/$limit" && echo "$path/bragg-$$" && break 2
	done
	rmdir "$path/bragg-$$"
done)
if [ "$group" ]; then
	small 10 0
	sed -i 's/{name: make,.*/{name: make, restart: 0, program: sh, args: [-c, "exec perl -e \x27\$x = q(x) x 1e9\x27"]}/' p.yaml
	status=0
	sh -c 'echo $$ >"$0/cgroup.procs" && exec bragg-run p.yaml' "$group" 2>said || status=$?
	is 'the error says that memory is missing' "$status $(tail -n 1 said)" '1 bragg-run: stage make was killed because the memory was full'
	rmdir "$group"
else
	skip 'the error says that memory is missing' 'no group of processes can be made'
fi
finish
