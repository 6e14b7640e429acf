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
		--hkl=one.hkl --default-F=0 --no-polarization --shape=gauss --fluence=1e26 --oversample="${fine:-1}" "$@"
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
check "the whole of a reflection is found within a smaller ripple ($finer)" within 0.002 $finer
# shellcheck disable=SC2046
check_status 'usual steps do not' 1 within 0.3 $(total -2 --steps=given) $(total -2.5 --steps=given)

# --- what is given stays, and is warned of
told() { # NCELLS OPTION...: what bragg-orient says
	cells=$1
	shift
	{ geometry --ncells="$cells" | bragg-orient --mosaic=0.5 "$@" 2>&3 | bragg-intensity --quiet | bragg-write --quiet --overwrite told.raw; } \
		3>&1 2> told.err
}
is 'nothing is left to warn of' "$(told 20 --osc=4 --steps=auto | grep -c 'too coarse')" 0
is '--steps=auto warns of a given number of steps' "$(told 20 --osc=4 --steps=auto --phi-steps=3 | grep -o 'phi steps are.* apart')" 'phi steps are 1.33 deg apart'
is 'too many terms are refused' "$(told 200 --steps=auto --osc=360 | grep -c 'per pixel; expected at most 1e+06')" 1
is 'a ripple of nothing' "$(told 20 --ripple=2 --steps=given)" 'bragg-orient: --ripple has no effect with --steps=given'

# --- by default: what nobody gave is chosen, up to a limit
small='--detpixels=40 --pixel=2 --distance=100 --wavelength=1 --oversample=1'
# frames FILE OPTION...: two frames of a rotation with mosaic spread
frames() {
	file=$1
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet $small --ncells=8 $physics | bragg-orient --quiet --frames=2 --phi0=10 --osc=1.5 --mosaic=0.8 "$@" |
		bragg-intensity --quiet --threads=1 | bragg-noise --quiet --seed=1 | bragg-write --quiet --overwrite "$file"
}
# says GEOMETRY OPTION...: what bragg-orient says with --verbose, when recipes are recorded
says() {
	how=$1
	shift
	# shellcheck disable=SC2086
	{ bragg-geometry --quiet $how | bragg-orient --verbose "$@" 2>&3 | bragg-tap --quiet --record=said.rec --overwrite; } 3>&1 2>/dev/null |
		grep -v 'bragg-top\|deg wide$'
}
physics=
frames 'own_%d.img'
auto=$(says "$small --ncells=8" --osc=1.5 --mosaic=0.8 --steps=auto | sed -n 's/.*subpixels, \([0-9]*\) phi steps, \([0-9]*\) mosaic.*/--phi-steps=\1 --mosaic-domains=\2/p')
# shellcheck disable=SC2086
frames 'auto_%d.img' $auto
same() { # A B: two images with the same pixels
	bragg-compare --max-error=0 "$1" "$2" >/dev/null
}
check "sampling without options is that of --steps=auto ($auto)" same own_1.img auto_1.img
frames 'given_%d.img' --steps=given
frames 'usual_%d.img' --phi-steps=2 --mosaic-domains=10
check '--steps=given takes 2 phi steps and 10 domains' same given_1.img usual_1.img
check_status '--steps=given gives another image than the default' 1 same own_1.img given_1.img
frames 'seven_%d.img' --phi-steps=7
frames 'both_%d.img' --phi-steps=7 "${auto#* }"
check 'a number that is given stays, the other is chosen' same seven_1.img both_1.img
is 'numbers do not fall below 2 and 10' "$(says "$small --ncells=2" --osc=0.1 --mosaic=0.1 | grep -c 'smooth spots') \
$(grep -ao 'mosaic-domains=[0-9]*' said.rec | sort -u)" '0 mosaic-domains='
physics=--physics=faithful
frames 'faithful_%d.img'
frames 'nanobragg_%d.img' --phi-steps=2 --mosaic-domains=10
check 'steps in faithful mode are those of nanoBragg' same faithful_1.img nanobragg_1.img
is 'where a ripple has no effect' "$(says "$small --ncells=2 $physics" --osc=1 --ripple=2)" \
	'bragg-orient: --ripple has an effect in faithful mode only with --steps=auto'

