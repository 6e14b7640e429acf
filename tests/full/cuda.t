#!/bin/sh
# The headers of the physics compile as CUDA too: it is written once.  The kernels compile
# for every architecture of the toolkit, and spill no registers.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
scratch
needs CUDA nvcc
compile() {
	printf '#include "%s"\n' "$1" >header.cu
	nvcc -std=c++17 -I"$top/common" -D_GNU_SOURCE -c header.cu -o header.o
}
cd "$top/common" && headers=$(echo base/rng.h base/portable_math.h physics/*.h) && cd "$tap_scratch" || exit 1
for header in $headers; do
	check "$header" compile "$header"
done

# One architecture after the other, from Turing on, with the flags of the build: what the
# compiler reports.
flags=$(make -s -C "$top" --eval='flags: ; @echo $(filter-out -arch=%,$(NVCCFLAGS))' flags)
kernel() {
	# shellcheck disable=SC2086 # flags are words
	nvcc $flags -I"$top/common" -I"$top" -D_GNU_SOURCE -arch="$1" -Xptxas -v -c "$top/gpu/$2.cu" \
		-o kernel.o 2>report
}
for arch in $(nvcc --list-gpu-arch | sed 's/compute_/sm_/'); do
	[ "${arch#sm_}" -ge 75 ] || continue
	for name in kernel dense_kernel after_kernel; do
		check "$name for $arch" kernel "$arch" $name
		is "$arch: $name with stack or spills" "$(grep -c '[1-9][0-9]* bytes \(stack\|spill\)' report)" 0
		note "registers: $(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' report | tr '\n' ' ')"
	done
done

# Instructions of the dense form, counted from its machine code: none may grow.  By lone, any, fine,
# flat of gpu/dense_kernel.cu: slots of a step, and of a pixel of one step beside its neighbours.
slots() {
	# shellcheck disable=SC2086 # flags are words
	nvcc $flags -I"$top/common" -I"$top" -D_GNU_SOURCE -arch=sm_90 -Xptxas -v -cubin "$top/gpu/dense_kernel.cu" \
		-o dense.cubin 2>report && "$top/scripts/gpu-slots" dense.cubin >slots
}
check 'slots of the dense form' slots
note "$(sed 's/_Z9gpu_dense//; s/v9gpu[^ 	]*//; s/$/;/' slots | tr '\n\t' '  ')"
is 'kernels of it' "$(wc -l <slots)" 9
# within KERNEL STEP PIXEL
within() {
	awk -v name="_Z9gpu_denseILb$1E" -v step="$2" -v pixel="$3" \
		'index($1, name) && $3 > 50 && $3 <= step && $5 > $3 && $5 <= pixel { found = 1 } END { exit !found }' slots
}
check 'one short sum, flat' within 1ELb0ELb0ELb1 84 190
check 'one short sum, table' within 1ELb0ELb0ELb0 94 202
check 'one short sum, fine, flat' within 1ELb0ELb1ELb1 99 205
check 'one short sum, fine, table' within 1ELb0ELb1ELb0 112 220
check 'long sums, flat' within 0ELb0ELb0ELb1 84 300
check 'long sums, table' within 0ELb0ELb0ELb0 94 320
is 'registers of all but the general one' \
	"$(sed -n '/Compiling.*ILb[01]ELb0/,/Used/s/.*Used \([0-9]*\) registers.*/\1/p' report | sort -n | tail -1)" 48

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
	nvcc $flags -I"$top/common" -I"$top" -D_GNU_SOURCE -arch=sm_80 -ptx "$top/gpu/after_kernel.cu" -o after.ptx &&
		grep -q 'mul.*f64' after.ptx && ! grep -q 'fma' after.ptx
}
check 'none at all after photons' unfused

# Without nvcc the programs are built too, and say what is missing.
without_nvcc() {
	make -s -C "$top" BUILD="$tap_scratch/build" CUDA=0 -j2 "$tap_scratch/build/tests/bin/enginecheck" &&
		! build/tests/bin/enginecheck probe 2>err && grep -q 'this build has no CUDA' err
}
check 'without nvcc' without_nvcc

# The one command on a machine without a card: builds what that lacks (here after a build
# without nvcc), then one line.
gpu_check() {
	status=0
	BUILD="$tap_scratch/build" "$top/scripts/gpu-check" >out 2>err || status=$?
	[ "$status" = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^gpu-check: .* no \(NVIDIA driver here\|GPU is visible\)$' err
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
is 'one workload alone' "$("$standin" times 32 2 | grep -c '^| .* | 32 |')" 1
unpinned() {
	! STANDIN_PINS=0 "$standin" times 32 1 >unpinned 2>err && grep -q "pinning memory" err
}
check 'no time of pixels that are not pinned' unpinned
is 'parts of its results' "$(sed -n 's/^{"part": "\([^"]*\)".*/\1/p' results | sort -u | tr '\n' ',')" \
	'agreement,background and noise,bytes,card,first frame,peak,stream,times,'
is 'what is not measured is said' "$(grep -c 'not measured |$' out)" 6
limited() {
	! LIMIT=3 ENGINECHECK=$standin RESULTS="$tap_scratch/limited" "$top/scripts/gpu-check" >out 2>err &&
		grep -q '^gpu-check: failed:.* times 4096 (left out),' err
}
check 'a limit of time' limited
finish
