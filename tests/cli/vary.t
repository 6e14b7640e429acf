#!/bin/sh
# bragg-orient --vary: quantities that each lattice draws between limits.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
plain='--quiet --detpixels=64 --pixel=0.4 --distance=150 --default-F=100 --oversample=1 --polarization=0'

# column FILE NAME: a column of a table
column() {
	awk -F'\t' -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1"
}
# header FILE KEY
header() {
	sed -n "s/^$2=\(.*\);$/\1/p" "$1"
}

# --- a size is that of a crystal of so many cells
# frames NAME ENGINE GEOMETRY -- ORIENT: photons as raw images
frames() {
	name=$1 engine=$2 geometry=$3
	shift 3
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $plain --cell=50,60,70,90,100,90 $geometry | bragg-orient --quiet --random --lattices=3 "$@" |
		bragg-intensity --quiet --engine=$engine | bragg-write --quiet --overwrite "${name}_%d.raw"
}
# same SHAPE ENGINE OPTION...: crystals of 33 nm, into which 6 x 5 x 4 cells fit, drawn and given
same() {
	kind=$1 how=$2
	shift 2
	frames drawn "$how" "$* --ncells=12,9,8" --vary=size=choice:33
	frames given "$how" "$* --ncells=6,5,4"
	check "$kind, --engine=$how: a drawn size is that of --ncells" cmp drawn_0.raw given_0.raw
}
for shape in square gauss; do
	same $shape reference --shape=$shape
done
for shape in square round gauss tophat; do
	same $shape cpu --shape=$shape
done
same interpolated cpu --interpolate=on
same 'double precision' 'cpu --precision=double'
same 'closed form' cpu '--mosaic-model=gauss --mosaic-rms=0.2 --shape=gauss'
frames least cpu '--shape=gauss --ncells=12,9,8' --vary=size=choice:3
frames one cpu '--shape=gauss --ncells=1'
check 'the smallest crystal is one cell' cmp least_0.raw one_0.raw

# --- a mosaic spread is that of --mosaic, or of --mosaic-rms in closed form
for how in reference cpu; do
	frames drawn $how --ncells=6 --mosaic-domains=7 --vary=mosaic=choice:0.5
	frames given $how --ncells=6 --mosaic-domains=7 --mosaic=0.5
	check "--engine=$how: a drawn spread is that of --mosaic" cmp drawn_0.raw given_0.raw
done
frames drawn cpu --ncells=6 --vary=mosaic=choice:0
frames given cpu --ncells=6
check 'a spread of 0 is a perfect crystal' cmp drawn_0.raw given_0.raw
closed='--shape=gauss --mosaic-model=gauss'
frames drawn cpu "$closed --mosaic-rms=0.1" --vary=mosaic-rms=choice:0.2
frames given cpu "$closed --mosaic-rms=0.2"
check 'closed form: a drawn spread is that of --mosaic-rms' cmp drawn_0.raw given_0.raw

