"""dectris_client.py ENDPOINT CODING BITS FOLDER [CHANNELS [APPENDIX]]: receives a series of Stream V2.

Fails unless every byte is as documented and the images are equal to FOLDER/a_%d.raw.
"""

import json
import re
import struct
import sys
import time

import bitshuffle
import cbor2
import lz4.block
import numpy
import zmq

endpoint, coding, bits, folder = sys.argv[1:5]
nchannels = int(sys.argv[5]) if len(sys.argv) > 5 else 1
appendix = sys.argv[6] if len(sys.argv) > 6 else ""
FRAMES, SHAPE, RATE = 6, [99, 100], 50
KINDS = {69: "<u2", 70: "<u4", 85: "<f4"}


def without_dates(raw):
    """Dates are texts with tag 0, which cbor2 writes in another form."""
    return re.sub(rb"\xc0(?:\x78.|\x74)[0-9T:+.Z-]{20,29}", b"", raw)


def receive(socket):
    """Decodes a message.  Encoded again it must have the same bytes, so its heads are the shortest ones."""
    parts = socket.recv_multipart()
    assert len(parts) == 1 and parts[0][:3] == b"\xd9\xd9\xf7", "one part with the prefix"
    message = cbor2.loads(parts[0])
    again = cbor2.dumps(message, datetime_as_timestamp=False)
    assert without_dates(parts[0]) == b"\xd9\xd9\xf7" + without_dates(again), "not the shortest form"
    for date in re.findall(rb"\xc0\x78\x1d(.{29})", parts[0]):
        assert re.fullmatch(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", date), date
    assert list(message)[:3] == ["type", "series_id", "series_unique_id"]
    return parts[0], message


def unpack_lz4(blob):
    total, block = struct.unpack(">QI", blob[:12])
    at, out = 12, b""
    while len(out) < total:
        want = min(block, total - len(out))
        (length,) = struct.unpack(">I", blob[at : at + 4])
        data = blob[at + 4 : at + 4 + length]
        out += data if length == want else lz4.block.decompress(data, uncompressed_size=want)
        at += 4 + length
    assert at == len(blob) and len(out) == total
    return out


def unpack(tag):
    """An array of two dimensions, from its tags."""
    assert tag.tag == 40
    shape, items = tag.value
    kind = numpy.dtype(KINDS[items.tag])
    data = items.value
    if coding != "none":
        assert data.tag == 56500
        name, size, blob = data.value
        assert name == coding and size == (kind.itemsize if coding == "bslz4" else 0)
        if coding == "lz4":
            data = unpack_lz4(blob)
        else:
            total, block = struct.unpack(">QI", blob[:12])
            assert total == shape[0] * shape[1] * kind.itemsize
            packed = numpy.frombuffer(blob[12:], "u1")
            data = bitshuffle.decompress_lz4(packed, tuple(shape), kind, block // kind.itemsize)
            data = data.tobytes()
    return numpy.frombuffer(data, kind).reshape(shape)


def check_start(m):
    assert m["number_of_images"] == FRAMES and m["image_dtype"] == f"uint{bits}"
    assert [m["image_size_y"], m["image_size_x"]] == SHAPE
    assert m["channels"] == list(m["threshold_energy"])
    assert list(m["goniometer"]) == ["chi", "kappa", "omega", "phi", "two_theta"]
    assert m["goniometer"]["omega"] == {"increment": 0.5, "start": 10}
    assert m["frame_time"] == 1 / RATE and abs(m["count_time"] - (1 / RATE - 1e-7)) < 1e-15
    centre, translation = (m["beam_center_x"], m["beam_center_y"]), m["detector_translation"]
    assert all(abs(t - c * m["pixel_size_x"]) < 1e-12 for t, c in zip(translation, centre)) and translation[2] == 0.12
    assert m["saturation_value"] < 2 ** int(bits) - 1
    assert m["user_data"] == (json.loads(appendix) if appendix.startswith("{") else appendix)
    for key in ("beam_center_x", "incident_wavelength", "pixel_size_x", "sensor_thickness"):
        assert isinstance(m[key], float), key
    assert (appendix != "") == ("pixel_mask" not in m)
    if not appendix:
        masks, flats = ([unpack(a) for a in m[k].values()] for k in ("pixel_mask", "flatfield"))
        assert len(masks) == nchannels and all(list(a.shape) == SHAPE for a in masks + flats)
        assert all((a == 0).all() for a in masks) and all((a == 1).all() for a in flats)
        table = m["countrate_correction_lookup_table"]
        items = numpy.frombuffer(table.value, KINDS[table.tag])
        assert (items == range(len(items))).all() and len(items) == min(m["saturation_value"], 65535) + 1


def check_tail(raw, tag, channel):
    """Returns the bytes after the last key, made by hand."""
    shape, items = tag.value
    size = 2 if bits == "16" else 4

    tail = b"\x6b" + channel.encode() + b"\xd8\x28\x82\x82\x18\x63\x18\x64"
    tail += b"\xd8\x45" if size == 2 else b"\xd8\x46"
    if coding == "none":
        data = items.value
    else:
        data = items.value.value[2]
        tail += b"\xd9\xdc\xb4\x83" + (b"\x65bslz4" + bytes([size]) if coding == "bslz4" else b"\x63lz4\x00")
    short = len(data) < 256  # else below 64 KiB
    tail += struct.pack(">BB", 0x58, len(data)) if short else struct.pack(">BH", 0x59, len(data))
    assert raw.endswith(tail + data), "the layout of an image"


def written(number):
    """Reads the pixels that bragg-write wrote as float32, which is exact for these counts."""
    while True:  # the writer may be a little behind
        try:
            return numpy.fromfile(f"{folder}/a_{number}.raw", "<f4").reshape(SHAPE)
        except FileNotFoundError:
            time.sleep(0.2)


socket = zmq.Context().socket(zmq.PULL)
socket.setsockopt(zmq.RCVTIMEO, 30000)
socket.connect(endpoint)
raw, start = receive(socket)
assert start["type"] == "start" and start["series_id"] == 7
check_start(start)
for number in range(FRAMES):
    raw, image = receive(socket)
    assert image["type"] == "image" and image["image_id"] == number
    assert image["series_unique_id"] == start["series_unique_id"]
    assert image["start_time"] == [number * 50 * 10**6 // RATE, 50 * 10**6]
    assert image["stop_time"][0] - image["start_time"][0] == image["real_time"][0] == 50 * 10**6 // RATE - 5
    assert list(image["data"]) == start["channels"] and len(image["data"]) == nchannels
    first, *others = (unpack(a) for a in image["data"].values())
    pixels = written(number)
    assert first.max() > first.min() and (first == pixels).all(), f"image {number} differs"
    assert all((a == 0).all() for a in others)
    check_tail(raw, list(image["data"].values())[-1], start["channels"][-1])
    if appendix:
        assert image["user_data"] == "image 1"
    else:
        assert image["user_data"]["phi_start"] == 10 + 0.5 * number
raw, end = receive(socket)
assert end == {"type": "end", "series_id": 7, "series_unique_id": start["series_unique_id"]}
