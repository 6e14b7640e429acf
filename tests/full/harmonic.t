#!/bin/sh
# Photons of the third harmonic by other ways of computing them than those of tests/cli/harmonic.t.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
sums="/usr/bin/python3 $BRAGG_TESTS/cli/harmonic_sums.py"
printf '3 0 0 100\n7 0 0 60\n8 0 0 80\n9 0 0 50\n' >one.hkl
# orders NAME 'SHARE SIGNAL BLOCKS' 'INTENSITY OPTIONS' GEOMETRY...
orders() {
	name=$1 expected=$2 how=$3
	shift 3
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --wavelength=1.5 --detpixels=31,500 --pixel=0.1 --distance=1000 --beam-center=48,1.55 --cell=100,100,100,90,90,90 \
		--hkl=one.hkl --ncells=40 --shape=gauss --oversample=1 --no-polarization --fluence=1e26 --thickness=320 --beam-size=1 "$@" |
		bragg-orient --quiet --misset=0,0,90 --osc=2.6 --phi-steps=65 | bragg-intensity --quiet $how | bragg-write --quiet one.raw --overwrite
	# shellcheck disable=SC2086
	check "$name" $sums one.raw $expected
}
orders 'double precision' '0.005 3 1' --precision=double --third-harmonic=0.5
orders 'closed form' '0.005 3 1' '' --third-harmonic=0.5 --mosaic-model=gauss
orders 'a crystal of 20 x 20 x 20 blocks' '0.005 3 8000' '' --third-harmonic=0.5 --crystal-size=0.008
orders 'one photon counts as one' '0.01 1 1' '' --third-harmonic=1 --harmonic-signal=1
for layers in 1 7; do
	orders "$layers layers" '0.1 3 1' '' --third-harmonic=10 --layers=$layers --oversample-each-thickness
done

# --- an image is the sum of two, wherever the detector stands
frame() {
	name=$1 orient=$2
	shift 2
	bragg-geometry --quiet --detpixels=120,100 --pixel=0.4 --distance=100 --ncells=5 --cut=2,2 --thickness=320 "$@" |
		bragg-orient --quiet --random --frames=2 $orient | bragg-intensity --quiet --precision=double |
		bragg-background --quiet --water=10 | bragg-write --quiet --overwrite ${name}_%d.raw
}
for orient in '' '--coffset=3 --coffset-jitter=500' '--fluence-jitter=20 --wavelength-jitter=0.1'; do
	frame beam "$orient" --wavelength=1.5 --absorption=100 --oversample=1
	frame both "$orient" --wavelength=1.5 --absorption=100 --oversample=1 --third-harmonic=1 --harmonic-absorption=2000
	frame its "$orient" --wavelength=0.5 --absorption=2000 --oversample=2 --fluence=3e23
	for k in 0 1; do
		check "frame $k of ${orient:-none}" /usr/bin/python3 -c "
import numpy
beam, its, both = (numpy.fromfile(n + '_$k.raw', '<f4').astype(float) for n in ('beam', 'its', 'both'))
off = abs(both - beam - its).max()
assert its.max() > 1e-3 and off < 1e-6 * beam.max() + 1e-5 * its.max(), (off, its.max())"
	done
done

# --- in one program, by more threads: the same bytes
noisy() {
	bragg-geometry --quiet --detpixels=200 --pixel=0.4 --ncells=5 --thickness=320 --third-harmonic=3 | bragg-orient --quiet --frames=2 --random --spectrum=sase --channels=4
}
noisy | bragg-intensity --quiet --threads=1 | bragg-background --quiet --water=10 | bragg-noise --quiet --psf=gauss | bragg-write --quiet chain_%d.img
noisy | bragg-intensity --quiet --threads=3 --fuse='background --water=10' --fuse='noise --psf=gauss' | bragg-write --quiet fused_%d.img
for k in 0 1; do
	check "frame $k of a chain and of one program" cmp chain_$k.img fused_$k.img
done
# --- DIALS and CrystFEL are told of the beam
needs 'DIALS' python:dxtbx
bragg-geometry --quiet --detpixels=150,120 --pixel=0.3 --ncells=6 --wavelength=1.5 --third-harmonic=2 --write-geom=h.geom |
	bragg-orient --quiet --random --spectrum=gauss --channels=3 | bragg-intensity --quiet --reflections=1 | bragg-noise --quiet |
	bragg-write --quiet h_%d.cbf h_%d.img h.nxs --reflections=h.refl
check 'wavelengths of files' /usr/bin/python3 -c "
import dxtbx
from dxtbx.model.experiment_list import ExperimentListFactory
found = [dxtbx.load(n).get_beam().get_wavelength() for n in ('h_0.cbf', 'h_0.img')]
found += [ExperimentListFactory.from_filenames(['h.nxs'])[0].beam.get_wavelength()]
found += [ExperimentListFactory.from_json_file('h.expt', check_format=False)[0].beam.get_wavelength()]
print(found)
assert all(abs(w - 1.5) < 1e-4 for w in found)"
check 'energy of a geometry' grep -q '^photon_energy = 8265.6' h.geom
finish
