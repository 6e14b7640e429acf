#!/bin/sh
# bragg-background --powder: rings of calibrants and models at the right places, with the photons of the formula and the width of size
# and strain.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'powder rings' python:numpy gemmi
scratch
# frame NAME OPTION...: background alone
frame() {
	name=$1
	shift
	bragg-geometry --quiet --detpixels=700 --pixel=0.2 --distance="${distance:-160}" --energy=20000 --beam-size=0.2 --flux=1e11 --oversample=1 --default-F=0 \
		--polarization-fraction=0.5 --cell=79,79,38,90,90,90 | bragg-orient --quiet --hit-rate=0 | bragg-intensity --quiet |
		bragg-background "$@" 2>"$name.err" | bragg-write --quiet --overwrite "$name.raw"
}
cat >rings.py <<'END'
"""rings.py IMAGE CELL THICKNESS-UM DISTANCE D:F2...: photons of each ring over those of the formula, and its rms width in 1/A."""
import sys
import numpy as np
image, cell, thickness, distance = sys.argv[1], *map(float, sys.argv[2:5])
pixel, N, wavelength = 0.2, 700, 12398.419843320026 / 20000
photons = np.fromfile(image, "<f4").reshape(N, N).astype(float)
y, x = (np.mgrid[:N, :N] + 0.5 - (N / 2 + 1)) * pixel  # the beam of --convention=mosflm
r = np.hypot(x, y)
angle = np.arctan2(r, distance)
s = 2 * np.sin(angle / 2) / wavelength
per = photons / (0.5 * (1 + np.cos(angle) ** 2) * pixel**2 * distance / (distance**2 + r**2) ** 1.5)  # per steradian
for ring in sys.argv[5:]:
    d, F2 = map(float, ring.split(":"))
    sin = wavelength / 2 / d
    formula = 1e11 / 2e-4**2 * 7.94079248e-30 * thickness * 1e-6 * 2e-4**2 * 1e30 / cell**6 * wavelength**3 * F2 / (4 * sin)
    reach = 0.02 if cell < 20 else 0.005
    edges = np.linspace(1 / d - reach, 1 / d + reach, 161)
    bins = np.digitize(s.ravel(), edges)
    mean = np.bincount(bins, per.ravel(), 162)[1:161] / np.maximum(np.bincount(bins, minlength=162)[1:161], 1)
    a = 2 * np.arcsin(wavelength * edges / 2)
    part = mean * 2 * np.pi * (np.cos(a[:-1]) - np.cos(a[1:]))
    at = 0.5 * (edges[1:] + edges[:-1])
    where = (part * at).sum() / part.sum()
    print(f"{part.sum() / formula:.4f} {where * d:.5f} {np.sqrt((part * (at - where) ** 2).sum() / part.sum()):.5f}")
