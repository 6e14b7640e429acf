#!/bin/sh
# bragg-geometry --third-harmonic: photons of a third of the wavelength, absolute and where they belong.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a third harmonic' python:numpy python:h5py
scratch
sums="/usr/bin/python3 $BRAGG_TESTS/cli/harmonic_sums.py"

# --- reflections 300, 700, 800 and 900 of a cell of 100 A, turned through by the harmonic of 1.5 A, and 300 by the beam:
# 900 of a third of the wavelength lies where 300 lies; 700 and 800 stand between orders of the beam
printf '3 0 0 100\n7 0 0 60\n8 0 0 80\n9 0 0 50\n' >one.hkl
for engine in reference cpu; do
	bragg-geometry --quiet --wavelength=1.5 --detpixels=31,500 --pixel=0.1 --distance=1000 --beam-center=48,1.55 --cell=100,100,100,90,90,90 \
		--hkl=one.hkl --ncells=40 --shape=gauss --oversample=1 --no-polarization --fluence=1e26 --thickness=320 --third-harmonic=0.5 |
		bragg-orient --quiet --misset=0,0,90 --osc=2.6 --phi-steps=65 | bragg-intensity --quiet --engine=$engine | bragg-write --quiet $engine.raw
	# shellcheck disable=SC2086 # a program and its script
	check "$engine: each order where it belongs, with its photons" $sums $engine.raw 0.005 3 1
done

# --- an image is the sum of two, each with a sensor and a background of its own
frame() {
	name=$1
	shift
	bragg-geometry --quiet --detpixels=120,100 --pixel=0.4 --distance=100 --ncells=5 --thickness=320 "$@" |
		bragg-orient --quiet --random --spectrum=gauss --channels=3 --truth=$name.tsv | bragg-intensity --quiet --precision=double |
		bragg-background --quiet --water=10 | bragg-write --quiet $name.raw $name.cbf --scale=1
}
frame beam --wavelength=1.5 --absorption=100 --oversample=1
frame both --wavelength=1.5 --absorption=100 --oversample=1 --third-harmonic=1 --harmonic-absorption=2000
frame its --wavelength=0.5 --absorption=2000 --oversample=2 --fluence=3e23
check 'the beam and its harmonic' /usr/bin/python3 -c "
import numpy
beam, its, both = (numpy.fromfile(n + '.raw', '<f4').astype(float) for n in ('beam', 'its', 'both'))
off = abs(both - beam - its).max()
assert its.max() > 1e-3 and off < 1e-6 * beam.max() + 1e-5 * its.max(), (off, its.max())"
is 'the table has its share' "$(cut -f37 both.tsv | tr '\n' ' ')" 'third_harmonic 0.01 '
is 'the table has the wavelength and fluence of the beam' "$(cut -f3,4 both.tsv)" "$(cut -f3,4 beam.tsv)"
is 'the header has the wavelength of the beam' "$(head -c 2000 both.cbf | grep -a Wavelength)" "$(head -c 2000 beam.cbf | grep -a Wavelength)"

# --- what a photon of it counts
pixels() {
	bragg-geometry --quiet --roi=0,99,0,99 --third-harmonic=10 "$@" | bragg-orient --quiet --random | bragg-intensity --quiet | bragg-write --quiet p.raw --overwrite
	cksum <p.raw
}
is 'counters count photons' "$(pixels --detector=pilatus-300k)" "$(pixels --detector=pilatus-300k --harmonic-signal=1)"
is 'integrating detectors add up energies' "$(pixels --thickness=500)" "$(pixels --thickness=500 --harmonic-signal=3)"

# --- reflections are those of the beam; its harmonic is in the rest
bragg-geometry --quiet --detpixels=120 --pixel=0.4 --ncells=5 --third-harmonic=5 | bragg-orient --quiet --random |
	bragg-intensity --quiet --reflections=0.01 | bragg-write --quiet keyed.raw keyed.nxs
check 'rows and rest are the image' /usr/bin/python3 -c "
import h5py, numpy
image = numpy.fromfile('keyed.raw', '<f4').sum(dtype=float)
f = h5py.File('keyed.nxs')
rows, rest = f['entry/reflections/photons'][:].sum(), f['entry/braggpipe/reflections']['rest_photons'][:].sum()
assert rest > 1e-3 * image and abs((rows + rest) / image - 1) < 1e-6, (rows, rest, image)"

# --- derivatives, fits and error bars are of both
. "$BRAGG_TESTS/python.sh"
check 'planes are differences of images' timeout 100 /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" harmonic
shots() { # CELL FLUENCE OPTION...
	edge=$1 fluence=$2
	shift 2
	bragg-geometry --quiet --wavelength=1.5 --detpixels=200 --pixel=0.4 --distance=100 --oversample=2 --default-F=100 --shape=gauss \
		--cell="$edge",80,90,90,90,90 --ncells=8 --fluence="$fluence" "$@" | bragg-orient --quiet --frames=2 --random --seed=5
}
shots 70 1e28 --third-harmonic=10 | bragg-tap --quiet --record=true.rec
bragg-replay --quiet true.rec | bragg-intensity --quiet | bragg-noise --quiet --bits=32 --readout=1 --seed=3 | bragg-tap --quiet --record=counted.rec
for start in both beam; do
	[ $start = beam ] || its=--third-harmonic=10
	shots 70.05 2e27 ${its-} | bragg-tap --quiet --record=$start.rec
	bragg-replay --quiet counted.rec | bragg-refine --quiet --readout=1 --background=0 --parameters=rot,cell,scale --start=$start.rec --table=$start.tsv >/dev/null
	unset its
done
bragg-replay --quiet true.rec | bragg-fisher --quiet --readout=1 --background=0 --parameters=rot,cell,scale --table=bars.tsv >/dev/null
check 'a fit with it is right, one without is not, and error bars were known before' /usr/bin/python3 -c "
import csv
both, beam, bars = (list(csv.DictReader(open(f'{name}.tsv'), delimiter='\t')) for name in ('both', 'beam', 'bars'))
off = lambda fit: max(abs(float(row['scale']) - 5) / float(row['error_scale']) for row in fit)
chi2 = lambda fit: [float(row['chi2']) for row in fit]
assert off(both) < 4 and max(abs(float(row['cell_a_A']) - 70) / float(row['error_cell_a_A']) for row in both) < 4, both
assert all(0.95 < x < 1.05 for x in chi2(both)) and off(beam) > 5 and min(chi2(beam)) > 1.05, (chi2(both), chi2(beam), off(beam))
for fit, known in zip(both, bars):  # the fit leaves out what is below a third of a photon; scale is 1 there, 5 here
    ratios = [float(fit['error_cell_a_A']) / float(known['cell_a_A']), float(fit['error_scale']) / 5 / float(known['scale'])]
    assert all(0.97 < ratio < 1.1 for ratio in ratios), ratios"
finish
