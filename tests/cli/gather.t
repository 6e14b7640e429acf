#!/bin/sh
# bragg-refine --part and --gather: fits of many processes put together are those of one, whoever
# fitted which frame; what all frames share is found as one process finds it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'refinement of many frames' python:numpy
scratch
says() { grep -q -- "$@"; }
[ "${BRAGG_SANITIZED-}" ] || export OMP_THREAD_LIMIT=1
FRAMES=3
geometry() {
	bragg-geometry --quiet --detpixels=150 --pixel=0.4 --oversample=2 --default-F=100 "$@"
}
geometry --distance=70 --beam-center=30,30 --cell=70,80,90,90,90,90 --ncells=12 --fluence=6e26 |
	bragg-orient --quiet --frames=$FRAMES --random --seed=5 --mosaic=0.2 --mosaic-domains=5 --truth=truth.tsv |
	bragg-intensity --quiet | bragg-background --quiet --water=0.001 |
	bragg-noise --quiet --gain=1.5 --readout=1 | bragg-tap --record=noisy.rec
sed 1d truth.tsv | cut -f9-17 >orientations
# a detector 0.2 mm and a quarter of a pixel away from its place
geometry --distance=70.2 --beam-center=30.08,29.94 --cell=70.1,79.9,90.1,90,90,90 --ncells=10 --fluence=3e26 |
	bragg-orient --quiet --orientations=orientations --mosaic=0.2 --mosaic-domains=5 2>others | bragg-tap --record=start.rec
OWN=--parameters=rot,cell,scale,background SHARED=--share=ncells,distance,beam_x,beam_y
fits() { # OPTION...
	bragg-replay --quiet noisy.rec | bragg-refine --quiet --readout=0.6667 "$@"
}
gathered() { # NAME
	bragg-refine --quiet --gather --table="$1.tsv" --expt="$1.expt" --recipes="$1.rec" >"$1"
}
# an experiment list without its own names
crystals() {
	sed 's/"identifier": "[^"]*"//' "$1"
}
# what a recording shows
recipes() {
	bragg-replay --quiet "$1" | bragg-intensity --quiet --threads=1 | bragg-tap --print | sed -n 's/^frame.* pixels=/pixels=/p'
}

# --- each frame by itself: good ones, and one without a start
bragg-replay --quiet --first=2 start.rec | bragg-tap --record=two.rec
fits --start=two.rec $OWN --poor-above=1e6 --table=alone.tsv --expt=alone.expt >alone
fits --start=two.rec $OWN --poor-above=1e6 --part | gathered parts
is 'a table as one process writes it' "$(cat parts parts.tsv)" "$(cat alone alone.tsv)"
check 'the summary counts all frames' says '^2 of 3 frames good, 1 no start;' parts
is 'a list of crystals as one process writes it' "$(crystals parts.expt)" "$(crystals alone.expt)"

# --- what they share
fits --start=start.rec $OWN $SHARED --table=one.tsv >one
fits --start=start.rec $OWN $SHARED --part | bragg-tap --record=fits.rec
bragg-replay --quiet fits.rec | gathered many
is 'fits have no images' "$(bragg-replay --quiet fits.rec | bragg-tap --print | grep -c 'osc_deg=0 fitted=14$')" $FRAMES
for n in 2 3; do
	cat >run.yaml <<-YAML
		stages:
		- {name: replay, args: [noisy.rec]}
		- {name: refine, count: $n, args: [--part, --readout=0.6667, --start=start.rec, "$OWN", "$SHARED"]}
		- {name: gather, program: bragg-refine, args: [--gather, --table=many.tsv, --expt=many.expt, --recipes=many.rec]}
	YAML
	check "$n processes" bragg-run --quiet --workdir=by$n run.yaml
	is 'find what one finds' "$(for file in many.tsv many.expt; do cmp $file by$n/$file && echo same; done)" 'same
