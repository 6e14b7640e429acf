#!/bin/sh
# bragg-write: what NXmx demands of a file, beside images and geometry, as h5py reads it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'fields of NXmx' python:h5py
unset SOURCE_DATE_EPOCH

# series NAME [GEOMETRY...] -- [ORIENT...]: five small frames, two a file
packing=gzip
series() {
	name=$1 geometry=
	shift
	while [ "$1" != -- ]; do
		geometry="$geometry $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # the list is meant to split
	bragg-geometry --detpixels=32 --pixel=3.2 --distance=120 --ncells=5 --fluence=1e26 $geometry 2>>upstream |
		bragg-orient --frames=5 "$@" 2>>upstream | bragg-intensity --threads=1 2>>upstream |
		bragg-noise --adc-offset=0 | bragg-write --compression=$packing --frames-per-file=2 "$name.nxs" 2>>message
}
fields() {
	/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_fields.py" "$@"
}
series still --beam-size=0.02 -- --random
check 'stills' fields still.nxs 0 0 5
check 'a data file has its own times' fields still_data_000002.h5 0 2 4
series jitter --beam-size=0.02 -- --random --fluence-jitter=20
check 'a flux that varies' fields jitter.nxs 0 0 5
series rotation -- --osc=0.5
check 'a rotation series' fields rotation.nxs 0 0 5
SOURCE_DATE_EPOCH=1700000000 series dated --beam-size=0.02 -- --random
check 'SOURCE_DATE_EPOCH is when the first frame begins' fields dated.nxs 1700000000 0 5
check 'times of each file follow SOURCE_DATE_EPOCH' fields dated_data_000003.h5 1700000000 4 5
series backwards -- --osc=-0.5 --phi0=20
check 'a rotation backwards is one forwards about the inverted axis; the truth stays as it was asked for' /usr/bin/python3 -c '
import h5py, numpy
file, forwards = h5py.File("backwards.nxs"), h5py.File("rotation.nxs")
omega, other = (one["entry/sample/transformations/omega"] for one in (file, forwards))
assert numpy.allclose(omega.attrs["vector"], -other.attrs["vector"])
assert numpy.allclose(omega[()], -20 + 0.5 * numpy.arange(5)) and numpy.allclose(file["entry/sample/transformations/omega_end"][()], omega[()] + 0.5)
frames = file["entry/braggpipe/frames"]
assert numpy.allclose(frames["rotation_width"], -0.5) and numpy.allclose(frames["rotation_start"], 20 - 0.5 * numpy.arange(5))'
series band --dispersion=2 --dispersion-steps=5 -- --random
check 'weights of a spectrum have the names of NeXus and of dxtbx' /usr/bin/python3 -c '
import h5py, numpy
beam = h5py.File("band.nxs")["entry/instrument/beam"]
weights = beam["incident_wavelength_spectrum_weight"][()]
assert weights.size == beam["incident_wavelength_spectrum"].size == 5 and numpy.array_equal(weights, beam["incident_wavelength_spectrum_weights"][()])'
printf '12000 1 0 3\n12010 2 1 1\n12020 1 4 0\n' >shots.txt
series sase -- --random --spectrum=sase --pulse=10 --seed=4
series shots -- --random --spectra=shots.txt
check 'each frame has the spectrum of its pulse, in the master and in its data file; the text that names it has a variable length' /usr/bin/python3 -c '
import h5py, numpy
for name, files in ("sase", 3), ("shots", 3):
    beam = h5py.File(name + ".nxs")["entry/instrument/beam"]
    waves, weights = beam["incident_wavelength_spectrum"][()], beam["incident_wavelength_spectrum_weights"][()]
    assert waves.shape == weights.shape == beam["incident_wavelength_spectrum_weight"].shape and len(waves) == 5 and waves.shape[1] > 1
    assert beam["incident_wavelength"].attrs["variant"] == "incident_wavelength_spectrum"
    means = (waves * weights).sum(1) / weights.sum(1)
    assert numpy.allclose(means, beam["incident_wavelength"][()], rtol=1e-12, atol=0), means
    assert len(set(means)) > 2 and (numpy.diff(waves) != 0).any()
    for file in range(files):
        part = h5py.File("%s_data_%06d.h5" % (name, file + 1))["entry/instrument/beam"]
        for i, own in enumerate(part.get("incident_wavelength_spectrum", [])):
            lit = part["incident_wavelength_spectrum_weights"][i] > 0
            there = weights[2 * file + i] > 0
            assert numpy.array_equal(own[lit], waves[2 * file + i][there])
