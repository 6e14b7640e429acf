"""serve_faults.py PROTOCOL ENDPOINT ROWS TYPE: takes frames until the series ends, or none is left
and the file `status` says that bragg-serve has ended, and prints of each its number and what is wrong with it, as the file of --sent of
bragg-serve has it: `17 -`, `18 header:gain`; `? truncate` and `? empty` have no number to trust, nor
`? header:KEY` where KEY is the only number of the frame.
At the end it prints `cuts N` and the longest pause, `pause S`."""

import os
import sys
import time

import cbor2
import numpy
import stream_messages
import zmq
from zmq.utils.monitor import recv_monitor_message

protocol, endpoint, rows, kind = sys.argv[1:5]
rows = int(rows)
TEXTS = {"image_dtype", "image_unit", "lab_frame", "sensor_material", "lineage", "event_id", "source"}
TEXTS |= {"detector", "unit", "endianness", "encoding", "detector_name", "run"}
if protocol == "lclstreamer":
    TEXTS.add("timestamp")


def damaged(values):
    for key, value in values.items():
        if (key in TEXTS) != isinstance(value, str):
            return key
    return None


def judge(parts):
    if parts == [b""]:
        return "?", "empty"
    try:
        got = stream_messages.decode(protocol, parts)
        if isinstance(got, str):
            return None, got
        number, values, name, shape, pixels = got
        number = "?" if number is None else number
        if len(pixels) != numpy.dtype(name).itemsize * numpy.prod(shape):
            raise stream_messages.Truncated
    except (stream_messages.Truncated, ValueError, cbor2.CBORDecodeError):
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
asks = protocol.startswith(stream_messages.ASKED_FOR)
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
