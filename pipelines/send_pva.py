#!/usr/bin/python3
"""A sink written in Python: serves each frame as an NTNDArray over PV Access, as areaDetector of EPICS does.

The channel has one value, the latest frame (panels one below the other).  uniqueId is the frame number, and
the attributes are incident_energy (eV), wavelength_A, hit (1: the frame has a lattice) and detector_distance_m.
The program waits for the first client.  Later it never waits: a client that is too slow misses frames.
Clients on this host need EPICS_PVA_ADDR_LIST=127.0.0.1.  Example:

bragg-geometry | bragg-orient --frames=20 --random | bragg-intensity | bragg-noise | pipelines/send_pva.py SIM:IMAGE
"""
import sys
import threading
import time

import numpy

import braggpipe

PROGRAM, LINGER_S = "send_pva.py", 1.0

parser = braggpipe.parser(__doc__)
parser.add_argument("channel", help="name of the channel, such as SIM:IMAGE; --insecure serves it to other hosts, too")
parser.add_argument("--rate", type=float, default=10, help="frames per second (10)")
options = parser.parse_args()
if not 1e-3 <= options.rate <= 1e4:
    parser.error(f"--rate is out of range (got {options.rate:g}); expected 0.001 to 10000 frames per second")
if not options.channel or len(options.channel.split()) != 1:
    parser.error(f"the name of the channel is malformed (got '{options.channel}'); expected a name without spaces")
try:
    from p4p.nt import NTNDArray
    from p4p.server import Server
    from p4p.server.thread import SharedPV
except ImportError as error:
    sys.exit(f"{PROGRAM}: the package {str(error.name).partition('.')[0]} is missing. Run: pip install p4p")

came = threading.Event()  # the first client is there


class Clients:
    def onFirstConnect(self, pv):
        came.set()


def distance_m(frame):
    panel = frame.experiment.panels[0]
    return abs(float((panel.origin_m + frame.truth.shift_m) @ numpy.cross(panel.fast, panel.slow)))


def post(frame):
    about = {"ColorMode": 0, "incident_energy": frame.truth.energy_eV, "wavelength_A": frame.truth.wavelength_A,
             "hit": int(bool(frame.truth.lattices)), "detector_distance_m": distance_m(frame)}
    value = NTNDArray().wrap(frame.stacked, attrib=about, timestamp=time.time())
    value.uniqueId = frame.number
    if channel.isOpen():
        channel.post(value)
    else:
        channel.open(value)
        came.wait()
    time.sleep(1 / options.rate)


channel = SharedPV(handler=Clients())
with Server(providers=[{options.channel: channel}], **({} if options.insecure else {"conf": {"EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1"}})):
    try:
        braggpipe.sink("send_pva", post, options)
    finally:
        time.sleep(LINGER_S)  # clients have this time for the last frame
