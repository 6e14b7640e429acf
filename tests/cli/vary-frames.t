#!/bin/sh
# bragg-orient --vary: quantities of whole frames: matter, the detector, the pulse, the number of lattices.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
plain='--quiet --detpixels=96 --pixel=0.6 --distance=150 --cell=50,60,70 --default-F=50 --ncells=8 --fluence=1e26 --oversample=1'

# column FILE NAME: a column of a table
column() {
	awk -F'\t' -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1"
}
# frames NAME BACKGROUND ORIENT...: photons as raw images; BACKGROUND -: none
frames() {
	name=$1 matter=$2
	shift 2
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $plain | bragg-orient --quiet --random "$@" | bragg-intensity --quiet --threads=1 |
		if [ "$matter" = - ]; then cat; else bragg-background --quiet $matter; fi | bragg-write --quiet --overwrite "${name}_%d.raw"
}
# same WHAT OPTIONS VARIED...: an amount of the recipe is that of bragg-background
same() {
	what=$1 options=$2 rest=$3
	shift 3
	frames drawn "$rest" "$@"
	frames given "$options"
	check "$what: the bytes of bragg-background $options" cmp drawn_0.raw given_0.raw
}
same water '--water=5' --water=0 --vary=water=choice:5
same 'water instead of an option' '--water=5 --air=10' '--water=7 --air=10' --vary=water=choice:5
same 'no water' '--air=10' '--water=7 --air=10' --vary=water=choice:0
same air '--water=5 --air=12' --water=5 --vary=air=choice:12
same ice '--water=5 --ice=3' --water=5 --vary=ice=choice:3
same 'ice and its crystals' '--ice=3 --ice-crystal=90' --water=0 --vary=ice=choice:3 --vary=ice-crystal=choice:90
same 'crystals of the ice of an option' '--ice=3 --ice-crystal=90' --ice=3 --vary=ice-crystal=choice:90
same 'another material' '--water=5 --powder=lab6 --powder-thickness=1' '--powder=lab6 --powder-thickness=1' --vary=water=choice:5
frames drawn '--water=5 --flat=2' --vary=background=choice:3
frames given '--water=15 --flat=2'
# sums FILE FILE: the ratio of the sums of two raw images of float32
ratio() {
	for name; do od -An -v -tf4 -w4 "$name" | awk '{ s += $1 } END { printf "%.9g\n", s }'; done | paste -s -d' ' | awk '{ printf "%.5f\n", $1 / $2 }'
}
is 'a factor on the background is not one on --flat' "$(ratio drawn_0.raw given_0.raw)" 1.00000

# --- the detector, the pulse and the lattices
# equal WHAT ORIENT... -- ORIENT...: two sets of options have the same images
equal() {
	what=$1 given=$3
	frames drawn - "$2" --frames=2
	# shellcheck disable=SC2086 # the options are meant to split
	frames given - --frames=2 $given
	check "$what: the bytes of $given" cmp drawn_1.raw given_1.raw
}
equal distance --vary=distance=choice:120 --coffset=-30
printf '%s\n' '1.5 0 0' >shifts
equal shift-x --vary=shift-x=choice:1.5 --shifts=shifts
printf '%s\n' '0 -2 0' >shifts
equal shift-y --vary=shift-y=choice:-2 --shifts=shifts
printf 'first fluence energy_eV\n0 2.5 12000\n' >runs
frames drawn - --vary=fluence=choice:2.5 --vary=energy=choice:12000
frames given - --runs=runs
check 'fluence and energy: the bytes of --runs' cmp drawn_0.raw given_0.raw
equal lattices --vary=lattices=choice:3 --lattices=3
equal share --vary=share=choice:0.25 --shares=0.25
equal lattice-spread --vary=lattice-spread=choice:4 --lattice-spread=4

# truth NAME ORIENT...: the table of 1000 frames
truth() {
	name=$1
	shift
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $plain | bragg-orient --quiet --random --frames=1000 --only=0 --truth="$name.tsv" "$@" | bragg-tap --quiet >ignored
}
truth several --vary=lattices=uniform:0,3 --vary=water=log-uniform:1,100 --vary=background=choice:1,2 --vary=distance=uniform:120,150
is '0 to 3 lattices are equally frequent' "$(awk -F'\t' 'NR > 1 && !seen[$1]++ { n[$2]++ }
	END { for (k in n) { m++; if (n[k] < 210 || n[k] > 290) bad++ } print m, bad + 0 }' several.tsv)" '4 0'
is 'all lattices of a frame have its water' "$(awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "water_um") c = i; next }
	{ if ($1 in was && was[$1] != $c) bad++; was[$1] = $c; if ($c < 1 || $c > 100) bad++; below += $c < 10 }
	END { print bad + 0, (below / (NR - 1) > 0.45 && below / (NR - 1) < 0.55) }' several.tsv)" '0 1'
