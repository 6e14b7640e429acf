#!/bin/sh
# Short fuzzing: no parser of ours, no message decoder and no stage (its I/O side) crashes, hangs
# or allocates without reason on many made inputs (100,000, or BRAGG_FUZZ_OTHERS) each, from a fixed seed; scripts/soak gives
# more of both.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
fuzz=${BRAGG_FUZZ:-$top/build/fuzz}
decoder=${BRAGG_FUZZ_DECODER:-100000} others=${BRAGG_FUZZ_OTHERS:-100000} seed=${BRAGG_SEED:-1}
jobs=${BRAGG_FUZZ_JOBS:-2} share=5000000 # inputs of a process at most
scratch

# The seeds are the inputs that the tests ship, and some of every form.
mkdir files texts
for file in "$top"/tests/golden/inputs/* "$top"/pipelines/*.yaml; do
	case $file in *.gz) continue ;; esac
	head -c 1000 "$file" >"files/${file##*/}"
done
mkdir wire recording
check 'seeds of the decoders are made' fuzz-seeds wire recording
mkdir packed
head -c 301 "$BRAGG_TESTS/full/fuzz.t" >text
{ printf '\003K'; head -c 300 text | packed byte-offset; } >packed/byte-offset
for size in 1 2 4; do
	{ printf "\\00$((size / 2))$"; head -c $((36 * size)) text | packed bslz4 $size; } >packed/bslz4-$size
