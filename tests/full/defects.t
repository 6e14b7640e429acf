#!/bin/sh
# What is wrong with a detector: dead and hot pixels, and what hides behind a beam stop.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy and h5py' python:numpy python:h5py

# No spots, but water in every one of 200 x 160 pixels.
geometry=
shots() { # NAME OPTION...
	name=$1
	shift
	# shellcheck disable=SC2086 # options are words
	bragg-geometry --quiet --detpixels=200,160 --pixel=0.5 --distance=100 --cell=50,50,50,90,90,90 --default-F=0 $geometry |
		bragg-orient --quiet --frames=2 | bragg-intensity --quiet | bragg-background --quiet --water=50 |
		bragg-noise --quiet --saturation=65000 "$@" | bragg-write --quiet "$name"
}
# Python with the counts of frames above the offset as a(NAME), and the mask of NXmx as mask(NAME).
holds() {
	check "$1" /usr/bin/python3 -c "
import numpy, h5py
def a(name): return numpy.fromfile(name, '<f4').reshape(160, 200).astype(float) - 40
def mask(name): return h5py.File(name)['/entry/instrument/detector/pixel_mask'][()]
def data(name): return h5py.File(name)['/entry/data/data'][()].astype(float) - 40
def near(x, y, by): assert abs(x - y) <= by, (x, y)
$2"
}

shots good_%d.raw
shots good.nxs

# --- dead and hot
shots dead_%d.raw --dead=0.01
shots dead.nxs --dead=0.01
holds 'a share of the pixels is dead' "n = (a('dead_0.raw') == 0).sum(); near(n, 320, 90)"
holds 'dead pixels are the same in all frames' "assert ((a('dead_0.raw') == 0) == (a('dead_1.raw') == 0)).all()"
holds 'no other pixel knows' "g, d = a('good_0.raw'), a('dead_0.raw'); assert g.min() > 0 and (d[d > 0] == g[d > 0]).all()"
holds 'files mask them, and say why' "assert ((data('dead.nxs')[0] == 0) == (mask('dead.nxs') == 2)).all() and set(mask('dead.nxs').ravel()) == {0, 2}"
shots other_%d.raw --dead=0.01 --calibration-seed=2
holds 'another seed gives other dead pixels' "assert ((a('dead_0.raw') == 0) & (a('other_0.raw') == 0)).sum() < 20"
shots open.nxs --dead=0.01 --unmasked
holds '--unmasked leaves dead pixels without a mask' "assert (data('open.nxs') == data('dead.nxs')).all() and 'pixel_mask' not in h5py.File('open.nxs')['/entry/instrument/detector']"
shots hot.nxs --hot=0.02 --hot-photons=3000
holds 'hot ones count more, each at its own rate' "
d, g, hot = data('hot.nxs'), data('good.nxs'), mask('hot.nxs') != 0
near(hot.sum(), 640, 130); assert (d[:, ~hot] == g[:, ~hot]).all()
more = (d - g)[:, hot]; near(more.mean(), 3000, 700); assert more.min() > 0
assert more.mean(0).std() > 1500
near(((more[0] - more[1]) ** 2 / more.sum(0)).mean(), 1, 0.3)"
shots blurred.nxs --dead=0.01 --psf=gauss --psf-fwhm=600
holds 'a blurred image leaves them dead' "
d, hidden = data('blurred.nxs')[0], mask('blurred.nxs') != 0; assert hidden.any() and (d[hidden] == 0).all() and d[~hidden].min() > 0"
check 'hot pixels are recomputed from their file' bragg-replay --recompute hot.nxs:1

# --- as a file says
/usr/bin/python3 -c "
import numpy
m = numpy.ones((160, 200), '<u2'); m[3, 5] = 0; m[7, 11] = 2
head = b'{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nSIZE1=200;\nSIZE2=160;\n}\x0c\n'
open('bad.img', 'wb').write(head.ljust(512) + m.tobytes())
m[100, 100] = 3
open('odd.img', 'wb').write(head.ljust(512) + m.tobytes())"
shots file.nxs --bad-pixels=bad.img --hot-photons=20000
holds 'bad pixels of a file' "
d, g, hidden = data('file.nxs')[0], data('good.nxs')[0], mask('file.nxs')
assert (hidden != 0).sum() == 2 and hidden[3, 5] == 2 and hidden[7, 11] == 16 and d[3, 5] == 0 and d[7, 11] > g[7, 11] + 500"
check 'a name is not what counts' sh -c 'cp bad.img same.img'
check 'a frame is recomputed with the file of bad pixels' bragg-replay --recompute file.nxs:1
shots file2_%d.img --bad-pixels=bad.img
shots same_%d.img --bad-pixels=same.img
lineage() { grep -aho '^BRAGG_LINEAGE=[0-9a-f]*' "$1"; }
is 'the lineage depends on the content of the file of bad pixels' "$(lineage file2_0.img)" "$(lineage same_0.img)"
check_status 'a file of bad pixels with a value above 2 is refused' 3 sh -c "bragg-noise --bad-pixels=odd.img --in=ipc:///nowhere"
refused() {
	shots refused_%d.raw --bad-pixels=bad.img 2>&1 | grep 'bragg-noise: --bad-pixels: the file has 200 x 160 pixels; expected 100 x 320'
}

