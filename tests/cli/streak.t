#!/bin/sh
# The streak of a jet: the formula of its page in numpy, frame to frame, and what cannot be.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'streaks' python:numpy
scratch

# shots NAME OPTION...: 40 frames of streaks alone
shots() {
	name=$1
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --detpixels=120,90 --pixel=0.5 --distance=200 --beam-center=21,32 --cell=50,50,50,90,90,90 --default-F=0 $geometry |
		bragg-orient --quiet --frames=${frames:-2} --seed=3 $orient | bragg-intensity --quiet |
		bragg-background --quiet --streak=1e6 "$@" | bragg-write --quiet "$name"
}
holds() {
	check "$1" /usr/bin/python3 -c "
import glob, numpy
def a(name): return numpy.fromfile(name, '<f4').reshape(90, 120).astype(float)
y, x = numpy.indices((90, 120)); fast, slow = (x + 0.5) * 0.5 - 32.25, (y + 0.5) * 0.5 - 21.25
def streak(angle, l, w, depth=0):
    c, s = numpy.cos(numpy.radians(angle)), numpy.sin(numpy.radians(angle))
    far = 200 + depth; u, v = (fast * c + slow * s) / far, (slow * c - fast * s) / far
    omega = 0.25 * 200 / (fast**2 + slow**2 + far**2)**1.5
    return 1e6 * omega * numpy.exp(-abs(v) / w) / (2 * numpy.pi * w * l * (1 + (u / l)**2))
$2"
}
geometry= orient=
shots still_%d.raw --streak-angle=30,0 --streak-spread=0 --streak-size=15,4
holds 'a streak by the formula' "
want, got = streak(30, 0.015, 0.004), a('still_0.raw'); assert want.max() > 1000 and abs(got - want).max() < 1e-5 * want.max() and (got == a('still_1.raw')).all()"
geometry=--roi=50,119,0,89
shots part_%d.raw --streak-angle=30,0 --streak-spread=0 --streak-size=15,4
holds 'outside of the region of interest there is none' "p, s = a('part_0.raw'), a('still_0.raw'); assert (p[:, :50] == 0).all() and (p[:, 50:] == s[:, 50:]).all()"
geometry='--thickness=50 --absorption=100 --layers=2'
shots thin_%d.raw --streak-angle=30,0 --streak-spread=0 --streak-size=15,4
holds 'a sensor catches its share' "
path = 0.5 * numpy.sqrt(fast**2 + slow**2 + 200**2) / 200
depth = 0.05 / path - 0.05 / numpy.expm1(path)  # where photons stop in the whole sensor on average, mm
cosine = (200 + depth) / numpy.sqrt(fast**2 + slow**2 + (200 + depth)**2)
want = streak(30, 0.015, 0.004, depth) * (1 - numpy.exp(-0.5 / cosine))
assert abs(a('thin_0.raw') - want).max() < 1e-5 * want.max()"
geometry='--thickness=2000 --absorption=1500 --layers=1'
shots one_layer_%d.raw --streak-angle=30,0 --streak-spread=0 --streak-size=15,4
geometry='--thickness=2000 --absorption=1500 --layers=9'
shots nine_layers_%d.raw --streak-angle=30,0 --streak-spread=0 --streak-size=15,4
holds 'the streak does not depend on the number of layers' "
one, nine = a('one_layer_0.raw'), a('nine_layers_0.raw'); assert one.max() > 1000 and abs(one - nine).max() < 1e-6 * one.max()"
printf -- '-10 0 0 3 6.19921e-11\n-10 0 0 1 1.239842e-10\n' >two.txt
geometry='--source-file=two.txt --weights=apply --thickness=320'
shots two_%d.raw --streak-angle=30,0 --streak-spread=0 --streak-size=15,4
holds 'a sensor catches each of two wavelengths as silicon does, 10 and 20 keV' "
cosine = 200 / numpy.sqrt(fast**2 + slow**2 + 200**2)
caught = lambda mu: -numpy.expm1(-mu * 2.33 * 0.032 / cosine)  # cm^2/g of NIST SRD 126
want = streak(30, 0.015, 0.004, 0.12) * (3 * caught(4.464) + caught(33.89)) / 4; got = a('two_0.raw')
print((got / want)[30, 20:100:10]); assert abs(got - want).max() < 0.01 * want.max() and abs(got.sum() / want.sum() - 1) < 0.001"
geometry= frames=60
shots vary_%d.raw --streak-angle=0,10 --streak-spread=50 --streak-size=20,5
holds 'frames differ in brightness and angle as asked for' "
b, angle = [], []
for k in range(60):
    i = a('vary_%d.raw' % k); i = i * (numpy.hypot(fast, slow) < 18); i /= 1
    b.append(i.sum()); xx, xy, yy = (i * fast * fast).sum(), (i * fast * slow).sum(), (i * slow * slow).sum()
    angle.append(numpy.degrees(numpy.arctan2(2 * xy, xx - yy) / 2))
b = numpy.array(b) / (streak(0, 0.02, 0.005) * (numpy.hypot(fast, slow) < 18)).sum()
print(b.mean(), b.std(), numpy.std(angle))
assert abs(b.mean() - 1) < 0.25 and 0.3 < b.std() < 0.8 and 7 < numpy.std(angle) < 13 and abs(numpy.mean(angle)) < 5"
frames=2 orient='--spectrum=sase --bandwidth=0.2 --fluence-jitter=20'
shots pulse_%d.raw --streak-angle=30,0 --streak-spread=0 --streak-size=15,4
holds 'the streak varies with the pulse' "r = a('pulse_0.raw') / a('still_0.raw'); assert r.std() < 1e-5 and abs(r.mean() - 1) > 0.003"
shots one_%d.raw --threads=1 --water=2
shots three_%d.raw --threads=3 --water=2
check 'one thread and three: the same bytes' cmp one_1.raw three_1.raw
is 'a size without a streak' "$(bragg-background --water=1 --streak-size=1,1 </dev/null 2>&1 | cat | grep -c -e --streak)" 1
is 'a streak without width' "$(bragg-background --streak=1 --streak-size=1,0 </dev/null 2>&1 | cat | grep -c '; expected ')" 1
finish
