#!/bin/sh
# The headers of the physics compile as CUDA too: it is written once.  The kernels compile for a usual
# GPU, and spill no registers.  make soak compiles them for all.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
scratch
needs CUDA nvcc
# Each is C++ by itself, with all that it includes; together they are CUDA.
compile() {
	printf '#include "%s"\n' "$1" >header.cpp
	g++ -std=c++17 -I"$top/common" -D_GNU_SOURCE -fsyntax-only header.cpp
}
cd "$top/common" && headers=$(echo base/rng.h base/portable_math.h && find physics -name '*.h' | sort) && cd "$tap_scratch" || exit 1
for header in $headers; do
	check "$header" compile "$header"
done
# shellcheck disable=SC2086 # names have no spaces
printf '#include "%s"\n' $headers >header.cu
check 'all of them as CUDA' nvcc -std=c++17 -I"$top/common" -D_GNU_SOURCE -ptx header.cu -o header.ptx

# With the flags of the build: what the compiler reports.
flags=$(make -s -C "$top" --eval='flags: ; @echo $(filter-out -arch=%,$(NVCCFLAGS))' flags)
kernel() {
	# shellcheck disable=SC2086 # flags are words
	nvcc $flags -I"$top/common" -I"$top" -D_GNU_SOURCE -arch="$1" -Xptxas -v -c "$top/gpu/$2.cu" \
		-o kernel.o 2>report
}
# unspilled ARCH NAME: that none are in the report
unspilled() {
	is "$1: $2 with stack or spills" "$(grep -c '[1-9][0-9]* bytes \(stack\|spill\)' report)" 0
	note "registers: $(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' report | tr '\n' ' ')"
}
# CUDA_ARCHS=all, as in make soak: one architecture after the other that the toolkit knows, from Turing on.  sm_90 comes
# below, where kernels are counted.
for arch in $([ "${CUDA_ARCHS-}" != all ] || nvcc --list-gpu-arch | sed 's/compute_/sm_/'); do
	[ "${arch#sm_}" -ge 75 ] && [ "$arch" != sm_90 ] || continue
	names='kernel dense_kernel after_kernel smear_kernel'
	[ "$arch" = sm_120 ] && names="$names closed_kernel shares_kernel slopes_kernel slopes_double_kernel"
	for name in $names; do
		check "$name for $arch" kernel "$arch" $name
		unspilled "$arch" $name
	done
done

# Instructions of the kernels, counted from their machine code, and registers: none may grow, and where
# they are a twentieth fewer gpu/slots.tsv, which forecasts are computed from, is out of date.
# counted NAME [OPTION]: those of NAME.cu, see scripts/gpu-slots
counted() {
	# shellcheck disable=SC2086 # flags are words
	nvcc $flags -I"$top/common" -I"$top" -D_GNU_SOURCE -arch=sm_90 -Xptxas -v -cubin "$top/gpu/$1.cu" -o "$1.cubin" \
		2>report && "$top/scripts/gpu-slots" ${2-} "$1.cubin" >>slots
}
check 'slots of the dense form' counted dense_kernel
unspilled sm_90 dense_kernel
is 'kernels of it' "$(wc -l <slots)" 13
is 'shared memory of all but the general one' \
	"$(sed -n '/Compiling.*ILb[01]ELb0/,/Used/s/.* \([0-9]*\) bytes smem.*/\1/p' report | sort -n | tail -1)" 9472
