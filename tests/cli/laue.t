#!/bin/sh
# Wide bands: photons of Laue spots against the formula of Buras & Gerward, the wavelength and the
# orders of each reflection, and the distance from the nearest Ewald sphere.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
top=$(cd "$BRAGG_TESTS/.." && pwd)

# A crystal of right angles, of which a quarter of the pattern is computed; a flat band of 401 sources.
awk 'BEGIN { for (i = 0; i <= 400; i++) printf "-1 0 0 1 %.12g\n", (0.7 + 0.7 * i / 400) * 1e-10 }' >band.txt
crystal() { # OPTION... of bragg-geometry
	bragg-geometry --quiet --detpixels=1000 --pixel=0.2 --distance=100 --beam-center=99.9,99.9 --cell=40,50,60 --default-F=100 --ncells=12 \
		--shape=gauss --mosaic-model=gauss --oversample=2 --no-polarization --fluence=1e26 --dmin=1.6 "$@"
}
recipe() { # OPTION... of bragg-geometry
	crystal "$@" | bragg-orient --quiet --misset=10,20,30
}
recipe --source-file=band.txt --weights=apply --wavelength=1 | bragg-intensity --quiet --threads=1 --reflections=0.01 |
	bragg-tap --quiet --record=laue.rec
bragg-replay --quiet laue.rec | bragg-write --quiet --reflections=laue.tsv laue.raw
column() { # FILE NAME: its number
	awk -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) print i }' "$1"
}

# Numbers of a calculation in reciprocal space that has nothing in common with the program but the crystal.
cat >known.txt <<'END'
-17 -7 22 0.868539 729.534 657.369 0.7246
0 22 13 0.931333 641.572 296.076 1.159
-10 0 19 1.026971 712.634 562.772 2.083
-4 19 18 1.107950 743.643 308.520 1.615
-11 -7 13 1.126057 668.140 653.996 2.867
5 25 -13 1.284663 360.059 70.575 1.697
END
is 'wavelengths, places and photons of six reflections are those of a calculation in reciprocal space' "$(awk '
	function off(a, b) { return a > b ? a - b : b - a }
	NR == FNR { known[$1 " " $2 " " $3] = $0; next }
	FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	($at["h"] " " $at["k"] " " $at["l"]) in known {
		split(known[$at["h"] " " $at["k"] " " $at["l"]], n, " "); found++
		if (off($at["wavelength"], n[4]) > 1e-6) print "wavelength", $0
		if (off($at["fast"], n[5]) > 0.05 || off($at["slow"], n[6]) > 0.05) print "place", $0
		if (off($at["photons"] / n[7], 1) > 0.003) print "photons", $0
	}
	END { print found }' known.txt laue.tsv)" 6

# Every reflection of the table, with its own matrix: 1/lambda from the lattice point, and the formula for its photons.
awk 'function abs(a) { return a < 0 ? -a : a }
	BEGIN {
		d = atan2(0, -1) / 180
		sx = sin(10 * d); cx = cos(10 * d); sy = sin(20 * d); cy = cos(20 * d); sz = sin(30 * d); cz = cos(30 * d)
		row[1] = cz * cy / 40; row[2] = (cz * sy * sx - sz * cx) / 50; row[3] = (cz * sy * cx + sz * sx) / 60  # x of U a*, U b*, U c*
		volume = 120000e-30
	}
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{
		square = ($at["h"] / 40) ^ 2 + ($at["k"] / 50) ^ 2 + ($at["l"] / 60) ^ 2
		if (!square) next
		along = row[1] * $at["h"] + row[2] * $at["k"] + row[3] * $at["l"]
		lambda = -2 * along / square
		inside = lambda >= 0.7 && lambda <= 1.4
		n++
		if (inside && (abs($at["wavelength"] / lambda - 1) > 1e-6 || $at["s"] != 0)) print "inside", $0
		if (!inside && ($at["s"] == 0 || ($at["wavelength"] != 0.7 && $at["wavelength"] != 1.4))) print "outside", $0
		if (!inside) { tails++
			k = lambda < 0.7 ? 1 / 0.7 : 1 / 1.4
			s = k - sqrt(square + 2 * k * along + k * k)
			if (abs(s - $at["s"]) > 1e-8) print "distance", s, $0 }
		if (lambda < 0.75 || lambda > 1.31 || square < 1 / 25 || $at["fast"] < 5 || $at["fast"] > 995 || $at["slow"] < 5 || $at["slow"] > 995) next
		photons = 7.94079248e-30 * 1e26 / 0.7e-10 * 400 / 401 * (lambda * 1e-10) ^ 4 * 1e4 * 1728 * volume
		photons = photons / (2 * lambda * lambda * square / 4 * volume * volume) * 0.98444
		whole++; ratio += $at["photons"] / photons
		if (abs($at["photons"] / photons - 1) < 0.01) near++
	}
	END { print (n > 8000), (tails > 100), (whole > 5000), ratio / whole, near / whole }' laue.tsv >formula.txt
