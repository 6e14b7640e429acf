"""dectris1_client.py ENDPOINT [KEY=VALUE...]: receives a series of Stream V1 and prints a line for each message.

`header`, the number of an image, or `end`.  Fails unless every part is as documented.  Each KEY is something to expect:
  coding, bits, detail, shape (FASTxSLOW), image_shape (if it differs), series, header and image (the appendices), nimages, masked (number of pixels)
  files: folder with a_N.raw, the images as bragg-write wrote them (float32)
  words: file of uint32, the whole mask
  blank: value of masked pixels, if it is not the largest one
  socket: pub for a publisher
  messages: leave after this number of messages
Decodes everything by itself, with numpy and no other library.
"""

import hashlib
import json
import struct
import sys
import time

import numpy
import zmq

endpoint = sys.argv[1]
want = dict(w.split("=", 1) for w in sys.argv[2:])
ENCODINGS = {"bslz4": "bs%d-lz4<", "lz4": "lz4<", "none": "<"}
PARTS = {"all": 8, "basic": 2, "none": 1}
settings, mask = {}, None


def unpack_block(block, size):
    """One LZ4 block without a frame."""
    out, at = bytearray(), 0

    def length(n):
        nonlocal at
        more = n == 15
        while more:
            more = block[at] == 255
            n += block[at]
            at += 1
        return n

    while at < len(block):
        token = block[at]
        at += 1
        literals = length(token >> 4)
        out += block[at : at + literals]
        at += literals
        if at == len(block):
            break
        (back,) = struct.unpack("<H", block[at : at + 2])
        at += 2
        for _ in range(length(token & 15) + 4):
            out.append(out[-back])
    assert len(out) == size, f"{len(out)} bytes, not {size}"
    return bytes(out)


def transpose_bits(data, itemsize):
    """The items of which bitshuffle has stored bit 0 of all, then bit 1 of all, and so on."""
    planes = numpy.unpackbits(numpy.frombuffer(data, "u1"), bitorder="little").reshape(8 * itemsize, -1)
    return numpy.packbits(planes.T, axis=1, bitorder="little").tobytes()


