"""dectris_panels.py ENDPOINT FOLDER: receives a series of a Jungfrau 4M with two by four modules.

The pixels are those of FOLDER/a_%d.raw, either module after module or in one image.  In one image, the
gaps between modules have the largest value, and the mask is 1 in the gaps only.
"""

import sys
import time

import cbor2
import numpy
import zmq

endpoint, folder = sys.argv[1:]
FRAMES, MODULES, SIZE, GAPS = 1, (4, 2), (514, 1030), (36, 8)  # slow, fast
SHAPE = tuple(n * (size + gap) - gap for n, size, gap in zip(MODULES, SIZE, GAPS))


def array(tag, kind):
    shape, items = tag.value
    return numpy.frombuffer(items.value, kind).reshape(shape)


def written(number):
    while True:  # the writer may be a little behind
        try:
            pixels = numpy.fromfile(f"{folder}/a_{number}.raw", "<f4")
            break
        except FileNotFoundError:
            time.sleep(0.2)
    if pixels.size == 8 * SIZE[0] * SIZE[1]:
        return together(pixels.reshape(-1, *SIZE), 65535)
    return numpy.where(mask, 65535, pixels.reshape(SHAPE))


def together(modules, gap):
    image = numpy.full(SHAPE, gap)
    for i, module in enumerate(modules):
        slow, fast = (k * (size + gap) for k, size, gap in zip(divmod(i, MODULES[1]), SIZE, GAPS))
        image[slow : slow + SIZE[0], fast : fast + SIZE[1]] = module
    return image


socket = zmq.Context().socket(zmq.PULL)
socket.setsockopt(zmq.RCVTIMEO, 30000)
socket.connect(endpoint)
start = cbor2.loads(socket.recv())
assert (start["image_size_y"], start["image_size_x"]) == SHAPE
for axis, edge in (("x", SHAPE[1]), ("y", SHAPE[0])):
    assert abs(start[f"beam_center_{axis}"] - edge / 2) < 1.5, axis  # the centre, as conventions count
mask = array(start["pixel_mask"]["threshold_1"], "<u4")
assert (mask == together(numpy.zeros((8, *SIZE)), 1)).all(), "the mask"
for number in range(FRAMES):
    image = array(cbor2.loads(socket.recv())["data"]["threshold_1"], "<u2")
    assert image[mask == 0].max() > 0 and (image == written(number)).all(), f"image {number}"
assert cbor2.loads(socket.recv())["type"] == "end"