is 'amounts that do not vary are not in the table' "$(column several.tsv air_mm | sort -u)" -
is 'distances are between their limits' "$(column several.tsv coffset_mm | awk '{ if ($1 < -30 || $1 > 0) bad++; s += $1 } END { print bad + 0, (s / NR > -16.5 && s / NR < -13.5) }')" '0 1'
truth apart --lattices=2 --lattice-spread=5
is 'the second lattice is turned by 5 degrees rms from the first, which is anywhere' "$(awk -F'\t' '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "lattice") l = i; else if ($i == "U11" || $i == "u11") c = i; next }
	{ for (k = 0; k < 9; k++) if ($l == 0) first[k] = $(l + 4 + k); else now[k] = $(l + 4 + k)
	  if ($l == 1) { t = 0; for (k = 0; k < 9; k++) t += first[k] * now[k]
	    x = (t - 1) / 2; x = x > 1 ? 1 : x; a = atan2(sqrt(1 - x * x), x) * 57.29578; s += a * a; n++ }
	  else up += $(l + 4) }
	END { r = sqrt(s / n); m = up / n; print (r > 4.6 && r < 5.4), (m > -0.06 && m < 0.06) }' apart.tsv)" '1 1'

# --- files, and the same bytes again
cat >run.sh <<END
bragg-geometry $plain | bragg-orient --quiet --random --frames=3 --vary=water=uniform:1,9 --vary=ice=uniform:0,4 \
	--vary=ice-crystal=uniform:60,300 --vary=background=uniform:0.5,2 --vary=shift-x=uniform:-3,3 --truth=all.tsv |
	bragg-intensity --quiet --reflections | bragg-background --quiet --water=0 --air=5 | bragg-noise --quiet
END
sh run.sh | bragg-tap --quiet --record=all.rec
bragg-replay --quiet all.rec | bragg-write --quiet all.nxs
is 'a recording is computed again' "$(bragg-replay --recompute all.rec:2)" 'all.rec: frame 2: the same bytes'
is 'NXmx is computed again' "$(bragg-replay --recompute all.nxs:1)" 'all.nxs: the same bytes, and reflections'
bragg-replay --quiet all.nxs | bragg-write --quiet 'head_%d.cbf'
is 'headers of replayed files have the matter' "$(grep -a -o 'BRAGG_MATTER.*' head_2.cbf | tr -d '\r' | awk '{ print $2, $4, $6, $8, $9 }')" \
	'water_um ice_um ice_crystal_A scale '"$(column all.tsv matter_scale | sed -n 3p)"
if has python:h5py python:zmq python:msgpack; then
	for name in all.nxs all.rec; do
		is "$name: Python has the matter of each frame" "$(PYTHONPATH="$BRAGG_TESTS/../pipelines" /usr/bin/python3 -c '
import braggpipe, sys
for frame in braggpipe.open(sys.argv[1]):
    matter = frame.truth.matter
    print(sorted(matter), f"{1e6 * matter['"'water_m'"']:.9g}")' $name 2>&1)" \
			"$(column all.tsv water_um | sed "s/^/['ice_crystal_A', 'ice_m', 'scale', 'water_m'] /")"
	done
fi
bragg-replay --quiet all.nxs | bragg-tap --quiet --record=again.rec
if has python:zmq python:msgpack; then
	is 'a replayed NXmx file has the matter' "$(PYTHONPATH="$BRAGG_TESTS/../pipelines" /usr/bin/python3 -c '
import braggpipe
print(braggpipe.open("again.rec")[1].truth.matter == braggpipe.open("all.rec")[1].truth.matter)' 2>&1)" True
fi

# --- images of one metre of each material serve all frames, in any order
alone() {
	frames whole "--water=0 --air=5 --threads=$1 $2" --frames=4 --vary=water=uniform:1,9 --vary=ice=uniform:0,4 --vary=ice-crystal=uniform:60,300
	frames single "--water=0 --air=5 --threads=1 $2" --frames=4 --only=2 --vary=water=uniform:1,9 --vary=ice=uniform:0,4 --vary=ice-crystal=uniform:60,300
}
alone 1
check 'a frame alone has the bytes of the frame in its run' cmp whole_2.raw single_2.raw
mv whole_2.raw kept.raw
alone 3 '--powder=lab6 --powder-thickness=1'
check 'the same with other materials and 3 threads' cmp whole_2.raw single_2.raw
check 'other materials are not lost' sh -c '! cmp -s whole_2.raw kept.raw'

# --- warnings and refusals of later programs
# written PROGRAM...: what bragg-write says of frames whose water varies, after PROGRAM
written() {
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $plain | bragg-orient --quiet --random --vary=water=choice:2 | bragg-intensity --quiet | "$@" | bragg-write --overwrite w.raw 2>&1 |
		grep -c 'images do not show it'
}
is 'a warning if no stage adds the matter' "$(written cat) $(written bragg-background --quiet --water=0)" '1 0'
bragg-geometry --quiet --detpixels=96 --distance=150 --cell=50,60,70 --default-F=50 --shape=gauss --ncells=10 --pixel=0.05 --oversample=1 |
	bragg-orient --random --vary=distance=uniform:20,150 2>said | bragg-tap --quiet >ignored
check 'a warning if subpixels are too coarse at the smallest distance' grep -q 'at the smallest distance and the highest energy, subpixels are' said
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry $plain | bragg-orient --quiet --vary=ice=choice:2 | bragg-intensity --quiet | bragg-background --quiet --ice=1 --ice-frames=0.5 2>said | bragg-tap --quiet >ignored 2>&1
check '--ice-frames is refused if frames have ice of their own' grep -q -- '--ice-frames cannot be used' said
finish
