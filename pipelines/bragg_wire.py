"""What bragg.py needs of bragg-wire(5): messages and their sums."""
import functools

import msgpack
import numpy

HELLO, EXPERIMENT, FRAME, CREDIT, BYE, WELCOME, TOTAL, HEARTBEAT, ACK, FENCE, FREE, LOST = range(1, 13)


class End(Exception):
    """This process ends: with a status, and a line that says why unless another process has said it."""

    def __init__(self, status, text=""):
        super().__init__(text)
        self.status, self.text = status, text


# --- sums ---------------------------------------------------------------------

_TABLE = numpy.arange(256, dtype=numpy.uint32)
for _ in range(8):
    _TABLE = (_TABLE >> 1) ^ (numpy.uint32(0x82F63B78) * (_TABLE & 1))
_LIST = _TABLE.tolist()


def _steps(crc, data):
    """The register after each row of `data`, started at `crc`, byte by byte down the rows of all columns at once."""
    for row in data:
        crc = _TABLE[(crc ^ row) & 0xFF] ^ (crc >> 8)
    return crc


def crc32c(data, crc=0):
    """CRC-32C of bytes, continuing `crc`: the sum is linear, so that 4096 pieces are summed side by side."""
    data, crc, pieces = numpy.frombuffer(data, numpy.uint8), numpy.uint32(crc ^ 0xFFFFFFFF), 4096
    length = len(data) // pieces
    if length > 16:
        columns = numpy.ascontiguousarray(data[: pieces * length].reshape(pieces, length).T)
        sums = _steps(numpy.zeros(pieces, numpy.uint32), columns)
        # what a register becomes behind `length` zero bytes, as four tables of 256
        byte, zeros = numpy.arange(256, dtype=numpy.uint32), numpy.zeros(length, numpy.uint32)
        shift = [_steps(byte << numpy.uint32(8 * b), zeros) for b in range(4)]
        for piece in sums:
            crc = functools.reduce(lambda sum, b: sum ^ shift[b][crc >> 8 * b & 0xFF], range(4), piece)
        data = data[pieces * length:]
    crc = int(crc)
    for byte in data.tobytes():
        crc = _LIST[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def sum_parts(parts):
    """CRC-32C over all payload parts, one after the other."""
    return functools.reduce(lambda crc, part: crc32c(part, crc), parts, 0)


# --- messages -----------------------------------------------------------------


class Message:
    """A message that came.  ValueError when it is none."""

    def __init__(self, parts):
        head, metadata, *self.payload = (part.buffer for part in parts)
        route = msgpack.unpackb(head) if len(head) <= 128 and len(metadata) <= 1 << 20 else []
        if len(route) != 11 or route[0] != 1 or not route[8] == len(self.payload) <= 1024:
            raise ValueError("a message without a route")
        _, self.kind, self.run, self.incarnation, self.frame, self.attempt, self.stage, self.flags, _, self.sum, _ = route
        before = len(head) - len(msgpack.packb(route[10]))
        if route[10] and route[10] != (crc32c(metadata, crc32c(head[:before])) or 1):
            raise ValueError("a message with a damaged route")
        self.keys = msgpack.unpackb(metadata)
        if not isinstance(self.keys, dict):
            raise ValueError("a message without a map")

    def size(self):
        return sum(map(len, self.payload))

    def is_whole(self):
        """False when the payload was damaged on its way."""
        return sum_parts(self.payload) == self.sum

    def lists(self, number):
        """Whether a frame is among the ids."""
        return any(r["first"] <= number <= r["last"] for r in self.keys["ids"])


def ranges(numbers):
    return [{"first": n, "last": n} for n in numbers]


def pack(route, keys, payload=(), network=False):
    """The parts of a message: `route` lacks the count of parts and the last sum, which only a network needs."""
    metadata = msgpack.packb(dict(sorted(keys.items())))
    head = msgpack.packb([*route[:8], len(payload), *route[8:], 0])
    if network:
        head = head[:-1] + msgpack.packb(crc32c(metadata, crc32c(head[:-1])) or 1)
    return [head, metadata, *payload]
