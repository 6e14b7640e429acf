#!/bin/sh
# Words of a detector that switches its gain, and the files that a user's correction reads.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy and h5py' python:numpy python:h5py

# Photons of 8 keV, 1 to 20000 in a pixel, from a table that falls steeply; then bragg-noise OPTION...
awk 'BEGIN { for (s = 0; s <= 1; s += 0.005) print s, 120 * exp(-14 * s) }' >table
shots() { # NAME OPTION...
	name=$1
	shift
	bragg-geometry --quiet --detpixels=160,120 --pixel=1 --distance=100 --energy=8000 --cell=50,50,50,90,90,90 --default-F=0 --fluence=1e22 |
		bragg-orient --quiet --frames=2 | bragg-intensity --quiet |
		bragg-background --quiet --stol=table --thickness=50 --molecular-weight=18 |
		bragg-noise --quiet "$@" | bragg-write --quiet "$name"
}
shots photons.nxs --bits=32 --adc-offset=0
check 'words and calibration files' shots words.nxs --gain-switching --calibration-files=cal
check 'the same command writes words and calibration files again' shots words2.nxs --gain-switching --calibration-files=cal
refused() {
	shots other.nxs --gain-switching --calibration-seed=5 --calibration-files=cal 2>&1 | grep 'bragg-noise: .*cal_gains.h5'
}
check 'another calibration is not written over existing files' refused
shots noisy.nxs --gain-switching --readout=10
shots bad.nxs --gain-switching --dead=0.02 --calibration-files=bad
holds() {
	check "$1" /usr/bin/python3 -c "
import numpy, h5py
def file(name, at): return h5py.File(name)[at][()]
def data(name): return file(name, '/entry/data/data')
words, n = data('words.nxs'), data('photons.nxs').astype(float)
# as jungfrau_utils has it
G, P = file('cal_gains.h5', '/gains').astype(float), file('cal_pedestals.h5', '/gains').astype(float)
def stage(w): return numpy.minimum(w >> 14, 2)
def pick(map, w): return numpy.take_along_axis(map, stage(w).reshape(-1, 120, 160).astype(int), 0).reshape(w.shape)
def correct(w, G, P): return numpy.stack([((x & 0x3fff) - pick(P, x)) / pick(G, x) for x in w])
$2"
}
holds 'words have 16 bits, all stages have pixels' "
assert words.dtype == 'u2'; share = [(words >> 14 == b).mean() for b in range(4)]; assert share[2] == 0 and min(share[0], share[1], share[3]) > 0.02, share"
holds 'a correction finds the photons' "
keV = correct(words, G, P); step = 0.5 / abs(numpy.stack([pick(G, w) for w in words]))
assert (abs(keV - 8 * n) <= step * 1.001 + 1e-4 * abs(keV)).all()"
holds 'stages end at 40 and 1500 photons' "
for s, most in (0, 40), (1, 1500): assert abs(n[stage(words) == s].max() / most - 1) < 0.2 and abs(n[stage(words) > s].min() / most - 1) < 0.2"
holds 'pixels differ as much as asked for' "
for s, g in enumerate((40, -1, -0.1)): assert abs(G[s].mean() / g - 1) < 1e-3 and abs(G[s].std() / abs(g) - 0.02) < 1e-3
assert abs(P[0].std() / 3000 - 0.03) < 2e-3 and abs(numpy.corrcoef(G[0].ravel(), P[0].ravel())[0, 1]) < 0.03
assert (G[3] == G[0]).all() and file('cal_pedestals.h5', '/pixel_mask').sum() == 0"
holds 'readout noise is that of the ADC, in every stage' "
d = ((data('noisy.nxs') & 0x3fff).astype(float) - (words & 0x3fff))[stage(data('noisy.nxs')) == stage(words)]
assert stage(data('noisy.nxs')).std() > 0 and (stage(data('noisy.nxs')) == stage(words)).all() and abs(d.std() - 10) < 0.2"
holds 'bad pixels are in the mask' "
m = file('bad_pedestals.h5', '/pixel_mask'); assert m.dtype == 'u4' and m.sum() > 200 and (m == file('bad.nxs', '/entry/instrument/detector/pixel_mask')).all()
x = correct(data('bad.nxs'), file('bad_gains.h5', '/gains').astype(float), file('bad_pedestals.h5', '/gains').astype(float))
assert (abs(x[:, m != 0]) < 0.02).all()"
# --- charge that crosses the edges of pixels takes noise away and correlates neighbours
charge() { # NAME OPTION...
	name=$1
	shift
	bragg-geometry --quiet --detpixels=160,120 --pixel=0.075 --thickness=320 --distance=100 --energy=5000 --cell=50,50,50,90,90,90 --default-F=0 --fluence=5e26 |
		bragg-orient --quiet --frames=2 | bragg-intensity --quiet | bragg-background --quiet --water=50 |
		bragg-noise --quiet --adc-offset=0 --gain=10 --bits=32 "$@" | bragg-write --quiet "$name"
}
charge alone.nxs
charge shared.nxs --psf=charge --bias=50
holds 'pixels share charge' "
a, b = data('alone.nxs') / 10, data('shared.nxs') / 10
def noise(x): return (x[0] - x[1])[2:-2, 2:-2]
# 320 um at 50 V: 10.1 um but for the depth where photons stop
f = 320e-6 * numpy.sqrt(2 * 0.02525 * 0.944 / 50) / 75e-6 / numpy.sqrt(2 * numpy.pi)
assert abs(b.mean() / a.mean() - 1) < 0.01 and a.mean() > 10
assert abs(noise(b).var() / noise(a).var() - ((1 - 2 * f) ** 2 + 2 * f ** 2) ** 2) < 0.02
d = noise(b); assert abs((d[1:] * d[:-1]).mean() / d.var() - 2 * f * (1 - 2 * f) / ((1 - 2 * f) ** 2 + 2 * f ** 2)) < 0.02"
check 'recomputed from its file' bragg-replay --recompute words.nxs:1
finish
