#!/bin/sh
# Stages that get too little of the system, or a signal, wherever they stand: one line, a status,
# nothing left; and numbers of frames that do not fit the number of workers.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
first_options=--pixels=1000

# limited_chain VICTIM LIMIT VALUE FRAMES: a chain of which one stage has a limit (ulimit)
limited_chain() {
	fresh
	one() {
		if [ "$1" = "$limited_victim" ]; then
			ulimit "$limited_limit" "$limited_value"
		fi
		stage "$1" "$@"
	}
	limited_victim=$1 limited_limit=$2 limited_value=$3
	one first $first_options | one source --frames="$4" | one make | one sink out
}

# refused NAME TEXT: the sink, and so the run, ended with 1; that is all that is said; nothing is left
refused() {
	is "$1: status" "$(cat sink.status)" 1
	is "$1: why" "$(cat errors.*)" "$2"
	is "$1: nothing is left" "$(find out -name '*.part'; find run -mindepth 1)" ''
}

for victim in first source make sink; do
	limited_chain $victim -n 20 10
	refused "20 open files, $victim" \
		"test-$victim: the limit of open files is too small (ulimit -n, got 20); expected at least 64"
done
limited_chain sink -n 64 10
is '64 open files are enough' "$(statuses first source make sink) $(find out -type f | wc -l)" '0 0 0 0 10'

# small THREADS: a stream of small frames into files of all kinds, through every kind of noise
small() {
	bragg-geometry --detpixels=64 --pixel=1 --ncells=5 --fluence=1e26 --oversample=1 |
		bragg-orient --frames=2 --quiet | bragg-intensity --threads="$1" | bragg-background --water=9 --threads="$1" |
		bragg-noise --adc-offset=0 --readout=3 --flicker=0.1 --calibration=0.1 --threads="$1" --quiet |
		bragg-write s_%d.img s_%d.cbf s_%d.raw s.nxs --preview=s_%d.png
}
if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'small stacks, few processes' 'sanitizers have threads and stacks of their own'
else
	# a stack that is too small, of the first thread or of OpenMP's
	bin=$(dirname "$(command -v bragg-run)")
	for program in "$bin"/bragg-*; do
		name=$(basename "$program")
		is "64 KiB of stack, $name" "$( (ulimit -s 64 && "$program" --version) 2>&1; echo $?)" \
			"$name: the limit of the stack is too small (ulimit -s, got 64 KiB); expected at least 512 KiB
1"
	done
	is '512 KiB of stack are enough' "$( (ulimit -s 512 && small 2 && ulimit -s 512 && bragg-replay --recompute s_1.cbf) 2>&1)" \
		's_1.cbf: the same bytes'
	rm -f s_* s.*
	is "64 KiB of stack for OpenMP's threads" "$(OMP_STACKSIZE=64k bragg-noise --threads=2 --in=ipc://$PWD/n --out=@ipc://$PWD/o 2>&1; echo $?)" \
		'bragg-noise: the stack of OpenMP threads is too small (OMP_STACKSIZE, got 64 KiB); expected at least 512 KiB
1'

	for sink in "write --threads=2 x_%d.img" "serve --threads=2 --bind=ipc://$PWD/b"; do
		name=bragg-${sink%% *}
		is "64 KiB of stack for the threads of $name" "$(OMP_STACKSIZE=64k bragg-$sink --in=ipc://$PWD/n 2>&1; echo $?)" \
			"$name: the stack of OpenMP threads is too small (OMP_STACKSIZE, got 64 KiB); expected at least 512 KiB
