#!/bin/sh
# bragg-orient --steps=auto: sampling by the width of spots.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy' python:numpy

# One reflection, 10 0 0 of a cubic cell of 100 A, at 1 A: it is excited 2.866 degrees beyond where
# its vector lies across the beam, and each crystal of 20^3 cells turns through it in 0.3 degrees.
echo '10 0 0 100' > one.hkl
geometry() {
	bragg-geometry --quiet --detpixels=9,230 --pixel=1 --distance=1000 --wavelength=1 --beam-center=115,4.4 --cell=100,100,100,90,90,90 \
		--hkl=one.hkl --default-F=0 --no-polarization --shape=gauss --fluence=1e26 --oversample=1 "$@"
}
# total PHI0 OPTION...: photons relative to r_e^2 fluence lambda^3 F^2 V_x 0.98444 / (V^2 sin 2theta osc)
total() {
	phi0=$1
	shift
	geometry --ncells=20 | bragg-orient --quiet --misset=0,0,92.866 --osc=4 --phi0="$phi0" "$@" |
		bragg-intensity --quiet --precision=double | bragg-write --quiet --overwrite total.raw
	/usr/bin/python3 -c "
import numpy as np
n = np.fromfile('total.raw', 'f4').sum(dtype=float)
theta = np.arcsin(0.05)
whole = (2.8179403e-15)**2 * 1e26 * 1e-30 * 100**2 * 2000e-10**3 * 0.98444 / 1e-24**2 / np.sin(2 * theta) / np.radians(4)
print('%.4f' % (n / whole))"
}
within() { # MOST TOTAL...: all differ by at most so much from 1
	awk -v most="$1" 'BEGIN { for (i = 2; i < ARGC; i++) if ((ARGV[i] - 1) ^ 2 > most ^ 2) exit 1 }' "$@"
}
auto="$(total -2 --steps=auto) $(total -2.05 --steps=auto) $(total -2.1 --steps=auto) $(total -2.15 --steps=auto)"
# shellcheck disable=SC2086 # numbers are meant to split
check "steps=auto finds the whole of a reflection ($auto)" within 0.012 $auto
finer="$(total -2 --steps=auto --ripple=0.1) $(total -2.1 --steps=auto --ripple=0.1)"
# shellcheck disable=SC2086
check "within a smaller ripple, too ($finer)" within 0.002 $finer
# shellcheck disable=SC2046
check_status 'usual steps do not' 1 within 0.3 $(total -2) $(total -2.5)

# --- what is given stays, and is warned of
told() { # NCELLS OPTION...: what bragg-orient says
	cells=$1
	shift
	{ geometry --ncells="$cells" | bragg-orient --mosaic=0.5 "$@" 2>&3 | bragg-intensity --quiet | bragg-write --quiet --overwrite told.raw; } \
		3>&1 2> told.err
}
is 'nothing is left to warn of' "$(told 20 --osc=4 --steps=auto | grep -c 'too coarse')" 0
is 'but what was given' "$(told 20 --osc=4 --steps=auto --phi-steps=3 | grep -o 'phi steps are.* apart')" 'phi steps are 1.33 deg apart'
is 'as many terms as nobody waits for' "$(told 200 --steps=auto --osc=360 | grep -c 'per pixel; expected at most 1e+06')" 1
is 'a ripple of nothing' "$(told 20 --ripple=2)" 'bragg-orient: --ripple has an effect only with --steps=auto'

# --- layers of a thick sensor: what a slanted ray leaves in it
thick() { # LAYERS [OPTION...]: spots at 50 degrees on 1 mm of silicon
	layers=$1
	shift
	bragg-geometry --quiet --detpixels=1000 --pixel=0.1 --distance=50 --thickness=1000 --ncells=${wide:-20} --oversample=2 --roi=880,999,880,999 --shape=gauss \
		--default-F=100 --cell=40,40,40,90,90,90 --wavelength=0.6 "$@" | bragg-orient --random --seed=4 --osc=1 --phi-steps=20 2>layers.err |
		bragg-intensity --quiet | bragg-write --quiet --overwrite "layers_$layers.raw"
	sed -n 's/.*bragg-geometry --layers=\([0-9]*\) or more/\1/p' layers.err
}
thick 60 --layers=60 >/dev/null
is 'as many layers as the sensor gets need no warning' "$(thick own)" ''
is 'fewer do' "$(thick 5 --layers=5)" 15
is 'as many as it says do not' "$(thick 15 --layers=15)" ''
check 'and there the image is right, to 5 % of the brightest pixel' /usr/bin/python3 -c "
import numpy
def a(n): return numpy.fromfile('layers_%s.raw' % n, '<f4').astype(float)
def off(n): return abs(a(n) - a(60)).max() / a(60).max()
print(off(5), off(15), off('own'))
assert off(15) < 0.05 and off('own') < 0.05 and off(5) > 0.2"
is 'wide spots need fewer' "$(wide=4 thick 2 --layers=2 | awk '$1 < 15 { print "fewer" }')" fewer
finish
