#!/bin/sh
# Laue patterns: LaueTools and laue-dials predict the reflections of our table, with their wavelengths and places, and DIALS reads the wavelength of each
# ray and the vector s1.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch

awk 'BEGIN { for (i = 0; i <= 400; i++) printf "-1 0 0 1 %.12g\n", (0.7 + 0.7 * i / 400) * 1e-10 }' >band.txt
bragg-geometry --quiet --detpixels=1000 --pixel=0.2 --distance=100 --beam-center=99.9,99.9 --source-file=band.txt --weights=apply \
	--cell=40,50,60 --default-F=100 --ncells=12 --shape=gauss --mosaic-model=gauss --oversample=2 --no-polarization --fluence=1e26 --dmin=1.6 |
	bragg-orient --quiet --misset=10,20,30 | bragg-intensity --quiet --reflections=0.01 | bragg-tap --quiet --record=laue.rec
bragg-replay --quiet laue.rec | bragg-write --quiet --reflections=laue.tsv laue.raw
bragg-replay --quiet laue.rec | bragg-write --quiet --reflections=laue.refl laue.nxs

packages=$top/build/pypi-laue/site
if [ -d "$packages/LaueTools" ] && has python:numpy python:scipy python:matplotlib; then
	check 'LaueTools predicts the same reflections, wavelengths and places' /usr/bin/python3 "$BRAGG_TESTS/full/laue_lauetools.py" "$packages" laue.tsv
	note "$tap_output"
else
	skip 'LaueTools predicts the same reflections, wavelengths and places' "${lack:-LaueTools} is not installed: scripts/install-deps full"
fi

packages=$top/build/pypi-laue/dials
if [ -d "$packages/laue_dials" ] && has python:dials python:numpy python:scipy python:tqdm; then
	check 'laue-dials predicts the same rays, wavelengths and places' env PYTHONDONTWRITEBYTECODE=1 \
		/usr/bin/python3 "$BRAGG_TESTS/full/laue_dials.py" "$packages" laue.tsv
	note "$tap_output"
else
	skip 'laue-dials predicts the same rays, wavelengths and places' "${lack:-laue-dials} is not installed: scripts/install-deps full"
fi

if has dials.import python:dxtbx python:numpy; then
	cat >rays.py <<'END'
import numpy
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory
table = flex.reflection_table.from_file("laue.refl")
(experiment,) = ExperimentListFactory.from_json_file("laue.expt", check_format=False)
hkl = table["miller_index"].as_vec3_double().as_numpy_array()
g = hkl @ numpy.array(experiment.crystal.get_A()).reshape(3, 3).T
incident = numpy.array(experiment.beam.get_unit_s0())
wavelength = table["wavelength"].as_numpy_array()
assert abs(wavelength / (-2 * g @ incident / (g ** 2).sum(1)) - 1).max() < 1e-6 and wavelength.min() >= 0.7 and wavelength.max() <= 1.4
s1 = numpy.array(table["s1"]).reshape(-1, 3)
assert abs(numpy.linalg.norm(s1, axis=1) * wavelength - 1).max() < 1e-9
off = numpy.linalg.norm(s1 - (incident / wavelength[:, None] + g), axis=1) * wavelength
assert numpy.median(off) < 2e-4, numpy.median(off)  # a tenth of a pixel
text = numpy.genfromtxt("laue.tsv", names=True)
rays, brightest = {}, {}
for row in text:
    h = numpy.array([int(row[name]) for name in "hkl"])
    if row["s"] == 0 and h.any():
        ray = tuple(h // numpy.gcd.reduce(abs(h)))
        if row["photons"] > rays.get(ray, 0):
            rays[ray], brightest[ray] = row["photons"], tuple(h)
assert len(table) == len(rays) < len(text) and {tuple(map(int, h)) for h in hkl} == set(brightest.values())
END
	check 'DIALS reads one reflection of each ray, the brightest, with its wavelength and s1' /usr/bin/python3 rays.py
else
	skip 'DIALS reads one reflection of each ray' "$lack is not installed"
fi
finish
