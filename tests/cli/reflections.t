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
is 'pixels do not know of them' "$(cat with_?.raw | cksum)" "$(cat without_?.raw | cksum)"
is 'nor does the lineage' "$(sed -n 's/^bragg-index [0-9]* //p' with.raw.index)" \
	"$(sed -n 's/^bragg-index [0-9]* //p' without.raw.index)"
check 'a recorded frame is computed again with its reflections' bragg-replay --recompute fused.rec:2

# --- the line at the end: from the tables, with the median to a percent
bragg-replay --quiet more.rec | bragg-write --verbose --reflections='row_%d.tsv' 'row_%d.raw' 2>end.log
photons=$(awk 'FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "photons") c = i } FNR > 1 && !/^#/ { print $c }' row_?.tsv | sort -g)
check 'how many reflections a frame has, and the weakest and strongest' grep -q "bragg-write: $(echo "$photons" | awk '
	{ v[NR] = $1 } END { printf "%.4g reflections a frame: weakest %.3g photons, median .*, strongest %.3g$", NR / 3, v[1], v[NR] }')" end.log
check 'and the median' awk -v m="$(echo "$photons" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')" '
	/median/ { sub(/.*median /, ""); sub(/,.*/, ""); good = $0 / m > 0.96 && $0 / m < 1.04 } END { exit !good }' end.log

# --- usage
check_status 'a threshold below 0' 2 bragg-intensity --reflections=-1
check_status 'labels of no reflections' 2 bragg-intensity --labels
finish
