#!/bin/sh
# Diffuse halos through whole pipes. That they are right: tests/unit/diffuse.c, tests/full/physics-page.t.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

geometry='--detpixels=200,180 --pixel=0.4 --distance=120 --fluence=1e26 --ncells=10 --oversample=2'
halos='--diffuse-sigma=0.4 --diffuse-gamma=40'
# frame 'GEOMETRY OPTIONS' 'ORIENT OPTIONS' 'INTENSITY OPTIONS' FILE...
frame() {
	more=$1 orient=$2 how=$3
	shift 3
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet $geometry $more | bragg-orient --quiet --misset=10,20,30 $orient |
		bragg-intensity --quiet $how | bragg-write --quiet "$@"
}
# number PERL FILE...: of float32 pixels, image i as @{$p[i]}
number() {
	perl -e 'my $say = shift; for (@ARGV) { local $/; open my $f, "<:raw", $_ or die; push @p, [unpack "f<*", <$f>] } print eval($say) // die $@' "$@"
}
frame "$halos" '' --threads=1 one.raw
frame "$halos" '' --threads=3 three.raw
check 'one thread and three: the same bytes' cmp one.raw three.raw
frame '' '' --threads=2 bragg.raw
frame "$halos" '' '--engine=reference --threads=2' reference.raw
check 'the reference engine has the same photons' bragg-compare --max-error=2e-5 --sum-tolerance=1e-6 --shape=200,180 reference.raw one.raw
frame "$halos --shape=gauss" '' --threads=2 dense.raw
frame "$halos --shape=gauss --mosaic-model=gauss" '' --threads=2 closed.raw
# the loop over pixels knows the nearest spot only
check 'spots in closed form have the same' bragg-compare --max-error=1e-5 --floor=1 --sum-tolerance=1e-5 --shape=200,180 dense.raw closed.raw

check 'every pixel is a little brighter' test "$(number 'my $n = 0; $n += $p[0][$_] <= $p[1][$_] for 0..$#{$p[0]}; $n' one.raw bragg.raw)" = 0
# --- a sensor: halos stand where photons stop in all of it, and each of two wavelengths is absorbed
deep='--thickness=2000 --absorption=1500 --layers'
for layers in 1 9; do
	frame "$halos $deep=$layers" '' --threads=2 deep$layers.raw
	frame "$deep=$layers" '' --threads=2 spots$layers.raw
done
moved=$(number 'my ($n, $d) = (0, 0); for (0..35999) { my $one = $p[0][$_] - $p[1][$_]; my $nine = $p[2][$_] - $p[3][$_];
	my $bright = $p[1][$_] + $p[3][$_] > 2e-3 * ($one + $nine); $n += abs($one - $nine) unless $bright; $d += $one unless $bright } $d > 0 ? $n / $d : 1' deep1.raw spots1.raw deep9.raw spots9.raw)
note "halos of one layer and of nine differ by $moved"
check 'halos do not depend on the number of layers of the sensor' awk -v d="$moved" 'BEGIN { exit !(d < 1e-5) }'
printf -- '-10 0 0 1 6.19921e-11\n-10 0 0 1 1.239842e-10\n' >two.txt
two='--source-file=two.txt --weights=apply'
near=$geometry
geometry=$(printf '%s' "$near" | sed 's/--distance=120/--distance=1200/')
frame "$halos $two" '' --threads=2 open.raw
frame "$two" '' --threads=2 openspots.raw
frame "$halos $two --thickness=320" '' --threads=2 sensor.raw
frame "$two --thickness=320" '' --threads=2 sensorspots.raw
geometry=$near
caught=$(number 'my ($n, $d) = (0, 0); $d += $p[0][$_] - $p[1][$_], $n += $p[2][$_] - $p[3][$_] for 0..35999; $n / $d' open.raw openspots.raw sensor.raw sensorspots.raw)
expected=$(number 'my $t = 2.33 * 0.032; 1 - (exp(-4.464 * $t) + exp(-33.89 * $t)) / 2')
note "a sensor catches $caught of halos at 10 and 20 keV, by NIST SRD 126 $expected"
check 'a sensor catches halos of each wavelength as silicon does' awk -v got="$caught" -v want="$expected" 'BEGIN { exit !((got / want - 1) ^ 2 < 0.003 ^ 2) }'

