#!/bin/sh
# NXmx by its definition: nxvalidate of nexusformat (scripts/install-deps full) finds no error in
# stills, rotation series and panels, in masters and in data files.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
nexus=$(realpath -m "$BRAGG_TESTS/../build/pypi/bin")
scratch
needs 'NXmx by its definition' "$nexus/nxvalidate"

# series NAME GEOMETRY ORIENTATION PACKING [NOISE...]: five frames, two a file
series() {
	name=$1 geometry=$2 orientation=$3 packing=$4
	shift 4
	# shellcheck disable=SC2086 # the lists are meant to split
	bragg-geometry --ncells=5 --fluence=1e26 $geometry 2>>upstream | bragg-orient --frames=5 $orientation 2>>upstream |
		bragg-intensity 2>>upstream | "$@" | bragg-write --frames-per-file=2 --compression="$packing" "$name.nxs"
}
small='--detpixels=64,48 --pixel=1 --distance=60'
noise='bragg-noise --adc-offset=0'
# shellcheck disable=SC2086
{
	series still "$small --beam-size=0.02" --random bslz4 $noise
	series jitter "$small" '--random --fluence-jitter=10 --mean-lattices=0.7' gzip $noise --bits=32
	series rotation "$small --dispersion=1 --dispersion-steps=5" '--osc=0.5 --phi0=30' lz4 $noise
	series panels '--detector=agipd-1m --distance=200 --energy=9300' --random gzip $noise
	series float "$small --thickness=320 --absorption=300 --layers=3" '--osc=0.1' none cat
}

# verdict FILE: each complaint behind its place, then the number of errors
verdict() {
	"$nexus/nxvalidate" "$1" 2>&1 | sed 's/\x1b\[[0-9;]*m//g; s/^ *//' |
		awk '/^(Group|Field|Link):/ { at = $2; next } /^Total number of errors/ { print; next } /not|must|should|inval/ { print at ": " $0 }'
}
# What a simulation has not: several detectors, a zone of time, a mask of no pixel, bits of floats.
known='^NXdetector_group:|/time_zone:|/pixel_mask:|/bit_depth_readout:'
for file in still.nxs still_data_000003.h5 jitter.nxs rotation.nxs rotation_data_000001.h5 panels.nxs panels_data_000002.h5 float.nxs; do
	# of the virtual data set in a master nexusformat counts the parts, and misses as many rows elsewhere
	case $file in *_data_*) virtual='^$' ;; *) virtual='Values for "nP" are not unique' ;; esac
	is "$file: no error, no other warning" "$(verdict $file | grep -Ev "($known) This recommended|$virtual")" 'Total number of errors: 0'
done

# That it looks: what is taken out, it misses.
for field in start_time end_time_estimated sample/depends_on instrument/beam/incident_wavelength; do
	cp still_data_000001.h5 cut.h5
	"$nexus/python3" -c 'import h5py, sys; del h5py.File("cut.h5", "r+")["entry/" + sys.argv[1]]' "$field"
	check "without $field there is an error" sh -c '! echo "$1" | grep -qx "Total number of errors: 0"' sh "$(verdict cut.h5)"
done

# Images in the hands of those who have hdf5plugin, and of those who have Debian's plugins.
sums() {
	"$1" -c 'import h5py, sys
if sys.argv[1] == "hdf5plugin":
    import hdf5plugin
print([[int(image.sum()) for image in h5py.File(name + ".nxs")["entry/data/data"]] for name in ("still", "rotation")])' "$2" 2>&1
}
is 'hdf5plugin reads bslz4 and LZ4' "$(HDF5_PLUGIN_PATH=$tap_scratch sums "$nexus/python3" hdf5plugin)" "$(sums /usr/bin/python3 plugins)"
check 'hdf5plugin reads numbers' sh -c 'echo "$1" | grep -q "^\[\[[1-9][0-9]*, .*[1-9][0-9]*\]\]$"' sh "$(sums /usr/bin/python3 plugins)"
finish
