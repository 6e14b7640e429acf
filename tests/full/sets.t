#!/bin/sh
# The test sets of braggpipe-examples(7): pipelines/set-*.yaml warn of nothing, and the truth that they write gets the
# figures of a perfect answer.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# set_of NAME OPTION...: makes a test set in the folder NAME, and scores its own truth
set_of() {
	name=$1
	shift
	check "set-$name runs" sh -c 'bragg-run --quiet --workdir="$@" 2>said' sh "$name" "$@" "set-$name"
	is "set-$name: nothing is said" "$(cat said)" ''
	check "set-$name: the truth is scored" sh -c 'bragg-score --json=score.json "$1/truth.nxs" "$1/truth.expt" "$1/truth.refl" >scored' sh "$name"
	# both states of a crystal count as one lattice
	is "set-$name: all lattices are right" "$(score lattices right) $(score lattices wrong)" "$(awk -F'\t' 'NR > 1 && $2' "$name/truth.tsv" | cut -f1,9-17 | sort -u | wc -l) 0"
	check "set-$name: the orientations are right" perl -e 'exit !($ARGV[0] < 1e-9)' "$(score angle_deg max)"
}
score() {
	perl -MJSON::PP -0777 -e '$s = decode_json(<STDIN>); $s = $s->{$_} for @ARGV; print $s' "$@" <score.json
}
column() { # TABLE NAME: a column of a table
	awk -F'\t' -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$1"
}

set_of stills --frames=3
is 'set-stills: all spots are there' "$(score spots recall)" 1
is 'set-stills: each frame has a wavelength' "$(column stills/truth.tsv wavelength_A | sort -u | wc -l)" 3
if has dials.import; then
	check 'DIALS imports them' sh -c 'dials.import stills/truth.nxs convert_sequences_to_stills=True output.experiments=stills.expt >import.log 2>&1'
	is 'with the wavelengths of the table' "$(perl -MJSON::PP -0777 -e 'printf "%.9f\n", $_->{wavelength} for @{decode_json(<STDIN>)->{beam}}' <stills.expt | sort)" \
		"$(column stills/truth.tsv wavelength_A | xargs printf '%.9f\n' | sort)"
else
	skip 'DIALS imports them' "$lack is missing"
	skip 'with the wavelengths of the table' "$lack is missing"
fi

set_of shifts --frames=3
is 'set-shifts: all spots are there' "$(score spots recall)" 1
models() { perl -MJSON::PP -0777 -e '$s = decode_json(<STDIN>); print join " ", map { scalar @{$s->{$_}} } @ARGV' "$@"; }
is 'set-shifts: each frame has a detector' "$(models detector <shifts/truth.expt)" 3
if has dials.import; then
	check 'set-shifts: DIALS imports truth.nxs' sh -c 'dials.import shifts/truth.nxs convert_sequences_to_stills=True output.experiments=shifts.expt >import.log 2>&1'
	is 'set-shifts: with one detector for all frames, which is why there is truth.expt' "$(models detector experiment <shifts.expt)" '1 3'
else
	skip 'set-shifts: DIALS imports truth.nxs' "$lack is missing"
fi

set_of pump --frames=4
is 'set-pump: light and dark frames' "$(column pump/truth.tsv laser | uniq | xargs)" '1 0 1 0'
if has python:h5py; then
	is 'set-pump: NXmx has the laser' "$(/usr/bin/python3 -c 'import h5py; print(*h5py.File("pump/truth.nxs")["entry/braggpipe/laser"][()])')" '1 0 1 0'
else
	skip 'set-pump: NXmx has the laser' "$lack is missing"
fi
is 'set-pump: a dark frame has one state, a light frame two' "$(cut -f1 pump/truth.tsv | uniq -c | awk '$2 != "frame" { print $1 }' | xargs)" '2 1 2 1'
check 'set-pump: three of ten molecules are excited' awk -F'\t' '$7 == "light" && ($8 < 0.1 || $8 > 0.5) { exit 1 }' pump/truth.tsv

set_of mesh
is 'set-mesh: all spots are there' "$(score spots recall)" 1
is 'set-mesh: the beam meets all six crystals' "$(awk -F'\t' 'NR > 1 && $2' mesh/truth.tsv | cut -f9-17 | sort -u | wc -l)" 6

if has python:h5py; then
	check 'set-mesh: NXmx has the places of the sample holder' sh -c '/usr/bin/python3 -c "import h5py
f = h5py.File(\"mesh/truth.nxs\")
for x, y in zip(f[\"entry/sample/sample_x/value\"], f[\"entry/sample/sample_y/value\"]): print(\"%g %g\" % (1e6 * x, 1e6 * y))" >places &&
		awk -F"\t" "NR == 1 { for (i = 1; i <= NF; i++) at[\$i] = i; next } NR == 2 || \$1 != last { print \$at[\"sample_x_um\"], \$at[\"sample_y_um\"] } { last = \$1 }" mesh/truth.tsv | diff - places'
else
	skip 'set-mesh: NXmx has the places of the sample holder' "$lack is missing"
fi

set_of lattices --frames=2
if has dials.import; then
	check 'set-lattices: DIALS imports one rotation' sh -c 'dials.import lattices/truth.nxs output.experiments=lattices.expt >import.log 2>&1'
	is 'set-lattices: of one detector' "$(models detector experiment scan <lattices.expt)" '1 1 1'
else
	skip 'set-lattices: DIALS imports one rotation' "$lack is missing"
fi
is 'set-lattices: the same two orientations in each frame' "$(sed 1d lattices/truth.tsv | cut -f9-17 | sort | uniq -c | awk '{ print $1 }' | xargs)" '2 2'
check 'set-lattices: spots are there in each frame over which they extend' perl -e 'exit !($ARGV[0] > 0.98)' "$(score spots recall)"
check 'set-lattices: predicted spots are those of the crystals' perl -e 'exit !($ARGV[0] < 0.01)' "$(score predicted_px fast)"
finish
