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

check_status "an error within --max-error is accepted" 0 bragg-compare --max-error=0.25 a b
check_status "outside --max-error" 1 bragg-compare --max-error=0.24 a b
check_status "a difference within --sum-tolerance is accepted" 0 bragg-compare --sum-tolerance=0.11 a b
check_status "outside --sum-tolerance" 1 bragg-compare --sum-tolerance=0.09 a b
check_status "errors within --percentile-error are accepted" 0 bragg-compare --percentile-error=75:0 a b
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

# --- SMV that contradicts itself, and SMV as others write it
# headed FILE BYTES LINE...: an SMV file of 3 x 2 pixels with these lines, and so many bytes 001 of pixels
headed() {
	{
		printf '{\nHEADER_BYTES=512;\n'
		bytes=$2 file=$1
		shift 2
		printf '%s;\n' "$@"
		printf '}\n'
	} >head
	truncate -s 512 head
	{ cat head && head -c "$bytes" /dev/zero | tr '\0' '\001'; } >"$file"
}
# told FILE TEXT [NAME]: status 3, one line that ends so, within the time of a test
told() {
	is "${3-$1}" "$(bragg-compare "$1" "$1" 2>&1; echo $?)" "bragg-compare: $1: $2
3"
}
little='BYTE_ORDER=little_endian' short='TYPE=unsigned_short' size='SIZE1=3' slow='SIZE2=2'
types='expected unsigned_short, unsigned_long, signed_long, long_integer or float'
headed order.img 12 $short $size $slow
told order.img 'header: no BYTE_ORDER; expected little_endian or big_endian' 'no BYTE_ORDER'
headed order.img 12 BYTE_ORDER=middle_endian $short $size $slow
told order.img 'header: BYTE_ORDER=middle_endian cannot be read; expected little_endian or big_endian' 'an unknown BYTE_ORDER'
headed type.img 12 $little TYPE=signed_short $size $slow
told type.img "header: TYPE=signed_short cannot be read; $types" 'an unknown TYPE'
headed type.img 12 $little TYPE=float $size $slow
told type.img 'too short: 3 x 2 pixels of 4 bytes need 24 bytes after the header; the file has 12' 'a TYPE wider than the pixels'
headed type.img 24 $little $short $size $slow
told type.img 'too long: 3 x 2 pixels of 2 bytes need 12 bytes after the header; the file has 24' 'a TYPE narrower than the pixels'
headed type.img 24 $little $size $slow
told type.img 'header: no TYPE, and pixels have 4 bytes; expected TYPE=unsigned_long, signed_long, long_integer or float' 'wide pixels without a TYPE'
headed type.img 12 $little TYPE=unsigned_short 'Data_type=long int' $size $slow
told type.img 'header: TYPE and Data_type contradict each other'
headed twice.img 12 $little $short $size $slow SIZE1=6
told twice.img 'header: has both SIZE1=3 and SIZE1=6; expected one value'
headed twice.img 12 $little BYTE_ORDER=big_endian $short $size $slow
told twice.img 'header: has both BYTE_ORDER=little_endian and BYTE_ORDER=big_endian; expected one value' 'two byte orders'
headed deep.img 12 DIM=3 $little $short $size $slow SIZE3=2
told deep.img 'header: DIM=3 cannot be read; expected 2'
headed packed.img 12 COMPRESSION=Huffman $little $short $size $slow
told packed.img 'header: COMPRESSION=Huffman cannot be read; expected None'
headed ratio.img 10 $little $short $size $slow RAXIS_COMPRESSION_RATIO=8
printf '\001\200' >>ratio.img
told ratio.img 'pixel 5 is stored with RAXIS_COMPRESSION_RATIO=8, which cannot be read; expected 1'
headed trek.img 12 DIM=2 'BYTE_ORDER = big_endian' TYPE=mad 'Data_type=unsigned short int' $size $slow COMPRESSION=None
is 'SMV of d*TREK' "$(figure sum_a trek.img trek.img)" $((6 * 257))
headed bare.img 12 $little $size $slow
is 'pixels of two bytes without a TYPE' "$(figure sum_a bare.img bare.img)" $((6 * 257))
headed big.img 10 BYTE_ORDER=big_endian $short $size $slow
printf '\001\002' >>big.img
is 'big-endian SMV' "$(figure sum_a big.img big.img)" $((5 * 257 + 258))
sed '1s/{/{HEADER_BYTES=511;/; 2s/HEADER_BYTES=512;//' bare.img | tr -d '\n' >line.img
truncate -s 511 line.img
head -c 12 /dev/zero | tr '\0' '\001' >>line.img
is 'SMV without line breaks' "$(figure sum_a line.img line.img)" $((6 * 257))
printf '{\nEDF_DataBlockID = 0.Image.Psd ;\nSize = 16 ;\nByteOrder = LowByteFirst ;\n}\n0123456' >e.edf
told e.edf 'header: the closing brace is missing in a multiple of 512 bytes'
{ printf '\223NUMPY\001\000v\000{}' && head -c 124 /dev/zero; } >a.npy
told a.npy "is a NumPy array; expected an image (SMV, CBF, TIFF, EDF or float32 pixels). array.astype('<f4').tofile(...) writes float32 pixels"
printf '1.0 2.0 3.0 4.0\n5.0 6.0 7.0 8.0' >table.raw
told table.raw 'is text; expected SMV, CBF, TIFF, EDF or float32 pixels'
is '--shape that contradicts a header' "$(bragg-compare --shape=2,3 short.img short.img 2>&1; echo $?)" \
	'bragg-compare: --shape=2,3: short.img has 3 x 2 pixels; leave --shape out