# --- the limits, and the kinds of distributions
# draws NAME ORIENT...: the table of 1000 lattices of a crystal of edges 4 nm
draws() {
	name=$1
	shift
	bragg-geometry --quiet --detpixels=8 --cell=40,40,40,90,90,90 --default-F=1 --ncells=10 |
		bragg-orient --quiet --random --frames=500 --only=0 --lattices=2 --truth="$name.tsv" "$@" | bragg-tap --quiet >"$name.tap"
}
# spread NAME: number of lattices of each size, and their mean
spread() {
	column "$1.tsv" cells_a | awk '{ n[$1]++; sum += $1 } END { for (k = 0; k < 20; k++) if (n[k]) printf "%s ", k; printf "%.2f\n", sum / NR }'
}
# within TEXT MIN MAX: the last number of a text
within() {
	echo "$1" | awk -v min="$2" -v max="$3" '{ exit !($NF >= min && $NF <= max) }'
}
draws uniform --vary=size=uniform:20,40
is 'sizes from 20 to 40 nm have 5 to 9 cells of 4 nm' "$(spread uniform | cut -d' ' -f1-5)" '5 6 7 8 9'
check 'all with the same probability: 7 on average' within "$(spread uniform)" 6.85 7.15
draws log --vary=size=log-uniform:20,40
# sum over n of n ln((n + 1)/n)/ln 2
check 'log-uniform: 6.73 on average' within "$(spread log)" 6.6 6.83
draws choice --vary=size=choice:12,40
is 'a choice has no values in between' "$(spread choice | cut -d' ' -f1-2)" '3 10'
check 'values of a choice are equally frequent: 6.5 on average' within "$(spread choice)" 6.1 6.9
is 'the edges of a cube have one number of cells' "$(paste -d' ' uniform.tsv | awk -F'\t' 'NR > 1 && ($(NF - 2) != $NF || $(NF - 1) != $NF)' | wc -l)" 0
is 'lattices of a frame differ' "$(awk -F'\t' 'NR > 1 { if ($5 == 0) was = $NF; else if (was != $NF) n++ } END { print (n > 300 && n < 480) }' uniform.tsv)" 1
draws both --vary=a=uniform:38,42 --vary=size=uniform:20,40
is 'a size does not depend on other quantities' "$(column both.tsv cells_b | sha256sum)" "$(column uniform.tsv cells_b | sha256sum)"
draws spreads --vary=mosaic=uniform:0.2,0.4
is 'spreads are between their limits, and lattices differ' "$(column spreads.tsv mosaic_deg | awk '
	{ sum += $1; if (!n++ || $1 < min) min = $1; if ($1 > max) max = $1; seen[$1] = 1 }
	END { for (k in seen) m++; print n, m, (min >= 0.2 && min < 0.202), (max <= 0.4 && max > 0.398), (sum / n > 0.29 && sum / n < 0.31) }')" '1000 1000 1 1 1'
# 1/|a*| is the edge
edges() { # NAME AXIS
	awk -F'\t' -v name="$2_x" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
		{ a = 1 / sqrt($c ^ 2 + $(c + 1) ^ 2 + $(c + 2) ^ 2); sum += a; if (!n++ || a < min) min = a; if (a > max) max = a }
		END { printf "%d %d %.2f\n", (min > 38 - 1e-9 && min < 38.1), (max < 42 + 1e-9 && max > 41.9), sum / n }' "$1.tsv"
}
is 'edges are between their limits, and reach both' "$(edges both as | cut -d' ' -f1-2)" '1 1'
check 'edges are 40 A on average' within "$(edges both as)" 39.9 40.1
is 'edges of one length stay equal' "$(edges both cs)" "$(edges both as)"

# --- a table of the values of each frame
printf '# made by hand\nsize mosaic\n33\t0.5\n-   -\n33  -\n' >values
list='--ncells=12,9,8'
frames drawn cpu "$list" --vary-file=values --mosaic-domains=7 --mosaic=0.2
is 'a table decides how many frames there are' "$(ls drawn_?.raw | wc -l)" 3
frames given cpu '--ncells=6,5,4' --mosaic-domains=7 --mosaic=0.5
check 'frame 0 has the size and the spread of the first line' cmp drawn_0.raw given_0.raw
frames given cpu "$list" --mosaic-domains=7 --mosaic=0.2 --frames=3
check '-: the size and the spread of other options' cmp drawn_1.raw given_1.raw
frames given cpu '--ncells=6,5,4' --mosaic-domains=7 --mosaic=0.2 --frames=3
check 'a size of the table, and the spread of --mosaic' cmp drawn_2.raw given_2.raw
printf 'mosaic-rms a\n- 51\n0.2 -\n' >values
frames drawn cpu "$closed --mosaic-rms=0.1" --vary-file=values --truth=listed.tsv
frames given cpu "$closed --mosaic-rms=0.2" --frames=2
check 'closed form: the spread of the second line' cmp drawn_1.raw given_1.raw
frames given cpu "$closed --mosaic-rms=0.1" --vary=a=choice:51
check 'closed form: the edge of the first line' cmp drawn_0.raw given_0.raw
is 'the ground truth has the values' "$(column listed.tsv mosaic_deg | paste -s -d' ')" '0.1 0.1 0.1 0.2 0.2 0.2'

