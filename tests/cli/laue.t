#!/bin/sh
# Wide bands: photons of Laue spots against the formula of Buras & Gerward, the wavelength and the
# orders of each reflection, and the distance from the nearest Ewald sphere.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
top=$(cd "$BRAGG_TESTS/.." && pwd)

# A crystal of right angles, of which a quarter of the pattern is computed; a flat band of 401 sources.
awk 'BEGIN { for (i = 0; i <= 400; i++) printf "-1 0 0 1 %.12g\n", (0.7 + 0.7 * i / 400) * 1e-10 }' >band.txt
recipe() { # WAVELENGTHS... : options of bragg-geometry
	bragg-geometry --quiet --detpixels=1000 --pixel=0.2 --distance=100 --beam-center=99.9,99.9 --cell=40,50,60 --default-F=100 --ncells=12 \
		--shape=gauss --mosaic-model=gauss --oversample=2 --no-polarization --fluence=1e26 --dmin=1.6 "$@" |
		bragg-orient --quiet --misset=10,20,30
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
