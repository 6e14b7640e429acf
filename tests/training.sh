# For scripts about training sets.  Enters a new folder with the recording frames.rec: frames 78 to 91, which belong to all parts of
# a set, and in which nearly everything varies.
top=$(cd "$BRAGG_TESTS/.." && pwd)
needs 'training sets' python:zmq python:msgpack python:numpy
scratch
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$top/pipelines"
printf '%s\n' '1.5 -2 10' '-1 0.5 -8' '0 1 3' '2 2 -4' '-0.7 -1.2 6' >shifts.txt
bragg-geometry --quiet --detpixels=170,150 --pixel=0.3 --distance=150 --shape=gauss --mosaic-model=gauss --mosaic-rms=0.05 --ncells=12,11,25 --fluence=2e26 |
	bragg-orient --quiet --random --only=78-91 --frames=100 --mean-lattices=1.2 --shares=1,0.5 --fluence-jitter=20 --wavelength-jitter=1 \
		--vary=size=uniform:40,75 --vary=mosaic-rms=uniform:0.05,0.3 --vary=background=choice:2,3 --shifts=shifts.txt |
	bragg-intensity --quiet --threads=1 --reflections --labels | bragg-background --quiet --water=0.2 |
	bragg-noise --quiet --dead=0.002 --gain=4 --adc-offset=40 | bragg-tap --quiet --record=frames.rec

# compared KIND FILE...: a training set contains what the frames contain
compared() {
	timeout 100 "${python:-/usr/bin/python3}" "$BRAGG_TESTS/python/training_files.py" "$@"
}
