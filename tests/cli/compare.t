#!/bin/sh
# bragg-compare: figures, thresholds and what it refuses.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# floats NUMBER...: little-endian float32 on stdout.
floats() {
	perl -e 'print pack("f<*", @ARGV)' -- "$@"
}

# smv BYTES SIZE1 SIZE2 TYPE: header and pixels, all bytes 001.
smv() {
	printf '{\nHEADER_BYTES=512;\nBYTE_ORDER=little_endian;\nTYPE=%s;\nSIZE1=%d;\nSIZE2=%d;\n}\n' "$4" "$2" "$3" >head
	{
		cat head
		head -c $((512 - $(wc -c <head))) /dev/zero | tr '\0' '\f'
		head -c $(($1 * $2 * $3)) /dev/zero | tr '\0' '\001'
	}
}

# figure NAME FILE...: a member of the JSON report.
figure() {
	name=$1
	shift
	bragg-compare --json "$@" | tr ',{}' '\n' | sed -n "s/^\"$name\"://p"
}

floats 1 2 3 4 >b
floats 1 2 3 5 >a
check_status "identical images: 0" 0 bragg-compare b b
check_status "different images: 1" 1 bragg-compare a b
is "maximum relative error" "$(figure max_error a b)" 0.25
is "worst pixel by its number" "$(figure worst a b)" 3
check "worst pixel by fast, slow" sh -c 'bragg-compare --shape=2,2 a b | grep "(fast 1, slow 1): 5 against 4"'
is "ratio of sums" "$(figure sum_ratio a b)" 1.1000000000000001
is "pixels that differ" "$(figure differing a b)" 1
is "median" "$(figure percentile_50 a b)" 0
is "99th percentile" "$(figure percentile_99 a b)" 0.25
is "identical: correlation 1" "$(bragg-compare b b | sed -n 's/^correlation *//p')" 1

check_status "within --max-error" 0 bragg-compare --max-error=0.25 a b
check_status "outside --max-error" 1 bragg-compare --max-error=0.24 a b
check_status "within --sum-tolerance" 0 bragg-compare --sum-tolerance=0.11 a b
check_status "outside --sum-tolerance" 1 bragg-compare --sum-tolerance=0.09 a b
check_status "within --percentile-error" 0 bragg-compare --percentile-error=75:0 a b
check_status "outside one of two" 1 bragg-compare --percentile-error=75:0 --percentile-error=76:0.2 a b
check_status "all thresholds count" 1 bragg-compare --max-error=1 --sum-tolerance=0.01 a b

floats 0 0 0 1000 >b0
floats 0 0 0.25 1000 >a0
is "the floor is a thousandth of the mean" "$(figure floor a0 b0)" 0.25
is "errors of dark pixels are relative to it" "$(figure max_error a0 b0)" 1
is "--floor" "$(figure max_error --floor=1 a0 b0)" 0.25
is "--floor-fraction" "$(figure max_error --floor-fraction=0.004 a0 b0)" 0.25
is "without a floor the error is infinite" "$(figure max_error --floor=0 a0 b0)" null

floats 1 2 nan 4 >nan
floats 1 2 inf 4 >inf
check_status "NaN is outside" 1 bragg-compare --max-error=1e9 nan b
check_status "NaN against NaN is outside" 1 bragg-compare --max-error=1e9 nan nan
check_status "infinity is outside" 1 bragg-compare --max-error=1e9 b inf
is "pixels that are not finite" "$(figure not_finite nan inf)" 1
floats 0 0 >zero
check_status "zero against zero" 0 bragg-compare zero zero

smv 2 3 2 unsigned_short >short.img
smv 4 3 2 unsigned_long >long.img
is "16-bit SMV" "$(figure sum_a short.img short.img)" $((6 * 257))
is "32-bit SMV" "$(figure sum_a long.img long.img)" $((6 * 16843009))
is "worst pixel by the header" "$(figure worst short.img long.img)" "[0"
floats 257 257 257 257 257 257 >short.raw
check_status "SMV against raw" 0 bragg-compare short.img short.raw

head -c 520 short.img >cut.img
head -c 7 b >odd
: >empty
for bad in cut.img odd empty missing . /dev/zero; do
	check_status "refused: $bad" 3 bragg-compare "$bad" b
	check_status "refused as B: $bad" 3 bragg-compare b "$bad"
done
check_status "different numbers of pixels" 3 bragg-compare b zero
smv 2 2 3 unsigned_short >turned.img
check_status "different shapes" 3 bragg-compare short.img turned.img
check_status "--shape that does not fit" 3 bragg-compare --shape=3,2 a b
check_status "--percentile-error without P" 2 bragg-compare --percentile-error=1 a b
check_status "--percentile-error beyond 100" 2 bragg-compare --percentile-error=101:1 a b
check_status "--max-error=nan" 2 bragg-compare --max-error=nan a b
check_status "one file" 2 bragg-compare a
is "one line of error" "$(bragg-compare b missing 2>&1)" \
	"bragg-compare: missing: cannot open: No such file or directory"
if [ -w /dev/full ]; then
	check_status "full disk" 1 sh -c 'bragg-compare b b >/dev/full'
else
	skip "full disk" "no /dev/full"
fi
finish