def unpack_bslz4(blob, itemsize):
    total, block = struct.unpack(">QI", blob[:12])
    at, out = 12, b""
    while total - len(out) >= 8 * itemsize:
        size = min(block, (total - len(out)) // (8 * itemsize) * 8 * itemsize)
        (length,) = struct.unpack(">I", blob[at : at + 4])
        out += transpose_bits(unpack_block(blob[at + 4 : at + 4 + length], size), itemsize)
        at += 4 + length
    return out + blob[at:]


def unpack(encoding, blob, kind, size):
    if encoding.startswith("bs"):
        return unpack_bslz4(blob, kind.itemsize)
    return blob if encoding == "<" else unpack_block(blob, size)


def expect(key, value):
    assert key not in want or want[key] == str(value), f"{key} is {value}, not {want[key]}"


def array(about, blob, htype, kind):
    about = json.loads(about)
    assert list(about) == ["htype", "shape", "type"] and about["htype"] == htype, about
    assert about["type"] == kind and len(blob) == 4 * about["shape"][0] * about["shape"][1]
    return numpy.frombuffer(blob, kind).reshape(about["shape"][::-1])


def see_header(parts):
    global settings, mask
    first = json.loads(parts[0])
    assert list(first) == ["htype", "series", "header_detail"]
    expect("series", first["series"])
    expect("detail", first["header_detail"])
    expect("header", parts.pop().decode() if want.get("header") else "")
    assert len(parts) == PARTS[first["header_detail"]], f"{len(parts)} parts"
    if len(parts) == 1:
        return
    settings = json.loads(parts[1])
    expect("bits", settings["bit_depth_image"])
    expect("coding", settings["compression"])
    expect("nimages", settings["nimages"])
    expect("period", settings["frame_time"])
    expect("exposed", settings["count_time"])
    expect("masked", settings["number_of_excluded_pixels"])
    expect("shape", f'{settings["x_pixels_in_detector"]}x{settings["y_pixels_in_detector"]}')
    assert settings["trigger_mode"] == "ints" and settings["ntrigger"] == 1
    assert "exposed" in want or abs(settings["frame_time"] - settings["count_time"] - 1e-7) < 1e-12
    if len(parts) == 8:
        assert (array(*parts[2:4], "dflatfield-1.0", "float32") == 1).all()
        mask = array(*parts[4:6], "dpixelmask-1.0", "uint32")
        table = array(*parts[6:8], "dcountrate_table-1.0", "float32")
        assert (table[0] == 0).all() and (table[:, 0] == table[:, 1]).all()
        assert mask.shape == (settings["y_pixels_in_detector"], settings["x_pixels_in_detector"])
        assert "words" not in want or (mask == numpy.fromfile(want["words"], "<u4").reshape(mask.shape)).all(), "the mask"
        assert (mask != 0).sum() == settings["number_of_excluded_pixels"]


def written(number, shape):
    while True:  # the writer may be a little behind
        try:
            return numpy.fromfile(f"{want['files']}/a_{number}.raw", "<f4").reshape(shape)
        except (FileNotFoundError, ValueError):
            time.sleep(0.2)


def see_image(parts, first):
    assert list(first) == ["htype", "series", "frame", "hash"]
    expect("series", first["series"])
    expect("image", parts.pop().decode() if want.get("image") else "")
    assert len(parts) == 4, f"{len(parts)} parts"
    form, blob, times = json.loads(parts[1]), parts[2], json.loads(parts[3])
    assert first["hash"] == hashlib.md5(blob).hexdigest(), "the hash"
    assert list(form) == ["htype", "shape", "type", "encoding", "size"] and form["htype"] == "dimage_d-1.0"
    assert form["size"] == len(blob), "the size of the blob"
    kind, shape = numpy.dtype(form["type"]), form["shape"][::-1]
    expect("bits", 8 * kind.itemsize)
    expect("image_shape" if "image_shape" in want else "shape", "x".join(map(str, form["shape"])))
    if "coding" in want:
        encoding = ENCODINGS[want["coding"]]
        assert form["encoding"] == (encoding % (8 * kind.itemsize) if "%" in encoding else encoding)
    data = unpack(form["encoding"], blob, kind, kind.itemsize * shape[0] * shape[1])
    pixels = numpy.frombuffer(data, kind).reshape(shape)
    assert list(times) == ["htype", "start_time", "stop_time", "real_time"] and times["htype"] == "dconfig-1.0"
    assert times["stop_time"] - times["start_time"] == times["real_time"]
    if settings:
        period = settings["frame_time"] * 1e9
        assert abs(times["start_time"] - first["frame"] * period) <= first["frame"] + 1
        assert abs(times["real_time"] - settings["count_time"] * 1e9) < 1
    largest = 2 ** (8 * kind.itemsize) - 1
    if mask is not None and mask.shape == pixels.shape:
        assert (pixels[mask != 0] == int(want.get("blank", largest))).all() and (pixels[mask == 0] < largest).all(), "masked pixels"
    if "files" in want:
        seen = numpy.ones(shape, bool) if mask is None else mask == 0
        assert (pixels == written(first["frame"], shape))[seen].all(), f"image {first['frame']} differs"


socket = zmq.Context().socket(zmq.SUB if want.get("socket") == "pub" else zmq.PULL)
if want.get("socket") == "pub":
    socket.subscribe("")
socket.setsockopt(zmq.RCVTIMEO, 30000)
socket.connect(endpoint)
for _ in range(int(want.get("messages", 1 << 30))):
    parts = socket.recv_multipart()
    first = json.loads(parts[0])
    if first["htype"] == "dseries_end-1.0":
        assert len(parts) == 1 and list(first) == ["htype", "series"]
        expect("series", first["series"])
        print("end")
        break
    if first["htype"] == "dheader-1.0":
        see_header(parts)
        print("header", flush=True)
    else:
        assert first["htype"] == "dimage-1.0"
        see_image(parts, first)
        print(first["frame"], flush=True)
