#!/bin/sh
# Short fuzzing: no parser of ours, no message decoder and no stage (its I/O side) crashes, hangs
# or allocates without reason on 100,000 made inputs each, from a fixed seed; scripts/soak gives
# more of both.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
fuzz=${BRAGG_FUZZ:-$top/build/fuzz}
decoder=${BRAGG_FUZZ_DECODER:-100000} others=${BRAGG_FUZZ_OTHERS:-100000} seed=${BRAGG_SEED:-1}
scratch

# run NAME INPUTS [OPTION...]: the seeds are the inputs that the tests ship.
run() {
	mkdir -p "$1"
	run_name=$1 run_inputs=$2
	shift 2
	"$fuzz/$run_name" -runs="$run_inputs" -seed="$seed" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=100 \
		-print_final_stats=0 "$@" "$run_name" >"$run_name.log" 2>&1
}
mkdir parsers
n=0
for file in "$top"/tests/golden/inputs/*; do
	case $file in *.gz) continue ;; esac
	for which in 0 1 2 3 4 5 6 7 8 9; do
		n=$((n + 1))
		{ printf "\\00$which"; head -c 1000 "$file"; } >"parsers/$n"
	done
done
mkdir wire recording
check 'seeds of the decoders are made' fuzz-seeds wire recording
mkdir packed
head -c 301 "$BRAGG_TESTS/full/fuzz.t" >text
{ printf '\003K'; head -c 300 text | packed byte-offset; } >packed/byte-offset
for size in 1 2 4; do
	{ printf "\\00$((size / 2))$"; head -c $((36 * size)) text | packed bslz4 $size; } >packed/bslz4-$size
done
{
	printf '\010###CBF\nx-CBF_BYTE_OFFSET "signed 32-bit integer"\n'
	printf 'X-Binary-Size: 16\nX-Binary-Size-Fastest-Dimension: 4\nX-Binary-Size-Second-Dimension: 3\n'
	printf '\n\014\032\004\325\001\002\003\004\200\001\020\005\006\007\200\001\001\010\011\012'
} >parsers/cbf
{
	printf '\011clen = 0.1 m\nres = 5000\nphoton_energy = 9 keV\nmask_edge_pixels = 1\n'
	printf 'a/min_fs = 0\na/max_fs = 7\na/min_ss = 0\na/max_ss = 3\na/corner_x = -3\na/corner_y = 2\n'
	printf 'a/fs = +0.9999x -0.01y\na/ss = +0.01x +0.9999y\na/coffset = 0.001\nbad/min_x = 1\nbad/max_x = 2\n'
} >parsers/geom
{
	printf '\012{"__id__": "ExperimentList", "experiment": [{"beam": 0, "detector": 0, "goniometer": 0, "scan": 0, "crystal": 0}],'
	printf '"beam": [{"direction": [0, 0, 1], "wavelength": 1, "polarization_normal": [0, 1, 0], "polarization_fraction": 0.9}],'
	printf '"detector": [{"panels": [{"fast_axis": [1, 0, 0], "slow_axis": [0, 1, 0], "origin": [0, 0, 9], "mask": [[0, 0, 1, 2]],'
	printf '"image_size": [4, 3], "pixel_size": [1, 1], "trusted_range": [0, 9], "thickness": 1, "mu": 2, "material": "Si"}],'
	printf '"hierarchy": {"fast_axis": [1, 0, 0], "slow_axis": [0, 1, 0], "origin": [0, 0, 0], "children": [{"panel": 0}]}}],'
	printf '"goniometer": [{"axes": [[1, 0, 0], [0, 1, 0]], "angles": [1, 2], "scan_axis": 1}],'
	printf '"scan": [{"image_range": [1, 2], "oscillation": [0, 1], "exposure_time": [1]}],'
	printf '"crystal": [{"real_space_a": [9, 0, 0], "real_space_b": [0, 9, 0], "real_space_c": [0, 0, 9]}]}'
} >parsers/expt
for name in parsers packed wire recording; do
	[ $name = wire ] && number=$decoder || number=$others
	check "$name: $number inputs" run $name "$number"
	grep -h 'SUMMARY\|Done' "$name.log" | sed 's/^/# /'
done
check "stream: $others inputs" run stream "$others" -max_len=256 -len_control=0
grep -h 'SUMMARY\|Done' stream.log | sed 's/^/# /'
finish