frame "$halos --roi=100,199,0,179" '' --threads=2 half.raw
check 'pixels outside the region stay dark, others are the same' test "$(number 'my $n = 0; $n += $p[1][$_] != ($_ % 200 < 100 ? 0 : $p[0][$_]) for 0..35999; $n' one.raw half.raw)" = 0

# --- a pulse has its mean wavelength, a rotation is the mean of its steps
frame "$halos" '--spectrum=gauss --bandwidth=0.1 --channels=3' --threads=2 pulse.raw
pulse=$(number 'my ($n, $d) = (0, 0); $n += $p[0][$_], $d += $p[1][$_] for 0..999; $n / $d' pulse.raw one.raw)
note "a pulse of three wavelengths gives $pulse of one in the five top rows"
check 'a pulse is as bright as a wave' awk -v d="$pulse" 'BEGIN { exit !(d > 0.9 && d < 1.1) }'
frame "$halos" '--osc=2 --phi-steps=2' --threads=2 both.raw
frame "" '--osc=2 --phi-steps=2' --threads=2 both-bragg.raw
frame "$halos" '--phi0=0.5' --threads=2 first.raw
frame "" '--phi0=0.5' --threads=2 first-bragg.raw
frame "$halos" '--phi0=1.5' --threads=2 second.raw
frame "" '--phi0=1.5' --threads=2 second-bragg.raw
mean=$(number 'my ($n, $d) = (0, 0); for (0..35999) { $d += abs($p[0][$_] - $p[1][$_] - ($p[2][$_] - $p[3][$_] + $p[4][$_] - $p[5][$_]) / 2); $n += $p[0][$_] - $p[1][$_] } $d / $n' \
	both.raw both-bragg.raw first.raw first-bragg.raw second.raw second-bragg.raw)
note "two steps differ from their mean by $mean"
check 'two steps of a rotation are the mean of each' awk -v d="$mean" 'BEGIN { exit !(d < 1e-4) }'

# --- structure factors at rest: in one reflection's light e^-X is taken, and e^X - 1 is given
printf '0 0 4 100\n' >one.hkl
table='--hkl=one.hkl --cell=60,60,20,90,90,90'
frame "$table" '' --threads=2 rest.raw
frame "$table $halos" '' --threads=2 halo.raw
frame "$table $halos --diffuse-damp" '' --threads=2 damped.raw
damp=$(number 'my ($n, $d) = (0, 0); $n += $p[0][$_], $d += $p[1][$_] for 0..35999; -log($n / $d)' damped.raw halo.raw)
note "X is $damp"
check 'structure factors at rest are weakened by exp(-X), X = (2 pi 0.4/5)^2' awk -v d="$damp" 'BEGIN { exit !(d > 0.2525 && d < 0.2528) }'

# shellcheck disable=SC2086 # options are meant to split
bragg-geometry --quiet $geometry $halos | bragg-orient --quiet --random --frames=2 |
	bragg-intensity --quiet --reflections=1 | bragg-tap --quiet --record=one.rec
check 'a recorded frame is computed again with them' bragg-replay --recompute one.rec:1

# --- what cannot be
geometry_only() {
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry $geometry "$@"
}
check_status 'a motion without a distance' 2 geometry_only --diffuse-sigma=0.4
check_status 'a distance without a motion' 2 geometry_only --diffuse-gamma=40
check_status 'nanoBragg has none' 2 geometry_only --diffuse-sigma=0.4 --diffuse-gamma=40 --physics=faithful
check_status 'nothing that moves like that stays a crystal' 3 geometry_only --diffuse-sigma=4 --diffuse-gamma=40 --diffuse-damp
says() {
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet $geometry $halos $3 | bragg-orient --quiet | bragg-intensity --quiet $4 2>why | bragg-write --quiet refused.raw 2>/dev/null
	check "$1" sh -c 'grep -q -e "$1" why && test "$(wc -l <why)" = 1' sh "$2"
}
says 'derivatives' 'derivatives do not support --diffuse-sigma' '' --derivatives=rot
halos='--diffuse-sigma=4 --diffuse-gamma=40'
says 'a motion too large for the spots that are seen' 'weakens reflections' '' ''
finish