# --- the beam stop: light that is there without it, to the share of each pixel in the shadow
light=--no-poisson
shots plain_%d.raw $light --gain=8
shots disc_%d.raw $light --gain=8 --beamstop=10
holds 'the shadow of a disc has its area' "
share = 1 - a('disc_0.raw') / a('plain_0.raw'); near(share.sum() * 0.25, numpy.pi * 25, 0.15)
y, x = numpy.indices(share.shape); cx, cy = (x * share).sum() / share.sum(), (y * share).sum() / share.sum()
near(cx, 100.5, 0.05); near(cy, 80.5, 0.05); r = numpy.hypot((x - cx) / 2, (y - cy) / 2)
assert (share[r < 4.6] == 1).all() and (share[r > 5.4] == 0).all()"
shots near_%d.raw $light --gain=8 --beamstop=2.5 --beamstop-distance=25
check 'a small one near the sample casts the same' cmp disc_0.raw near_0.raw
# edge LAYERS: the edge of a shadow at 45 degrees in a sensor of 2 mm
edge() {
	bragg-geometry --quiet --detpixels=40,440 --pixel=0.1 --distance=20 --beam-center=42,2 --default-F=0 --cell=50,50,50,90,90,90 --oversample=1 \
		--thickness=2000 --absorption=1500 --layers="$1" --beam-size=0.1 --fluence=1e20 |
		bragg-orient --quiet | bragg-intensity --quiet | bragg-background --quiet --water=100 |
		bragg-noise --quiet $light --beamstop=40,0.5 --beamstop-shape=rectangle --beamstop-offset=0,-20 --gain=8 | bragg-write --quiet "edge$1.raw"
}
edge 1
edge 9
check 'a shadow does not depend on the number of layers of a sensor' cmp edge1.raw edge9.raw
shots dim_%d.raw $light --gain=8 --beamstop=10 --beamstop-transmission=0.25
holds 'the beam stop may let some light pass' "
p, d, t = a('plain_0.raw'), a('disc_0.raw'), a('dim_0.raw'); assert abs(t - (0.25 * p + 0.75 * d)).max() <= 1.5"
shots arm.nxs $light --beamstop=6,4 --beamstop-shape=rectangle --beamstop-offset=5,-3 --beamstop-arm=1 --beamstop-angle=90
shots bare.nxs $light
holds 'a rectangle beside the beam with its arm' "
share = 1 - data('arm.nxs')[0] / data('bare.nxs')[0]; dark = share == 1
assert dark[71:77, 105:115].all() and not dark[71:77, 117].any() and not dark[71:77, 103].any() and not dark[80, 112]
assert dark[78:160, 110].all() and not dark[:68, 110].any() and dark[:, 110].sum() > 80
assert ((share != 0) == (mask('arm.nxs') == 256)).all()"
shots why.nxs --beamstop=10 --dead=0.05
holds 'a dead pixel in the shadow is both' "assert set(mask('why.nxs').ravel()) == {0, 2, 256, 258}"
for panels in 1,1 2,2; do
	geometry=--cut=$panels
	shots "told$panels.nxs" --beamstop=10 --dead=0.05 --hot=0.02
	bragg-replay "told$panels.nxs" | bragg-write --quiet "again$panels.nxs"
	holds "played from its file, with the reasons, $panels panels" "
m = mask('told$panels.nxs'); assert set(m.ravel()) >= {0, 2, 16, 256, 258} and (mask('again$panels.nxs') == m).all()"
done
geometry=
/usr/bin/python3 -c "
import h5py
m = h5py.File('told2,2.nxs', 'r+')['/entry/instrument/detector/pixel_mask']
m[:, :] = 0; m[3, 5:13] = 1, 2, 4, 8, 16, 32, 256, 1 << 31"
bragg-replay told2,2.nxs | bragg-write --quiet others.nxs
holds 'the words of others are as near as can be' "assert list(mask('others.nxs')[3, 4:14]) == [0, 1, 2, 2, 16, 16, 1, 256, 1, 0]"
# --- shadows of other things: a triangle by its area, two on each other, the beam stop's disc as a polygon
cat >shadow.txt <<-'END'
	# a triangle of 20 x 16 mm at the detector, and another near the sample
	shadow 0.25
	-10 4
	10 4
	0 20  # tip
	shadow 0.5 50
	-5 2
	5 2
	0 10
