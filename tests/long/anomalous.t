#!/bin/sh
# Anomalous scattering by other programs: cctbx sums the same F(+) and F(-), and DIALS measures, from
# frames of pipelines/sad.yaml, the differences that went in: they show where the selenium atoms are.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs 'DIALS and gemmi' dials.import gemmi python:msgpack python:iotbx
pipelines=$BRAGG_TESTS/../pipelines

# recipes FILE OPTION...: a recording with the structure factors
recipes() {
	file=$1
	shift
	bragg-geometry --energy=12660 --detpixels=660 --pixel=0.172 --distance=85 "$@" 2>said | bragg-orient --quiet | bragg-tap --quiet --record="$file"
}
figures() {
	/usr/bin/python3 "$BRAGG_TESTS/full/anomalous.py" "$@" >figures
}

# --- by the formula, without solvent
cp "$pipelines/sad.pdb" .
gemmi sfcalc --dmin=1.9 --to-mtz=bare.mtz sad.pdb
awk '/^CRYST1/ { a = $2; b = $3; c = $4 } $NF == "SE" { printf "Se %.8f %.8f %.8f %s %s\n", $7 / a, $8 / b, $9 / c, $10, $11 }' sad.pdb >sites.txt
echo 'Se 12660 -8.25 3.875' >fprime.txt
recipes bare.rec --mtz=bare.mtz --sites=sites.txt --fprime=fprime.txt
check 'cctbx sums the same atoms' figures formula sad.pdb bare.rec -8.25 3.875
near 'the table has no reflection that is missing here' missing 0 1
near 'F(+) and F(-) are the same' rms_difference 0 1e-4
figures formula sad.pdb bare.rec -8.25 3.5
above "amplitudes with another f'' differ" rms_difference 1e-3

# --- a part of the molecules in another state: atoms that come are there as often as molecules are
occupied() { # HOW-MUCH FILE
	sed "/ SE  *MSE/s/  1\.00 /  $1 /" sad.pdb >"$2"
}
occupied 0.20 light.pdb
occupied 0.60 half.pdb
recipes mixed.rec --model=sad.pdb --light=light.pdb --light-occupancy=0.5 --anomalous
recipes half.rec --model=half.pdb --anomalous
recipes dark.rec --model=sad.pdb --anomalous
figures alike mixed.rec half.rec
near 'half of the molecules without selenium: the mean of both' rms_difference 0 1e-3
figures alike mixed.rec dark.rec
above 'the mean is not the dark amplitude' rms_difference 0.03

# --- as DIALS measures them, by the lines that the pipeline shows
check 'the pipeline' quiet bragg-run --workdir=. "$pipelines/sad.yaml"
sed -n 's/^#  *\(dials\..*\)/quiet \1 || return 1/p' "$pipelines/sad.yaml" >lines
is 'the pipeline has seven lines for DIALS' "$(wc -l <lines)" 7
check 'go through' . ./lines
recipes run.rec --model=sad.pdb --anomalous
figures measured sad.pdb run.rec merged.mtz -8.3293 3.8427
sed 's/^/# /' figures
near 'Bijvoet differences are those that went in' correlation 1 0.06
near 'Bijvoet differences are as large as those that went in' slope 1 0.05
near 'Bijvoet differences have the right hand' same_sign 1 0.03
above 'their map shows the selenium atoms' selenium_sigma 15
near 'other points of the map are noise' others_sigma 0 4
finish
