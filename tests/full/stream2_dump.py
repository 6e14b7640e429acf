#!/usr/bin/python3
"""Records a series of Stream V2, a file for each message, as clients of DECTRIS do.

    stream2_dump.py ENDPOINT         start.cbor, image_00000.cbor and so on, end.cbor
    stream2_dump.py --again KIND     the same messages as another program writes them, in KIND_*.cbor:
                                     long (numbers as float64, maps of another order), plain (not compressed),
                                     big (big-endian), zstd, two (two start messages)
"""
import glob
import sys

import cbor2


def record(endpoint):
    import zmq

    socket = zmq.Context().socket(zmq.PULL)
    socket.connect(endpoint)
    socket.setsockopt(zmq.RCVTIMEO, 60000)
    kind = ""
    while kind != "end":
        message = socket.recv()
        about = cbor2.loads(message)
        kind = about["type"]
        name = f"image_{about['image_id']:05d}" if kind == "image" else kind
        with open(f"{name}.cbor", "wb") as out:
            out.write(message)


def pixels(array):
    import bitshuffle
    import numpy

    shape, typed = array.value
    kind = {69: "<u2", 70: "<u4"}[typed.tag]
    _, _, packed = typed.value.value
    block = int.from_bytes(packed[8:12], "big") // numpy.dtype(kind).itemsize
    return bitshuffle.decompress_lz4(numpy.frombuffer(packed[12:], "u1"), tuple(shape), numpy.dtype(kind), block)


def again(kind):
    for name in sorted(glob.glob("start.cbor") + glob.glob("image_*.cbor")):
        message = cbor2.loads(open(name, "rb").read())
        if kind == "long":
            message = {key: float(value) if type(value) is int and key in ("image_size_x", "saturation_value") else value for key, value in reversed(message.items())}
        elif message["type"] == "image":
            for channel, array in message["data"].items():
                image, tag = pixels(array), array.value[1].tag
                if kind == "plain":
                    array.value[1] = cbor2.CBORTag(tag, image.tobytes())
                elif kind == "big":
                    array.value[1] = cbor2.CBORTag(tag - 4, image.byteswap().tobytes())
                elif kind == "zstd":
                    array.value[1].value.value[0] = "zstd"
        with open(f"{kind}_{name}", "wb") as out:
            out.write(cbor2.dumps(cbor2.CBORTag(55799, message)))


again(sys.argv[2]) if sys.argv[1] == "--again" else record(sys.argv[1])
