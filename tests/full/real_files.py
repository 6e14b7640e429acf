#!/usr/bin/python3
"""Files of other programs, and a client that receives them as from their detector.

    real_files.py cbf FRAMES            f_0001.cbf and so on, by fabio, of a_0000.cbf, with gaps (-1) and bad pixels (-2)
    real_files.py stream ENDPOINT KIND  receives Stream V2; pixels must be those of the files (KIND cbf or h5);
                                        writes KIND.tsv, the pixels that stand out, as a table of peaks
"""
import sys

import numpy as np


def write_cbf(frames):
    import fabio

    for i in range(int(frames)):
        image = fabio.open(f"a_{i:04d}.cbf")
        image.data[:, 150] = -1
        image.data[7, 9] = -2
        image.write(f"f_{i + 1:04d}.cbf")


def stored(kind):
    if kind == "cbf":
        import fabio

        return [fabio.open(f"f_{i + 1:04d}.cbf").data.astype("i8") for i in range(4)]
    return [np.fromfile(f"a_{i}.raw", "<f4").reshape(200, 300).astype("i8") for i in range(4)]


def find_peaks(image):
    """Pixels that are the largest of 5 x 5, and that stand out from a background of 1 photon; their centre of mass."""
    for y, x in np.argwhere(image > 12):
        part = image[max(0, y - 2) : y + 3, max(0, x - 2) : x + 3].clip(0)
        if part.shape == (5, 5) and image[y, x] == part.max():
            weights = (part - 1.0).clip(0)
            rows, columns = np.mgrid[-2:3, -2:3]
            yield x + 0.5 + (weights * columns).sum() / weights.sum(), y + 0.5 + (weights * rows).sum() / weights.sum()


def stream(endpoint, kind):
    import bitshuffle
    import cbor2
    import zmq

    socket = zmq.Context().socket(zmq.PULL)
    socket.connect(endpoint)
    socket.setsockopt(zmq.RCVTIMEO, 60000)
    want, table, seen = stored(kind), ["frame\tfast\tslow"], 0
    while True:
        message = cbor2.loads(socket.recv())
        if message["type"] == "start":
            assert (message["image_size_x"], message["image_size_y"]) == (300, 200), message
            assert abs(message["incident_wavelength"] - 1.03) < 1e-6
        if message["type"] == "end":
            break
        if message["type"] != "image":
            continue
        i = message["image_id"]
        shape, typed = message["data"]["threshold_1"].value
        kind_of = {69: "<u2", 70: "<u4"}[typed.tag]
        packed = typed.value.value[2]
        image = bitshuffle.decompress_lz4(np.frombuffer(packed[12:], "u1"), tuple(shape), np.dtype(kind_of), int.from_bytes(packed[8:12], "big") // np.dtype(kind_of).itemsize)
        image = image.astype("i8")
        masked = want[i] < 0
        assert (image[masked] == np.iinfo(kind_of).max).all(), "pixels without data have the largest value"
        assert (image == want[i])[~masked].all(), f"pixels of image {i}"
        table += [f"{i}\t{x:.2f}\t{y:.2f}" for x, y in find_peaks(np.where(masked, -1, image))]
        seen += 1
    assert seen == 4, seen
    open(f"{kind}.tsv", "w").write("\n".join(table) + "\n")


{"cbf": write_cbf, "stream": stream}[sys.argv[1]](*sys.argv[2:])
