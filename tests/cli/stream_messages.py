"""Decodes the messages of all protocols of bragg-serve, without the packages of their clients.

`decode(protocol, parts)` returns a Message, or the text "start" or "end"; it throws Truncated, or an error of the format.
PROTOCOL is a value of --protocol.  karabo-bridge-1 is version 1.0; lclstreamer-hdf5 and crystfel-hdf5 are --payload=hdf5.
"""

import hashlib
import io
import json
import typing

import bslz4_blocks
import cbor2
import msgpack
import numpy

DECTRIS_TYPES = {69: "uint16", 70: "uint32", 78: "int32"}
ASKED_FOR = ("karabo-bridge", "crystfel")  # their clients ask for each frame


class Truncated(Exception):
    pass


class Message(typing.NamedTuple):
    number: object  # of the frame; None: no value says it
    values: dict
    type: str
    shape: list
    pixels: bytes

    def image(self):
        return numpy.frombuffer(self.pixels, self.type).reshape(self.shape)


def first_number(*numbers):
    """Returns the first one that a fault has not replaced by something else."""
    return next((int(n) for n in numbers if (n.isdigit() if isinstance(n, str) else n != -1)), None)


def karabo(parts):
    if len(parts) == 1:
        (train,) = msgpack.unpackb(parts[0], raw=False, strict_map_key=False).values()
        meta, array = train.pop("metadata"), train.pop("image.data")
        return Message(meta["timestamp.tid"] - 10**10, train, numpy.dtype(array[b"type"]).name, array[b"shape"], array[b"data"])
    head, values, about = (msgpack.unpackb(p) for p in parts[:3])
    return Message(head["metadata"]["timestamp.tid"] - 10**10, values, about["dtype"], about["shape"], parts[3])


def crystfel(parts):
    values = msgpack.unpackb(parts[0])
    image = values.pop("detector_data")
    number, event = values["frame_id"], values["event_id"]
    assert not isinstance(number, int) or event in (-1, str(number))
    return Message(first_number(number, event), values, numpy.dtype(image["type"]).name, image["shape"], image["data"])


def from_hdf5(parts, image, key):
    """A file with one frame, or a batch of one frame."""
    import h5py

    values = {}

    def add(name, item):
        if isinstance(item, h5py.Dataset) and name != image:
            value = item[()]
            value = value[0] if isinstance(value, numpy.ndarray) and image == "data" else value
            values[name.rpartition("/")[2]] = value.decode() if isinstance(value, bytes) else value.item() if value.ndim == 0 else value.tolist()

    try:
        with h5py.File(io.BytesIO(parts[0]), "r") as f:
            f.visititems(add)
            data = f[image]
            shape, dtype = list(data.shape[-2:]), data.dtype
            if data.chunks:
                _, chunk = data.id.read_direct_chunk((0, 0, 0))
                pixels = bslz4_blocks.chunk(chunk, dtype, shape).tobytes()
            else:
                pixels = data[()].tobytes()
    except (OSError, RuntimeError):
        raise Truncated from None
    number = values[key]
    return Message(int(number) if not isinstance(number, str) else first_number(values.get("event_id", "")), values, dtype.name, shape, pixels)


def crystfel_hdf5(parts):
    return from_hdf5(parts, "entry_1/data_1/data", "frame_id")


def lclstreamer_hdf5(parts):
    return from_hdf5(parts, "data", "timestamp")


def json_array(parts):
    values = json.loads(parts[0])
    array, name, shape = (values.pop(key) for key in ("array", "dtype", "shape"))
    assert array == "image" and len(parts) == 2
    number = values["frame"]
    return Message(number if isinstance(number, int) else None, values, name, shape, parts[1])


def array_1_0(parts):
    values = json.loads(parts[0])
    name, shape = values.pop("type"), values.pop("shape")
    assert values.pop("htype") == "array-1.0" and values.pop("tags") == [] and len(parts) == 2
    number = values["frame"]
    return Message(number if isinstance(number, int) else values["pulse_id"], values, name, shape, parts[1])


def lclstreamer(parts):
    (part,) = parts
    values = cbor2.loads(part[1:])
    kind, blob = values.pop("type"), values.pop("compressed_data", b"")
    assert part[:1] == (b"m" if kind == "image" else b"c"), part[:1]
    if kind != "image":
        lclstreamer.shape = list(map(int, values["shape"].split("x"))) if kind == "start" else None
        return "start" if kind == "start" else "end"
    dtype = numpy.dtype(values.pop("dtype"))
    direction, width = values.pop("beam_direction"), lclstreamer.shape[1]
    assert set(direction.values()) == {0.0}, direction
    # No value says how many pixels there are: an image with a fault has others than the start message says.
    for rows in (lclstreamer.shape[0], lclstreamer.shape[0] // 2, lclstreamer.shape[0] * 2):
        try:
            pixels = bslz4_blocks.unshuffle(blob, dtype, (rows, width), 4096)
        except (AssertionError, ValueError, IndexError):
            continue
        return Message(first_number(values["timestamp"], values["frame_id"]), values, dtype.name, [rows, width], pixels.tobytes())
    raise ValueError("the image cannot be decompressed")


lclstreamer.shape = None


def dectris2(parts, channel="threshold_1"):
    message = cbor2.loads(parts[0])
    if message["type"] != "image":
        if message["type"] == "start":
            dectris2.start = message
        return message["type"]
    shape, items = message["data"][channel].value
    packing, size, blob = items.value.value
    name = DECTRIS_TYPES[items.tag]
    assert packing == "bslz4" and size == numpy.dtype(name).itemsize
    values = message.get("user_data", {key: message[key] for key in ("xfel_pulse_id", "saturated_pixels", "indexing_result") if key in message})
    return Message(message["image_id"], values, name, shape, bslz4_blocks.chunk(blob, numpy.dtype(name), shape).tobytes())


dectris2.start = None


def jungfraujoch(parts):
    return dectris2(parts, "default")


def dectris1(parts):
    first = json.loads(parts[0])
    if first["htype"] != "dimage-1.0":
        if first["htype"] == "dheader-1.0":
            dectris1.start = json.loads(parts[1])
        return "end" if first["htype"] == "dseries_end-1.0" else "start"
    if parts[3:] and not parts[3].endswith(b"}"):
        raise Truncated
    form, times = json.loads(parts[1]), json.loads(parts[3])
    assert hashlib.md5(parts[2]).hexdigest() == first["hash"] and len(parts[2]) == form["size"]
    values = {k: v for k, v in (first | times).items() if k not in ("hash", "htype")}
    number = first["frame"] if isinstance(first["frame"], int) else times["start_time"] // 10**9  # at one frame in a second
    shape = form["shape"][::-1]
    return Message(number, values, form["type"], shape, bslz4_blocks.chunk(parts[2], numpy.dtype(form["type"]), shape).tobytes())


dectris1.start = None
DECODERS = {
    "karabo-bridge": karabo,
    "karabo-bridge-1": karabo,
    "crystfel": crystfel,
    "crystfel-hdf5": crystfel_hdf5,
    "json-array": json_array,
    "array-1.0": array_1_0,
    "lclstreamer": lclstreamer,
    "lclstreamer-hdf5": lclstreamer_hdf5,
    "dectris1": dectris1,
    "dectris2": dectris2,
    "jungfraujoch": jungfraujoch,
}


def decode(protocol, parts):
    return DECODERS[protocol](parts)