check 'slots of all else' counted kernel
unspilled sm_90 kernel
check 'slots of what is interpolated' sh -c "'$top/scripts/gpu-slots' --longest kernel.cubin | grep in1ELb.ELb1E >>slots"
is 'kernels of one shape each' "$(grep -c 'gpu_pixelsILi[0-3]' slots)" 8
# the longest way through a step of derivatives, that of SQUARE, and through closed forms, that of
# wavelengths; a step of reflections that falls on the index of the one before
check 'slots of derivatives' counted slopes_kernel --longest
unspilled sm_90 slopes_kernel
check 'the longest kernel of slopes in double precision is counted' counted slopes_double_kernel --longest
unspilled sm_90 slopes_double_kernel
check 'slots of closed forms' counted closed_kernel --longest
unspilled sm_90 closed_kernel
check 'slots of reflections' counted shares_kernel --nested
unspilled sm_90 shares_kernel
check 'slots of counts' counted after_kernel --alone
unspilled sm_90 after_kernel
check 'slots of smeared sensors' counted smear_kernel --taps
unspilled sm_90 smear_kernel
note "$(tr '\n\t' '  ' <slots)"
# within KERNEL STEP PIXEL BLOCK OTHERS REGISTERS
within() {
	awk -v name="$1" -v step="$2" -v pixel="$3" -v block="$4" -v others="$5" -v registers="$6" '
		function near(count, most) { return count <= most && count >= 0.95 * most }
		index($1, name) && near($3, step) && near($5, pixel) && near($7, block) && near($9, others) &&
			near($11, registers) { found = 1 }
		END { exit !found }' slots
}
tab=$(printf '\t')
grep -v '^#' "$top/gpu/slots.tsv" >held
while IFS=$tab read -r kernel pixels step pixel block others registers what; do
	check "$what: slots of gpu/slots.tsv" within "$kernel" "$step" "$pixel" "$block" "$others" "$registers"
	check "$what: blocks of $pixels pixels" test "$pixels" = "$(case $kernel in ILb1*) echo 2048 ;; gpu_afterwards) echo 512 ;; *) echo 128 ;; esac)"
done <held
is 'the table holds 30 kernels' "$(wc -l <held)" 30

# What is forecast from them: the numbers of bench/kernels.md, and what wants an explanation.
"$top/scripts/gpu-forecast" >forecast
sed -n 's/^| \(kernel\|recipe\)[^|]*|[^|]*| \([^|]*\) ms |.*/\2/p' forecast >ranges
is 'six forecasts are made' "$(wc -l <ranges)" 6
while read -r range; do
	check "bench/kernels.md says $range" grep -qwF -e "$range" "$top/bench/kernels.md"
done <ranges
sed -n 's/^| Eiger[^|]*|[^|]*| \([^|]*\) frames.s |.*/\1/p' forecast >ranges
is 'two of frames of an Eiger' "$(wc -l <ranges)" 2
while read -r range; do
	check "bench/kernels.md says $range" grep -qwF -e "$range" "$top/bench/kernels.md"
	check "braggpipe-speed(7) says $range, too" grep -qwF -e "$range" "$top/stages/pages/braggpipe-speed.7"
done <ranges
# and what an H200 took, which is in bench/kernels.md, too
measured=$top/bench/results/nvidia-h200.jsonl
is 'no check failed on that GPU' "$(grep -c '"passed": false' "$measured")" 0
"$top/scripts/gpu-forecast" "$measured" >forecast
is 'targets' "$(sed -n '/^$/q; s/.*| \(met\|MISSED\).*/\1/p' forecast | sort | uniq -c | tr -s ' ')" ' 6 met'
sed -n '/^$/q; s/^| \([a-z][^|]*\) |[^|]*|[^|]*| \([0-9.]*\) |.*/\1	\2/p' forecast >said
is 'rows of bench/kernels.md' "$(wc -l <said)" 8
while IFS=$tab read -r what ms; do
	check "bench/kernels.md says $ms for $what" grep -q "^| $what | .* | $ms \(ms\|frames/s\) |$" "$top/bench/kernels.md"
	check "braggpipe-speed(7) says $ms, too" grep -qwF -e "$ms" "$top/stages/pages/braggpipe-speed.7"
done <said
# median WORKLOAD: of the kernel of 4096 x 4096, ours, and that of the CUDA port in single precision
median() {
	sed -n "s/.*\"workload\": \"$1\", \"size\": 4096, .*\"kernel_ms\": \([0-9.]*\), .*/\1/p" "$measured"
}
port() {
	sed -n "s/.*CUDA.*\"workload\": \"$1\", \"size\": 4096, \"precision\": \"float\".*\"kernel_ms_median\": \([0-9.]*\), .*/\1/p" \
		"${measured%.jsonl}-peers.jsonl"
}
faster() {
	awk -v ours="$(median "$1")" -v port="$(port "$2")" 'BEGIN { exit !(ours > 0 && port >= 3 * ours) }'
}
check 'three times as fast as the CUDA port' faster 'one step' 'one step'
check 'with 25 domains x 5 wavelengths the engine is faster than the CUDA port' faster '25 domains x 5 wavelengths' '25 x 5'
printf '{"part": "times", "workload": "one step", "size": %s, "kernel_ms": %s, "frame_ms": %s}\n' \
	4096 0.4 1.5 1024 0.01 0.1 >slow
