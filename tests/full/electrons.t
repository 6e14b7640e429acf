#!/bin/sh
# bragg-geometry --probe=electron: photons of whole reflections by the kinematic formula, and a rotation that DIALS indexes.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
figures="/usr/bin/python3 $BRAGG_TESTS/full/electrons.py"
# within NAME VALUE LEAST MOST
within() {
	note "$1: $2"
	check "$1" awk -v x="$2" -v least="$3" -v most="$4" 'BEGIN { exit !(x >= least && x <= most) }'
}

# --- silicon, 60 cells along an edge, turned through 24 degrees
if has gemmi python:numpy; then
	cat >si.cif <<'END'
data_Si
_cell_length_a 5.4310
_cell_length_b 5.4310
_cell_length_c 5.4310
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'F d -3 m :1'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
_atom_site_U_iso_or_equiv
Si1 Si 0 0 0 1 0.0059
END
	bragg-geometry --quiet --probe=electron --voltage=200kV --model=si.cif --dmin=0.85 --detpixels=512 --pixel=55um --distance=500 \
		--beam-center=14.0525,14.0525 --ncells=60 --shape=gauss --oversample=4 --fluence=1e24 |
		bragg-orient --quiet --misset=3,7,11 --osc=24 --phi0=-12 --phi-steps=1600 |
		bragg-intensity --quiet --reflections=1e-6 --precision=double | bragg-write --quiet si.raw --reflections=si.tsv
	# shellcheck disable=SC2086,SC2046 # words
	set -- $($figures rotation si.tsv)
	within 'photons are those of the kinematic formula' "$1" 0.9998 1.0002
	within '... for each reflection' "$2" 0 0.0002
	within '... at their places' "$3" 0 0.2
	within '... of many reflections' "$4" 15 99
else
	skip 'the kinematic formula' "$lack is missing"
fi

# --- the pipeline that ships
needs DIALS dials.index gemmi
bragg-run --quiet --workdir=. --set=orient.frames=20 "${BRAGG_PIPELINES:-$BRAGG_TESTS/../pipelines}/electron.yaml" 2>run.log || complain "$(cat run.log)"
check 'DIALS imports one sweep' quiet dials.import electron_*.cbf
# shellcheck disable=SC2086 # a program and its script
is '... with the wavelength of 200 kV' "$($figures lists imported.expt | cut -d ' ' -f 1)" 0.0250793
check 'DIALS finds spots' quiet dials.find_spots imported.expt nproc=2
check 'DIALS indexes them' quiet dials.index imported.expt strong.refl
set -- $(sed -n 's/^| *0 | *\([0-9]*\) | *\([0-9]*\) | *\([0-9.]*\)% .*/\1 \2 \3/p' dials.index.log | tail -n 1)
note "indexed $1, not indexed $2"
within '... more than a thousand' "$1" 1000 1e5
within '... nearly all' "$3" 99 100
cell=$(sed -n 's/.*Unit cell: \([0-9.]*\)[^,]*, \([0-9.]*\)[^,]*, \([0-9.]*\).*/\1 \2 \3/p' dials.index.log | tail -n 1)
note "cell $cell"
# shellcheck disable=SC2086 # three edges
set -- $cell
# the cell is 20.1 24.3 36.7 A; its scale and the distance are refined together, and 20 degrees do not separate the two
within 'a within 1 %' "$1" 19.9 20.3
within 'b within 1 %' "$2" 24.06 24.54
within 'c within 1 %' "$3" 36.33 37.07
finish
