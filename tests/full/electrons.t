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

# --- the pipeline that ships, to 2.2 A: a smaller detector, and a beam stop that nothing holds, because DIALS does not know its shadow
needs DIALS dials.index gemmi
preload dials_import find_spots index integrate scale merge
pipelines=${BRAGG_PIPELINES:-$BRAGG_TESTS/../pipelines}
bragg-run --quiet --workdir=. --set=geometry.detpixels=384 --set=geometry.dmin=1.5 --set=noise.beamstop-arm=0.001 \
	"$pipelines/electron.yaml" 2>run.log || complain "$(cat run.log)"
check 'DIALS imports one sweep' quiet dials.import electron_*.cbf
python figures figures.log "$BRAGG_TESTS/full/electrons.py" lists imported.expt
is '... with the wavelength of 200 kV' "$(cut -d ' ' -f 1 figures)" 0.0250793
check 'DIALS finds spots' quiet dials.find_spots imported.expt nproc=1 spotfinder.scan_range=0,9 spotfinder.scan_range=50,59
# The distance is fixed, because it and the scale of the cell are the same thing at such small angles.
check 'DIALS indexes them, with the cell unknown' quiet dials.index imported.expt strong.refl space_group=P212121 \
	refinement.parameterisation.detector.fix=distance
# shellcheck disable=SC2046 # three words
set -- $(sed -n 's/^| *0 | *\([0-9]*\) | *\([0-9]*\) | *\([0-9.]*\)% .*/\1 \2 \3/p' dials.index.log | tail -n 1)
note "indexed $1, not indexed $2"
within '... hundreds' "$1" 400 1e5
within '... nearly all' "$3" 99 100
cell=$(sed -n 's/.*Unit cell: \([0-9.]*\)[^,]*, \([0-9.]*\)[^,]*, \([0-9.]*\).*/\1 \2 \3/p' dials.index.log | tail -n 1)
note "cell $cell"
# shellcheck disable=SC2086 # three edges
set -- $cell
within 'a is 20.1 A within 0.1 %' "$1" 20.08 20.12
within 'b is 24.3 A within 0.1 %' "$2" 24.276 24.324
within 'c is 36.7 A within 0.1 %' "$3" 36.664 36.736

# Merged amplitudes have counting noise, water, the point spread and what a turn of 60 degrees cuts.
check 'DIALS integrates' quiet dials.integrate indexed.expt indexed.refl nproc=1 profile.fitting=False prediction.d_min=2.2
check '... scales' quiet dials.scale integrated.expt integrated.refl nproc=1
check '... and merges' quiet dials.merge scaled.expt scaled.refl
gemmi sfcalc --for=electron --dmin=1.5 --ksolv=0.10 --bsolv=46 --to-mtz=electron.mtz "$pipelines/sad.pdb" >sfcalc.log 2>&1
gemmi sfcalc --wavelength=0 --dmin=1.5 --ksolv=0.35 --bsolv=46 --to-mtz=xray.mtz "$pipelines/sad.pdb" >>sfcalc.log 2>&1
python figures figures.log "$BRAGG_TESTS/full/electrons.py" merged merged.mtz electron.mtz xray.mtz || complain "$(cat figures.log)"
# shellcheck disable=SC2046 # three words
set -- $(cat figures)
within 'R of merged amplitudes and F_e is below 0.01' "$1" 0 0.01
within '... and that of F_x is not' "$2" 0.1 1
within '... of hundreds of reflections' "$3" 450 1e4
unload
finish