END
# figures NAME COLUMN RING...: of the rings of an image
figures() {
	figures_name=$1 figures_column=$2
	shift 2
	/usr/bin/python3 rings.py "$figures_name.raw" "$@" | cut -d' ' -f"$figures_column"
}
all_near() { # VALUE TOLERANCE: all lines of stdin
	awk -v want="$1" -v by="$2" '{ n++; if ($1 < want - by || $1 > want + by) { print "# " $0; bad = 1 } } END { exit bad || !n }'
}
# sums of F squared, as Dans_Diffraction 3.4.0 has them
lab6='4.15683:8513.9 2.93932:28780.0 2.39994:19070.3 2.07841:13402.3 1.85899:39181.9 1.69702:25698.5'
ceo2='3.12442:302774.0 2.70582:119709.5 1.91331:495331.7 1.63167:583455.5'
frame lab6 --powder=lab6 --powder-thickness=20 --powder-crystal=300
is 'a calibrant needs no word' "$(cat lab6.err)" ''
# shellcheck disable=SC2086 # rings are meant to split
{
	figures lab6 1 4.156826 20 160 $lab6 >ratios
	check 'LaB6: each ring within 0.5 %' all_near 1 0.005 <ratios
	figures lab6 2 4.156826 20 160 $lab6 >places
	check 'LaB6: each ring at its d' all_near 1 0.0005 <places
	figures lab6 3 4.156826 20 160 $lab6 >widths
	check 'width of the crystals: 0.9/L' all_near 0.001274 0.00003 <widths
	frame ceo2 --powder=ceo2 --powder-thickness=5 --powder-crystal=300
	figures ceo2 1 5.41165 5 160 $ceo2 >ratios
	check 'CeO2: each ring within 0.5 %' all_near 1 0.005 <ratios
	frame strained --powder=lab6 --powder-thickness=20 --powder-crystal=1e5 --powder-strain=1
	/usr/bin/python3 rings.py strained.raw 4.156826 20 160 4.15683:8513.9 2.93932:28780.0 | awk '{ print $3 * d[NR] } BEGIN { d[1] = 4.15683; d[2] = 2.93932 }' >widths
	check 'width of strain: e/d' all_near 0.01 0.0003 <widths
}
# a model in a file is the same crystal; half of it has half of the photons
cat >mine.cif <<'END'
data_mine
_symmetry_space_group_name_H-M 'P m -3 m'
_cell_length_a 4.156826
_cell_length_b 4.156826
_cell_length_c 4.156826
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_B_iso_or_equiv
_atom_site_occupancy
La1 La 0 0 0 0.355 1
B1 B 0.1996 0.5 0.5 0.316 1
END
frame mine --powder=mine.cif --powder-thickness=20 --powder-crystal=300
check 'a model of the same atoms' cmp mine.raw lab6.raw
frame half --powder=mine.cif --powder-thickness=10 --powder-crystal=300
is 'half of the powder' "$(/usr/bin/python3 -c 'import numpy; a, b = (numpy.fromfile(f"{n}.raw", "<f4").sum(dtype=float) for n in ("half", "lab6")); print(round(a / b, 5))')" 0.5
printf '%s\n' '# V=71.826626 M=203.77' '2.939320 28780.0 12' '4.156826 8513.9 6' >rings.txt
frame listed --powder=rings.txt --powder-thickness=20 --powder-crystal=300
figures listed 1 4.156826 20 160 4.15683:8513.9 2.93932:28780.0 >ratios
check 'a list of rings, in any order: each ring within 0.5 %' all_near 1 0.005 <ratios
distance=1500 frame agbh --powder=agbh --powder-thickness=100 --powder-crystal=600
figures agbh 2 58.38 100 1500 29.19:1 19.46:1 14.595:1 >places
check 'silver behenate: rings at d/n' all_near 1 0.005 <places
is 'no temporary file stays' "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'bragg-lab6-*' 2>/dev/null | wc -l)" 0

# --- refused
# refused NAME TEXT OPTION...: one line, no image
refused() {
	refused_name=$1 refused_text=$2
	shift 2
	rm -f none.raw
	frame none "$@" >ignored 2>&1
	is "$refused_name" "$(grep -c -e "^bragg-background: .*$refused_text" none.err) $(ls none.raw 2>/dev/null)" '1 '
}
printf '4.156826 8513.9\n' >nowhere.txt
refused 'a list without the volume of the cell' 'nowhere.txt: no volume of the cell' --powder=nowhere.txt --powder-thickness=20
printf '# V=70\n4.156826 8513.9 6 6\n' >wide.txt
refused 'a list with four columns' 'wide.txt:2: 4 columns' --powder=wide.txt --powder-thickness=20
printf '# V=70\n4.156826 8513.9\n' >unknown.txt
refused 'grains of a list without multiplicities' 'powder-grains needs the number of reflections of each ring' --powder=unknown.txt --powder-thickness=20 --powder-grains=9
refused 'a powder without its thickness' '--powder needs --powder-thickness' --powder=lab6
refused 'a thickness without a powder' 'powder-thickness.* --powder' --powder-thickness=5 --water=1
refused 'a name that is no calibrant' "labb6: neither a calibrant nor a file; expected lab6, ceo2, si, agbh, a model of atoms or a list of rings" --powder=labb6 --powder-thickness=5
printf 'data_x\n' >empty.cif
refused 'a model without atoms' 'empty.cif' --powder=empty.cif --powder-thickness=5
distance=1500 refused 'rings beside the detector' 'the detector sees no ring' --powder=ceo2 --powder-thickness=5
finish
