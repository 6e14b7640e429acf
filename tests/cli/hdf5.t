#!/bin/sh
# HDF5 as other programs write it: links, sizes, units; what is damaged or leads to a pipe is refused.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
top=$BRAGG_TESTS/..
is 'HDF5 files are opened to read in one place alone' \
	"$(cd "$top" && grep -l 'H5Fopen' common/*/*.c stages/*.c 2>/dev/null | tr '\n' ' ')" 'common/io/hdf5_read.c '
is 'and their data sets' \
	"$(cd "$top" && grep -l 'H5Dopen' common/*/*.c stages/*.c 2>/dev/null | tr '\n' ' ')" 'common/io/hdf5_read.c '
needs 'HDF5 of other programs' python:h5py python:zmq python:msgpack
/usr/bin/python3 "$BRAGG_TESTS/cli/hdf5_files.py" .

size() { timeout 10 bragg-geometry --quiet --detector="$1" 2>message | bragg-tap --quiet 2>/dev/null | grep -o 'size=[^ ]*'; }
for name in plain words big zero named external swapped; do
	is "$name is read" "$(size $name.h5)" size=100x80
done
is 'data_size of fast and slow is said' "$(bragg-geometry --detector=swapped.h5 2>&1 >/dev/null | grep -c 'warning: .*data_size is 100, 80 (fast, slow)')" 1
# refused FILE TEXT: one line within seconds, status 3
refused() {
	is "$1 is refused" "$(timeout 10 bragg-geometry --detector="$1" 2>&1 >/dev/null; echo $?)" "bragg-geometry: $1: $2
3"
}
refused other.h5 '/entry/data/data: 80 x 100 pixels (slow x fast), the modules reach over 80 x 101'
refused mask.h5 '/entry/instrument/detector/pixel_mask: 81 x 100 pixels (slow x fast), the modules reach over 80 x 100'
refused no-units.h5 '/entry/instrument/detector/module/fast_pixel_direction: has no units; expected m, mm, um, nm or angstrom'
refused odd-units.h5 "/entry/instrument/detector/transformations/det_z: unknown units 'furlong'; expected m, mm, um, nm or angstrom"
refused distances.h5 '/entry/instrument/detector/transformations/det_z: 2 numbers from 0.15 to 0.16 (in m or rad); expected one'
refused waves.h5 '/entry/instrument/beam/incident_wavelength: 2 numbers from 1 to 1.1 A; expected one.  Give --wavelength.'
refused gone.h5 '/entry/instrument is a link to /entry/instrument in nowhere.h5, which is missing'
refused loop.h5 '/entry/instrument is a link to /entry/instrument, which is not there'
is 'a link to a pipe is refused' "$(timeout 10 bragg-geometry --detector=pipe.h5 2>&1 >/dev/null)" \
	'bragg-geometry: fifo: is no ordinary file, and a link leads there'
if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'a chunk that is much larger than its data set is not unpacked' 'sanitizers need more address space than a limit leaves'
else
	is 'a chunk that is much larger than its data set is not unpacked' \
		"$(ulimit -v 2000000; bragg-geometry --quiet 2>/dev/null | bragg-orient --spectra=chunk.h5 2>&1 >/dev/null | grep -c 'must have /energies and /weights')" 1
fi

series() {
	bragg-geometry --quiet --detpixels=40 --ncells=5 --fluence=1e28 | bragg-orient --quiet --frames=4 --random 2>/dev/null |
		bragg-intensity --quiet | bragg-noise --quiet --adc-offset=0 | bragg-write --quiet --compression=gzip "$@" r.nxs
}
series --frames-per-file=1
series --frames-per-file=2 --overwrite
is 'data files of an earlier series are removed' "$(echo r_data_*)" 'r_data_000001.h5 r_data_000002.h5'
# What a library writes as it crashes is not for users: they get one line, from every program that reads.
touch x.refl
crash() {
	is "a crash of the library is one line: $1" "$(LD_PRELOAD=$(command -v crash.so) timeout 20 "$@" 2>&1 >/dev/null | sed 's/.*: r\.nxs/r.nxs/')" \
		'r.nxs: damaged (reading it crashes, or has no end)'
}
if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'a crash of the library is one line' 'sanitizers tell of it'
	skip 'images of 1 GiB are not unpacked' 'sanitizers need more address space than a limit leaves'
else
	crash bragg-replay r.nxs
	crash bragg-replay --recompute r.nxs:0
	crash bragg-view --bind=127.0.0.1:0 --linger=0 r.nxs
	crash bragg-score r.nxs x.refl
	crash bragg-geometry --detector=r.nxs --out=@ipc://"$PWD/o"
	mkdir bomb
	cp r*.nxs r_data_* bomb
	/usr/bin/python3 "$BRAGG_TESTS/cli/hdf5_bomb.py" bomb/r_data_000001.h5
	/usr/bin/python3 -c '
import resource, subprocess
ended = subprocess.run(["sh", "-c", "bragg-replay bomb/r.nxs | bragg-tap --quiet >tap"], stderr=subprocess.PIPE, text=True, timeout=20)
print(ended.stderr, end="")
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 200000)' >bombed
	is 'images of 1 GiB are not unpacked' "$(cat bombed)" 'bragg-replay: bomb/r_data_000001.h5: cannot read the images of frame 0
True'
fi
rm r_data_000002.h5
is 'the Python reader names a data file that is missing' "$(PYTHONPATH="$top/pipelines" /usr/bin/python3 -c '
import braggpipe
print(list(braggpipe.open("r.nxs")))' 2>&1 | grep -c "FileNotFoundError.*r_data_000002.h5")" 1
finish
