#!/bin/sh
# The size of the crystal in spots, through whole pipes: what stays, what changes, and what files
# say of it.  That the size is right: tests/unit/footprint.c.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

geometry='--detpixels=300,280 --pixel=0.075 --distance=60 --ncells=15 --oversample=2'
# frames 'GEOMETRY OPTIONS' 'INTENSITY OPTIONS' FILE...: two of a rotation, their recipes with
# $recipes
recipes=
frames() {
	more=$1 how=$2
	shift 2
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry $geometry $more | bragg-orient --frames=2 --misset=10,20,30 --osc=1 --phi-steps=8 $recipes |
		bragg-intensity $how | bragg-write "$@"
}
# about as many photons as a point has: the crystal is many blocks
size='--crystal-size=0.4,0.2,0.5 --beam-size=0.45 --beam-height=0.3 --fluence=2e15'
frames '--fluence=1e26' --threads=1 'point_%d.raw' --scale=100 'point_%d.cbf'
frames "$size" --threads=1 'one_%d.raw' --scale=100 'one_%d.cbf' 'one_%d.img'
frames "$size" --threads=3 'three_%d.raw'
frames "$size" --engine=reference 'reference_%d.raw'
check 'one thread and three: the same bytes' sh -c 'cmp one_0.raw three_0.raw && cmp one_1.raw three_1.raw'
check 'the reference engine says the same' bragg-compare --max-error=1e-5 --shape=300,280 one_1.raw reference_1.raw
# brightest FILE, total FILE
brightest() {
	perl -e 'local $/; my $m = 0; for (unpack "f<*", <>) { $m = $_ if $_ > $m } print "$m\n"' "$1"
}
total() {
	perl -e 'local $/; my $s = 0; $s += $_ for unpack "f<*", <>; print "$s\n"' "$1"
}
# a point that scatters as much, from the factor that the header tells
blocks=$(tr -d '#\r' <one_0.cbf | awk '$1 == "BRAGG_SHARE" { print $2 }')
scaled() {
	awk -v x="$1" -v blocks="$blocks" 'BEGIN { print x * blocks * 2e15 / 1e26 }'
}
note "$blocks blocks are lit, brightest $(scaled "$(brightest point_0.raw)") and $(brightest one_0.raw)," \
	"sums $(scaled "$(total point_0.raw)") and $(total one_0.raw)"
check 'spots are wide: less than half of the brightness' \
	sh -c 'awk -v p="$1" -v w="$2" "BEGIN { exit !(w < p / 2) }"' sh "$(scaled "$(brightest point_0.raw)")" "$(brightest one_0.raw)"
check 'of the photons no more are lost than leave at the edges' \
	sh -c 'awk -v p="$1" -v w="$2" "BEGIN { exit !(w < p && w > 0.9 * p) }"' sh "$(scaled "$(total point_0.raw)")" "$(total one_0.raw)"
check 'the beam lights most, not all, of 0.04 mm^3 in blocks of 15^3 cells' awk -v blocks="$blocks" \
	'BEGIN { x = blocks / (0.04e21 / (15 ^ 3 * 59.062 * 68.451 * 30.517)); exit !(x > 0.6 && x < 0.95) }'

# --- points stay points
frames '--beam-size=0.25 --fluence=1e26' --threads=1 'beam_%d.raw'
check 'a beam alone widens nothing' cmp point_0.raw beam_0.raw
recipes='--truth=small.tsv'
frames '--crystal-size=0.0002 --beam-size=0.25' --threads=1 'small_%d.raw'
recipes="--shares=$(awk 'NR == 2 { print $8 }' small.tsv)"
frames '' --threads=1 'many_%d.raw'
check 'a crystal far below a pixel is a point, as bright as its blocks' cmp many_0.raw small_0.raw
recipes=--shares=0.25
frames '--crystal-size=0.0002 --beam-size=0.25' --threads=1 --scale=100 'quarter_%d.cbf'
is 'shares are of all blocks' "$(tr -d '#\r' <quarter_0.cbf | awk '$1 == "BRAGG_SHARE" { print $2 }')" \
	"$(awk 'NR == 2 { printf "%.9g", $8 / 4 }' small.tsv)"
recipes=
check_status 'blocks that do not fit' 3 bragg-geometry $geometry --crystal-size=0.0001,0.0001,0.00004
# keys OPTION...: how often a recording of the experiment has a key of a size
keys() {
	bragg-geometry $geometry "$@" | bragg-orient | bragg-tap --record=keys.rec --overwrite
	grep -ao 'height_m\|size_m' keys.rec | sort | uniq -c | awk '{ printf "%s %s ", $1, $2 }'
}
is 'without a size the stream has no word of it' "$(keys)" '1 size_m '
# shellcheck disable=SC2086 # options are meant to split
is 'a stream with a size of the crystal has its keys' "$(keys $size)" '1 height_m 2 size_m '
is 'a crystal of several has its own' \
	"$(bragg-geometry $geometry --beam-size=1 --crystal='name=A ncells=9 crystal-size=0.1' --crystal=name=B |
		bragg-orient | bragg-tap --record=several.rec --overwrite && grep -ao 'size_m' several.rec | wc -l)" 2

# --- files
is 'headers have no size of a point' "$(grep -ac CRYSTAL_SIZE point_0.cbf)" 0
for file in one_1.cbf one_1.img; do
	is "$file has the edges" "$(tr -d '#;\r' <$file | grep -a CRYSTAL_SIZE | tr '=' ' ' | awk '{ print $2, $3, $4 }')" '0.4 0.2 0.5'
done
check 'a frame is made again from its header' bragg-replay --recompute one_1.img

# --- stages in one program, and masks
frames "$size --roi=20,250,30,200" '--threads=1' 'roi_%d.raw'
dark() {
	perl -e 'local $/; my @p = unpack "f<*", <>; for my $i (0 .. $#p) { my ($f, $s) = ($i % 300, int $i / 300);
		die "pixel $f,$s\n" if $p[$i] != 0 && ($f < 20 || $f > 250 || $s < 30 || $s > 200) }' "$1"
}
check 'nothing falls outside of the ROI' dark roi_0.raw
# shellcheck disable=SC2086 # options are meant to split
fused() {
	bragg-geometry $geometry $size | bragg-orient --misset=10,20,30 | bragg-intensity --threads=2 "$@"
}
fused --fuse='background --water=1e-7' --fuse='noise --seed=3' | bragg-write fused.img
fused | bragg-background --water=1e-7 | bragg-noise --seed=3 | bragg-write apart.img
check 'fused stages come behind it' sh -c 'tail -c 168000 fused.img >a && tail -c 168000 apart.img | cmp a -'
finish