1"
	done

	# as many processes and threads of a user as do not suffice: no signal, and nothing is left
	if setpriv --reuid=61234 --regid=61234 --clear-groups prlimit --nproc=9 true 2> /dev/null; then
		chmod 711 .
		mkdir few few/bin
		cp "$bin"/bragg-* few/bin
		chmod -R a+rx few
		chmod a+rwx few
		cat > few/chain <<- 'END'
			st() { "$@" 2>> said; echo $? >> statuses; }
			st bragg-geometry --ncells=5 --detpixels=64 --pixel=1 | st bragg-orient --frames=2 |
				st bragg-intensity --threads=6 | st bragg-write x_%d.img
		END
		# as LIMIT COMMAND...: what it says as a user of so many processes and threads, and its status
		as() {
			limit=$1
			shift
			(cd few && PATH=$PWD/bin:$PATH setpriv --reuid=61234 --regid=61234 --clear-groups prlimit --nproc="$limit" "$@" 2>&1)
			echo $?
		}
		why='cannot start a thread: Resource temporarily unavailable'
		for program in geometry orient write; do
			in=--in=ipc:///n out=--out=@ipc://$PWD/few/o
			case $program in geometry) in= ;; write) out=x_%d.img ;; esac
			is "2 processes, bragg-$program" "$(as 2 bragg-$program $in $out)" "bragg-$program: $why
1"
		done
		for program in intensity noise 'background --water=1'; do
			# shellcheck disable=SC2086 # options are meant to split
			is "6 threads of 5, bragg-$program" "$(as 5 bragg-$program --threads=6 --in=ipc:///n --out=@ipc://$PWD/few/o)" \
				"bragg-${program%% *}: $why
1"
		done
		is '3 threads of 2, bragg-nanobragg' \
			"$(as 2 bragg-nanobragg --engine=cpu --physics=physical --threads=3 -cell 70 -default_F 1 -N 5 -detpixels 8 | tail -n 2)" \
			"bragg-nanobragg: $why
1"
		is 'nothing is left' "$(ls few | tr '\n' ' ')" 'bin chain '
		for limit in 12 16 20; do
			as $limit sh chain > /dev/null
			is "$limit processes for a stream: no signal, nothing is left" \
				"$(grep -v '^[01]$' few/statuses 2> /dev/null; ls few | grep -v 'said\|statuses' | tr '\n' ' ')" 'bin chain '
			rm -f few/said few/statuses
		done
	else
		skip 'few processes' 'needs the right to become another user'
	fi
fi

if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'memory' 'sanitizers need more address space than a limit leaves'
else
	# from too little for a thread, over too little for a few images, to too little for shared memory
	warning='test-make: warning: cannot create shared memory: Cannot allocate memory; images are sent inside the messages instead'
	limited_chain make -v 30000 100
	refused '30000 KiB of memory' 'test-make: cannot start a thread: Resource temporarily unavailable'
	for kib in 40000 45000; do
		limited_chain make -v $kib 100
		for other in first source sink; do # they may say that test-make died
			rm -f errors.$other
		done
		refused "$kib KiB of memory" "$warning
