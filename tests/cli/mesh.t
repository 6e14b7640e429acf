#!/bin/sh
# bragg-orient --mesh: crystals on a sample holder, which the beam meets at another place in each frame.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
geometry="--detpixels=80 --pixel=0.5 --distance=60 --cell=50,50,50,90,90,90 --default-F=100 --shape=gauss --ncells=20 --crystal-size=8um --oversample=1"
beam='--beam-size=10um --beam-height=6um'
# shots NAME OPTION...: raw images and the table of a run of bragg-orient with these options
shots() {
	name=$1
	shift
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $geometry $beam | bragg-orient "$@" --truth="$name.tsv" 2>warnings | bragg-intensity --threads=1 |
		bragg-write "${name}_%d.raw" 2>"$name.err"
}
# column FILE NAME: a column of a table, in one line
column() {
	awk -F'\t' -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { printf "%s ", $at }' "$1"
}
# total FILE: photons of an image
total() {
	od -An -v -w4 -tf4 "$1" | awk '{ sum += $1 } END { printf "%.5g", sum }'
}

# The steps are the size of the beam: x = -20, -10, 0, 10, 20 and y = -6, 0, 6.  Crystals of 8 x 8 um,
# with edges along the beam's, reach 1 um into the rows above and below their own.
printf '%s\n' '# x y in um' '0 0' '-5, 6' '21 -7 0' >sites
shots mesh --mesh=5,3 --crystals-at=sites
is 'rows one after another' "$(column mesh.tsv sample_x_um)" '-20 -10 0 10 20 -20 -10 0 0 10 20 -20 -10 0 0 10 20 '
is 'along the height of the beam' "$(column mesh.tsv sample_y_um)" '-6 -6 -6 -6 -6 0 0 0 0 0 0 6 6 6 6 6 6 '
is 'lattices of the frames' "$(column mesh.tsv lattices)" '0 0 1 0 1 0 1 2 2 0 0 0 1 2 2 0 0 '
is 'blocks in the beam, of 80 x 80 x 80' \
	"$(column mesh.tsv share | tr ' ' '\n' | sed '/^-*$/d' | awk '{ printf "%.6g ", $1 / 512000 }')" \
	'0.125 0.75 0.0625 0.75 0.0625 0.375 0.125 0.375 '
is 'an image for each point' "$(ls mesh_*.raw | wc -l)" 15
is 'without a crystal it is dark' "$(total mesh_0.raw)" 0
is 'photons are as many as blocks' "$(awk -v one="$(total mesh_6.raw)" -v six="$(total mesh_11.raw)" 'BEGIN { printf "%.2f", six / one }')" 6.00

# --- the same places by other options
shots snake --mesh=5,3 --crystals-at=sites --snake
is 'odd rows backwards' "$(column snake.tsv sample_x_um)" '-20 -10 0 10 20 20 10 0 0 -10 -20 -20 -10 0 0 10 20 '
check 'with the images of these places' cmp snake_8.raw mesh_6.raw
shots part --mesh=5,3 --crystals-at=sites --frames=5
check 'a scan that ends early' cmp part_4.raw mesh_4.raw
shots place --sample-at=20,-6 --crystals-at=sites
check 'one place without a mesh' cmp place_0.raw mesh_4.raw
printf '1 20 -6\n1 0 0\n' >places
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry $geometry $beam | bragg-orient --gate=places --frames=2 --crystals-at=sites 2>warnings | bragg-intensity --threads=1 |
	bragg-write 'gate_%d.raw'
check 'a place that --gate gives' cmp gate_0.raw mesh_4.raw
check 'the next place that --gate gives' cmp gate_1.raw mesh_7.raw
shots moved --mesh=1,1 --sample-at=0,6 --crystals-at=sites
check 'the middle of a mesh' cmp moved_0.raw mesh_12.raw
shots middle --crystals-at=sites --sample-at=0,0 --mesh=1,2 --mesh-step=1000
shots none --frames=1
printf '0 0\n' >one
shots alone --crystals-at=one
check 'a crystal in the middle of the beam is as without a holder' cmp alone_0.raw none_0.raw

