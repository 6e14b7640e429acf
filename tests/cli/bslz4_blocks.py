"""Decodes chunks of bitshuffle and LZ4, without the packages that do so."""

import numpy


def lz4(block, size):
    """Decodes a block of LZ4."""
    out, at = bytearray(), 0
    while True:
        token = block[at]
        at += 1

        def length(n):
            nonlocal at
            if n == 15:
                while block[at] == 255:
                    n, at = n + 255, at + 1
                n, at = n + block[at], at + 1
            return n

        literals = length(token >> 4)
        out += block[at : at + literals]
        at += literals
        if at == len(block):
            assert len(out) == size
            return bytes(out)
        back, at = block[at] | block[at + 1] << 8, at + 2
        for _ in range(length(token & 15) + 4):
            out.append(out[-back])


def unshuffle(data, dtype, shape, block):
    """Decodes blocks of `block` pixels, without a header before them."""
    size, left, at, pixels = dtype.itemsize, shape[0] * shape[1], 0, []
    while left >= 8:
        n = min(block, left - left % 8)
        length = int.from_bytes(data[at : at + 4], "big")
        bits = numpy.frombuffer(lz4(data[at + 4 : at + 4 + length], n * size), "u1")
        bits = numpy.unpackbits(bits.reshape(8 * size, n // 8), axis=1, bitorder="little")
        pixels.append(numpy.packbits(bits.T.reshape(n, 8 * size), axis=1, bitorder="little").tobytes())
        at, left = at + 4 + length, left - n
    return numpy.frombuffer(b"".join(pixels) + data[at:], dtype).reshape(shape)


def chunk(data, dtype, shape):
    """Decodes a chunk of HDF5 filter 32008: a header of 12 bytes, and blocks."""
    size, block = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:12], "big")
    assert size == shape[0] * shape[1] * dtype.itemsize, (size, shape)
    return unshuffle(data[12:], dtype, shape, block // dtype.itemsize)
