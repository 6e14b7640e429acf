"""What this module needs of bragg-wire(5): messages and their sums."""
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import msgpack
import numpy

(HELLO, EXPERIMENT, FRAME, CREDIT, BYE, WELCOME, TOTAL, HEARTBEAT, ACK, FENCE, FREE, LOST, HAVE, STATUS, ORDER, POOL,
 KEPT, FLUSH) = range(1, 19)
NOTHING, RECIPES, IMAGES, ANYTHING = 0, 2, 3, 4  # the kinds that flow
KINDS = ["nothing", "experiment", "recipe", "image", "anything"]
SHARED = 4  # the flag of a route whose pixels lie in shared memory
TYPES = ["<f4", "<u2", "<u4", "<i4"]  # of pixels

Keys = dict[str, Any]


class End(Exception):
    """This process ends: with a status, and a line that says why unless another process has said it.

    Who was freed answers bye with status 0, whatever the stream ends with."""

    def __init__(self, status: int, text: str = "", freed: bool = False) -> None:
        super().__init__(text)
        self.status, self.text, self.freed = status, text, freed


# --- sums ---------------------------------------------------------------------


def _table() -> list[int]:
    table = numpy.arange(256, dtype=numpy.uint32)
    for _ in range(8):
        table = (table >> numpy.uint32(1)) ^ (numpy.uint32(0x82F63B78) * (table & numpy.uint32(1)))
    return [int(entry) for entry in table]


_TABLE = _table()
# Multiples of the polynomial of CRC-32C with few terms, as exponents below the first: 1 + x^426 + x^1362 + x^5685 is one.
# With x^64 for x they are so, too: each word of 64 bits may be added to those behind it instead, many words at once.
_FOLDS = ((5685, (1362, 426, 0)), (290, (136, 113, 107, 32, 0)))


def _fold(words: Any, degree: int, lower: Sequence[int]) -> Any:
    """What is left of an array of words: shorter, with the same sum.  Changes the array."""
    step, at = degree - lower[0], 0
    while len(words) - at > degree + step:
        block = words[at:at + step]
        for exponent in lower:
            words[at + degree - exponent:at + degree - exponent + step] ^= block
        at += step
    return words[at:]


def crc32c(data: Any, crc: int = 0) -> int:
    """CRC-32C of bytes, continuing `crc`."""
    data = memoryview(data).cast("B")
    register = crc ^ 0xFFFFFFFF
    if len(data) > 4096:
        size = len(data) & ~7
        words = numpy.frombuffer(data[:size], "<u8").copy()
        words[0] ^= numpy.uint64(register)
        for degree, lower in _FOLDS:
            words = _fold(words, degree, lower)
        data, register = memoryview(words.tobytes() + bytes(data[size:])), 0
    for byte in bytes(data):
        register = _TABLE[(register ^ byte) & 0xFF] ^ register >> 8
    return register ^ 0xFFFFFFFF


def sum_parts(parts: Iterable[Any]) -> int:
    """CRC-32C over all payload parts, one after the other."""
    return functools.reduce(lambda crc, part: crc32c(part, crc), parts, 0)


# --- messages -----------------------------------------------------------------


class Message:
    """A message that came: .payload are buffers.  ValueError when it is none."""

    def __init__(self, parts: Sequence[Any]) -> None:
        head, metadata, *self.payload = parts
        route = msgpack.unpackb(head) if len(head) <= 128 and len(metadata) <= 1 << 20 else []
        if len(route) != 11 or route[0] != 1 or not route[8] == len(self.payload) <= 1024:
            raise ValueError("a message without a route")
        _, self.kind, self.run, self.incarnation, self.frame, self.attempt, self.stage, self.flags, _, self.sum, _ = route
        before = len(head) - len(msgpack.packb(route[10]))
        if route[10] and route[10] != (crc32c(metadata, crc32c(head[:before])) or 1):
            raise ValueError("a message with a damaged route")
        self.keys: Keys = msgpack.unpackb(metadata)
        if not isinstance(self.keys, dict):
            raise ValueError("a message without a map")

    def size(self) -> int:
        return sum(map(len, self.payload))

    def is_whole(self) -> bool:
        """False when the payload was damaged on its way."""
        return bool(sum_parts(self.payload) == self.sum)

    def lists(self, number: int) -> bool:
        """Whether a frame is among the ids."""
        return any(r["first"] <= number <= r["last"] for r in self.keys["ids"])


def ranges(numbers: Iterable[int]) -> list[dict[str, int]]:
    """Numbers as the ids of a message, in their order."""
    ids: list[dict[str, int]] = []
    for n in numbers:
        if ids and n == ids[-1]["last"] + 1:
            ids[-1]["last"] = n
        else:
            ids.append({"first": n, "last": n})
    return ids


def pack(route: Sequence[Any], keys: Keys, payload: Sequence[Any] = (), network: bool = False) -> list[Any]:
    """The parts of a message: `route` lacks the count of parts and the last sum, which only a network needs."""
    metadata = msgpack.packb(dict(sorted(keys.items())))
    head = msgpack.packb([*route[:8], len(payload), *route[8:], 0])
    if network:
        head = head[:-1] + msgpack.packb(crc32c(metadata, crc32c(head[:-1])) or 1)
    return [head, metadata, *payload]