test-make: out of memory for 4000000 bytes. Use smaller images, fewer threads, or a machine with more memory; 'ulimit -v' shows a limit"
	done
	limited_chain make -v 150000 100
	is '150000 KiB of memory are enough' "$(statuses first source make sink) $(find out -type f | wc -l)" '0 0 0 0 100'
	is '150000 KiB of memory: what that costs is said' "$(cat errors.*)" "$warning"

	# the counts of the second frame find no memory: 100 x 100 pixels of two bytes, in steps of 64 bytes
	mkdir counts
	status=0
	bragg-geometry --detpixels=100 --pixel=1 --ncells=5 --fluence=1e26 | bragg-orient --frames=3 --quiet |
		bragg-intensity --threads=1 --quiet 2> before |
		(LD_PRELOAD="$(command -v faults.so)" FAULT='memory 2 ENOMEM' FAULT_BYTES=20032 bragg-noise --threads=1 --transport=inline 2> said
			echo $? > noise.status) |
		bragg-write counts/x_%d.img 2> errors || status=$?
	is 'an image without memory: status' "$(cat noise.status) $status" '1 1'
	is 'an image without memory: one line' "$(cat said)" \
		"bragg-noise: out of memory for 20000 bytes. Use smaller images, fewer threads, or a machine with more memory; 'ulimit -v' shows a limit"
	is 'an image without memory: the frame before is whole, no other begins' "$(ls counts | grep -v index)" x_0.img

	# little_memory COMMAND...: runs a command in the folder `little`, with ever more memory.  Prints what was seen: 'ended' if
	# the command said one line about memory and left no part of a file, 'whole' if it succeeded, else the limit and what it said
	little_memory() {
		for kib in 14000 16000 18000 20000 22000 24000 26000 28000 30000 32000 36000 40000 44000 48000 60000 80000 120000; do
			rm -rf little
			mkdir little
			(cd little && ulimit -v $kib && exec "$@") > said 2> errors
			case $?$(grep -c 'cannot start a thread\|shared libraries' errors) in
			00) echo whole ;;
			*0) if [ "$(grep -c '^bragg-.*: out of memory for ' errors) $(ls little | grep -c part-)" = '1 0' ]; then
				echo ended
			else
				echo "$kib: $(cat errors; ls little)"
			fi ;;
			esac
		done | sort -u | tr '\n' ' '
	}
	is 'little memory, bragg-nanobragg' "$(little_memory bragg-nanobragg --engine=cpu --threads=1 -cell 70 80 90 90 90 90 \
		-default_F 1 -N 5 -detpixels 1500 -nopgm)" 'ended whole '
	is 'little memory, bragg-compare' "$(mv little/intimage.img . && little_memory bragg-compare "$PWD"/intimage.img "$PWD"/intimage.img)" 'ended whole '
fi
first_options=

# signalled SIGNAL VICTIM: a stream that gets a signal when it flows
signalled() {
	fresh
	{
		stage first first | stage source source --frames=2000 | stage make make --sleep=2 |
			stage work work | stage sink sink out
	} &
	flowing
	kill "-$1" "$(cat "$2.pid")"
}
for signal in TERM HUP; do
	for victim in $([ $signal = HUP ] && echo make || echo source make work sink); do
		signalled $signal $victim
		wait
		is "SIG$signal to $victim: all end with 1" "$(statuses source make work sink)" '1 1 1 1'
		is "SIG$signal to $victim: one line" "$(cat errors.* | sed 's/signal [0-9]*/signal N/')" \
			"test-$victim: stopped by signal N (SIG$signal)"
		is "SIG$signal to $victim: nothing is left" "$(find out -name '*.part'; find run -mindepth 1)" ''
	done
done
for victim in source make work sink; do
	signalled INT $victim
	[ $victim = source ] || { sleep 0.3 && kill -INT "$(cat $victim.pid)"; }
	wait
	is "SIGINT to $victim: all end with 130" "$(statuses source make work sink)" '130 130 130 130'
	is "SIGINT to $victim: nothing is said" "$(cat errors.*)" ''
	check "SIGINT to $victim: before the end" test "$(find out -type f | wc -l)" -lt 2000
done
for signal in TERM HUP INT; do
	fresh
	stage first first --out="@ipc://$d/g" &
	while [ ! -S run/g ]; do sleep 0.05; done
	kill -$signal "$(cat first.pid)"
	wait
	is "SIG$signal ends a process that waits for others" "$(statuses first)" "$([ $signal = INT ] && echo 130 || echo 1)"
	is "SIG$signal to a process that waits for others: no file is left" "$(find run -mindepth 1)" ''
done

# as many workers as divide no number of frames
for frames in 1 2 7 50; do
	fresh
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=$frames &
	for i in 1 2 3; do
		stage make$i make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=$((1000 / (frames / 3 + 1))) &
	done
	stage work work --in="@ipc://$d/w" --out="@ipc://$d/x" &
	stage sink1 sink out --in="ipc://$d/x" &
	stage sink2 sink out --in="ipc://$d/x" &
	wait
	is "$frames frames, three makers and two sinks" \
		"$(statuses first source make1 make2 make3 work sink1 sink2) $(find out -type f | wc -l)" \
		"0 0 0 0 0 0 0 0 $frames"
done
finish