same'
done
is 'the recipes are recorded once for each frame' "$(recipes by3/many.rec | sort -u | wc -l) $(recipes by3/many.rec)" "$FRAMES $(recipes many.rec)"
# columns: the largest and the rms of differences, over error bars, between a table and values or a table
cat >bars.awk <<'AWK'
BEGIN { FS = "\t"; n = split(known, k, " "); for (i = 1; i < n; i += 2) want[k[i]] = k[i + 1] }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
FNR == NR && tables == 2 { for (name in want) other[FNR, name] = $column[name]; next }
{ for (name in want) {
	e = ($column[name] - (tables == 2 ? other[FNR, name] : want[name])) / $column["error_" name]
	sum += e * e; number++; worst = e * e > worst ? e * e : worst } }
END { printf "%.4f %.4f %d\n", sqrt(worst), sqrt(sum / number), number }
AWK
detector='distance_mm 70 beam_x_mm 30 beam_y_mm 30'
cells='cell_a_A 70 cell_b_A 80 cell_c_A 90'
below() { # TEXT LARGEST RMS
	note "$1"
	echo "$1" | awk -v largest="$2" -v rms="$3" '{ exit !($1 < largest && $2 < rms && $3 > 0) }'
}
sed 2q many.tsv >first.tsv
check 'the detector is where it is, within error bars' below "$(awk -v known="$detector ncells_a 12 ncells_b 12 ncells_c 12" -f bars.awk first.tsv)" 3.5 2
check 'the fitted cells are right, within error bars' below "$(awk -v known="$cells" -f bars.awk many.tsv)" 4 1.5
check 'cells have smaller error bars if frames are fitted together' awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
	NR == 2 { exit !($c["error_distance_mm"] > 0 && $c["error_distance_mm"] < 0.01 && $c["error_cell_a_A"] < 0.02) }' many.tsv
# One step from where each frame is by itself, against as many as it takes: sizes of blocks, which a
# frame tells to a few per cent, are where it differs most.
check 'one process finds the same detector' below "$(awk -v tables=2 -v known="$detector" -f bars.awk one.tsv many.tsv)" 0.15 0.1
check 'one process finds the same other parameters' below "$(awk -v tables=2 -v known="$cells rot_x_deg 0 rot_y_deg 0 rot_z_deg 0 scale 2 ncells_a 12 ncells_b 12 ncells_c 12" -f bars.awk one.tsv many.tsv)" 0.5 0.15
check 'one process finds the same error bars' sh -c 'paste one.tsv many.tsv | awk -F"\t" "NR > 1 { half = NF / 2
	for (i = 10; i <= half; i += 2) if (\$i / \$(i + half) > 1.05 || \$i / \$(i + half) < 0.95) exit 1 }"'
check 'one process finds the same chi2' sh -c 'paste one.tsv many.tsv | awk -F"\t" "NR > 1 && (\$7 - \$(7 + NF / 2)) ^ 2 > 4e-6 { exit 1 }"'
check 'crystals are those of the table' /usr/bin/python3 - <<'PYTHON'
import csv
import json
import numpy as np
rows = list(csv.DictReader(open("many.tsv"), delimiter="\t"))
for row, crystal in zip(rows, json.load(open("many.expt"))["crystal"], strict=True):
    edges = [np.linalg.norm(crystal["real_space_" + axis]) for axis in "abc"]
    assert np.allclose(edges, [float(row[f"cell_{axis}_A"]) for axis in "abc"], rtol=1e-9), (row, edges)
PYTHON
is 'a table of many processes begins with the same columns' "$(head -1 many | cut -d, -f1)" "$(head -1 one | cut -d, -f1)"
fits --start=many.rec $OWN $SHARED --part --hold | gathered again
check 'a second step, from there, changes nothing of it' below "$(awk -v tables=2 -v known="$detector $cells" -f bars.awk many.tsv again.tsv)" 0.15 0.1
for name in one held; do # what is known counts once, not for each frame
	fits --start=start.rec $OWN $SHARED --prior=distance:70.01:0.003 --prior=beam_x:30:1e-7 $([ $name = held ] && echo --part || echo --table=known.tsv) |
		if [ $name = held ]; then gathered held; else cat >known; fi
