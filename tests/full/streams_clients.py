"""streams_clients.py CLIENT push|pub|pull ENDPOINT: receives six images, whose pixels must be those of a_N.raw.

CLIENT is mflow (psi-mflow, array-1.0), bsread (psi-bsread), p4p (PV Access; the endpoint is a channel), hdf5
(lclstreamer in HDF5, h5py with the filter of bitshuffle; it binds the endpoint), or lclstreamer and jungfraujoch (bitshuffle and cbor2; lclstreamer binds the endpoint).
"""

import queue
import struct
import sys

import numpy

client, kind, endpoint = sys.argv[1:]


FRAMES, SHAPE, HC_EV_A = 6, (1028, 1030), 12398.419843320026
names, *rows = (line.rstrip("\n").split("\t") for line in open("truth.tsv"))
TRUTH = {int(row[0]): dict(zip(names, row)) for row in reversed(rows)}  # of the first lattice of each frame


def energy(frame, given):
    return abs(given * float(TRUTH[frame]["wavelength_A"]) / HC_EV_A - 1) < 1e-6


def hit(frame):
    return TRUTH[frame]["lattices"] != "0"


def written(frame):
    return numpy.fromfile(f"a_{frame}.raw", "<f4")


def mflow():
    import mflow

    stream = mflow.connect(endpoint, mflow.CONNECT, mflow.PULL if kind == "push" else mflow.SUB, receive_timeout=30000)
    for frame in range(FRAMES):
        message = stream.receive().data
        header, data = message["header"], message["data"][0]
        assert header["htype"] == "array-1.0" and header["frame"] == frame and data.shape == (1028, 1030), header
        assert (data.ravel() == written(frame)).all() and energy(frame, header["beam_energy"])


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
    for frame in range(FRAMES):
        part = socket.recv()
        m = cbor2.loads(part[1:])
        assert part[:1] == b"m" and m["type"] == "image" and cbor2.loads(cbor2.dumps(m)) == m
        image = bitshuffle.decompress_lz4(numpy.frombuffer(m["compressed_data"], "u1"), shape, numpy.dtype(m["dtype"]), 4096)
        assert (image.ravel() == written(frame)).all() and m["sum"] == image.sum() and energy(frame, m["photon_energy"])
    part = socket.recv()
    assert part[:1] == b"c" and cbor2.loads(part[1:])["type"] == "stop"


def hdf5():
    import io

    import bitshuffle.h5  # the filter
    import h5py
    import zmq

    assert h5py.h5z.filter_avail(bitshuffle.h5.H5FILTER)
    socket, seen = zmq.Context().socket(zmq.PULL), []
    socket.bind(endpoint)
    while len(seen) < FRAMES:
        with h5py.File(io.BytesIO(socket.recv()), "r") as f:
            for frame, image, wavelength in zip(f["timestamp"], f["data"], f["wavelength"], strict=True):
                assert image.shape == SHAPE and (image.ravel() == written(int(frame))).all()
                assert energy(int(frame), HC_EV_A / wavelength)
                seen.append(frame)
    assert seen == list(range(FRAMES)), seen


def jungfraujoch():
    import bitshuffle
    import cbor2
    import zmq

    def array(channels):
        shape, items = channels["default"].value
        dtype = numpy.dtype({70: "<u4", 78: "<i4"}[items.tag])
        if isinstance(items.value, bytes):
            return numpy.frombuffer(items.value, dtype).reshape(shape)
        name, size, chunk = items.value.value
        _, block = struct.unpack(">QI", chunk[:12])
        assert items.value.tag == 56500 and name == "bslz4" and size == dtype.itemsize
        return bitshuffle.decompress_lz4(numpy.frombuffer(chunk[12:], "u1"), tuple(shape), dtype, block // size)

    side = zmq.Context.instance().socket(zmq.SUB)
    side.setsockopt(zmq.SUBSCRIBE, b"")
    side.connect(endpoint + "m")
    socket = zmq.Context().socket(zmq.PULL)
    socket.connect(endpoint)
    start = cbor2.loads(socket.recv())
    mask, off = array(start["pixel_mask"]), []
    height, gap = 514, start["image_size_y"] - SHAPE[0]
    middle = slice(height, height + gap)
    assert start["type"] == "start" and start["image_size_x"] == SHAPE[1] and 0 < gap < 100
    assert (mask[middle] == 1).all() and mask.sum() == gap * SHAPE[1]
    for frame in range(FRAMES):
        m = cbor2.loads(socket.recv())
        image = array(m["data"])
        assert m["image_id"] == frame and m["indexing_result"] is hit(frame) and m["spot_count"] == len(m["spots"])
        assert (image[middle] == start["error_value"]).all() and image.shape == mask.shape
        assert (numpy.delete(image, middle, 0).ravel() == written(frame)).all()
        for spot in m["spots"]:
            fast, slow = int(spot["x"]), int(spot["y"])
            near = image[slow - 1 : slow + 2, fast - 1 : fast + 2]
            at = numpy.unravel_index(near.argmax(), near.shape)  # of the brightest pixel, whose middle is at .5
            assert not mask[slow, fast] and near.max() > 0, (spot, near)
            off.append((spot["x"] - fast - at[1] + 0.5, spot["y"] - slow - at[0] + 0.5))
    images = []
    while len(images) < FRAMES:
        m = cbor2.loads(side.recv())
        assert m["type"] == "metadata" and not any("data" in image for image in m["images"])
        images += m["images"]
    assert [(image["image_id"], image["indexing_result"]) for image in images] == [(frame, hit(frame)) for frame in range(FRAMES)]
    assert len(off) > 20 and abs(numpy.mean(off, 0)).max() < 0.1, (len(off), numpy.mean(off, 0))
    assert cbor2.loads(socket.recv())["type"] == "end"


def bsread():
    from bsread import PULL, Source

    host, port = endpoint.removeprefix("tcp://").split(":")
    with Source(host=host, port=int(port), mode=PULL, receive_timeout=30000) as stream:
        for frame in range(FRAMES):
            data = stream.receive().data
            values = {name: channel.value for name, channel in data.data.items()}
            assert data.pulse_id == frame and set(values) == {"SIM:FPICTURE", "SIM:ENERGY", "SIM:HIT"}
            image = values["SIM:FPICTURE"]
            assert image.shape == SHAPE and image.dtype == "u4" and (image.ravel() == written(frame)).all()
            assert energy(frame, values["SIM:ENERGY"]) and values["SIM:HIT"] == hit(frame)


def p4p():
    from p4p.client.thread import Context

    came = queue.Queue()
    with Context("pva") as context, context.monitor(endpoint, came.put, request="field()record[queueSize=50]"):
        for frame in range(FRAMES):
            image = came.get(timeout=30)
            assert image.raw.uniqueId == frame and image.shape == SHAPE and image.dtype == "u4", (image.raw.uniqueId, frame)
            assert [d.size for d in image.raw.dimension] == [*reversed(SHAPE)]
            assert (image.ravel() == written(frame)).all()
            assert energy(frame, image.attrib["incident_energy"]) and image.attrib["hit"] == hit(frame)
            assert abs(image.attrib["detector_distance_m"] - 0.12) < 1e-9 and image.attrib["ColorMode"] == 0


globals()[client]()
