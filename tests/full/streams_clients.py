"""streams_clients.py CLIENT push|pub ENDPOINT: receives six images, whose pixels must be those of a_N.raw.

CLIENT is mflow (psi-mflow, array-1.0) or lclstreamer (bitshuffle and cbor2; it binds the endpoint).
"""

import sys

import numpy

client, kind, endpoint = sys.argv[1:]


def written(frame):
    return numpy.fromfile(f"a_{frame}.raw", "<f4")


def mflow():
    import mflow

    stream = mflow.connect(endpoint, mflow.CONNECT, mflow.PULL if kind == "push" else mflow.SUB, receive_timeout=30000)
    for frame in range(6):
        message = stream.receive().data
        header, data = message["header"], message["data"][0]
        assert header["htype"] == "array-1.0" and header["frame"] == frame and data.shape == (1028, 1030), header
        assert (data.ravel() == written(frame)).all()


def lclstreamer():
    import bitshuffle
    import cbor2
    import zmq

    socket = zmq.Context().socket(zmq.PULL)
    socket.bind(endpoint)
    part = socket.recv()
    start = cbor2.loads(part[1:])
    assert part[:1] == b"c" and start["type"] == "start"
    shape = tuple(map(int, start["shape"].split("x")))
    for frame in range(6):
        part = socket.recv()
        m = cbor2.loads(part[1:])
        assert part[:1] == b"m" and m["type"] == "image" and cbor2.loads(cbor2.dumps(m)) == m
        image = bitshuffle.decompress_lz4(numpy.frombuffer(m["compressed_data"], "u1"), shape, numpy.dtype(m["dtype"]), 4096)
        assert (image.ravel() == written(frame)).all() and m["sum"] == image.sum()
    part = socket.recv()
    assert part[:1] == b"c" and cbor2.loads(part[1:])["type"] == "stop"


globals()[client]()
