#!/bin/sh
# Reflections come along with frames, whatever stages are on their way.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/python.sh"

recipes() {
	bragg-geometry --quiet --detpixels=96 --pixel=0.6 --ncells=12 --oversample=1 --fluence=1e28 |
		bragg-orient --quiet --frames=3 --random
}
recipes | bragg-intensity --quiet --reflections=5 --labels --threads=2 | bragg-tap --quiet --record=photons.rec
bragg-replay --quiet photons.rec | bragg-background --quiet --water=20 | bragg-tap --quiet --record=more.rec
bragg-replay --quiet more.rec | bragg-tap --quiet --record=again.rec
bragg-replay --quiet more.rec | bragg-noise --quiet | bragg-tap --quiet --record=noise.rec
recipes | bragg-intensity --quiet --reflections=5 --labels --fuse='background --water=20' --fuse=noise |
	bragg-tap --quiet --record=fused.rec
bragg-replay --quiet more.rec | "$top/pipelines/vignette.py" --quiet | bragg-tap --quiet --record=vignette.rec
check 'rows are those of numpy; background, noise, recordings and a stage in Python keep them' \
	/usr/bin/python3 "$BRAGG_TESTS/python/reflections.py" again.rec noise.rec fused.rec vignette.rec

# --- pixels and lineage are the same without
recipes | bragg-intensity --quiet | bragg-background --quiet --water=20 | bragg-write --quiet 'without_%d.raw'
bragg-replay --quiet more.rec | bragg-write --quiet 'with_%d.raw'
is 'pixels do not depend on them' "$(cat with_?.raw | cksum)" "$(cat without_?.raw | cksum)"
is 'the lineage does not depend on reflections' "$(sed -n 's/^bragg-index [0-9]* //p' with.raw.index)" \
	"$(sed -n 's/^bragg-index [0-9]* //p' without.raw.index)"
check 'a recorded frame is computed again with its reflections' bragg-replay --recompute fused.rec:2

# --- the line at the end: from the tables, with the median to a percent
bragg-replay --quiet more.rec | bragg-write --verbose --reflections='row_%d.tsv' 'row_%d.raw' 2>end.log
photons=$(awk 'FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "photons") c = i } FNR > 1 && !/^#/ { print $c }' row_?.tsv | sort -g)
check 'how many reflections a frame has, and the weakest and strongest' grep -q "bragg-write: $(echo "$photons" | awk '
	{ v[NR] = $1 } END { printf "%.4g reflections a frame: weakest %.3g photons, median .*, strongest %.3g;", NR / 3, v[1], v[NR] }')" end.log
is 'the totals at the end, without a terminal' "$(sed -n 's/\(3 frames\).*brightest pixel.*/\1/p' end.log)" 'bragg-write: 3 frames'
is 'how many are visible: z above 5' "$(sed -n 's/.*; \(.*\) % visible (z above 5, .*/\1/p' end.log)" \
	"$(cat row_?.tsv | awk '!/^#/' | awk '$1 == "frame" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ n++; p = $at["photons"]; above += p > 5 * sqrt(p + $at["background"]); bare += p > 25 }
		END { printf "%.3g\n", 100 * above / n; exit !(above && above < bare) }' || echo 'no background')"
is 'the smallest d spacing of these, in the cell of lysozyme' "$(sed -n 's/.*above 5, up to \(.*\) A).*/\1/p' end.log)" \
	"$(cat row_?.tsv | awk '!/^#/' | awk '$1 == "frame" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ p = $at["photons"]; if (p <= 5 * sqrt(p + $at["background"])) next
		d = 1 / sqrt(($at["h"] / 59.062) ^ 2 + ($at["k"] / 68.451) ^ 2 + ($at["l"] / 30.517) ^ 2); if (!least || d < least) least = d }
		END { printf "%.3g\n", least }')"
check 'the table has the median of the photons' awk -v m="$(echo "$photons" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')" '
	/median/ { sub(/.*median /, ""); sub(/,.*/, ""); good = $0 / m > 0.96 && $0 / m < 1.04 } END { exit !good }' end.log

# --- overlap: circles with the areas of the spots meet; every pair is tried
overlap() { # NAME OPTION...: the percentage of the log, and that of the tables
	name=$1
	shift
	bragg-geometry --quiet --detpixels=200 --pixel=0.2 --ncells=12 --default-F=100 --fluence=1e28 "$@" |
		bragg-orient --quiet --frames=2 --random --seed=4 | bragg-intensity --quiet --reflections=20 |
		bragg-write --verbose --reflections="$name%d.tsv" "$name%d.raw" 2>"$name.log"
	sed -n 's/.*), \(.*\) % overlap a neighbour$/\1/p' "$name.log"
	for table in "$name"?.tsv; do
		awk '!/^#/' "$table"
	done | awk '$1 == "frame" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ frame[++n] = $at["frame"] " " $at["panel"]; fast[n] = $at["fast"]; slow[n] = $at["slow"]; radius[n] = sqrt($at["pixels"] / 3.14159265358979) }
		END { for (i = 1; i <= n; i++)
				for (j = 1; j <= n; j++)
					if (i != j && frame[i] == frame[j] && (fast[i] - fast[j]) ^ 2 + (slow[i] - slow[j]) ^ 2 < (radius[i] + radius[j]) ^ 2) { many++; break }
			printf "%.3g\n", 100 * many / n }'
}
overlap near --distance=60 --cell=160,170,180,90,90,90 --cut=2,2 >near
overlap far --distance=150 --cell=60,70,80,90,90,90 >far
is 'how many spots overlap: as many as in the tables' "$(sed -n 1p near) $(sed -n 1p far)" "$(sed -n 2p near) $(sed -n 2p far)"
check 'spots of a larger cell overlap more' awk 'FNR == 1 { share[++n] = $1 } END { exit !(share[1] > 20 && share[2] < 10 && share[1] < 100) }' near far

# --- usage
check_status 'a threshold below 0' 2 bragg-intensity --reflections=-1
check_status 'labels of no reflections' 2 bragg-intensity --labels
finish
