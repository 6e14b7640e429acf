#!/bin/sh
# A pipeline runs at 95 % of the speed of its slowest stage, with 1, 4 and 8 sinks.  The stages sleep
# instead of computing, so that many of them fit on two cores.  The system may wake a sleeping stage
# late.  So the slowest stage is measured by its own reports: the time in which it neither works
# nor sleeps is lost.  The first frames, which fill the pipeline, do not count.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"

# run FRAMES PIXELS MAKE WORK SINK SINKS: a stream of this edge, with these sleeps in ms
run() {
	fresh
	rm -f ./*.stats
	stage first first --pixels="$2" --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames="$1" &
	stage make make --in="ipc://$d/s" --out="@ipc://$d/m" --sleep="$3" --stats=make.stats &
	stage work relay --in="ipc://$d/m" --out="@ipc://$d/w" --sleep="$4" --stats=work.stats &
	for run_sink in $(seq "$6"); do
		stage "sink$run_sink" file out --in="ipc://$d/w" --sleep="$5" --stats="sink$run_sink.stats" &
	done
	wait
}

# measure STAGE: how long its processes waited, and how long they ran, in ms of one process
measure() {
	cat "$1"*.stats | perl -ne 'my %s = /"(\w+_s)":([\d.]+)/g; $w += $s{wait_in_s} + $s{wait_out_s}; $a += $s{wall_s}; $n++;
		END { printf "%.0f %.0f", 1e3 * $w / $n, 1e3 * $a / $n }'
}

# differ STAGE ARGUMENT...: how long the stage waits, and how long it takes, for the frames 51 to 450
differ() {
	differ_stage=$1
	shift
	run 50 "$@"
	few=$(measure "$differ_stage")
	run 450 "$@"
	many=$(measure "$differ_stage")
	waits=$((${many% *} - ${few% *})) takes=$((${many#* } - ${few#* }))
	note "$waits of $takes ms"
	[ "$takes" -gt 0 ] && [ $((100 * waits)) -le $((5 * takes)) ]
}

# paced NAME STAGE PIXELS MAKE WORK SINK SINKS: STAGE is the slowest, and waits for at most 5 % of its
# time, in one of three runs, because other programs of a busy machine delay the stages before it
paced() {
	paced_name=$1
	shift
	for paced_try in 1 2 3; do
		paced_status=0
		differ "$@" && break || paced_status=1
	done
	is "$paced_name: all frames are there" "$(find out -type f | wc -l)" 450
	check "$paced_name: the slowest stage waits for at most 5 % of its time" test $paced_status = 0
}

for sinks in 1 4 8; do
	paced "$sinks sinks, slow first stage" make 64 12 8 $((8 * sinks)) $sinks
	paced "$sinks sinks, slow middle stage" work 64 8 12 $((8 * sinks)) $sinks
	paced "$sinks slow sinks" sink 64 8 8 $((12 * sinks)) $sinks
	paced "$sinks slow sinks, images in shared memory" sink 512 8 8 $((12 * sinks)) $sinks
done
finish
