"""serve_faults.py PROTOCOL ENDPOINT ROWS TYPE: takes frames until the series ends, or none is left
and the file `status` says that bragg-serve has ended, and prints of each its number and what is wrong with it, as the file of --sent of
bragg-serve has it: `17 -`, `18 header:gain`; `? truncate` and `? empty` have no number to trust.
At the end it prints `cuts N` and the longest pause, `pause S`."""

import hashlib
import json
import os
import struct
import sys
import time

import cbor2
import msgpack
import numpy
import zmq
from zmq.utils.monitor import recv_monitor_message

protocol, endpoint, rows, kind = sys.argv[1:5]
rows = int(rows)
DECTRIS_TYPES = {69: "uint16", 70: "uint32", 78: "int32"}
TEXTS = {"image_dtype", "image_unit", "lab_frame", "sensor_material", "lineage", "event_id", "source"}


class Truncated(Exception):
    pass


def karabo(parts):
    """Returns number, values, type, shape and pixels of a train, version 2.2 or 1.0."""
    if len(parts) == 1:
        (train,) = msgpack.unpackb(parts[0], raw=False, strict_map_key=False).values()
        meta, array = train.pop("metadata"), train.pop("image.data")
        pixels, shape, name = array[b"data"], array[b"shape"], numpy.dtype(array[b"type"]).name
        return meta["timestamp.tid"] - 10**10, train, name, shape, pixels
    head, values, about = (msgpack.unpackb(p) for p in parts[:3])
    number = head["metadata"]["timestamp.tid"] - 10**10
    return number, values, about["dtype"], about["shape"], parts[3]


def crystfel(parts):
    values = msgpack.unpackb(parts[0])
    image = values.pop("detector_data")
    name = {"<f4": "float32", "<i4": "int32"}[image["type"]]
    number = values["frame_id"]
    if not isinstance(number, int):
        number = int(values["event_id"])
    elif values["event_id"] != -1:
        assert str(number) == values["event_id"]
    return number, values, name, image["shape"], image["data"]


def dectris2(parts, channel="threshold_1"):
    message = cbor2.loads(parts[0])
    if message["type"] != "image":
        return message["type"]
    shape, items = message["data"][channel].value
    packing, size, blob = items.value.value
    (total,) = struct.unpack(">Q", blob[:8])
    name = DECTRIS_TYPES[items.tag]
    assert packing == "bslz4" and size == numpy.dtype(name).itemsize
    values = message.get("user_data", {key: message[key] for key in ("xfel_pulse_id", "saturated_pixels") if key in message})
    return message["image_id"], values, name, shape, bytes(total)


def jungfraujoch(parts):
    return dectris2(parts, "default")


def dectris1(parts):
    first = json.loads(parts[0])
    if first["htype"] != "dimage-1.0":
        return "end" if first["htype"] == "dseries_end-1.0" else "start"
    if parts[3:] and not parts[3].endswith(b"}"):
        raise Truncated
    form, times = json.loads(parts[1]), json.loads(parts[3])
    assert hashlib.md5(parts[2]).hexdigest() == first["hash"] and len(parts[2]) == form["size"]
    (total,) = struct.unpack(">Q", parts[2][:8])
    values = {k: v for k, v in (first | times).items() if k not in ("hash", "htype")}
    number = times["start_time"] // 10**9 if isinstance(times["start_time"], int) else first["frame"]
    return number, values, form["type"], form["shape"][::-1], bytes(total)


def damaged(values):
    for key, value in values.items():
        if (key in TEXTS) != isinstance(value, str):
            return key
    return None


def judge(parts):
    if parts == [b""]:
        return "?", "empty"
    try:
        got = globals()[protocol.partition("-")[0]](parts)
        if isinstance(got, str):
            return None, got
        number, values, name, shape, pixels = got
        if len(pixels) != numpy.dtype(name).itemsize * numpy.prod(shape):
            raise Truncated
    except (Truncated, ValueError, cbor2.CBORDecodeError):
        return "?", "truncate"
    if name != kind:
        return number, "type"
    if shape[0] != rows:
        return number, "shape" if shape[0] * 2 == rows else "large"
    if name == "float32" and numpy.isnan(numpy.frombuffer(pixels, "<f4")).any():
        return number, "nan"
    key = damaged(values)
    return number, "-" if key is None else "header:" + key


context = zmq.Context()
asks = not protocol.startswith(("dectris", "jungfraujoch"))
socket = context.socket(zmq.DEALER if asks else zmq.PULL)
monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
socket.connect(endpoint)
longest, last, cuts = 0.0, None, 0
end = time.monotonic() + 60
asked = 0.0
while time.monotonic() < end:
    if asks and time.monotonic() > asked:
        socket.send_multipart([b"", b"next"])
        asked = time.monotonic() + 60
    if monitor.poll(0):
        recv_monitor_message(monitor)
        cuts += 1
        asked = 0.0  # what was asked for is lost
    ended = os.path.exists("status")
    if not socket.poll(50):
        if ended:
            break
        continue
    parts = socket.recv_multipart()
    now = time.monotonic()
    asked = 0.0
    longest, last = max(longest, now - last if last else 0), now
    number, what = judge(parts[1:] if asks else parts)
    if number is not None:
        print(number, what)
    elif what == "end":
        break
    sys.stdout.flush()
print("cuts", cuts)
print("pause", round(longest, 2))
context.destroy(linger=0)