# A file says which numbers were chosen, and gives the same bytes again; so does one from before, or with --steps=given.
is 'the header has the chosen numbers' "$(strings own_1.img | grep -o 'osc~1.5 .*' | head -n 1)" \
	"$(echo "osc=1.5 ${auto%% *} --mosaic=0.8 ${auto#* };" | tr = '~')"
for file in own seven given usual; do
	is "$file: bragg-replay recomputes the same bytes" "$(bragg-replay --recompute ${file}_1.img 2>&1)" "${file}_1.img: the same bytes"
done

# More than 1e10 terms are not chosen, and that is said in one line.
many='--detpixels=1000 --ncells=50'
is 'more than a limit is not chosen' "$(says "$many" --osc=1 --mosaic=0.3 | sed 's/ bragg-geometry --shape.*//')" \
	'bragg-orient: warning: sampling is too coarse: smooth spots need --phi-steps=52 --mosaic-domains=758 (4.8e+12 terms a frame); expected at most 1e+10 terms. With the chosen 6 phi steps and 13 mosaic domains, points are 8.7 times too far apart and spots are not smooth.'
is 'given phi steps take part in the limit of all steps' "$(says "$many" --osc=1 --phi-steps=60 --mosaic=0.3 | grep -c 'the chosen 10 mosaic domains')" 1
is 'frames that take much longer are announced' "$(says '--detpixels=1000 --ncells=20' --mosaic=0.5 | sed 's/ bragg-geometry .*//')" \
	'bragg-orient: smooth spots need 337 mosaic domains. A frame takes about 34 times as long as with --steps=given (10 mosaic domains).'

# In closed form few steps are enough: the mosaic spread smears the spot.
closed='--ncells=100 --shape=gauss --mosaic-model=gauss'
is 'blocks without a spread need many' "$(says "$closed" --osc=3 | sed -n 's/.*smooth spots need \([0-9]*\) phi steps$/\1/p')" 289
is 'few mosaic domains are chosen with a spread' "$(says "$closed --mosaic-rms=0.05" --osc=3 | sed -n 's/.*smooth spots need \([0-9]*\) phi steps$/\1/p')" 31
smeared() { # OPTION...: photons of a reflection that 3 degrees turn through, in closed form
	fine=7 geometry --ncells=50 --mosaic-model=gauss --mosaic-rms=0.2 | bragg-orient --quiet --misset=0,0,92.866 --osc=3 --phi0=-1.5 "$@" |
		bragg-intensity --quiet | bragg-write --quiet --overwrite smeared.raw
	/usr/bin/python3 -c "
import numpy as np
print('%.4f' % (np.fromfile('smeared.raw', 'f4').sum(dtype=float) / 1e3))"
}
whole="$(smeared) $(smeared --phi-steps=400) $(smeared --steps=given)"
is "few mosaic domains are as good as many, and 2 are not ($whole)" "$(echo "$whole" | awk '{ print (($1 / $2 - 1) ^ 2 < 0.01 ^ 2), (($3 / $2 - 1) ^ 2 > 0.1 ^ 2) }')" '1 1'

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
is 'the chosen layers of the sensor need no warning' "$(thick own --sensor=layers)" ''
is 'a warning of five layers says that 15 are needed' "$(thick 5 --layers=5)" 15
is 'the recommended number of layers needs no warning' "$(thick 15 --layers=15)" ''
check 'the recommended layers give an image within 5 % of the brightest pixel' /usr/bin/python3 -c "
import numpy
def a(n): return numpy.fromfile('layers_%s.raw' % n, '<f4').astype(float)
def off(n): return abs(a(n) - a(60)).max() / a(60).max()
print(off(5), off(15), off('own'))
assert off(15) < 0.05 and off('own') < 0.05 and off(5) > 0.2"
is 'wide spots need fewer' "$(wide=4 thick 2 --layers=2 | awk '$1 < 15 { print "fewer" }')" fewer
finish
