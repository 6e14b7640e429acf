#!/bin/sh
# A thick sensor without layers: --sensor=smear through whole pipes, its header, and what
# refuses it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

geometry='--detpixels=90,60 --pixel=0.1 --distance=60 --twotheta=30 --ncells=8 --thickness=450 --fluence=1e26'
# pipe 'GEOMETRY OPTIONS' 'INTENSITY OPTIONS' STAGE...
pipe() {
	more=$1 how=$2
	shift 2
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet $geometry $more | bragg-orient --quiet --frames=2 --random --seed=3 |
		bragg-intensity --quiet ${how:---threads=2} | "$@"
}
for way in smear layers; do
	pipe --sensor=$way '' bragg-write --quiet "${way}_%d.raw" "${way}_%d.img" --scale=1
done
pipe '' '' bragg-write --quiet 'usual_%d.raw'
# 40 layers are wrong by 0.2 % themselves: this image needs 160
pipe '--layers=160 --oversample-each-thickness --oversample-each-polarization --oversample-each-solid-angle' '' \
	bragg-write --quiet 'many_%d.raw'
check 'a sensor that needs several layers is smeared if nothing else is asked for' cmp smear_1.raw usual_1.raw
check 'the smear is the image of many layers' bragg-compare smear_1.raw many_1.raw --max-error=0.03 --floor=0.3
check 'few layers do not give the image of the smear' sh -c '! bragg-compare layers_1.raw many_1.raw --max-error=0.03 --floor=0.3'
pipe '--sensor=smear --cut=1,3' '' bragg-write --quiet 'slabs_%d.raw'
check 'a detector in slabs has the same photons' cmp smear_1.raw slabs_1.raw

# --- other descriptions of one detector: the digits of a .geom file are 1e-6 pixels
# described NAME OPTION...: writes the image of a detector
described() {
	name=$1
	shift
	bragg-geometry --quiet --ncells=8 --fluence=1e26 "$@" 2>/dev/null | bragg-orient --quiet --misset=10,20,30 |
		bragg-intensity --quiet --threads=2 | bragg-write --quiet --overwrite "$name.raw" $cbf
}
aside='--detpixels=90,60 --pixel=0.1 --distance=60 --beam-center=-20,2.95'
cbf='image.cbf --scale=1'
# shellcheck disable=SC2086 # options are meant to split
{
	described image $aside --thickness=450
	cbf=
	described slabs $aside --thickness=450 --cut=1,3 --write-geom=slabs.geom
}
described of_geom --geom=slabs.geom --thickness=450
described of_cbf --detector=image.cbf --thickness=450
check 'modules of a .geom have the image of the whole detector' bragg-compare --max-error=5e-5 image.raw of_geom.raw
check 'so has the detector of a CBF' bragg-compare --max-error=1e-6 image.raw of_cbf.raw

pipe --sensor=smear '--threads=3' bragg-write --quiet 'one_%d.raw'
check 'three threads give the same bytes' cmp smear_1.raw one_1.raw
for threads in 1 3; do
	pipe --sensor=smear "--threads=$threads --reflections" bragg-write --quiet --overwrite 'one_%d.raw' --reflections="by$threads-%d.tsv"
done
check 'tables of reflections: the image is the same' cmp smear_1.raw one_1.raw
check 'tables of reflections: three threads give the same bytes' cmp by1-1.tsv by3-1.tsv
pipe '--layers=40 --oversample-each-thickness --oversample-each-polarization --oversample-each-solid-angle' --reflections \
	bragg-write --quiet --overwrite 'one_%d.raw' --reflections='many-%d.tsv'
# agree TABLE TABLE: both have the same photons and places
agree() {
	awk -F'\t' '
	FNR == 1 { n++; for (i = 1; i <= NF; i++) at[n, $i] = i; next }
	{ key = $at[n, "h"] " " $at[n, "k"] " " $at[n, "l"] }
	n == 1 { photons[key] = $at[1, "photons"]; fast[key] = $at[1, "fast"]; slow[key] = $at[1, "slow"] }
	n == 2 && $at[2, "photons"] > 1 {
		count++
		away = (fast[key] - $at[2, "fast"]) ^ 2 + (slow[key] - $at[2, "slow"]) ^ 2
		if (!(photons[key] / $at[2, "photons"] - 1 < 3e-3 && photons[key] / $at[2, "photons"] - 1 > -3e-3 && away < 0.03 ^ 2)) {
			print key, photons[key], $at[2, "photons"], away
			bad++
		}
	}
	END { print count " reflections"; exit bad || count < 10 }' "$@"
}
check 'tables of reflections: as of 40 layers' agree by1-1.tsv many-1.tsv
is 'the header has 0 layers' "$(head -c 8192 smear_1.img | sed -n 's/^BRAGG_SENSOR=\(Si\) .* \([0-9]*\);.*/\1 \2/p')" 'Si 0'
check 'a frame is computed again from its header' bragg-replay --recompute smear_1.img

