#!/usr/bin/python3
"""A sink written in Python: sends each frame as a bsread message, as the data sources at PSI do.

A message has the channels NAME:FPICTURE (the image; panels one below the other), NAME:ENERGY (eV) and
NAME:HIT (1: the frame has a lattice), and the frame number as its pulse number.  Frames are distributed
among the connected clients, and the pipeline waits for a client.  Example:

bragg-geometry | bragg-orient --frames=20 --random | bragg-intensity | bragg-noise | pipelines/send_bsread.py tcp://127.0.0.1:9999
"""
import logging
import sys

import braggpipe

PROGRAM, LINGER_MS = "send_bsread.py", 5000

parser = braggpipe.parser(__doc__)
parser.add_argument("endpoint", help="where clients connect, tcp://127.0.0.1:PORT; another address needs --insecure")
parser.add_argument("--name", default="SIM", help="first part of the names of the channels (SIM)")
parser.add_argument("--compression", choices=["bitshuffle_lz4", "none"], default="bitshuffle_lz4", help="of the channels (bitshuffle_lz4)")
options = parser.parse_args()
address, _, port = options.endpoint.rpartition(":")
if not (address.startswith("tcp://") and port.isdigit() and 0 < int(port) < 65536):
    parser.error(f"the endpoint is malformed (got {options.endpoint}); expected tcp://ADDRESS:PORT")
if address not in ("tcp://127.0.0.1", "tcp://localhost") and not options.insecure:
    parser.error(f"other hosts can take frames from {options.endpoint}, because bsread has no keys. Use --insecure to allow it")
try:
    from bsread.sender import PUSH, Sender
except ImportError as error:
    sys.exit(f"{PROGRAM}: the package {str(error.name).partition('.')[0]} is missing. Run: pip install psi-bsread")

logging.getLogger("mflow").setLevel(logging.CRITICAL)  # it would print a traceback
sender = Sender(address=address, port=int(port), mode=PUSH, queue_size=4, block=True,
                data_compression=None if options.compression == "none" else options.compression)


def send(frame):
    sender.send(pulse_id=frame.number, data={f"{options.name}:FPICTURE": frame.stacked,
                                             f"{options.name}:ENERGY": frame.truth.energy_eV,
                                             f"{options.name}:HIT": int(bool(frame.truth.lattices))})


try:
    sender.open()
except RuntimeError as error:
    sys.exit(f"{PROGRAM}: {options.endpoint}: {error.__cause__ or error}. Choose another port")
sender.stream.socket.linger = LINGER_MS  # clients have this time for the last frames
try:
    braggpipe.sink("send_bsread", send, options)
finally:
    sender.close()