# --- rotation: at phi0 the holder faces the beam; after a quarter of a turn its crystals lie behind one another
printf '%s\n' '0 30' '30 0' >cross
shots turned --crystals-at=cross --frames=2 --phi0=20 --osc=90 --phi-steps=1 --misset=0,0,0
is 'nothing is in the beam at first' "$(column turned.tsv lattices)" '0 0 '
shots late --crystals-at=cross --frames=3 --phi0=-25 --osc=36 --phi-steps=1
is 'the crystal beside the spindle turns into the beam' "$(column late.tsv lattices)" '0 0 1 '
shots steady --mesh=3,1 --crystals-at=one --mesh-step=1 --phi0=40 --osc=1 --phi-steps=2
is 'each point of a mesh begins its rotation at phi0' "$(column steady.tsv astar_x | tr ' ' '\n' | sort -u | sed '/^$/d' | wc -l)" 1

# --- random places
shots random --mesh=6,6 --mesh-crystals=9 --random --seed=3
found() {
	awk -F'\t' 'NR > 1 && $2 > 0 { print $9 }' "$1" | sort -u | wc -l
}
is 'nine crystals, each with one orientation' "$(found random.tsv)" 9
shots again --mesh=6,6 --mesh-crystals=9 --random --seed=4
check 'other seeds have other places' sh -c "! cmp -s random.tsv again.tsv"

# --- the place is in files
# shellcheck disable=SC2086 # the options are meant to split
bragg-geometry $geometry $beam | bragg-orient --mesh=5,3 --crystals-at=sites --osc=0.1 --phi-steps=1 2>warnings | bragg-intensity --threads=1 |
	bragg-noise --adc-offset=0 --bits=32 | bragg-tap --quiet --record=h.rec
bragg-replay h.rec | bragg-write 'h_%d.cbf'
bragg-replay h.rec | bragg-write mesh.nxs
is 'headers' "$(tr -d '\r' <h_4.cbf | grep -a SAMPLE)" '# BRAGG_SAMPLE_UM 20 -6'
if has python:h5py; then
	is 'NXmx' "$(/usr/bin/python3 - <<'END'
import h5py, numpy
file = h5py.File("mesh.nxs")["entry"]
x, y = (file[f"sample/sample_{axis}/value"] for axis in "xy")
print(len(x), numpy.bytes_(x.attrs["units"]).decode(), *(round(1e6 * v) for v in (x[4], y[4], *file["braggpipe/sample_place"][14])))
END
	)" '15 m 20 -6 20 6'
else
	skip 'NXmx' "$lack is missing"
fi
bragg-replay mesh.nxs 2>said | bragg-write 'back_%02d.cbf'
is 'its frames all begin at one angle, without a warning' "$(cat said)" ''
is 'a file that is played has its places' "$(tr -d '\r' <back_04.cbf | grep -a SAMPLE)" '# BRAGG_SAMPLE_UM 20 -6'
check 'frames are computed again' bragg-replay --recompute h_7.cbf

# --- refused
# refused NAME TEXT OPTION...: of bragg-orient after a geometry with sizes
refused() {
	refused_name=$1 refused_text=$2
	shift 2
	status=0
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $geometry ${sizes-$beam} | bragg-orient "$@" 2>refusal | cat >none || status=$?
	is "$refused_name" "$(grep -c -e "bragg-orient: .*$refused_text" refusal)" 1
}
refused 'more frames than points' 'more than the 6 points' --mesh=3,2 --crystals-at=sites --frames=7
refused 'a mesh without crystals' 'needs --mesh-crystals' --mesh=3,2
refused 'other lattices' 'lattices' --mesh=3,2 --crystals-at=sites --lattices=2
printf '0 0\n1 2 3 4\n' >bad
refused 'a line of four numbers' 'bad:2: 4 numbers; expected 2' --crystals-at=bad
printf '0 0 1\n' >bad
refused 'a crystal that does not exist' 'crystal 1 does not exist; expected a number less than 1' --crystals-at=bad
printf '0 0 0.5\n' >bad
refused 'half a crystal' 'bad:1: the crystal is 0.5; expected a whole number' --crystals-at=bad
printf '# nothing\n' >bad
refused 'no crystal' 'bad: no crystals found' --crystals-at=bad
geometry="${geometry%--crystal-size*}--oversample=1"
refused 'a crystal without a size' 'Give bragg-geometry --crystal-size' --crystals-at=sites
finish
