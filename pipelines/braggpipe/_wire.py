"""Messages of bragg-wire(5) and their checksums, as far as the Python module needs them."""
from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import msgpack
import numpy

(HELLO, EXPERIMENT, FRAME, CREDIT, BYE, WELCOME, POOL, HEARTBEAT, ACK, FENCE, FREE, LOST, HAVE, STATUS, ORDER) = range(1, 16)
NOTHING, RECIPES, IMAGES, ANYTHING = 0, 2, 3, 4  # kinds of data that stages exchange
KINDS = ["nothing", "experiment", "recipe", "image", "anything"]
SHARED = 4  # flag of a route: the pixels are in shared memory
PACKED = {8: 2, 16: 4}  # flag of a route: the pixels are compressed; value: bytes per pixel
TYPES = ["<f4", "<u2", "<u4", "<i4"]  # types of pixels, by their numbers in messages

Keys = dict[str, Any]


class End(Exception):
    """Ends this process.

    status: exit status.
    text: message with the reason; "" if another process has already reported the reason.
    freed: the source released this process, which then says bye with status 0, whatever the status
        of the stream is.
    """

    def __init__(self, status: int, text: str = "", freed: bool = False) -> None:
        super().__init__(text)
        self.status, self.text, self.freed = status, text, freed


# --- checksums ----------------------------------------------------------------


_CHUNK = 512  # number of bytes that are processed in one table lookup


def _tables() -> Any:
    """Returns table[n, b]: the effect on the register of a byte b that n other bytes follow.

    Shape (_CHUNK, 256), uint32.
    """
    tables = numpy.empty((_CHUNK, 256), numpy.uint32)
    tables[0] = numpy.arange(256)
    for _ in range(8):
        tables[0] = (tables[0] >> numpy.uint32(1)) ^ (numpy.uint32(0x82F63B78) * (tables[0] & numpy.uint32(1)))
    for before, after in zip(tables, tables[1:]):
        after[:] = (before >> numpy.uint32(8)) ^ tables[0][before & numpy.uint32(0xFF)]
    return tables


_TABLES, _BEHIND = _tables(), numpy.arange(_CHUNK)[::-1]
# Multiples of the CRC-32C polynomial with few terms, as exponents: (degree, lower exponents).
# 1 + x^426 + x^1362 + x^5685 is such a multiple, and so are its squares.  They stay multiples if x
# is replaced by x^64.  Each 64-bit word can therefore be added to words behind it instead, many
# words at once.
_FOLDS = ((4 * 5685, (4 * 1362, 4 * 426, 0)), (5685, (1362, 426, 0)), (290, (136, 113, 107, 32, 0)))
_BLOCKS = 8  # number of blocks that fit into a CPU cache


def _fold(words: Any, register: int, degree: int, lower: Sequence[int]) -> tuple[Any, int]:
    """Returns a shorter array of words, and a register, that have the same checksum.

    `degree` and `lower` are an entry of _FOLDS.
    """
    delays = [degree - exponent for exponent in lower]
    step = delays[0]
    folded = max(0, len(words) - degree) // step * step
    if not folded:
        return words, register
    past, end = numpy.zeros(degree + _BLOCKS * step, "<u8"), degree  # sums, as far back as needed
    for at in range(0, folded, step):
        if end == len(past):
            past[:degree], end = past[-degree:].copy(), degree
        block = past[end:end + step]
        numpy.bitwise_xor(words[at:at + step], past[end - step:end], block)
        for delay in delays[1:]:
            block ^= past[end - delay:end - delay + step]
        block[0] ^= numpy.uint64(register)
        register, end = 0, end + step
    rest = words[folded:].copy()
    for delay in delays:
        rest[:delay] ^= past[end - delay:end]
    return rest, 0


def _add(register: int, data: Any) -> int:
    """Returns the register after an array of at most _CHUNK bytes."""
    mixed, length = data.copy(), len(data)
    mixed[:4] ^= numpy.frombuffer(register.to_bytes(4, "little"), "u1")[:length]
    return int(numpy.bitwise_xor.reduce(_TABLES[_BEHIND[_CHUNK - length:], mixed])) ^ register >> 8 * length