done
check 'prior knowledge counts once' below "$(awk -v tables=2 -v known="$detector" -f bars.awk known.tsv held.tsv)" 0.15 0.1
check 'known values are combined with those of the frames' awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
	NR == 2 { d = $c["distance_mm"]; exit !(d > 70.001 && d < 70.01 && ($c["beam_x_mm"] - 30) ^ 2 < 1e-10) }' held.tsv

# --- crystals may share as well
fits --start=start.rec --parameters=rot,scale,background --share=cell,ncells,distance,beam_x,beam_y --table=alike.tsv --expt=alike.expt >alike
is 'a cell that they share is that of all' "$(sed 1d alike.tsv | cut -f19-24 | sort -u | wc -l)" 1
check 'the recipes hold the shared cell' /usr/bin/python3 - <<'PYTHON'
import json
import numpy as np
edges = [[np.linalg.norm(crystal["real_space_" + axis]) for axis in "abc"] for crystal in json.load(open("alike.expt"))["crystal"]]
assert len(edges) == 3 and np.allclose(edges, edges[0], rtol=1e-10) and np.allclose(edges[0], [70, 80, 90], rtol=3e-4), edges
PYTHON
fits --start=start.rec --parameters=rot,scale,background --share=cell,ncells,distance,beam_x,beam_y --part | gathered both
check 'many processes find the shared cell' below "$(awk -v tables=2 -v known="$detector $cells" -f bars.awk alike.tsv both.tsv)" 0.15 0.1

# --- what does not go together
# refuses WHAT STATUS TEXT COMMAND...: the last program of a pipe, in one line
refuses() {
	what=$1 want=$2 text=$3
	shift 3
	check_status "$what" "$want" sh -c "{ $*; } 2>err >out"
	check "$what: the message gives the reason" says "^bragg-[a-z]*: .*$text" err
	is "$what: the message is one line" "$(wc -l <err)" 1
}
replay='bragg-replay --quiet'
refuses 'fit results are no images' 1 'bragg-replay sends fit results (--part). Only bragg-refine --gather can read them' "$replay fits.rec 2>others | bragg-intensity --quiet | bragg-tap --count 2>others"
refuses 'images to gather' 2 'expected recipes, but bragg-replay sends images' "$replay noisy.rec 2>others | bragg-refine --quiet --gather"
refuses 'recipes that nobody fitted' 3 'the frames have no fits; run bragg-refine --part as the previous stage' "$replay start.rec 2>others | bragg-refine --quiet --gather"
refuses 'parameters named to --gather' 2 '--gather and --parameters cannot be used together; remove one of them' "$replay fits.rec 2>others | bragg-refine --quiet --gather --parameters=rot"
refuses 'a table of a part' 2 '--part and --table cannot be used together; remove one of them' "$replay noisy.rec 2>others | bragg-refine --quiet --part --table=x.tsv"
refuses '--hold is refused without --part' 2 '--hold' "$replay noisy.rec 2>others | bragg-refine --quiet --hold"
refuses 'recipes of blocks' 2 "'ncells_a' belongs to the experiment" "$replay noisy.rec 2>others | bragg-refine --quiet --start=start.rec --part 2>others | bragg-refine --quiet --gather --recipes=x.rec"
sed 's/name: gather,/& count: 2,/' run.yaml >two.yaml
check 'two that gather' sh -c '! bragg-run --quiet --workdir=by4 two.yaml 2>said'
check 'two processes that gather are refused' says 'bragg-refine: this program combines all frames and must run as one process. Set' said
finish
