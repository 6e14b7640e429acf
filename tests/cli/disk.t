#!/bin/sh
# bragg-write on a disk that fails, and killed at every moment (tests/preload/faults.c): one line
# and a status, never a torn file under a final name; started again, the same bytes.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run plain
export XDG_RUNTIME_DIR="$tap_scratch/run"
faults=$(command -v faults.so)

# eight frames
images() {
	bragg-geometry --detpixels=64 --ncells=10 | bragg-orient --frames=8 --random |
		bragg-intensity --threads=1 | bragg-noise --threads=1
}

# frames FOLDER [VARIABLE=VALUE...]: status and messages are those of bragg-write.
frames() {
	frames_folder=$1
	shift
	images 2>upstream | env "$@" bragg-write "$frames_folder/f_%03d.img" --preview="$frames_folder/f_%03d.png" \
		--preview-size=16 --fsync 2>message
}

# listing FOLDER: one sum over what is there; the order and repeats in the index do not count
listing() {
	(cd "$1" && sha256sum ./*.img ./*.png && sort -u f.img.index) 2>&1 | sha256sum
}

# torn FOLDER: files that are not whole: temporary ones, and those with other bytes than plain
torn() {
	for torn_file in "$1"/*; do
		[ -e "$torn_file" ] || continue
		case $torn_file in
		*.index) grep -vxF -f plain/f.img.index "$torn_file" ;;
		*) cmp "$torn_file" "plain/${torn_file##*/}" 2>&1 ;;
		esac
	done
}

frames plain
expected=$(listing plain)

for call in create write sync rename index append; do
	case $call in
	index) hows='ENOSPC EIO EMFILE' ;;
	write | append) hows='ENOSPC EIO EDQUOT short' ;;
	*) hows='ENOSPC EIO' ;;
	esac
	for how in $hows; do
		number=$([ $call = index ] && echo 1 || echo 4)
		mkdir out
		status=0
		frames out LD_PRELOAD="$faults" FAULT="$call $number $how" FAULT_ONCE=happened || status=$?
		is "$how at $call: the fault occurs, and one line and status 1 report it" \
			"$(ls happened) $status $(wc -l <message)" 'happened 1 1'
		check "$how at $call: which file, and why" grep -q '^bragg-write: out/f.*: cannot' message
		is "$how at $call: the others are silent" "$(cat upstream)" ''
		is "$how at $call: whole files only" "$(torn out)" ''
		frames out
		is "$how at $call: again, the same files" "$(listing out)" "$expected"
		rm -r out happened
	done
done

# killed NAME CALL NUMBER HOW: bragg-run starts bragg-write again
killed() {
	mkdir out
	cat >p.yaml <<-END
		stages:
		  - {name: geometry, args: [--detpixels=64, --ncells=10]}
		  - {name: orient, args: [--frames=8, --random]}
		  - {name: intensity, threads: 1}
		  - {name: noise, threads: 1}
		  - name: write
		    program: env
		    restart: 1
		    args: ["LD_PRELOAD=$faults", "FAULT=$2 $3 $4", "FAULT_ONCE=$tap_scratch/happened", bragg-write,
		           "f_%03d.img", "--preview=f_%03d.png", --preview-size=16, --fsync]
	END
	status=0
	bragg-run --workdir=out p.yaml 2>message || status=$?
	is "killed $1: the fault occurs, and the run ends well" "$(ls happened) $status" 'happened 0'
	[ $status = 0 ] || note "$(cat message)"
	is "killed $1: the same files" "$(listing out)" "$expected"
	is "killed $1: nothing else" "$(ls out | grep -c part)" 0
	rm -r out happened
}

killed 'before a file is made' create 4 kill
killed 'when a file is made' create 5 killed
killed 'a process is killed in the middle of a file' write 4 killed
killed 'before a file is synced' sync 3 kill
killed 'before a file gets its name' rename 5 kill
killed 'when a file has its name' rename 6 killed
killed 'before the index is made' index 1 kill
killed 'when the index is made' index 1 killed
killed 'a process is killed in the middle of the first line' append 1 killed
killed 'a process is killed in the middle of a line' append 4 killed
killed 'before a line' append 5 kill

# A series of NXmx files, whose master is written anew after each of them
series() { # FOLDER [VARIABLE=VALUE...]
	series_folder=$1
	shift
	images 2>upstream | env "$@" bragg-write "$series_folder/s.nxs" --frames-per-file=3 --fsync 2>message
}
mkdir series
series series
for fault in 'create 3 killed' 'keep 2 ENOSPC' 'keep 5 short' 'keep 3 killed' 'rename 2 kill' 'rename 3 killed' 'append 2 short' 'append 3 killed'; do
	mkdir out
	status=0
	{ series out LD_PRELOAD="$faults" FAULT="$fault" FAULT_ONCE=happened || status=$?; } 2>/dev/null
	is "series, $fault: the fault occurs" "$(ls happened) $status" "happened $(case $fault in *kill*) echo 137 ;; *) echo 1 ;; esac)"
	series out
	check "series, $fault: again, the same files" diff -r -x '*.index' series out
	is "series, $fault: again, the same index" "$(sort -u out/s.nxs.index)" "$(sort -u series/s.nxs.index)"
	rm -r out happened
done
is 'nothing is left' "$(find run -mindepth 1)" ''
finish
