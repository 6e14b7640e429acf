#!/bin/sh
# Frames that take long: how long they take is said after the first rows, and in the end, after two
# Ctrl-C, which files exist.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a terminal' /usr/bin/python3
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"

# --- frames that take long: three frames of about a minute each
slow="bragg-geometry --detpixels=1000 --ncells=20 --oversample=1 | bragg-orient --frames=3 --mosaic=1 --mosaic-domains=12000 | bragg-intensity"
about='bragg-intensity takes about [0-9.]* s a frame, [0-9:]* for all 3 frames\.$'

# ended FILE PATTERN: runs it in a session of its own, until it says so; then ends it
ended() {
	: >errors  # otherwise `soon` could read the errors of the previous run, until the new one opens the file
	setsid env --default-signal=INT,QUIT sh -c "$1" >out 2>errors &
	group=$!
	soon grep -q "$2" errors
	sleep 1
	kill -TERM -"$group"
	wait
}
ended "$slow | bragg-write slow.nxs" "$about"
is 'slow frames: how long they take, in a pipe, once' "$(grep -c "^bragg-orient: $about" errors)" 1
is 'slow frames: what makes them faster, from the start' "$(grep -c '^bragg-orient: 12000 terms for each of 1 million pixels\. bragg-geometry --shape=gauss --mosaic-model=gauss --mosaic-rms=0.496 instead of bragg-orient --mosaic=1 is much faster: spots become Gaussian, without fringes, and domains become the mean over infinitely many$' errors)" 1
is 'slow frames: the advice comes once' "$(grep -c 'mosaic-model=gauss' errors)" 1
cat >slow.yaml <<END
stages:
  - {name: geometry, args: [--detpixels=1000, --ncells=20, --oversample=1]}
  - {name: orient, args: [--frames=3, --mosaic=1, --mosaic-domains=12000]}
  - {name: intensity, threads: 1}
  - {name: write, args: [slow.nxs]}
END
ended "exec bragg-run --workdir=slow slow.yaml" "$about"
is 'slow frames: as much of bragg-run without a terminal' "$(grep -c "^orient| bragg-orient: $about" errors)" 1

# --- Ctrl-C without a terminal: what the run waits for is said, and a second one does not wait
: >errors
setsid env --default-signal=INT sh -c 'trap : INT; bragg-run --workdir=twice slow.yaml; echo $? >status' >out 2>errors &
group=$!
soon grep -q "$about" errors
kill -INT -"$group"
check 'Ctrl-C: how long the frames take that are finished' soon grep -q 'bragg-orient: finishing [123] frames*, about [0-9:]*; Ctrl-C again aborts$' errors
began=$(date +%s%N)
kill -INT -"$group"
wait "$group"
took_ms=$((($(date +%s%N) - began) / 1000000))
is 'Ctrl-C twice: the status' "$(cat status)" 130
check "Ctrl-C twice: the run ends soon, in $took_ms ms" test "$took_ms" -lt 3000

script -qec true /dev/null </dev/null >/dev/null 2>&1 || {
	skip 'on a terminal' 'no pseudo-terminal to be had'
	finish
	exit
}

# lines: of what a terminal got, without what was drawn over
lines() {
	tr -d '\r' <said | sed "s/.*$(printf '\033')\[[0-9]*[KJ]//; s/^\^C//"
}

says() {
	lines | grep -q "$1"
}

# interrupt FILE COMMAND...: runs the file with a terminal, and types Ctrl-C twice once COMMAND succeeds
interrupt() {
	rm -f keys
	mkfifo keys
	env --default-signal=INT,QUIT script -qec "trap : INT; sh ./$1; echo status \$?" /dev/null <keys >said 2>&1 &
	exec 3>keys
	shift
	soon "$@"
	printf '\003' >&3
	soon says 'finishing'
	printf '\003' >&3
	wait
	exec 3>&-
}

echo "$slow | bragg-write slow.nxs" >slow.sh

interrupt slow.sh grep -aq 'bragg-write: frame 0 of 3, [0-9]* % of the next, [0-9:]* left' said
check 'slow frames: progress before the first one' grep -aq 'bragg-write: frame 0 of 3, [0-9]* % of the next, [0-9:]* left' said
check 'slow frames: how long finishing them takes' says '^bragg-orient: finishing [123] frames*, about [0-9:]*; Ctrl-C again aborts$'

# --- the percentage is that of the next frame, also when the forecast of the former one comes after it
cat >four.sh <<'END'
bragg-geometry --quiet --detpixels=400 --pixel=0.2 --ncells=10 | bragg-orient --quiet --frames=4 --random --mosaic=0.5 --mosaic-domains=3 |
	bragg-intensity --quiet --engine=reference --threads=1 | bragg-write 'four_%d.raw'
END
script -qec 'sh four.sh' /dev/null </dev/null >said
is 'slow frames: the percentage of a frame does not fall' "$(tr '\r' '\n' <said | sed -n 's/.*bragg-write: frame \([0-9]*\) of 4.*, \([0-9]*\) % of the next.*/\1 \2/p' |
	awk '$1 in last && $2 < last[$1] { falls++ } { last[$1] = $2 } END { print falls + 0, (NR > 2) }')" '0 1'

# what is there after a second Ctrl-C: images of an unfinished data file, and no master.  Frames take so
# long that those under way are not finished before the second one.
echo "bragg-geometry --detector=pilatus-300k --distance=100 --energy=12400 --ncells=8 |
	bragg-orient --frames=100000 --random --mosaic=1 --mosaic-domains=50 |
	bragg-intensity --threads=1 | bragg-write --frames-per-file=10000 half.nxs" >half.sh
interrupt half.sh test -s half_data_000001.h5.part
is 'Ctrl-C twice: the files that are there' "$(lines | sed -n 's/^bragg-write: [0-9.]* [kMG]*B in \(.*\)/\1/p')" \
	'half_data_000001.h5.part (no HDF5 file yet); --resume continues'
finish
