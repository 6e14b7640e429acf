#!/bin/sh
# HDF5 as other programs write it: links, sizes, units; what is damaged or leads to a pipe is refused.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
top=$BRAGG_TESTS/..
is 'HDF5 files are opened to read in one place alone' \
	"$(cd "$top" && grep -l 'H5Fopen' common/*/*.c common/*/*/*.c stages/*/*.c 2>/dev/null | tr '\n' ' ')" 'common/io/hdf5/hdf5_read.c '
is 'HDF5 data sets are opened to read in one file of the source' \
	"$(cd "$top" && grep -l 'H5Dopen' common/*/*.c common/*/*/*.c stages/*/*.c 2>/dev/null | tr '\n' ' ')" 'common/io/hdf5/hdf5_read.c '
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
refused other.h5 '/entry/data/data: has 80 x 100 pixels (slow x fast), but the modules span 80 x 101'
refused mask.h5 '/entry/instrument/detector/pixel_mask: has 81 x 100 pixels (slow x fast), but the modules span 80 x 100'
refused no-units.h5 '/entry/instrument/detector/module/fast_pixel_direction: has no units; expected m, mm, um, nm or angstrom'
refused odd-units.h5 "/entry/instrument/detector/transformations/det_z: unknown units 'furlong'; expected m, mm, um, nm or angstrom"
refused distances.h5 '/entry/instrument/detector/transformations/det_z: 2 numbers from 0.15 to 0.16 (in m or rad); expected one'
refused waves.h5 '/entry/instrument/beam/incident_wavelength: 2 numbers from 1 to 1.1 A; expected one. Give --wavelength or --energy'
refused gone.h5 '/entry/instrument is a link to /entry/instrument in nowhere.h5, which is missing'
refused loop.h5 '/entry/instrument is a link to /entry/instrument, which is missing'
is 'a link to a pipe is refused' "$(timeout 10 bragg-geometry --detector=pipe.h5 2>&1 >/dev/null)" \
	'bragg-geometry: fifo: not an ordinary file, but a link leads to it'
if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'a chunk that is much larger than its data set is not unpacked' 'sanitizers need more address space than a limit leaves'
else
	is 'a chunk that is much larger than its data set is not unpacked' \
		"$(ulimit -v 2000000; bragg-geometry --quiet 2>/dev/null | bragg-orient --spectra=chunk.h5 2>&1 >/dev/null | grep -c '/energies or /weights is missing or has a wrong shape')" 1
fi

# --- damage that libhdf5 does not survive, and a pipe, in every program that reads images and tables
bragg-geometry --quiet --detpixels=64 --pixel=1 --ncells=10 --fluence=1e28 | bragg-orient --quiet --frames=3 --random 2>/dev/null |
	bragg-intensity --quiet --reflections | bragg-noise --quiet --adc-offset=0 | bragg-tap --quiet --record=good.rec >/dev/null
bragg-replay --quiet good.rec | bragg-write --quiet --compression=gzip good.nxs
bragg-replay --quiet good.rec | bragg-write --quiet --reflections=good.refl g_%d.cbf
/usr/bin/python3 "$BRAGG_TESTS/cli/hdf5_damaged.py" good.nxs
# tried FILE TEXT: each program ends with a status and one line, which is TEXT about the file
tried() {
	for command in "bragg-score $1 good.refl" "bragg-replay --quiet $1 | bragg-tap --quiet" "bragg-replay --recompute $1:0" \
		"bragg-view --bind=127.0.0.1:0 $1"; do
		status=0
		timeout 20 /bin/bash -o pipefail -c "$command" >/dev/null 2>said || status=$?
		is "$command: one line and a status" "$((status > 0 && status < 124)) $(sed "s~^bragg-[a-z]*: $1: $2\$~TEXT~" said)" '1 TEXT'
	done
}
# libhdf5 crashes, or fails by luck and would crash the next time; a later one refuses the file by itself
damaged='\(corrupt (reading it crashes or does not end)\|/entry/.*: corrupt (the data set cannot be opened)\)'
for kind in segv abort; do
	if [ "${BRAGG_SANITIZED-}" ]; then
		skip "$kind: damage that libhdf5 does not survive" 'a sanitizer reports the fault of libhdf5 as well'
	else
		tried "$kind/good.nxs" "$damaged"
	fi
done
mkfifo pipe.nxs
tried pipe.nxs '\(is no regular file, a recording must be one\|must be an ordinary file\|not an ordinary file\(; expected a recording\|; expected an image, an index or a recording\)\?\|not a ground-truth file; .*\)'

# --- an image of 3 GB in a chunk of 3 MB, which contradicts the detector of 64 x 64 pixels
limit=200000 # kB
[ -z "${BRAGG_SANITIZED-}" ] || limit=2000000 # much of it is the sanitizer's
cat >measure <<'END'
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=open("said", "w"), timeout=60)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < int(sys.argv[1]))
END
is 'a declared image of 3 GB is refused in little memory' "$(/usr/bin/python3 measure $limit bragg-replay --recompute huge/good.nxs:0) $(cat said)" \
	"3 True bragg-replay: huge/good_data_000001.h5: images have 729000000 pixels; expected 4096, as the detector has"
is 'a played image of 3 GB is refused in little memory' "$(/usr/bin/python3 measure $limit sh -c 'bragg-replay --quiet huge/good.nxs | bragg-tap --quiet') $(cat said)" \
	"1 True bragg-replay: huge/good_data_000001.h5: images have 729000000 pixels; expected 4096, as the detector has"

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
		'r.nxs: corrupt (reading it crashes or does not end)'
}
if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'a crash of the library is one line' 'sanitizers tell of it'
else
	crash bragg-replay r.nxs
	crash bragg-replay --recompute r.nxs:0
	crash bragg-view --bind=127.0.0.1:0 --linger=0 r.nxs
	crash bragg-score r.nxs x.refl
	crash bragg-geometry --detector=r.nxs --out=@ipc://"$PWD/o"
fi
rm r_data_000002.h5
is 'the Python reader names a data file that is missing' "$(PYTHONPATH="$top/pipelines" /usr/bin/python3 -c '
import braggpipe
print(list(braggpipe.open("r.nxs")))' 2>&1 | grep -c "FileNotFoundError.*r_data_000002.h5")" 1
finish
