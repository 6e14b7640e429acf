#!/bin/sh
# bragg-write: frames of NXmx that a thread stores while the next one is packed. They are acknowledged when they are
# stored, and a process that is killed or has a full disk loses none.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run whole
export XDG_RUNTIME_DIR="$tap_scratch/run"
frames=9 # of 2 MiB each, without compression: three writes each

bragg-geometry --quiet --detpixels=1024 --pixel=0.1 --distance=120 --wavelength=1.0 --ncells=5 |
	bragg-orient --quiet --random --frames=3 | bragg-intensity --threads=1 --quiet |
	bragg-noise --quiet --adc-offset=0 --seed=9 --threads=1 | bragg-tap --quiet --record=all.rec
replay() { # OPTION...
	bragg-replay --quiet --loop=3 "$@" all.rec 2>>upstream
}
# write FOLDER OPTION...
write() {
	write_folder=$1
	shift
	bragg-write --quiet "$write_folder/s.nxs" --compression=none --frames-per-file=5 --threads=2 "$@"
}
# complete NAME FOLDER: the folder holds the files of `whole`, with the same content
complete() {
	check "$1" same_series whole "$2"
	check "$1, and in the index" sh -c 'sort "$1/s.nxs.index" | cmp - whole.sorted' sh "$2"
}
numbers() { nxmx --master "$1/s.nxs" | cut -f1 | grep -c '^[0-9]'; }

replay --rate=20 | write whole # no frame waits: each is stored before the next one is packed
sort whole/s.nxs.index >whole.sorted
is 'all frames' "$(numbers whole)" "$frames"
mkdir fast
replay | write fast
complete 'frames that wait for each other: the same content' fast
check 'and the same bytes' cmp whole/s_data_000001.h5 fast/s_data_000001.h5

for how in kill killed; do
	for at in 3 11 22; do
		mkdir out
		{
			replay | LD_PRELOAD="$(command -v faults.so)" FAULT="keep $at $how" write out 2>>message || true
		} 2>/dev/null
		replay | write out --resume
		complete "$how at write $at, and resumed" out
		rm -r out
	done
done
for fault in '15 ENOSPC' '4 short' '25 EIO'; do
	mkdir out
	status=0
	replay | LD_PRELOAD="$(command -v faults.so)" FAULT="keep $fault" write out 2>message || status=$?
	is "$fault: one line and status 1" \
		"$(grep -c '^bragg-write: out/s_data_00000[0-9].h5.part: cannot write: ' message) $(wc -l <message) $status" '1 1 1'
	replay | write out --resume
	complete "$fault, and resumed" out
	rm -r out
done

# A writer hangs while it stores a frame, and is killed. Another writer gets all frames that are not in the files: a
# frame that was acknowledged too early would be missing.
socket="ipc://$tap_scratch/run/source"
for at in 1 11 26; do
	mkdir out
	rm -f happened
	replay "--out=@$socket" &
	source=$!
	LD_PRELOAD="$(command -v faults.so)" FAULT="keep $at hang" FAULT_ONCE=happened \
		bragg-write --quiet out/s.nxs --compression=none --frames-per-file=5 "--in=$socket" 2>message &
	writer=$!
	check "a writer hangs at write $at" soon [ -e happened ]
	sleep 0.5 # the acknowledgement of other frames leaves
	kill -9 $writer
	wait $writer 2>/dev/null || true
	check 'another writer ends the run' timeout 60 bragg-write --quiet out/s.nxs --compression=none \
		--frames-per-file=5 "--in=$socket"
	status=0
	wait $source || status=$?
	is 'the source ends' $status 0
	complete 'no acknowledged frame is missing' out
	rm -r out
done
finish
