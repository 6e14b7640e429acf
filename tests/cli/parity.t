#!/bin/sh
# All command lines of parity.tsv: float and int image against the checksums of
# nanoBragg's.  The originals were run with output names behind the arguments;
# -misset_seed reads them as angles, so they stay there.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
table=$(cd "${BRAGG_TESTS:-$(dirname "$0")/..}" && pwd)/golden/parity.tsv
scratch

sum_of() {
	sha256sum "$1" | cut -c1-16
}

tab=$(printf '\t')
while IFS=$tab read -r case run args pixels float_sum total maximum int_sum; do
	case $case in '#'*) continue ;; esac
	rm -f float.bin int.img
	# shellcheck disable=SC2086 # arguments are words
	bragg-nanobragg $args -floatfile float.bin -intfile int.img -nonoise -nopgm >out 2>&1 </dev/null || note "$(cat out)"
	is "$case $run: $pixels pixels, sum $total, maximum $maximum" \
		"$(sum_of float.bin) $(sum_of int.img)" "$float_sum $int_sum"
done <"$table"

is "command lines run" "$tap_count" 55
finish
