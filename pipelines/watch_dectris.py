#!/usr/bin/python3
"""Prints the type and the image number of each message of a Dectris data server (Stream V2).

    watch_dectris.py ENDPOINT

The program ends with the series.
"""
import sys

try:
    import cbor2
    import zmq
except ImportError as error:
    sys.exit(f"watch_dectris.py: the package {error.name} is missing. Run: apt install python3-cbor2 python3-zmq")
if len(sys.argv) != 2:
    sys.exit("usage: watch_dectris.py ENDPOINT, such as tcp://127.0.0.1:31001")

socket = zmq.Context().socket(zmq.PULL)
socket.connect(sys.argv[1])
kind = None
while kind != "end":
    message = cbor2.loads(socket.recv())
    kind = message["type"]
    print(kind, message.get("image_id", ""))
