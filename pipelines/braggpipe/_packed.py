"""Decompresses pixels that are sent with bitshuffle and LZ4, as bragg-wire(5) describes."""
from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy

_HEAD, _LENGTH, _BATCH = struct.Struct(">QI"), struct.Struct(">I"), 64  # _BATCH: number of blocks that are transposed at once
_BLOCK_MAX = 1 << 24


def _load() -> Any:
    """Returns the decompressor of LZ4, which the programs use as well; None: not installed."""
    try:
        function = ctypes.CDLL("liblz4.so.1").LZ4_decompress_safe
    except (OSError, AttributeError):
        return None
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int], ctypes.c_int
    return function


_DECOMPRESS = _load()


def is_able() -> bool:
    """Returns True if this process can decompress pixels."""
    return _DECOMPRESS is not None


def _transpose(bits: Any, size: int) -> Any:
    """Returns the items, as bytes, from their transposed bits: one row of `bits` per block."""
    planes = bits.reshape(len(bits), size, 8, -1).transpose(0, 3, 1, 2)  # 8 bytes with one byte of 8 items
    words = numpy.ascontiguousarray(planes).view("<u8")[..., 0]
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        swap = (words ^ words >> numpy.uint64(shift)) & numpy.uint64(mask)
        words = words ^ swap ^ swap << numpy.uint64(shift)
    items = words[..., None].view("u1").transpose(0, 1, 3, 2)
    return numpy.ascontiguousarray(items).reshape(-1)


def _open_block(chunk: Any, at: int, bits: Any) -> int:
    """Decompresses the block at `at` into `bits`.  Returns where the next block begins."""
    end = at + _LENGTH.size
    length = _LENGTH.unpack(chunk[at:end])[0] if end <= len(chunk) else len(chunk)
    if length > len(chunk) - end or _DECOMPRESS(chunk.ctypes.data + end, bits.ctypes.data, length, len(bits)) != len(bits):
        raise ValueError("compressed pixels are truncated or corrupt")
    return int(end + length)


def unpack(data: Any, count: int, size: int) -> Any:
    """Returns `count` items of `size` bytes as an array of bytes.

    Raises ValueError if the data are corrupt or of another size.  The size is checked before memory
    is allocated.
    """
    chunk = numpy.frombuffer(data, "u1")
    total, block = _HEAD.unpack(bytes(chunk[:_HEAD.size])) if len(chunk) >= _HEAD.size else (-1, 0)
    if total != count * size or not 0 < block <= _BLOCK_MAX or block % (8 * size):
        raise ValueError(f"compressed pixels have {total} bytes; expected {count * size}, in blocks of a valid size")
    items, at, to = numpy.empty(total, "u1"), _HEAD.size, 0
    while total - to >= 8 * size:
        rows = min(_BATCH, (total - to) // block) or 1
        bits = numpy.empty((rows, block if total - to >= block else (total - to) // (8 * size) * 8 * size), "u1")
        for row in bits:
            at = _open_block(chunk, at, row)
        items[to:to + bits.size] = _transpose(bits, size)
        to += bits.size
    if len(chunk) - at != total - to:
        raise ValueError("compressed pixels are followed by other bytes")
    items[to:] = chunk[at:]
    return items
