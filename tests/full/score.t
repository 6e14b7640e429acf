#!/bin/sh
# bragg-score on real streams of indexamajig: the figures that an independent program found.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
golden=$BRAGG_TESTS/golden/crystfel
needs 'scores of real streams' xz /usr/bin/python3
scratch
tab=$(printf '\t')

# figure NAME: of the JSON object that was written last
figure() {
	/usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" score.json "$@"
}
sed 1d "$golden/figures.tsv" >figures
while IFS=$tab read -r name chunks right true found wrong median p90 max a b c fast slow error geometry orient; do
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet --oversample=2 $geometry | bragg-orient --quiet $orient | bragg-intensity --quiet --reflections | bragg-write --quiet "$name.nxs"
	xz -dc "$golden/$name.stream.xz" >"$name.stream"
	set -- frames="$chunks" lattices.true="$true" lattices.found="$found" lattices.wrong="$wrong" lattices.missed=0 \
		angle_deg.median="$median~0.0006" angle_deg.max="$max~0.0006"
	[ "$a" = - ] || set -- "$@" cell.a.mean="$a~0.0015" cell.b.mean="$b~0.0015" cell.c.mean="$c~0.0015"
	[ "$name" != half-pixel ] || set -- "$@" geometry_px.fast=-0.5
	[ "$name" = half-pixel ] || set -- "$@" geometry_px.fast=0
	if [ "$name" = half-pixel ]; then fast=$(awk "BEGIN { print $fast + 0.5 }"); fi
	[ "$fast" = - ] || set -- "$@" found_px.fast="$fast~0.02" found_px.slow="$slow~0.02" geometry_px.slow=0
	bragg-score --json=score.json "$name.nxs" "$name.stream" >"$name.table"
	check "the figures of a real stream: $name" figure "$@"
	is "hits that are right: $name" \
		"$(/usr/bin/python3 -c 'import json; h = json.load(open("score.json"))["hits"]; print(h["true_positive"] + h["true_negative"])')" "$right"
	rm "$name".nxs "$name"_data*
done <figures
check 'one for each stream that is there' test "$(wc -l <figures)" = "$(find "$golden" -name '*.stream.xz' | wc -l)"
finish