energy, *shots = numpy.loadtxt("shots.txt").T
asked = [(shot * 12398.419843320026 / energy).sum() / shot.sum() for shot in shots]
assert numpy.allclose(means[:3], asked, rtol=1e-6), (means, asked)'
is 'nothing is said' "$(cat message)" ''
# what dispersion and divergence make of one direction, and weights of a list that repeats wavelengths
series wide --dispersion=2 --dispersion-steps=5 --divergence=0.02 --divergence-steps=3 -- --random
printf -- '-10 0 0 1 1e-10\n-10 0.001 0 2 1.01e-10\n-10 0 0.001 4 1e-10\n-10 0.001 0.001 8 1.01e-10\n-10 0 0 16 0.99e-10\n' >list
series list --source-file=list --weights=apply -- --random
series pulses --divergence=0.02 --divergence-steps=3 -- --random --spectrum=gauss --bandwidth=0.5 --channels=4
check 'sources that differ in direction alone are one wavelength of the spectrum, with the sum of their weights' /usr/bin/python3 -c '
import h5py, numpy
def spectrum(name):
    beam = h5py.File(name + ".nxs")["entry/instrument/beam"]
    waves, weights, other = (beam["incident_wavelength_spectrum" + end][()] for end in ("", "_weights", "_weight"))
    assert numpy.array_equal(weights, other)
    return waves, weights
waves, weights = spectrum("wide")
one, alike = spectrum("band")
assert numpy.array_equal(waves, one) and numpy.allclose(weights / weights.sum(), alike / alike.sum(), rtol=1e-12), (waves, weights)
waves, weights = spectrum("list")
assert numpy.allclose(waves, (1, 1.01, 0.99), rtol=1e-14) and numpy.allclose(weights / weights.sum(), numpy.array((5, 10, 16)) / 31), (waves, weights)
waves, weights = spectrum("pulses")
assert waves.shape == weights.shape == (5, 4) and all(len(set(row)) == 4 for row in waves) and numpy.allclose(weights.mean(1), 1), (waves, weights)'

# sums FILE: of the pixels of each image, as a reader without plugins finds them
sums() {
	HDF5_PLUGIN_PATH="$tap_scratch" /usr/bin/python3 -c 'import h5py, sys
print([int(image.sum()) for image in h5py.File(sys.argv[1])["entry/data/data"]])' "$1" 2>&1
}
packing=none
series plain --beam-size=0.02 -- --random
packing=bslz4
series packed --beam-size=0.02 -- --random
is 'no pixel, and no wrong one, of bslz4 without its plugin' \
	"$(sums packed.nxs | grep -c "required filter .* is not registered\|can't find plugin")" 1
check 'all else can be read' fields packed.nxs 0 0 5
is 'gzip is read without a plugin' "$(sums still.nxs)" "$(sums plain.nxs)"
is 'each of the five images has photons' "$(sums still.nxs | tr ' ' '\n' | grep -c '[1-9][0-9][0-9]')" 5

packing=gzip
mkdir other
SOURCE_DATE_EPOCH=1700000000 series other/dated --beam-size=0.02 -- --random
for file in dated.nxs dated_data_000001.h5 dated_data_000003.h5; do
	check "the same recipe and time give the same bytes: $file" cmp "$file" "other/$file"
done
check_status 'an invalid time' 2 env SOURCE_DATE_EPOCH=today bragg-write bad.nxs </dev/null
is 'an invalid time has its message' "$(SOURCE_DATE_EPOCH=today bragg-write bad.nxs 2>&1 </dev/null)" \
	"bragg-write: SOURCE_DATE_EPOCH: 'today' is not a time; expected a whole number of seconds from 0 to 253402300799"
finish
