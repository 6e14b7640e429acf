#!/bin/sh
# bragg-orient --vary of b-factor and resolution: the disorder of each lattice.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
# F of a list is 100 exp(-B/(4 d^2)) for a cubic cell of 40 A
factors() { # B
	awk -v B="$1" 'BEGIN { for (h = -14; h <= 14; h++) for (k = -14; k <= 14; k++) for (l = -14; l <= 14; l++)
		printf "%d %d %d %.12g\n", h, k, l, 100 * exp(-B * (h * h + k * k + l * l) / 6400) }' >"F$1.hkl"
}
factors 0
factors 30
plain='--quiet --detpixels=96 --pixel=0.6 --distance=60 --wavelength=1.2 --cell=40,40,40,90,90,90 --ncells=12 --fluence=1e26'

# column FILE NAME: a column of a table
column() {
	awk -F'\t' -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1"
}
# frames NAME LIST GEOMETRY INTENSITY -- ORIENT...: photons, and reflections
frames() {
	name=$1 list=$2 geometry=$3 intensity=$4
	shift 4
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $plain --hkl="$list" $geometry | bragg-orient --quiet --random --lattices=2 "$@" |
		bragg-intensity --quiet --threads=1 --reflections=0 $intensity | bragg-write --quiet --overwrite --reflections="$name.tsv" "$name.raw"
}
# near NAME NAME WORST: the photons of all bright reflections agree, and those of all of them together within 0.1 %
near() {
	awk -F'\t' -v worst="$3" 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ key = $at["lattice"] " " $at["h"] " " $at["k"] " " $at["l"] }
		FNR == NR { was[key] = $at["photons"]; if ($at["photons"] > most) most = $at["photons"]; next }
		{ a += was[key]; b += $at["photons"]; n++
		  e = was[key] - $at["photons"]; if (e < 0) e = -e; if (e > off) off = e }
		END { r = b / a - 1; if (r < 0) r = -r; printf "%d reflections, sums differ by %.2g, one by %.2g\n", n, r, off / most
		      exit !(n > 100 && r < 1e-3 && off < worst * most) }' "$1.tsv" "$2.tsv"
}
# dims NAME NAME: the second has at most half of the photons of the first
dims() {
	awk -F'\t' 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } FNR == NR { a += $at["photons"]; next } { b += $at["photons"] }
		END { exit !(b < 0.5 * a && b > 0) }' "$1.tsv" "$2.tsv"
}
B=--vary=b-factor=choice:30
for how in 'reference:--shape=gauss:--engine=reference' 'dense::' 'double::--precision=double' 'spots:--shape=gauss:'; do
	path=${how%%:*} rest=${how#*:}
	frames given F30.hkl "${rest%%:*} --oversample=2" "${rest#*:}"
	frames drawn F0.hkl "${rest%%:*} --oversample=2" "${rest#*:}" "$B"
	check "$path: a B factor is that of the structure factors" near given drawn 0.02
done
closed='--shape=gauss --mosaic-model=gauss --mosaic-rms=0.1'
frames given F30.hkl "$closed" ''
frames drawn F0.hkl "$closed" '' "$B"
check 'closed form: a B factor is that of the structure factors' near given drawn 1e-6
frames plain F0.hkl "$closed" ''
check 'B factors dim reflections' dims plain drawn
# 4 d^2 + 12 = 30
frames resolution F0.hkl "$closed" '' --vary=resolution=choice:2.12132034355964
check 'a resolution of 2.12 A is a B factor of 30 A^2' near drawn resolution 1e-9
frames none F0.hkl "$closed" '' --vary=b-factor=choice:0
check 'a B factor of 0 changes no byte' cmp none.raw plain.raw
frames none F0.hkl '' '' --vary=b-factor=choice:0
frames plain F0.hkl '' ''
check 'dense: a B factor of 0 changes no byte' cmp none.raw plain.raw

# --- what files have
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry $plain --hkl=F0.hkl | bragg-orient --quiet --random --frames=2 --lattices=2 --vary=b-factor=uniform:10,40 --truth=b.tsv |
	bragg-intensity --quiet --reflections | bragg-tap --quiet --record=b.rec >b.out
bragg-replay --quiet b.rec | bragg-write --quiet b.nxs
is 'lattices differ, within the limits' "$(column b.tsv b_factor_A2 | awk '{ n += $1 >= 10 && $1 <= 40; seen[$1] } END { for (k in seen) m++; print n, m }')" '4 4'
is 'a recording is computed again' "$(bragg-replay --recompute b.rec:1)" 'b.rec: frame 1: the same bytes'
is 'NXmx is computed again' "$(bragg-replay --recompute b.nxs:1)" 'b.nxs: the same bytes, and reflections'
bragg-replay --quiet b.nxs | bragg-write --quiet --scale=1 'b_%d.img'
is 'headers have the B factor' "$(sed -n 's/^BRAGG_B_FACTOR_1=\(.*\);$/\1/p' b_1.img | cut -c1-7)" "$(column b.tsv b_factor_A2 | sed -n 4p | cut -c1-7)"
if has python:h5py python:zmq python:msgpack; then
	is 'Python has the B factors of NXmx and of messages' "$(PYTHONPATH="$BRAGG_TESTS/../pipelines" /usr/bin/python3 -c '
import braggpipe
for name in "b.nxs", "b.rec":
    print(*(f"{l.b_factor_A2:.9g}" for frame in braggpipe.open(name) for l in frame.truth.lattices))' 2>&1)" \
		"$(column b.tsv b_factor_A2 | paste -s -d' ')
$(column b.tsv b_factor_A2 | paste -s -d' ')"
fi
printf 'b-factor\n30\n-\n' >values
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry $plain --default-F=1 | bragg-orient --quiet --random --vary-file=values --truth=listed.tsv | bragg-tap --quiet >ignored
is 'a table has B factors; -: none' "$(column listed.tsv b_factor_A2 | paste -s -d' ')" '30 0'

# --- normal distributions
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry $plain --default-F=1 | bragg-orient --quiet --random --frames=2000 --only=0 --vary=b-factor=normal:40,10 --truth=n.tsv | bragg-tap --quiet >ignored
is 'normal: mean and rms, without values beyond 3 rms' "$(column n.tsv b_factor_A2 | awk '{ s += $1; q += $1 * $1; if ($1 < 10 || $1 > 70) n++ }
	END { m = s / NR; r = sqrt(q / NR - m * m); print (m > 39.3 && m < 40.7), (r > 9.4 && r < 10.3), n + 0 }')" '1 1 0'
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry $plain --default-F=1 | bragg-orient --quiet --random --frames=2000 --only=0 --vary=b-factor=log-normal:40,25 --overwrite --truth=n.tsv | bragg-tap --quiet >ignored
is 'log-normal: mean and rms' "$(column n.tsv b_factor_A2 | awk '{ s += $1; q += $1 * $1; if ($1 > 80) n++ }
	END { m = s / NR; r = sqrt(q / NR - m * m); print (m > 39.2 && m < 40.8), (r > 9.2 && r < 10.6), n + 0 }')" '1 1 0'

# --- what refuses them
# refused OPTION TEXT: bragg-intensity with B factors that vary
refused() {
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $plain --hkl=F0.hkl | bragg-orient --quiet --random "$B" 2>ignored | bragg-intensity --quiet "$1" 2>said | bragg-tap --quiet >ignored 2>&1
	check "$1 refuses B factors that vary" grep -q "$2" said
}
refused --derivatives=rot_x 'derivatives do not support lattices with B factors'
refused --derivatives=F 'derivatives=F does not support lattices with B factors'
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry $plain --hkl=F0.hkl --diffuse-sigma=0.2 --diffuse-gamma=50 2>ignored | bragg-orient --quiet --random "$B" 2>said | bragg-tap --quiet >ignored 2>&1
check '--diffuse-sigma refuses B factors' grep -q 'does not support bragg-geometry --diffuse-sigma' said
finish