3'

# --- CBF that contradicts itself
# cbf FILE SED-COMMAND [PIXEL-BYTES]: of 3 x 2 pixels, 1 to 6, changed
cbf() {
	{
		printf '###CBF: VERSION 1.5\r\n\r\ndata_x\r\n# X-Binary-Size: 7\r\n_array_data.data\r\n;\r\n--CIF-BINARY-FORMAT-SECTION--\r\n'
		printf 'Content-Type: application/octet-stream;\r\n     conversions="x-CBF_BYTE_OFFSET"\r\nContent-Transfer-Encoding: BINARY\r\n'
		printf 'X-Binary-Size: 6\r\nX-Binary-ID: 1\r\nX-Binary-Element-Type: "signed 32-bit integer"\r\n'
		printf 'X-Binary-Element-Byte-Order: LITTLE_ENDIAN\r\nContent-MD5: tZC2hc7HgvFSegFdBMPGhg==\r\nX-Binary-Number-of-Elements: 6\r\n'
		printf 'X-Binary-Size-Fastest-Dimension: 3\r\nX-Binary-Size-Second-Dimension: 2\r\n\r\n'
	} | sed "$2" >"$1"
	printf '\014\032\004\325%b\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n' "${3-\\001\\001\\001\\001\\001\\001}" >>"$1"
}
cbf good.cbf ''
is 'CBF' "$(figure sum_a good.cbf good.cbf)" 21
cbf x.cbf 's/^Content-MD5.*\r/Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\r/'
told x.cbf 'the pixels are corrupt: Content-MD5 is AAAAAAAAAAAAAAAAAAAAAA==, but the checksum of the 6 bytes is tZC2hc7HgvFSegFdBMPGhg==' 'a Content-MD5 of other bytes'
cbf x.cbf 's/Elements: 6/Elements: 5/'
told x.cbf 'X-Binary-Number-of-Elements is 5, but the image has 3 x 2 pixels' 'another number of elements'
cbf x.cbf 's/Fastest-Dimension: 3/Fastest-Dimension: 2/; /Elements/d'
told x.cbf 'byte offsets: 2 bytes remain after 4 pixels; expected none' 'pixels that go on'
cbf x.cbf 's/Fastest-Dimension: 3/Fastest-Dimension: 3.5/'
told x.cbf 'X-Binary-Size-Fastest-Dimension: 3.5 is not a whole number' 'half a pixel'
cbf x.cbf '/Second/d'
told x.cbf 'X-Binary-Size-Second-Dimension is missing; expected a number above 0' 'no second dimension'
cbf x.cbf 's/^X-Binary-Size: 6/X-Binary-Size: 5/'
told x.cbf '3 x 2 pixels do not fit into 5 bytes' 'fewer bytes'
cbf x.cbf 's/^X-Binary-Size: 6/X-Binary-Size: 60/'
told x.cbf 'too short: 44 bytes of pixels; expected 60' 'more bytes than there are'
cbf x.cbf '/MD5/d' '\001\001\200\001\000\001'
told x.cbf 'byte offsets: pixel 4 of 6 is truncated or exceeds 32 bits' 'pixels that end early'
cbf x.cbf 's/signed 32-bit/unsigned 16-bit/'
told x.cbf "X-Binary-Element-Type is 'unsigned 16-bit integer'; expected 'signed 32-bit integer', the only type that can be read" 'another type'
cbf x.cbf 's/x-CBF_BYTE_OFFSET/x-CBF_PACKED/'
told x.cbf 'conversions is x-CBF_PACKED; expected x-CBF_BYTE_OFFSET, the only kind that can be read' 'another compression'
cbf x.cbf '/conversions/d'
told x.cbf 'conversions is missing; expected x-CBF_BYTE_OFFSET, the only kind that can be read' 'no compression'
cbf x.cbf 's/: LITTLE/: BIG/'
told x.cbf 'X-Binary-Element-Byte-Order is BIG_ENDIAN; expected LITTLE_ENDIAN, the only kind that can be read' 'big-endian pixels'
cbf x.cbf 's/Encoding: BINARY/Encoding: BASE64/'
told x.cbf 'Content-Transfer-Encoding is BASE64; expected BINARY, the only kind that can be read' 'pixels as text'
cbf x.cbf 's/^X-Binary-Number.*/&\nX-Binary-Size-Third-Dimension: 2\r/'
told x.cbf 'X-Binary-Size-Third-Dimension is 2; expected one image' 'a stack of images'
cat good.cbf good.cbf >x.cbf
told x.cbf 'has several binary sections; expected one image in a file' 'two images'
if [ -w /dev/full ]; then
	check_status "full disk" 1 sh -c 'bragg-compare b b >/dev/full'