"$top/scripts/gpu-forecast" slow >forecast
is 'too slow a kernel' "$(grep -c '4096, one step .* 0.4 | MISSED, explain, [0-9]* % of its slots |$' forecast)" 1
is 'a frame as forecast' "$(grep -c '4096, one step .* 1.5 | met |$' forecast)" 1
# every workload of enginecheck is beside its forecast, whose bound is its slots
sed -n 's/^    {"\([^"]*\)", "-.*/\1/p' "$top/bench/workload.c" >workloads
while read -r workload; do
	printf '{"part": "times", "workload": "%s", "size": 4096, "kernel_ms": 1, "frame_ms": 1, "to_host_ms": 1.3}\n' "$workload"
done <workloads >each
"$top/scripts/gpu-forecast" each >forecast
while read -r workload; do
	is "forecast of $workload" "$(grep -cF "| $workload, kernel | 4096 | " forecast) $(grep -cF "| $workload, to host | 4096 | 1.2 to 1.4 | 1.3 | as forecast |" forecast)" '1 1'
done <workloads
is 'workloads' "$(grep -c '% of its slots |$' forecast)" "$(($(wc -l <workloads) + 2))"
# an instruction of a warp is 64 operations: half of the card takes twice the time
printf '{"part": "peak", "flops": %s, "bus_bytes_per_s": 5.5e10}\n' 6.69e13 >whole
printf '{"part": "peak", "flops": %s, "bus_bytes_per_s": 5.5e10}\n' 3.345e13 >half
for card in whole half; do
	"$top/scripts/gpu-forecast" $card | sed -n 's/^| kernel.*25 x 5 | *| \([^ ]*\) to .*/\1/p' >$card.ms
done
is 'half of a card' "$(awk 'NR == 1 { whole = $1 } END { print ($1 > 1.8 * whole && $1 < 2.2 * whole) }' whole.ms half.ms)" 1

# fused() is the only place where a product may go into a sum unrounded.
fused_alone() {
	printf '%s\n' '#include "gpu/pixel.h"' \
		'__global__ void f(double *x) { x[0] = x[1] * x[2] + x[3]; }' >plain.cu
	# shellcheck disable=SC2086 # flags are words
	nvcc $flags -I"$top/common" -I"$top" -D_GNU_SOURCE -arch=sm_80 -ptx plain.cu -o plain.ptx &&
		! grep -q 'fma' plain.ptx
}
check 'no multiply-add of its own' fused_alone
unfused() {
	# shellcheck disable=SC2086 # flags are words
	nvcc $flags -I"$top/common" -I"$top" -D_GNU_SOURCE -arch=sm_80 -ptx "$top/gpu/$1_kernel.cu" -o unfused.ptx &&
		grep -q 'mul.*f64' unfused.ptx && ! grep -q 'fma' unfused.ptx
}
check 'no multiply-add is fused after photons' unfused after
check 'nor in smeared sensors' unfused smear

