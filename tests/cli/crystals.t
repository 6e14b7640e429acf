#!/bin/sh
# Several lattices and crystals in a frame, blank frames, and pulses that vary.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
shipped=$BRAGG_TESTS/../pipelines/mixture.yaml
detector='--detpixels=96 --pixel=1 --distance=120 --oversample=2 --polarization=0'

# column FILE NAME: of a table of the truth
column() {
	awk -F'\t' -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1"
}
# rotations FILE LATTICE: of one lattice of every frame, as --orientations takes them
rotations() {
	awk -F'\t' -v l="$2" '$5 == l { print $9, $10, $11, $12, $13, $14, $15, $16, $17 }' "$1"
}
# total RAW...: sum of the pixels of each file
total() {
	perl -e 'for (@ARGV) { open F, "<:raw", $_ or die; local $/; my $s = 0; $s += $_ for unpack "f<*", <F>;
		printf "%.9g\n", $s }' "$@"
}
# near A B TOLERANCE: two lists of numbers
near() {
	printf '%s\n' "$1" >list.a
	printf '%s\n' "$2" >list.b
	paste list.a list.b | awk -v t="$3" '{ n++; d = $1 / $2 - 1; if (d > t || d < -t) bad = 1 } END { exit bad || !n }'
}
pixels() {
	tail -c "$1" "$2" | sha256sum
}

# --- two crystals in one frame
mixture() { # FOLDER OPTION...
	folder=$1
	shift
	bragg-run --quiet --frames=2 --workdir="$folder" --set=geometry.detpixels=96 --set=geometry.pixel=1 \
		--set=geometry.oversample=2 --set=geometry.polarization=0 --set=orient.truth="$PWD/$folder.tsv" "$@" "$shipped"
}
check 'the pipeline of a mixture runs' mixture mix
is 'two lattices of two crystals in each frame' "$(column mix.tsv name | tr '\n' ' ')" \
	'orthorhombic tetragonal orthorhombic tetragonal '
is 'the table has the weights of the two lattices' "$(column mix.tsv share | sort -u | cut -c1-4 | tr '\n' ' ')" '0.40 1 '
rotations mix.tsv 0 >first
rotations mix.tsv 1 >second
single() { # NAME SHARE ROTATIONS OPTION...
	name=$1 share=$2 list=$3
	shift 3
	bragg-geometry $detector "$@" | bragg-orient --quiet --orientations="$list" --shares="$share" |
		bragg-intensity | bragg-write "${name}_%04d.raw"
}
single a 1 first --ncells=15
single b 0.4 second --cell=79.1,79.1,37.9,90,90,90 --default-F=150 --ncells=12
for k in 0 1; do
	perl -e 'for (@ARGV) { open F, "<:raw", $_ or die; local $/; push @f, [unpack "f<*", <F>] }
		print pack "f<*", map { $f[0][$_] + $f[1][$_] } 0 .. $#{$f[0]}' a_000$k.raw b_000$k.raw >sum_$k.raw
	check "frame $k is the sum of its crystals alone" \
		bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 mix/mixture_000$k.raw sum_$k.raw
	for one in a b; do
		check_status "frame $k is not crystal $one alone" 1 bragg-compare --sum-tolerance=0.05 mix/mixture_000$k.raw ${one}_000$k.raw
	done
done
check 'three workers of two threads' mixture many --count=intensity=3 --set=intensity.threads=2
for k in 0 1; do
	check "three workers give the same bytes in frame $k" cmp mix/mixture_000$k.img many/mixture_000$k.img
done
check 'the ground truth is the same for one process and several' cmp mix.tsv many.tsv
check 'the reference engine' mixture reference --set=intensity.engine=reference
check 'the reference engine gives the same image' bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 mix/mixture_0001.raw reference/mixture_0001.raw
header() { # FILE KEY
	tr ';' '\n' <"$1" | tr -d '\0' | sed -n "s/^$2=//p" | head -n 1
}
is 'the header has the second orientation too' "$(header mix/mixture_0001.img BRAGG_ROTATION_1 | cut -d' ' -f9 | cut -c1-8)" \
	"$(sed -n 2p second | cut -d' ' -f9 | cut -c1-8)"

# --- hits and blanks
small='--detpixels=24 --pixel=4 --distance=120 --oversample=1 --ncells=5'
hits() { # FOLDER OPTION...
	folder=$1
	shift
	mkdir "$folder" && bragg-geometry $small | bragg-orient --quiet --random --truth="$folder.tsv" "$@" |
		bragg-intensity | bragg-background --water=1 | bragg-noise | bragg-write "$folder/x_%02d.img"
}
check 'a hit rate' hits some --frames=40 --hit-rate=0.3
check 'no hit at all' hits none --frames=40 --hit-rate=0
check 'fewer frames' hits fewer --frames=25 --hit-rate=0.3
check 'a run with another seed succeeds' hits other --frames=40 --hit-rate=0.3 --seed=2
wrong='' found=0
for k in $(column some.tsv frame); do
	file=$(printf 'x_%02d.img' "$k")
	lattices=$(column some.tsv lattices | sed -n "$((k + 1))p")
	found=$((found + lattices))
	[ "$(header "some/$file" BRAGG_LATTICES)" = "$lattices" ] || wrong="$wrong $k: header"
	same=1
	[ "$(pixels 1152 "some/$file")" = "$(pixels 1152 "none/$file")" ] && same=0
	[ "$same" = "$lattices" ] || wrong="$wrong $k: pixels"
	[ "$k" -ge 25 ] || cmp -s "some/$file" "fewer/$file" || wrong="$wrong $k: depends on others"
