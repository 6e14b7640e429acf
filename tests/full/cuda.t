#!/bin/sh
# The headers of the physics compile as CUDA too: it is written once.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
scratch
if ! command -v nvcc >/dev/null; then
	skip 'CUDA' 'no nvcc on PATH'
	finish
	exit
fi
compile() {
	printf '#include "%s"\n' "$1" >header.cu
	nvcc -std=c++17 -I"$top/common" -D_GNU_SOURCE -c header.cu -o header.o
}
cd "$top/common" && headers=$(echo base/rng.h base/portable_math.h physics/*.h) && cd "$tap_scratch" || exit 1
for header in $headers; do
	check "$header" compile "$header"
done
finish
