#!/bin/sh
# Packed pixels against other implementations: bitshuffle+LZ4 against Debian's bitshuffle,
# byte offsets against fabio, both bit for bit.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

reference() {
	/usr/bin/python3 "$BRAGG_TESTS/full/packed_reference.py" "$@"
}
needs 'packed pixels' python:bitshuffle.h5 python:fabio python:h5py python:numpy
for size in 1 2 4; do
	for count in 7 8 1000 2048 100003; do
		name="$count items of $size bytes"
		check "$name: made" reference make "$size" "$count"
		check "$name: packed" sh -c "packed bslz4 $size <items >ours"
		check "$name: the reference packs likewise and reads ours" reference bslz4 "$size" "$count"
		check "$name: a chunk of an HDF5 file" reference hdf5 "$size" "$count"
		check "$name: ours reads the reference's" sh -c "packed unbslz4 $size $count <theirs | cmp - items"
	done
done
check 'corrupt chunks are refused' sh -c '! head -c 5000 theirs | packed unbslz4 4 100003 2>message && grep -q "truncated" message'
for count in 1 15 16 100003; do
	check "byte offsets of $count pixels: made" reference make 4 "$count"
	check "byte offsets of $count pixels: packed" sh -c 'packed byte-offset <items >ours'
	check "byte offsets of $count pixels: fabio packs likewise and reads ours" reference byte-offset 4 "$count"
done
finish
