#!/bin/sh
# A stage in Python stands in the middle of a pipeline: it changes every pixel as
# it says, its failure ends the run, and its sum of the payload is believed.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
needs 'a stage in Python' python:zmq python:msgpack python:numpy
is 'bragg.py stays within 200 lines' "$(awk 'END {print NR <= 200}' "$top/pipelines/bragg.py")" 1
scratch
export PYTHONDONTWRITEBYTECODE=1

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
check 'its pixels are what it computes' /usr/bin/python3 -c '
import numpy
y, x = numpy.mgrid[-1:1:200j, -1:1:200j]
for i in range(3):
    a, b = (numpy.fromfile(f"{n}_{i}.raw", "f4").reshape(200, 200) for n in ("plain", "dark"))
    assert a.sum() > 0 and numpy.allclose(b, a * (1 - (x * x + y * y) / 2), rtol=1e-6, atol=0)'
is 'another strength is another lineage' \
	"$(head -n 1 dark.raw.index | cut -d' ' -f3 | grep -c "$(head -n 1 plain.raw.index | cut -d' ' -f3)")" 0

printf '#!/usr/bin/python3\nimport bragg\nbragg.transform("broken", lambda pixels, frame, experiment: pixels / None)\n' >broken.py
chmod +x broken.py
status=0
PYTHONPATH=$top/pipelines photons broken ./broken.py 2>messages || status=$?
is 'a failure in it ends the run' "$status" 1
check 'and says why' grep -q '^broken: TypeError' messages
is 'and leaves no file' "$(find . -name 'broken_*' | wc -l)" 0

mkdir temporary
printf '#!/usr/bin/python3\nimport bragg, os\nbragg.transform("dead", lambda pixels, frame, experiment: os.kill(os.getpid(), 9))\n' >dead.py
chmod +x dead.py
status=0
TMPDIR=$PWD/temporary PYTHONPATH=$top/pipelines photons dead ./dead.py 2>messages || status=$?
is 'its death ends the run' "$status" 1
for _ in $(seq 30); do
	[ -n "$(ls temporary)" ] || break
	sleep 0.1
done
is 'and leaves no file' "$(find . -name 'dead_*' | wc -l) $(ls temporary)" '0 '
finish