else
	skip "full disk" "no /dev/full"
fi
# --- NXmx files
# series NAME OFFSET SEED FRAMES OPTION...: a series as NAME.nxs and NAME_%d.raw, which has counts
series() {
	name=$1 offset=$2 seed=$3 frames=$4
	shift 4
	bragg-geometry --pixel=1 --ncells=3 --oversample=1 --fluence=1e26 "$@" | bragg-orient --frames="$frames" --random |
		bragg-intensity --threads=1 | bragg-background --water=0.1 --threads=1 |
		bragg-noise --adc-offset="$offset" --saturation=5000 --seed="$seed" --threads=1 | bragg-write "$name.nxs" "${name}_%d.cbf"
} 2>>err
series one 0 1 2 --detpixels=64 &
series two 0 2 3 --detpixels=64 &
series far 10 1 1 --detpixels=64 --distance=150 &
series wide 0 1 1 --detpixels=80 --wavelength=1.2 &
wait
# column FILE N LINE-PATTERN: word N of a line of the report in FILE
word() {
	awk -v n="$2" -v p="$3" '$0 ~ p { print $n }' "$1"
}
bragg-compare one.nxs one.nxs >same || fail=1
is 'NXmx: the same frames' "$(awk '{ $1 = $1 } 1' same)" 'frame differ not finite max error 99.9% sum ratio correlation verdict
0 0 0 0 0 1 1 within
1 0 0 0 0 1 1 within
frames 2 in both files, 0 only in A, 0 only in B
verdict within'
status=0
bragg-compare one.nxs two.nxs >noise || status=$?
for i in 0 1; do bragg-compare one_$i.cbf two_$i.cbf >"image$i"; done
is 'NXmx: as image by image' "$(awk '/^[01] / { print $2, $4, $5, $6, $7 }' noise)" "$(for i in 0 1; do
	echo "$(word image$i 3 '^pixels') $(word image$i 3 '^max error') $(word image$i 9 '^percentiles') $(word image$i 3 '^sum ratio' | xargs printf '%.9g') $(word image$i 2 '^correl' | xargs printf '%.6g')"; done)"