# --- the width of a spot: 99 % of exp(-2 (L q)^2/0.63) in a circle of pi 0.63 ln(100)/(2 L^2)
photons() { # ORIENT...
	bragg-geometry --quiet --detpixels=192 --pixel=0.1 --distance=100 --wavelength=1 --cell=40,40,40,90,90,90 --default-F=100 \
		--ncells=10 --shape=gauss --fluence=1e28 --oversample=1 |
		bragg-orient --quiet --random --frames=6 --truth=spots.tsv --overwrite --vary=size=uniform:20,40 |
		bragg-intensity --reflections "$@"
}
photons --threads=1 | bragg-tap --quiet --record=spots.rec
bragg-replay --quiet spots.rec | bragg-write --quiet --reflections=rows.tsv spots.nxs
awk -F'\t' 'FNR == NR { if (FNR > 1) cells[$1] = $NF; next }
	FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["photons"] > 20 && $at["fast"] > 20 && $at["fast"] < 172 && $at["slow"] > 20 && $at["slow"] < 172 {
		L = 40 * cells[$1]; area = 3.14159265 * 0.63 * log(100) / (2 * L * L) * (100 * 1 / 0.1) ^ 2
		n++; ratio += $at["pixels"] / area; sizes[cells[$1]] = 1 }
	END { for (k in sizes) m++; printf "%d %d %.3f\n", (n > 20), (m > 2), ratio / n }' spots.tsv rows.tsv >ratio
is 'spots of several sizes' "$(cut -d' ' -f1-2 ratio)" '1 1'
check 'a spot is as wide as its own crystal makes it' within "$(cat ratio)" 0.95 1.12

# --- files, and the same bytes again
is 'a recording is computed again' "$(bragg-replay --recompute spots.rec:2)" 'spots.rec: frame 2: the same bytes'
is 'NXmx is computed again' "$(bragg-replay --recompute spots.nxs:2)" 'spots.nxs: the same bytes, and reflections'
if has python:h5py python:zmq python:msgpack; then
	is 'NXmx files have the cells of each lattice' "$(column spots.tsv cells_b | paste -s -d' ')" "$(/usr/bin/python3 -c '
import h5py
print(*(int(n) for n in h5py.File("spots.nxs")["entry/braggpipe/lattice_cells_along_axes"][:, 1]))')"
	bragg-geometry --quiet --detpixels=64 --pixel=1 --cell=80,70,60 --default-F=100 --ncells=9 |
		bragg-orient --quiet --random --frames=3 --vary=size=uniform:20,50 --vary=a=uniform:76,84 --vary=mosaic=uniform:0.1,0.9 --truth=first.tsv |
		bragg-intensity --quiet | bragg-noise --quiet | bragg-write --quiet first.nxs
	bragg-replay --quiet first.nxs | bragg-write --quiet again.nxs
	check 'a replayed NXmx file has the cells and the edges of each lattice' /usr/bin/python3 -c '
import h5py
first, again = (h5py.File(name)["entry/braggpipe"] for name in ("first.nxs", "again.nxs"))
assert (first["lattice_cells_along_axes"][:] == again["lattice_cells_along_axes"][:]).all()
assert abs(first["lattices"]["cell"] - again["lattices"]["cell"]).max() < 1e-9
assert abs(first["lattice_mosaic_spread"][:] - again["lattice_mosaic_spread"][:]).max() < 1e-12
assert first["lattice_mosaic_spread"].attrs["units"] in ("deg", b"deg")
print("\n".join(f"{v:.9g}" for v in first["lattice_mosaic_spread"][:]), file=open("first.deg", "w"))
assert len(set(first["lattices"]["cell"][:, 0])) == 3'
	is 'NXmx files have the mosaic spread of each lattice' "$(cat first.deg)" "$(column first.tsv mosaic_deg)"
	is 'NXmx with spreads is computed again' "$(bragg-replay --recompute first.nxs:1)" 'first.nxs: the same bytes'
	is 'Python opens NXmx with sizes and spreads' "$(PYTHONPATH="$BRAGG_TESTS/../pipelines" /usr/bin/python3 -c '
