#!/usr/bin/python3
"""A small live analysis: takes frames of a karabo-bridge and writes a table of hits, until none
comes for three seconds: find_hits.py ENDPOINT TABLE"""
import sys

import msgpack
import numpy
import zmq

BRIGHT, ENOUGH = 8, 15  # so many standard deviations above the median; so many pixels

endpoint, table = sys.argv[1:3]
socket = zmq.Context().socket(zmq.REQ)
socket.setsockopt(zmq.LINGER, 0)
socket.connect(endpoint)
frames = hits = damaged = 0
with open(table, "w") as out:
    print("frame\tscore\thit\tdamaged", file=out)
    while True:
        socket.send(b"next")
        if not socket.poll(3000 if frames else 60000):
            break
        parts = socket.recv_multipart()
        frames += 1
        number = None
        try:
            values = msgpack.unpackb(parts[1])
            number = int(values["image_id"])
            about = msgpack.unpackb(parts[2])
            image = numpy.frombuffer(parts[3], about["dtype"]).reshape(about["shape"])
            median = numpy.median(image)
            bright = int((image > median + BRIGHT * (max(median, 1) ** 0.5)).sum())
            print(number, bright, int(bright >= ENOUGH), 0, sep="\t", file=out)
            hits += bright >= ENOUGH
        except (IndexError, KeyError, TypeError, ValueError):
            damaged += 1  # a client that is to live goes on
            if number is not None:
                print(number, "-", 0, 1, sep="\t", file=out)
print(f"{frames} frames, {hits} hits, {damaged} damaged")
