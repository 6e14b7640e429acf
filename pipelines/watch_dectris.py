#!/usr/bin/python3
"""Prints the type and the image number of each message of a Dectris data server (Stream V2).

    watch_dectris.py ENDPOINT

The program ends with the series.
"""
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