is 'all lie between the spheres, or have the distance from the nearest sphere' "$(grep -c '[a-z]' formula.txt)" 0
check 'photons are those of the formula within 0.2 % on average, and nearly all within 1 %' \
	awk '{ good = $1 && $2 && $3 && $4 > 0.998 && $4 < 1.002 && $5 > 0.98 } END { if (!good) print; exit !good }' formula.txt

# Orders of a ray: counted here from the indices, and 3h against 2h, whose photons are as lambda^2 at equal F.
is 'orders are the rows on the same ray' "$(awk '
	function gcd(a, b) { a = a < 0 ? -a : a; b = b < 0 ? -b : b; while (b) { t = a % b; a = b; b = t } return a }
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ g = gcd(gcd($at["h"], $at["k"]), $at["l"]); g = g ? g : 1
	  ray[NR] = $at["h"] / g " " $at["k"] / g " " $at["l"] / g; n[ray[NR]]++; orders[NR] = $at["orders"] }
	END { for (i in ray) { if (orders[i] != n[ray[i]]) print "ray", ray[i], orders[i]; several += orders[i] > 1; more += orders[i] > 2 }
	      print (several > 100), (more > 10) }' laue.tsv)" '1 1'
check 'orders of one ray are in one place, with photons as the fourth power of the wavelength' awk '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ k = $at["h"] " " $at["k"] " " $at["l"]; p[k] = $at["photons"]; l[k] = $at["wavelength"]; x[k] = $at["fast"]; y[k] = $at["slow"]
	  inner[k] = $at["fast"] > 5 && $at["fast"] < 995 && $at["slow"] > 5 && $at["slow"] < 995 && ($at["h"] / 40) ^ 2 + ($at["k"] / 50) ^ 2 + ($at["l"] / 60) ^ 2 > 1 / 144 }
	END { for (k in p) { split(k, h, " ")
		if (h[1] % 2 || h[2] % 2 || h[3] % 2) continue
		o = h[1] * 1.5 " " h[2] * 1.5 " " h[3] * 1.5
		if (!(o in p) || l[k] > 1.32 || l[o] < 0.74 || !inner[k] || !inner[o]) continue
		n++; r = p[o] / p[k] * 1.5 ^ 4; sum += r; apart += sqrt((x[o] - x[k]) ^ 2 + (y[o] - y[k]) ^ 2) }
	  print n, sum / n, apart / n
	  exit !(n > 20 && sum / n > 0.995 && sum / n < 1.005 && apart / n < 0.1) }' laue.tsv

# --- bands of bragg-orient
band() { # NAME OPTION... : the table of a frame of this spectrum
	name=$1
	shift
	crystal --roi=600,999,600,999 --energy=13284 | bragg-orient --quiet --misset=10,20,30 "$@" | bragg-intensity --quiet --threads=1 --reflections=0.01 |
		bragg-write --quiet --reflections="$name.tsv" "$name.raw"
}
# same FILE FILE EXPRESSION: photons of the second table over those of the first are as EXPRESSION of the wavelength l: the rms around the mean
same() {
	awk 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		FNR == 1 { next }
		NR == FNR { p[$at["h"] " " $at["k"] " " $at["l"]] = $at["photons"]; next }
		{ k = $at["h"] " " $at["k"] " " $at["l"]; l = $at["wavelength"]
		  if (!(k in p) || l < 0.78 || l > 1.25 || $at["fast"] < 610 || $at["slow"] < 610 || $at["fast"] > 990 || $at["slow"] > 990) next
		  r = $at["photons"] / p[k] / ('"$3"'); n++; sum += r; squares += r * r }
		END { mean = sum / n; printf "%.5f %.5f %d\n", mean, sqrt(squares / n - mean * mean) / mean, (n > 100) }' "$1" "$2"
}
check 'a flat band between two energies' band flat --spectrum=tophat --spectrum-range=8856,17712
check 'it has as many photons for each energy: per wavelength as 1/lambda^2' awk '{ exit !($2 < 0.01 && $3) }' <<END
$(same laue.tsv flat.tsv '1 / l ^ 2')
END
check 'a bandwidth of 66.67 % is the same band' band half --spectrum=tophat --bandwidth=66.6667
check 'the same photons' awk '{ exit !($1 > 0.999 && $1 < 1.001 && $2 < 1e-3 && $3) }' <<END
$(same flat.tsv half.tsv 1)
END
check 'a filter' band filter --spectrum=tophat --spectrum-range=8856,17712 --filter=Al:0.4mm
# the attenuation of aluminium between rows of its table, at 8, 10, 15 and 20 keV
check 'each wavelength is attenuated as by its material' awk '{ exit !($1 > 1.5 && $2 < 0.01 && $3) }' <<END
$(same flat.tsv filter.tsv 'exp(-0.1079 * ((e = 12.39842 / l) > 15 ? 7.955 * exp(log(e / 15) * log(3.441 / 7.955) / log(20 / 15)) : e > 10 ? 26.23 * exp(log(e / 10) * log(7.955 / 26.23) / log(1.5)) : 50.33 * exp(log(e / 8) * log(26.23 / 50.33) / log(1.25))))')
END
check 'a wiggler' band wiggler --spectrum=wiggler --spectrum-range=8856,17712 --critical-energy=12000
check 'it falls towards high energies, on the axis as H2(y)/y: by 1.94 from 0.8 to 1.38 critical energies' awk '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	FNR == 1 { next }
	{ k = $at["h"] " " $at["k"] " " $at["l"]; l = $at["wavelength"]; e = 12398.42 / l }
	NR == FNR { p[k] = $at["photons"]; next }
	!(k in p) { next }
	e > 9300 && e < 9900 { low += $at["photons"] / p[k]; nlow++ }
	e > 16000 && e < 17000 { high += $at["photons"] / p[k]; nhigh++ }
	END { r = low / nlow / (high / nhigh); if (r < 1.88 || r > 1.98) print r; exit !(r > 1.88 && r < 1.98) }' flat.tsv wiggler.tsv