# What is installed has kernels for all cards; a kernel that spills is told of, and no build with WERROR=1.
architectures() {
	env -u CUDA_ARCH -u GPU_BUILD make -n -C "$top" BUILD="$tap_scratch/none" "$1" | sed -n 's/.* -arch=\([^ ]*\) .*/\1/p' | sort -u
}
is 'make install' "$(architectures install)" all-major
[ -e /dev/nvidiactl ] || is 'make where there is no card' "$(architectures all)" sm_75
cat >spilling <<'END'
#!/bin/sh
case $* in *--dryrun*) exec nvcc "$@" ;; esac
echo '    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads' >&2
while [ "$1" != -o ]; do shift; done
touch "$2"
END
chmod +x spilling
spills() {
	env -u GPU_BUILD make -s -C "$top" NVCC="$tap_scratch/spilling" BUILD="$tap_scratch/spilt" CUDA=1 CUDA_ARCH=sm_90 "$@" \
		"$tap_scratch/spilt/obj/gpu/sm_90/closed_kernel.o" 2>err
}
check 'a spill is no error' spills
is 'a warning names the file whose registers spill' "$(tail -n 1 err)" 'gpu/closed_kernel.cu: registers spill'
rm -r spilt
check 'WERROR=1 makes the spill an error' eval '! spills WERROR=1 && [ ! -e spilt/obj/gpu/sm_90/closed_kernel.o ]'

# Without nvcc the programs are built too, and say what is missing.  Kernels, and objects in which nvcc has no part, are
# those of the build whose programs run.
made=$(realpath "$(dirname "$(command -v enginecheck)")/../..")
export GPU_BUILD="${GPU_BUILD:-$made}"
mkdir -p build/obj
for layer in common tests stages bench; do cp -a "$made/obj/$layer" build/obj; done
without_nvcc() {
	make -s -C "$top" BUILD="$tap_scratch/build" CUDA=0 -j2 "$tap_scratch/build/tests/bin/enginecheck" &&
		! build/tests/bin/enginecheck probe 2>err && grep -q 'this build has no CUDA' err
}
check 'a build without nvcc has no GPU engine' without_nvcc

# The one command on a machine without a card: builds what that lacks (here after a build
# without nvcc), then one line.
gpu_check() {
	status=0
	BUILD="$tap_scratch/build" "$top/scripts/gpu-check" >out 2>err || status=$?
	[ "$status" = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^gpu-check: .* \(no NVIDIA driver found on this machine. Use --engine=cpu\|no GPU is visible.*\|NVIDIA driver here\|GPU is visible\)$' err
}
if enginecheck probe >/dev/null 2>&1; then
	skip 'gpu-check without a card' 'there is one'
else
	check 'gpu-check without a card' gpu_check
	note "$(cat err)"
fi

# The whole of it, over a stand-in for the CUDA runtime.
standin=$(dirname "$(command -v enginecheck)")/../standin/enginecheck
rehearsal() {
	ENGINECHECK=$standin RESULTS="$tap_scratch/results" SIZES=32 CUDA_RANDOM=3 GOLDEN_CASES='1*' \
		"$top/scripts/gpu-check" >out &&
		[ "$(grep -c '"passed": true' results)" -gt 70 ] && ! grep '"passed": false' results
}
check 'gpu-check, rehearsed' rehearsal
check 'no thread reads beyond an array' env STANDIN_EDGE=1 BRAGG_GPU_APART=1 "$standin" table
is 'one workload alone' "$("$standin" times 32 2 | grep -c '^| .* | 32 |')" 1
reached() { # kernels write to pinned memory, nothing is copied
	STANDIN_REACH=1 "$standin" times 32 1 >reached && grep -q '^| one step | 32 |[^|]*|[^|]*| 0.000 |.* same bytes |$' reached &&
		STANDIN_REACH=1 "$standin" after 64 >reached && ! grep FAILED reached
}
check 'small images over the bus as they are computed' reached
unpinned() {
	! STANDIN_PINS=0 "$standin" times 32 1 >unpinned 2>err && grep -q "pinning memory" err
}
check 'no time of pixels that are not pinned' unpinned
is 'parts of its results' "$(sed -n 's/^{"part": "\([^"]*\)".*/\1/p' results | sort -u | tr '\n' ',')" \
	'agreement,background and noise,bytes,card,closed form,closed form timed,derivatives,first frame,from photons on,handed on,peak,planes,reflections,stream,table of reflections,times,'
is 'values that are not measured are marked' "$(grep -c 'not measured |$' out)" 10
limited() {
	! LIMIT=3 ENGINECHECK=$standin RESULTS="$tap_scratch/limited" "$top/scripts/gpu-check" >out 2>err &&
		grep -q '^gpu-check: failed:.* times 4096 (left out),' err
}
check 'a limit of time' limited
finish
