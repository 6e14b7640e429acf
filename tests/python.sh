# For scripts about the module braggpipe.  Enters a new folder with the recording x.rec.
top=$(cd "$BRAGG_TESTS/.." && pwd)
needs 'frames in Python' python:zmq python:msgpack python:numpy
scratch
mkdir tmp
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$top/pipelines" TMPDIR="$PWD/tmp"
bragg-geometry --quiet --detpixels=64 | bragg-orient --quiet --frames=3 --random --mosaic=0.1 --wavelength-jitter=1 |
	bragg-intensity --quiet | bragg-tap --quiet --record=x.rec

# loop NAME CHECK...: these of python/frames.py; no folder and socket is there afterwards
loop() {
	loop_name=$1
	shift
	check "$loop_name" timeout 100 /usr/bin/python3 "$BRAGG_TESTS/python/frames.py" "$@"
	check "$loop_name: nothing is left" soon sh -c "[ -z \"\$(ls '$TMPDIR')\" ]"
}