refused() { # NAME MESSAGE GEOMETRY-OPTIONS OPTION...
	refused_name=$1 message=$2 geometry=$3
	shift 3
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --detpixels=100 --pixel=2 --energy=12000 --shape=gauss $geometry 2>/dev/null |
		bragg-orient --quiet "$@" 2>said | cat >/dev/null
	check "$refused_name" grep -q -e "$message" said
}
refused 'a band that reaches 0 eV is refused' '--bandwidth=200: photons reach below 0 eV' '' --spectrum=tophat --bandwidth=200
refused 'a wide band of another kind is refused' '--bandwidth=30 is out of range; expected at most 20 %' '' --spectrum=gauss --bandwidth=30
refused 'a range in the wrong order is refused' 'is empty; expected the lower' '' --spectrum=tophat --spectrum-range=13000,9000
refused 'a range without the energy of the beam is refused' 'does not hold the energy' '' --spectrum=tophat --spectrum-range=1000,2000
refused 'a wiggler needs its critical energy' 'needs --spectrum-range=EV,EV and --critical-energy' '' --spectrum=wiggler --spectrum-range=8000,13000
refused 'a filter whose attenuation is not known is refused' 'expected 2000 to 200000 eV' '' --spectrum=tophat --spectrum-range=1500,13000 --filter=Al:1
refused 'an unknown material is refused' 'expected up to 4 filters' '' --spectrum=tophat --filter=Pb:1mm
refused 'a wiggler whose magnet is too weak for the band is refused' 'has no photons from 8000 to 13000 eV' '' --spectrum=wiggler --spectrum-range=8000,13000 --critical-energy=100 --filter=Al:200mm
refused 'a filter that stops all photons is refused' 'has no photons from 8000 to 13000 eV' '' --spectrum=tophat --spectrum-range=8000,13000 --filter=Al:1000mm
refused 'many channels need the closed form' 'expected at most 1000. More need' '' --spectrum=tophat --bandwidth=60 --channels=2000
refused 'a band that contains its third harmonic is refused' 'would count twice' --third-harmonic=1 --spectrum=tophat --bandwidth=120
printf -- '-1 0 0 1 3e-10\n-1 0 0 1 1e-10\n' >three.txt
check_status 'also one of --source-file' 2 sh -c 'bragg-geometry --source-file=three.txt --weights=apply --third-harmonic=1 2>said | cat >/dev/null; grep -q "would count twice" said && exit 2'

# --- frames of one wavelength
recipe --wavelength=1 | bragg-intensity --quiet --threads=1 --reflections=0.01 | bragg-write --quiet --reflections=one.tsv one.raw
is 'with one wavelength each reflection has it, and s is the distance from its sphere' "$(awk '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ n++; other += $at["wavelength"] != 1; zero += $at["s"] == 0 && ($at["h"] || $at["k"] || $at["l"]) } END { print (n > 50), other + 0, zero + 0 }' one.tsv)" '1 0 0'

# --- other files
if has python:numpy python:h5py python:zmq python:msgpack; then
	bragg-replay --quiet laue.rec | bragg-write --quiet laue.nxs
	cat >same.py <<'END'
import numpy, h5py, braggpipe
text = numpy.genfromtxt("laue.tsv", names=True)
group = h5py.File("laue.nxs", "r")["entry/reflections"]
(sent,), (filed,) = ([frame.detach() for frame in braggpipe.open(name)] for name in ("laue.rec", "laue.nxs"))
for name in ("wavelength", "orders", "s"):
    for column in (group[name][:], sent.reflections[name], filed.reflections[name]):
        assert numpy.allclose(text[name], column, rtol=1e-6, atol=1e-9), name
assert group["wavelength"].attrs["units"] in ("angstrom", b"angstrom")
END
	check 'NXmx files and frames of Python have the same columns' env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$top/pipelines" /usr/bin/python3 same.py
else
	skip 'NXmx files and frames of Python have the same columns' "$lack is not installed"
fi
check 'a replay computes the same table' bragg-replay --recompute laue.rec:0
finish
