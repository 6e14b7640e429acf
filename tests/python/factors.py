"""factors.py FILE.rec > LIST: writes the structure factors of an experiment as lines h k l F."""
import struct
import sys

import msgpack
import numpy

HEADER, HEAD = 64, 64  # bytes before the first record and of its head, see bragg-recording(5)


def read(path):
    """{(h, k, l): F} of the first crystal in a recording of recipes, where F is not 0."""
    raw = open(path, "rb").read()
    count = struct.unpack_from("<I", raw, HEADER + 36)[0]
    sizes = struct.unpack_from(f"<{count}Q", raw, HEADER + HEAD)
    parts, at = [], HEADER + HEAD + 8 * count
    for size in sizes:
        at = -(-at // 64) * 64
        parts.append(raw[at : at + size])
        at += size
    table = msgpack.unpackb(parts[1], strict_map_key=False)["crystals"][0]["table"]
    payload = next(p for p in parts[2:] if len(p) == 8 * numpy.prod(table["count"]))
    factors = numpy.frombuffer(payload, "<f8").reshape(table["count"])
    return {tuple(int(i) for i in hkl + table["min"]): float(factors[tuple(hkl)]) for hkl in numpy.argwhere(factors)}


if __name__ == "__main__":
    for hkl, value in read(sys.argv[1]).items():
        print(*hkl, repr(value))