bragg-geometry --quiet --detpixels=32 --pixel=1 --ncells=5 | bragg-orient --quiet | bragg-intensity --quiet |
	bragg-noise --quiet --dead=0.2 --adc-offset=0 | bragg-write --quiet dead.cbf dead.img
is 'masked pixels of CBF count as 0' "$(figure sum_a dead.cbf dead.cbf)" "$(figure sum_a dead.img dead.img)"
bragg-geometry --quiet --detpixels=64 --pixel=1 --ncells=5 --roi=10,40,5,30 | bragg-orient --quiet --osc=1 | bragg-intensity --quiet |
	bragg-noise --quiet --readout=0 --adc-offset=40 | bragg-write --quiet region.cbf region.img region.nxs 2>>err
bragg-replay --quiet region.nxs | bragg-write --quiet again.cbf 2>>err
inside=$(awk -v sum="$(figure sum_a region.img region.img)" 'BEGIN { print sum - 40 * (64 * 64 - 31 * 26) }')
is 'pixels outside --roi are masked in CBF and NXmx' "$(for file in region again; do figure sum_a $file.cbf $file.cbf; done | paste -sd' ')" \
	"$inside $inside"
is 'a frame that one file does not have' "$status $(grep '^frames\|^verdict' noise | tr -s ' ' | tr '\n' ';')" \
	'1 frames 2 in both files, 0 only in A, 1 only in B;verdict outside;'
check 'a difference within limits' sh -c '! bragg-compare --max-error=10 one.nxs two.nxs >limits; test "$(grep -c "within$" limits)" = 2'
mkdir gone && cp one.nxs gone && status=0
for option in '' --json; do
	bragg-compare $option gone/one.nxs one.nxs >>report 2>>said || status=$?
done
is 'a missing data file is an error, without a report' "$status $(wc -c <report) $(grep -c '^bragg-compare: gone/one' said) $(wc -l <said)" '3 0 2 2'
status=0
bragg-compare far.nxs wide.nxs >detectors || status=$?
# sums of counts, from the images; and what bragg-geometry says of the two places
photons() {
	bragg-compare --json "$1_0.cbf" "$1_0.cbf" | sed 's/.*"sum_a":\([^,]*\),.*/\1/' | awk -v n="$2" -v o="$3" '{ printf "%.7g", $1 - n * o }'
}
is 'different detectors are described' "$status $(awk '/^[a-z]/ && $NF ~ /[0-9]$/ { print $(NF - 1), $NF }' detectors | sed -n '1,2p;5,7p' | tr '\n' ';')" \
	"1 4096 6400;1 1;1 1;$(photons far 4096 10) $(photons wide 6400 0);$(photons far 4096 10) $(photons wide 6400 0);"
place() {
	{ bragg-geometry --verbose --pixel=1 "$@" | bragg-tap >/dev/null; } 2>&1 | sed -n 's/.*), \([0-9.]*\) A at the edge, \([0-9.]*\) A in the corner/\1 \2/p'
}
is 'the resolution limits in the list of detectors are those of bragg-geometry' "$(sed -n 's/^d .*, A *\([0-9]\)/\1/p' detectors | while read -r a b; do printf '%.3g %.3g\n' "$a" "$b"; done)" \
	"$({ place --detpixels=64 --distance=150; place --detpixels=80 --wavelength=1.2; } | paste -sd' ' | awk '{ print $1, $3; print $2, $4 }')"
finish