import braggpipe
for frame in braggpipe.open("first.nxs"):
    lattice = frame.truth.lattices[0]
    print(int(lattice.ncells[1]), f"{lattice.mosaic_deg:.9g}")' 2>&1)" "$(awk -F'\t' 'NR > 1 { print $(NF - 2), $NF }' first.tsv)"
	bragg-replay --quiet first.nxs | bragg-write --quiet 'spread_%d.img'
	is 'headers have the mosaic spread' "$(header spread_1.img BRAGG_MOSAIC_SPREAD)" "$(column first.tsv mosaic_deg | sed -n 2p)"
else
	skip 'NXmx files have the cells of each lattice' "$lack is missing"
fi
bragg-replay --quiet spots.rec | bragg-write --quiet --scale=1 'head_%d.img'
is 'headers have the cells of the lattice' "$(header head_2.img BRAGG_CELLS_ALONG_AXES | cut -d' ' -f1)" "$(awk -F'\t' '$1 == 2 { print $NF }' spots.tsv)"
bragg-replay --quiet spots.nxs | bragg-write --quiet 'again_%d.raw'
bragg-replay --quiet spots.rec | bragg-write --quiet 'first_%d.raw'
check 'NXmx is played again' cmp again_2.raw first_2.raw
printf 'size\n20\n30\n' >values
lineage() { # the lineage of the frames of a table
	bragg-geometry --quiet --detpixels=8 --cell=40,40,40 --default-F=1 --ncells=10 | bragg-orient --quiet --vary-file="$1" |
		bragg-intensity --quiet | bragg-write --quiet --overwrite 'lineage_%d.raw'
	head -1 lineage.raw.index
}
cp values same
printf 'size\n20\n31\n' >other
check 'tables with the same values have the same lineage' [ -n "$(lineage values)" -a "$(lineage values)" = "$(lineage same)" ]
check 'tables with other values have another lineage' [ "$(lineage values)" != "$(lineage other)" ]
cat >run.yaml <<'END'
stages:
  - name: geometry
    args: [--detpixels=64, --pixel=0.4, "--ncells=6,5,13", --fluence=1e26]
  - {name: orient, args: [--frames=8, --random, --lattices=3, '--vary=size=uniform:20,40', '--vary=a=uniform:58,60']}
  - {name: intensity, args: [--reflections], threads: 1}
  - {name: write, args: ['w_%d.raw']}
END
bragg-run --quiet --workdir=alone run.yaml
bragg-run --quiet --workdir=many --count=intensity=3 --set=intensity.threads=2 run.yaml
is 'a run of three workers' "$(ls many/w_?.raw | wc -l)" 8
check 'three workers write the same bytes' same_series alone many

# --- what else asks for one size
for names in ncells_a rot_x,ncells_b; do
	photons --threads=1 --derivatives=$names 2>said | bragg-tap --quiet >ignored
	check "--derivatives=$names is refused" grep -q 'differs from lattice to lattice (bragg-orient --vary=size)' said
done
bragg-geometry --quiet --detpixels=8 --shape=gauss --ncells=9 | bragg-orient --quiet --random --vary=mosaic=choice:0.1,0.2 |
	bragg-intensity --quiet --derivatives=rot_x,mosaic 2>said | bragg-tap --quiet >ignored
check '--derivatives=mosaic is refused' grep -q 'mosaic spread differs from lattice to lattice' said
finish
