#!/bin/sh
# bragg-score: memory does not grow with what it follows, nor with the number of ground truth files.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'memory of a score' /usr/bin/python3
scratch

# 4000 frames of 100 spots, 100 to a file
bragg-geometry --quiet --detpixels=128 --pixel=0.8 --distance=120 --ncells=20 --oversample=1 | bragg-orient --quiet --frames=100 --random --seed=3 |
	bragg-intensity --quiet --reflections=5 | bragg-tap --quiet --record=some.rec
bragg-replay --quiet --loop=40 some.rec | bragg-write --quiet --reflections=all.stream truth.nxs

cat >grow.py <<'END_OF_FILE'
"""grow.py FRAMES: a file that grows to so many frames"""
import sys, time
END = "----- End chunk -----\n"
chunks = open("all.stream").read().split(END)[: int(sys.argv[1])]
with open("grows.stream", "w") as out:
    for i in range(0, len(chunks), 40):
        out.write("".join(c + END for c in chunks[i : i + 40]))
        out.flush()
        time.sleep(0.01)
END_OF_FILE
cat >peak.py <<'END_OF_FILE'
"""peak.py PROGRAM...: runs it; the most memory that it had, kB"""
import os, sys
pid = os.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
print(used.ru_maxrss if not status else "failed")
END_OF_FILE
# followed FRAMES KEY...: kB of a score that follows a stream which ends there
followed() {
	sed '/^----- End chunk/q' all.stream >grows.stream
	/usr/bin/python3 grow.py "$1" &
	shift
	/usr/bin/python3 peak.py bragg-score --follow=2 --json=score.json "$@" grows.stream | tail -n 1
	wait
}
# within NAME KB KB: the second is at most 8 % more: samples for medians are filled up to their fixed size
within() {
	note "$1: $2 and $3 kB"
	check "$1" test "$(($3 * 100))" -le "$(($2 * 108))"
}
few=$(followed 200 truth.nxs)
check '200 frames were followed' /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" score.json frames=200 frames_without_answer=3800 lattices.wrong=0
many=$(followed 4000 truth.nxs)
check '4000 frames were followed' /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" score.json frames=4000 frames_without_answer=0 lattices.right=4000
within '4000 frames need no more memory than 200' "$few" "$many"
parts=$(followed 4000 truth_data_*.h5)
is '40 ground truth files give the same metrics' "$(/usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" score.json frames=4000 frames_without_answer=0 lattices.right=4000 2>&1)" ''
within '40 ground truth files need no more memory than one' "$many" "$parts"
finish
