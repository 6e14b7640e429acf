#!/usr/bin/python3
"""A small live analysis: receives frames from a karabo-bridge server and writes a table of hits.

    find_hits.py ENDPOINT TABLE

The program ends if no frame arrives for 3 seconds (for 60 seconds before the first frame).
"""
import sys

try:
    import msgpack
    import numpy
    import zmq
except ImportError as error:
    sys.exit(f"find_hits.py: the package {error.name} is missing. Run: apt install python3-msgpack python3-numpy python3-zmq")
if len(sys.argv) != 3:
    sys.exit("usage: find_hits.py ENDPOINT TABLE, such as tcp://127.0.0.1:4545 hits.tsv")

BRIGHT, ENOUGH = 8, 15  # pixels count if they are BRIGHT standard deviations above
# the median; a hit has at least ENOUGH of them

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
            damaged += 1  # a corrupt frame does not end the analysis
            if number is not None:
                print(number, "-", 0, 1, sep="\t", file=out)
print(f"{frames} frames, {hits} hits, {damaged} damaged")