END
shots cast_%d.raw $light --gain=8 --shadow=shadow.txt
sed -n 1,5p shadow.txt >one.txt
shots one_%d.raw $light --gain=8 --shadow=one.txt
holds 'a polygon covers its area' "
share = a('one_0.raw') / a('plain_0.raw'); near((1 - share).sum() * 0.25, 0.75 * 160, 0.2)"
# Each covers a part of a pixel at the edge by itself: what both leave of it is a product.
holds 'two polygons at the same place cover it twice' "
one, share = a('one_0.raw') / a('plain_0.raw'), a('cast_0.raw') / a('plain_0.raw')
part = (1 - one) / 0.75; assert abs(share - (1 - 0.75 * part) * (1 - 0.5 * part)).max() < 0.002
assert abs(share[91:101, 96:105] - 0.125).max() < 0.01 and share[82, 100] == 1 and share[86, 70] == 1
y, x = numpy.indices(share.shape); w = 1 - share; near((x * w).sum() / w.sum(), 100.5, 0.1); near((y * w).sum() / w.sum(), 80.5 + 2 * (4 + 16 / 3), 0.1)"
/usr/bin/python3 -c "
import math
print('shadow 0'); [print(5 * math.cos(i * math.pi / 180), 5 * math.sin(i * math.pi / 180)) for i in range(360)]" >disc.txt
shots round_%d.raw $light --gain=8 --shadow=disc.txt
holds 'a disc of 360 corners is the disc' "assert abs(a('round_0.raw') - a('disc_0.raw')).max() <= 0.04 * a('plain_0.raw').max()"
shots cast.nxs --shadow=shadow.txt --beamstop=3
holds 'the shadow of the file is masked' "assert set(mask('cast.nxs').ravel()) == {0, 256} and (mask('cast.nxs') != 0).sum() > 640"
check 'a frame is recomputed with the file of the shadow' bragg-replay --recompute cast.nxs:1
cp shadow.txt named.txt
shots cast_%d.img --shadow=shadow.txt
shots named_%d.img --shadow=named.txt
is 'the lineage depends on the content of the file of the shadow' "$(lineage cast_0.img)" "$(lineage named_0.img)"
shots both.nxs --beamstop=6 --dead=0.01 --unmasked
check 'a frame with beam stop and dead pixels is recomputed' bragg-replay --recompute both.nxs:1
geometry='--cut=2,2'
shots cut.nxs $light --beamstop=10
holds 'over four panels' "assert (data('cut.nxs')[0] == 0).sum() == (a('disc_0.raw') == 0).sum() > 250"
shots disc.nxs $light --beamstop=10
holds 'the mask of the shadow is the same over four panels' "m = mask('cut.nxs'); assert (m == 256).sum() == (mask('disc.nxs') == 256).sum() == (m != 0).sum() > 250"
geometry=--cut=2,1
check_status 'a file of another size' 0 refused
# --- counters that miss photons: dead for 1e-4 of the exposure
for counter in nonparalysable paralysable; do
	shots "${counter}_%d.raw" --seed=4 --counter=$counter --dead-time=100 --count-time=1
done
shots pulse_%d.raw --seed=4 --counter=pulse
shots sure_%d.raw --no-poisson
holds 'counters miss what they should' "
n = a('sure_0.raw'); r = n * 1e-4
near(a('nonparalysable_0.raw').mean() / (n / (1 + r)).mean(), 1, 0.005)
near(a('paralysable_0.raw').mean() / (n * numpy.exp(-r)).mean(), 1, 0.005)
assert r.max() > 0.1"
holds 'a pulse gives one count at most' "p = a('pulse_0.raw'); n = a('sure_0.raw'); assert p.max() == 1; near(p.mean(), (1 - numpy.exp(-n)).mean(), 0.005)"
shots threads_%d.raw --seed=4 --counter=paralysable --dead-time=100 --count-time=1 --threads=1
check 'one thread gives the same counts' cmp threads_1.raw paralysable_1.raw
bad_counter() { # WANTED OPTION...
	wanted=$1
	shift
	is "refused: $*" "$(bragg-noise "$@" < /dev/null 2>&1 | cat | grep -c -e "$wanted")" 1
}
bad_counter 'at most a tenth of --count-time' --counter=paralysable --dead-time=200 --count-time=0.001
bad_counter 'dead-time has an effect only with' --dead-time=200
bad_counter 'counter' --counter=pulse --gain-switching
finish