# --- what is not smeared unless it is asked for: --sensor=auto has the bytes of --sensor=layers
# whole WAY OPTION...: the first frame of a scene
whole() {
	way=$1
	shift
	bragg-geometry --quiet --detpixels=60,40 --pixel=0.1 --distance=40 --twotheta=30 ${cells:---ncells=8} ${thick:---thickness=450} --fluence=1e26 --sensor=$way "$@" |
		bragg-orient --quiet --frames=1 --random --seed=3 | bragg-intensity --quiet --threads=1 | bragg-write --quiet --overwrite "way_$way.raw"
}
# layered TEXT OPTION...: the scene is computed in layers
layered() {
	text=$1
	shift
	rm -f way_*.raw*
	whole auto "$@"
	whole layers "$@"
	check "layers: $text" cmp way_auto.raw way_layers.raw
}
layered 'as --layers says' --layers=3
layered 'a curved detector' --curved
layered 'spots with sharp edges' --shape=tophat
cells=--ncells=80 layered 'fewer subpixels than spots need' --oversample=1
thick=--thickness=20 layered 'a thin sensor'
layered 'a wide band of wavelengths' --dispersion=6 --dispersion-steps=3
whole auto
whole layers
check 'otherwise layers and the smear differ' sh -c '! cmp -s way_auto.raw way_layers.raw'

# beside OPTION...: the image with more requests to bragg-intensity
beside() {
	bragg-geometry --quiet $geometry | bragg-orient --quiet --frames=2 --random --seed=3 |
		bragg-intensity --threads=2 "$@" 2>beside.err | bragg-write --quiet --overwrite 'beside_%d.raw'
	check "the same bytes with $*" cmp usual_1.raw beside_1.raw
}
beside --reflections
beside --derivatives=distance,rot,thickness
beside --trace-pixel=3,3
check 'the trace says that it shows layers' grep -q 'trace: the layers of the sensor' beside.err

# moved FILE SHIFT...: images of a detector with one displacement for each frame, in mm
moved() {
	file=$1
	shift
	printf '%s\n' "$@" >shifts.txt
	bragg-geometry --quiet $geometry | bragg-orient --quiet --frames=$# --shifts=shifts.txt |
		bragg-intensity --quiet --threads=2 | bragg-write --quiet --overwrite "$file%d.raw"
}
moved still '2 0 40'
moved moving '0 0 0' '2 0 40' '2 0 40'
check 'the smear follows a detector that moves' cmp still0.raw moving1.raw
check 'it stays where the detector stays' cmp still0.raw moving2.raw

# refused TEXT COMMAND...: ends with status 1 or 2 and one line that has the text
refused() {
	text=$1
	shift
	"$@" >out 2>err
	is "refused: $text" "$(wc -l <err) $(grep -c -e "$text" err)" '1 1'
}
scene() {
	bragg-geometry --quiet --detpixels=16 --ncells=5 --sensor=smear "$@" | cat
}
refused 'Remove --layers' scene --thickness=450 --layers=3
refused 'needs --physics=physical' scene --thickness=450 --physics=faithful
refused 'Remove --curved' scene --thickness=450 --curved
refused 'Give --thickness' scene
refused 'than --shape=tophat' scene --thickness=450 --shape=tophat
refused 'expected at most 256' scene --thickness=450 --pixel=0.001 --twotheta=60 --oversample=1

narrow() { # STAGE...: a small pipe through this stage
	bragg-geometry --quiet --detpixels=16 --ncells=5 --sensor=smear --thickness=450 2>/dev/null |
		bragg-orient --quiet 2>/dev/null | "$@" | bragg-write --quiet --overwrite narrow.raw 2>/dev/null
}
for engine in cpu reference; do
	narrow bragg-intensity --quiet --engine=$engine --reflections --derivatives=scale,distance,thickness >out 2>err
	is "reflections and derivatives by the detector: $engine" "$? $(wc -l <err)" '0 0'
done
refused 'trace-pixel does not support --sensor=smear' narrow bragg-intensity --quiet --trace-pixel=3,3
finish