def _load() -> Any:
    """Returns the CRC-32C function of ISA-L, which is five times as fast.

    None: the library is not installed (Debian: libisal2).
    """
    try:
        function = ctypes.CDLL("libisal.so.2").crc32_iscsi
    except (OSError, AttributeError):
        return None
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint], ctypes.c_uint
    return function if function(b"123456789", 9, 0xFFFFFFFF) == 0xE3069283 ^ 0xFFFFFFFF else None


_FAST = _load()
_FAST_MAX = 1 << 30  # bytes per call, because the length is a C int


def crc32c(data: Any, crc: int = 0) -> int:
    """Returns the CRC-32C of bytes.  `crc` is the checksum of the bytes before them."""
    rest, register = numpy.frombuffer(data, "u1"), crc ^ 0xFFFFFFFF
    if _FAST:
        for at in range(0, len(rest), _FAST_MAX):
            register = _FAST(rest.ctypes.data + at, min(_FAST_MAX, len(rest) - at), register)
        return int(register) ^ 0xFFFFFFFF
    size = len(rest) & ~7
    if size > 4096:
        words = rest[:size].view("<u8")
        for degree, lower in _FOLDS:
            words, register = _fold(words, register, degree, lower)
        rest = numpy.concatenate([words.view("u1"), rest[size:]])
    for at in range(0, len(rest), _CHUNK):
        register = _add(register, rest[at:at + _CHUNK])
    return register ^ 0xFFFFFFFF


def sum_parts(parts: Iterable[Any]) -> int:
    """Returns the CRC-32C of all payload parts, one after the other."""
    return functools.reduce(lambda crc, part: crc32c(part, crc), parts, 0)


def _head_sum(route: Any, metadata: Any) -> int:
    """Returns the checksum of a message head, the last item of a route.  Never 0: 0 means none."""
    return crc32c(b"".join((route, metadata))) or 1


# --- messages -----------------------------------------------------------------


class Message:
    """A received message.  `payload` are buffers.

    `network`: the message came through a network, so the checksum of its head is checked.
    Raises ValueError if the parts are not a message or if this checksum is wrong.
    """

    def __init__(self, parts: Sequence[Any], network: bool = True) -> None:
        head, metadata, *self.payload = parts
        route = msgpack.unpackb(head) if len(head) <= 128 and len(metadata) <= 1 << 20 else []
        if len(route) != 11 or route[0] != 1 or not route[8] == len(self.payload) <= 1024:
            raise ValueError("the first part of a message is not a route")
        _, self.kind, self.run, self.incarnation, self.frame, self.attempt, self.stage, self.flags, _, self.sum, _ = route
        if network and route[10] and route[10] != _head_sum(head[:len(head) - len(msgpack.packb(route[10]))], metadata):
            raise ValueError("the checksum of a route is wrong")
        self.keys: Keys = msgpack.unpackb(metadata)
        if not isinstance(self.keys, dict):
            raise ValueError("the second part of a message is not a map")

    def size(self) -> int:
        return sum(map(len, self.payload))

    def is_whole(self) -> bool:
        """Returns False if the payload does not match its checksum."""
        return bool(sum_parts(self.payload) == self.sum)

    def lists(self, number: int) -> bool:
        """Returns True if the frame `number` is among the ids."""
        return any(r["first"] <= number <= r["last"] for r in self.keys["ids"])


def ranges(numbers: Iterable[int]) -> list[dict[str, int]]:
    """Returns frame numbers as the ids of a message: ranges, in the order of the numbers."""
    ids: list[dict[str, int]] = []
    for n in numbers:
        if ids and n == ids[-1]["last"] + 1:
            ids[-1]["last"] = n
        else:
            ids.append({"first": n, "last": n})
    return ids


def pack(route: Sequence[Any], keys: Keys, payload: Sequence[Any] = (), network: bool = False) -> list[Any]:
    """Returns the parts of a message.

    `route` does not contain the number of payload parts and the checksum of the head: pack adds
    both.  Only a network needs this checksum.
    """
    metadata = msgpack.packb(dict(sorted(keys.items())))
    head = msgpack.packb([*route[:8], len(payload), *route[8:], 0])
    if network:
        head = head[:-1] + msgpack.packb(_head_sum(head[:-1], metadata))
    return [head, metadata, *payload]