done
is 'headers and pixels: a blank is background alone, and no frame depends on others' "$wrong" ''
# 12 expected, the standard deviation is 2.9
check 'about as many hits as asked for' test "$found" -gt 3 -a "$found" -lt 21
check 'another seed gives other hits' test "$(column some.tsv lattices | tr -d '\n')" != "$(column other.tsv lattices | tr -d '\n')"

# --- many lattices of one crystal
photons() { # NAME OPTION...
	name=$1
	shift
	bragg-geometry $small | bragg-orient --quiet --truth="$name.tsv" "$@" | bragg-intensity |
		bragg-background --water=1 | bragg-write --scale=1 "${name}_%d.raw" "${name}_%d.img"
}
check '200 lattices fit a message' photons full --random --lattices=200
is 'the ground truth lists all 200 lattices' "$(column full.tsv lattice | tail -n 1)" 199
check 'the header lists the last of 200 lattices' test -n "$(header full_0.img BRAGG_RECIPROCAL_199)"
check 'a mean of lattices' photons mean --random --mean-lattices=1.5 --frames=12
check 'some frames are blank, some have several' sh -c 'cut -f2 mean.tsv | grep -qx 0 && cut -f2 mean.tsv | grep -qx "[2-9]"'
{ rotations full.tsv 0 && rotations full.tsv 1; } >two
check 'the first two of them from a file' photons listed --lattices=2 --orientations=two

# still FILE OPTION...: a crystal at an orientation
still() {
	file=$1
	shift
	bragg-geometry --quiet --detpixels=64 --pixel=1.5 --ncells=8 --shape=gauss | bragg-orient --quiet "$@" |
		bragg-intensity --quiet | bragg-write --quiet "$file"
}
still about_z.raw --misset=10,20,30 --mount=0,0,3
still phi.raw --misset=10,20,30 --phi0=3 # the spindle is along z
check 'a mount along the spindle adds to the angle' bragg-compare --max-error=1e-5 about_z.raw phi.raw
printf '1 0 0 0 0 -1 0 1 0\n' >quarter # about x
still mounted.raw --orientations=quarter --mount=0,20,30
still misset.raw --misset=90,20,30
check 'a mount follows an orientation of a list' bragg-compare --max-error=1e-5 mounted.raw misset.raw
bragg-geometry --quiet --physics=faithful | bragg-orient --mount=1,0,0 2>said | bragg-tap >tapped 2>&1
is 'a mount in faithful mode is refused' "$(grep -c -e '--mount need bragg-geometry --physics=physical' said)" 1
check 'two random lattices can be drawn' photons drawn --random --lattices=2
check 'listed lattices give the photons of drawn ones' bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 listed_0.raw drawn_0.raw

# --- pulses
check 'steady pulses' photons steady --misset=10,20,30 --frames=4
check 'jitter of the fluence' photons fluence --misset=10,20,30 --frames=4 --fluence-jitter=40
steady=$(total steady_0.raw steady_1.raw steady_2.raw steady_3.raw | head -n 1)
check 'scales crystal and background alike' near "$(total fluence_0.raw fluence_1.raw fluence_2.raw fluence_3.raw)" \
	"$(column fluence.tsv fluence | awk -v s="$steady" '{ printf "%.9g\n", $1 * s }')" 1e-5
is 'each frame has a fluence of its own' "$(column fluence.tsv fluence | sort -u | wc -l)" 4
check 'jitter of the wavelength' photons wave --misset=10,20,30 --frames=2 --wavelength-jitter=1
bragg-geometry $small --wavelength="$(column wave.tsv wavelength_A | tail -n 1)" | bragg-orient --quiet --misset=10,20,30 |
	bragg-intensity | bragg-background --water=1 | bragg-write same.raw
check 'a frame with jitter has the pixels of its wavelength' bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 wave_1.raw same.raw

# --- cells that vary
# frames CELL NAME OPTION...
frames() {
	cell=$1 name=$2
	shift 2
	bragg-geometry $small --default-F=100 --cell="$cell" | bragg-orient --quiet --random --frames=3 "$@" | bragg-intensity |
		bragg-write --scale=1 "${name}_%d.raw" "${name}_%d.img"
}
check 'cells that vary' frames 60,70,31,90,95,90 cells --cell-spread=1
is 'each has its own' "$(for k in 0 1 2; do header cells_$k.img BRAGG_CELL; done | sort -u | wc -l)" 3
check 'a crystal of such a cell' frames "$(header cells_1.img BRAGG_CELL | tr ' ' ,)" own --only=1
check 'a crystal with the varied cell has the same photons' bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 cells_1.raw own_1.raw
check_status 'the first cell has not' 1 bragg-compare --max-error=1e-5 cells_0.raw own_1.raw
is 'a crystal has one orientation, varied or given' "$(header own_1.img BRAGG_ROTATION)" "$(header cells_1.img BRAGG_ROTATION)"
is 'a crystal has one cell, varied or given' "$(header own_1.img BRAGG_CELL)" "$(header cells_1.img BRAGG_CELL)"
# tables of F grow with the largest cell of a frame
for engine in reference cpu; do
	bragg-geometry --quiet $small | bragg-orient --quiet --random --lattices=8 --cell-spread=4 | bragg-intensity --engine=$engine |
		bragg-write "many_$engine.raw"
done
check 'eight cells in a frame, as the reference engine has them' bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 many_reference.raw many_cpu.raw
finish
