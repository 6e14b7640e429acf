#!/usr/bin/python3
"""Shows what a Dectris data server sends (Stream V2), until the series ends: watch_dectris.py ENDPOINT"""
import sys

import cbor2
import zmq

socket = zmq.Context().socket(zmq.PULL)
socket.connect(sys.argv[1])
kind = None
while kind != "end":
    message = cbor2.loads(socket.recv())
    kind = message["type"]
    print(kind, message.get("image_id", ""))