done
{ printf '\100$\0\0\0\0\0\0\0$\0\0\0$\0\0\0$'; head -c 36 text; } >packed/lz4-blocks
{
	printf '###CBF\nx-CBF_BYTE_OFFSET "signed 32-bit integer"\n'
	printf 'X-Binary-Size: 16\nX-Binary-Size-Fastest-Dimension: 4\nX-Binary-Size-Second-Dimension: 3\n'
	printf '\n\014\032\004\325\001\002\003\004\200\001\020\005\006\007\200\001\001\010\011\012'
} >files/cbf
{
	printf '###CBF\nloop_\n_diffrn_scan_axis.axis_id\n_diffrn_scan_axis.angle_increment\nO 1\nloop_\n_diffrn_measurement_axis.axis_id\nO\n'
	printf 'loop_\n_axis.id\n_axis.type\n_axis.equipment\n_axis.depends_on\n_axis.vector[1]\n_axis.vector[2]\n_axis.vector[3]\n_axis.offset[1]\n'
	printf "O rotation goniometer . 1 0 0 .\nS general source . 0 0 1 .\nT rotation detector . 1 0 0 2\nY translation 'a b' T 0 -1 0 3\nX translation d Y 1 0 0 .\n"
	printf 'loop_\n_diffrn_scan_frame_axis.axis_id\n_diffrn_scan_frame_axis.angle\nT 20\nO 9\nloop_\n_array_structure_list.precedence\n'
	printf '_array_structure_list.axis_set_id\n1 X\n2 Y\nloop_\n_array_structure_list_axis.axis_set_id\n_array_structure_list_axis.axis_id\n'
	printf '_array_structure_list_axis.displacement_increment\nX X .1\nY Y .1\n_a.b\n;\ntext\n;\n# Detector_2theta 20 deg.\n'
	printf 'X-Binary-Size-Fastest-Dimension: 4\nX-Binary-Size-Second-Dimension: 3\n\014\032\004\325\001\002\003'
} >files/axes
{
	printf '{\nHEADER_BYTES=512;\nSIZE1=4;\nSIZE2=3;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nDETECTOR_NAMES=A_;\nA_DETECTOR_VECTORS=1 0 0 0 1 0;\n'
	printf 'A_GONIO_NUM_VALUES=2;\nA_GONIO_UNITS=deg mm;\nA_GONIO_VALUES=20 50;\nA_GONIO_VECTORS=1 0 0 0 0 -1;\nA_SPATIAL_DISTORTION_INFO=2 1 0.1 0.1;\n'
	printf 'ROTATION=1 2 1;\nSOURCE_WAVELENGTH=1 1.5;\nSOURCE_VECTORS=0 0 1;\n}\f'
} >files/arm
printf '%-536s' "$(cat files/arm)" >files/arm
# {"type": "image", "data": {"a": 40([[3, 4], 69(56500(["lz4", 0, h'...']))])}}, and a start message
{
	printf '\331\331\367\242dtypeeimageddata\241aa\330\050\202\202\003\004\330\105\331\334\264\203clz4\0\130\050'
	printf '\0\0\0\0\0\0\0\030\0\0\0\030\0\0\0\030'
	head -c 24 text
} >files/message
{
	printf '\331\331\367\247dtypeestartlimage_size_x\004limage_size_y\003lpixel_size_x\373\077\032\066\342\353\034\103\055lpixel_size_y\373\077\032\066\342\353\034\103\055'
	printf 'jgoniometer\241eomega\241estart\371\074\0jpixel_mask\241aa\330\050\202\202\003\004\330\105\130\030'
	head -c 24 text
} >files/start
{
	printf 'II*\0\010\0\0\0\010\0'
	for entry in '\0\1\3\0\1\0\0\0\4' '\1\1\3\0\1\0\0\0\3' '\2\1\3\0\1\0\0\0\020' '\3\1\3\0\1\0\0\0\1' '\6\1\3\0\1\0\0\0\1' \
		'\021\1\4\0\1\0\0\0\156' '\026\1\3\0\1\0\0\0\3' '\027\1\4\0\1\0\0\0\030'; do
		printf "$entry\0\0\0"
	done
	printf '\0\0\0\0'
	head -c 24 text
} >files/tiff
{
	printf '%-511s\n' '{ HeaderID = EH:000001:000000:000000 ; ByteOrder = LowByteFirst ; DataType = UnsignedShort ; Size = 24 ; Dim_1 = 4 ; Dim_2 = 3 ; WaveLength = 1e-10 ; PSize_1 = 1e-4 ; }'
	head -c 24 text
} >files/edf
{
	printf 'clen = 0.1 m\nres = 5000\nphoton_energy = 9 keV\nmask_edge_pixels = 1\n'
	printf 'a/min_fs = 0\na/max_fs = 7\na/min_ss = 0\na/max_ss = 3\na/corner_x = -3\na/corner_y = 2\n'
	printf 'a/fs = +0.9999x -0.01y\na/ss = +0.01x +0.9999y\na/coffset = 0.001\nbad/min_x = 1\nbad/max_x = 2\n'
} >files/geom
{
	printf '{"__id__": "ExperimentList", "experiment": [{"beam": 0, "detector": 0, "goniometer": 0, "scan": 0, "crystal": 0}],'
	printf '"beam": [{"direction": [0, 0, 1], "wavelength": 1, "polarization_normal": [0, 1, 0], "polarization_fraction": 0.9}],'
	printf '"detector": [{"panels": [{"fast_axis": [1, 0, 0], "slow_axis": [0, 1, 0], "origin": [0, 0, 9], "mask": [[0, 0, 1, 2]],'
	printf '"image_size": [4, 3], "pixel_size": [1, 1], "trusted_range": [0, 9], "thickness": 1, "mu": 2, "material": "Si"}],'
	printf '"hierarchy": {"fast_axis": [1, 0, 0], "slow_axis": [0, 1, 0], "origin": [0, 0, 0], "children": [{"panel": 0}]}}],'
	printf '"goniometer": [{"axes": [[1, 0, 0], [0, 1, 0]], "angles": [1, 2], "scan_axis": 1}],'
	printf '"scan": [{"image_range": [1, 2], "oscillation": [0, 1], "exposure_time": [1]}],'
	printf '"crystal": [{"real_space_a": [9, 0, 0], "real_space_b": [0, 9, 0], "real_space_c": [0, 0, 9]}]}'
} >files/expt
{
	printf '\335\0\0\0\003\333\0\0\0\033dials::af::reflection_table\001\203\244data\202\242id\222\243int\222\002\304\010\0\0\0\0\001\0\0\0'
	printf '\241d\222\246double\222\002\304\020\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\245nrows\002\253identifiers\201\0\241a'
} >files/refl
{
	printf 'CrystFEL stream format 2.3\n----- Begin geometry file -----\nclen = 0.1\nres = 1000\np0/min_fs = 0\np0/max_fs = 9\np0/min_ss = 0\n'
	printf 'p0/max_ss = 9\np0/corner_x = 0\np0/corner_y = 0\np0/fs = +1x\np0/ss = +1y\n----- End geometry file -----\n----- Begin chunk -----\n'
	printf 'Image filename: a\nEvent: //0\nhit = 1\nheader/int/frame_id = 0\nPeaks from peak search\n  fs/px\n1 2 3 4 p0\nEnd of peak list\n'
	printf -- '--- Begin crystal\nastar = +1 +0 +0 nm^-1\nbstar = +0 +1 +0 nm^-1\ncstar = +0 +0 +1 nm^-1\nReflections measured after indexing\n'
	printf '  h\n1 2 3 4 5 6 7 8 9 p0\nEnd of reflections\n--- End crystal\n----- End chunk -----\n'
} >files/stream
printf 'frame\tfast\tslow\thit\ttime_s\n0\t1\t2\t1\t3\n1\t-\t-\t0\t4\n' >files/peaks
printf 'bragg-index 3 0123456789abcdef\n# bragg-orient\t--seed=7\n3\t0123abcd\t512\thit\ta.img\n' >files/index
printf '{\nHEADER_BYTES=512;\nBRAGG_FRAME=3;\nBRAGG_LINEAGE=0123456789abcdef;\nBRAGG_STAGE_1=bragg-orient --seed~7;\n}\f' >files/origin
head -c 4 text >files/float
printf '{\nHEADER_BYTES=1048576;\n}\f' >files/short-smv # no room for what is not there
printf '0 1 0 0 0 0\n\f' >files/dump
head -c 96 /dev/zero >>files/dump
{
	printf 'MTZ \031\0\0\0\104\101\0\0'
	head -c 84 /dev/zero
	printf '%-80s' 'VERS MTZ:V1.1' 'NCOL 4 1 0' 'CELL 9 9 9 90 90 90' 'SYMINF 1 1 P 1 P1 1' 'SYMM X, Y, Z' \
		'COLUMN H H 0 1 1' 'COLUMN K H 0 1 1' 'COLUMN L H 0 1 1' 'COLUMN F F 0 1 1' END MTZENDOFHEADERS
} >files/mtz
for text in '1.5e3,-2,0x9' "bragg-orient \$'--a\\x7e'  'b c'" 'a/lyso_%04d.img' '@tcp://127.0.0.1:5555' 'ipc:///run/x' \
	"bragg-orient	--seed=8	options given=--seed=8	identity class=any" 'bragg1 00000000000000ff ipc:///run/x tcp://[::1]:5'; do
	n=$((${n:-0} + 1))
	printf '%s' "$text" >"texts/$n"
done

# Lines of NAME PARSER INPUTS SEED, a process each.
plan() {
	left=$3 part=0
	while [ "$left" -gt 0 ]; do
		part=$((part + 1))
		echo "$1" "$2" $((left < share ? left : share)) $((seed * 1000 + part))
		left=$((left - share))
	done
}

# fuzz.sh NAME PARSER INPUTS SEED: leaves NAME-PARSER-SEED.log and, when all went well, .good
cat >fuzz.sh <<'END'
name=$1-$2-$4 longest=1024
case $1-$2 in
wire-*) seeds=wire ;;
packed-* | recording-*) seeds=$1 longest=2048 ;;
stream-*) seeds= longest=256 ;;
*-numbers | *-words | *-history | *-template | *-endpoint | *-pipe-line) seeds=texts longest=300 ;;
*) seeds=files ;;
esac
[ -z "$seeds" ] || ls $seeds/* | paste -sd, >"$name.seeds"
# a small quarantine and short stacks: four times as many inputs a second
ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=1 BRAGG_PARSER=$2 "$fuzz/$1" -runs="$3" -seed="$4" -max_len=$longest \
	-timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=100 -print_final_stats=0 -artifact_prefix="$name-" \
	${seeds:+-seed_inputs=@"$name.seeds"} $([ "$1" != stream ] || echo -len_control=0) >"$name.log" 2>&1 && : >"$name.good"
END
export fuzz
parsers=$("$fuzz/parsers")
check 'parsers have names' test -n "$parsers"
{
	plan wire - "$decoder"
	plan stream - "$others"
	for name in packed recording; do plan $name - "$others"; done
	for name in $parsers; do plan parsers "$name" "$others"; done
} >plan
xargs -P "$jobs" -L 1 sh fuzz.sh <plan

# passed NAME PARSER: all of its processes
passed() {
	grep "^$1 $2 " plan | while read -r name parser inputs number; do
		[ -e "$name-$parser-$number.good" ] || { grep -h 'SUMMARY\|wants\|Base64' "$name-$parser-$number.log"; exit 1; }
	done
}
for name in wire stream packed recording; do
	check "$name: $(awk -v name=$name '$1 == name {n += $3} END {print n}' plan) inputs" passed $name -
done
for name in $parsers; do
	check "$name: $others inputs" passed parsers "$name"
done
finish
