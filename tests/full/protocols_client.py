"""protocols_client.py PROTOCOL ENDPOINT FRAMES: a client without keys gets nothing, one that leaves gets two frames, and the next one the others.

PROTOCOL is one of stream_messages.py.  The pixels must be those of a_0.raw and so on, and the values those of karabo-bridge, which
a first call with karabo-bridge leaves in the file karabo.json.  Prints the number of each frame, and the end message.
"""

import json
import math
import os
import sys

import numpy
import stream_messages
import zmq
import zmq.auth

protocol, endpoint = sys.argv[1:3]
FRAMES = int(sys.argv[3])
TRUTH = {key: (key, 1) for key in ("seed", "lineage", "fluence", "hit", "lattice_count")}
ENERGY, WAVELENGTH = ("incident_energy", 1), ("incident_wavelength", 1)
CENTRE = {key: (key, 1) for key in ("beam_center_x", "beam_center_y")}
METRES, MILLIMETRES = ("detector_distance", 1), ("detector_distance", 1000)
# Keys of a frame, the keys of karabo-bridge with the same value, and the factor between both.
FRAME = {
    "karabo-bridge": TRUTH,
    "karabo-bridge-1": TRUTH | {"incident_energy": ENERGY, "detector_distance": METRES},
    "crystfel": TRUTH | {"beam_energy": ENERGY, "detector_distance": MILLIMETRES},
    "crystfel-hdf5": TRUTH | {"photon_energy_eV": ENERGY, "EncoderValue": MILLIMETRES},
    "json-array": TRUTH | {"wavelength_A": WAVELENGTH, "distance_mm": MILLIMETRES, "largest_value": ("saturation_value", 1)},
    "array-1.0": CENTRE | {"beam_energy": ENERGY, "detector_distance": METRES, "is_hit_frame": ("hit", 1)},
    "lclstreamer": {"photon_energy": ENERGY},
    "lclstreamer-hdf5": {"wavelength": WAVELENGTH},
    "dectris1": {},
    "dectris2": TRUTH,
    "jungfraujoch": {"indexing_result": ("hit", 1)},
}[protocol]
# The same of the start message, which is that of frame 0.
DETECTOR = CENTRE | {"detector_distance": METRES, "saturation_value": ("saturation_value", 1)}
START = {
    "dectris1": CENTRE | {"photon_energy": ENERGY, "wavelength": WAVELENGTH, "detector_distance": METRES},
    "dectris2": CENTRE | {"incident_energy": ENERGY, "incident_wavelength": WAVELENGTH},
    "jungfraujoch": CENTRE | {"incident_energy": ENERGY, "incident_wavelength": WAVELENGTH, "detector_distance": METRES},
}.get(protocol, {})
asks = protocol.startswith(stream_messages.ASKED_FOR)
context = zmq.Context()


def connect(keys):
    socket = context.socket(zmq.DEALER if asks else zmq.PULL)
    socket.linger, socket.rcvhwm = 0, 1
    if keys:
        socket.curve_publickey, socket.curve_secretkey = zmq.auth.load_certificate("keys/client.key_secret")
        socket.curve_serverkey, _ = zmq.auth.load_certificate("keys/server.key")
    socket.connect(endpoint)
    return socket


def same(values, keys, frame):
    for key, (name, factor) in keys.items():
        expected, got = reference[str(frame)][name], values[key]
        if isinstance(expected, str):
            assert got == expected, (key, got, expected)
        else:
            assert math.isclose(got, expected * factor, rel_tol=1e-9), (key, got, expected * factor)


def verify(message):
    number = message.number
    pixels = numpy.fromfile(f"a_{number}.raw", "<f4").reshape(message.shape)
    assert (message.image() == pixels).all(), f"pixels of frame {number}"
    if protocol == "karabo-bridge":
        reference[str(number)] = message.values
    same(message.values, FRAME, number)
    print(number)
    return number


reference = {} if protocol == "karabo-bridge" else json.load(open("karabo.json"))
stranger = connect(False)
if asks:
    stranger.send_multipart([b"", b"next"])
assert not stranger.poll(200), "a client without keys got a message"
stranger.close()

taken, socket = 0, connect(True)
while asks and taken < FRAMES or not asks:
    if taken == 2:  # this client leaves, and another one comes
        socket.close()
        socket = connect(True)
    if asks:
        socket.send_multipart([b"", b"next"])
    while not socket.poll(100) and not os.path.exists("status"):
        pass
    if not socket.poll(100):
        break  # bragg-serve has ended
    parts = socket.recv_multipart()
    message = stream_messages.decode(protocol, parts[1:] if asks else parts)
    if message == "end":
        print("end")
        break
    if message != "start":
        verify(message)
        taken += 1
if START:
    same(stream_messages.dectris1.start if protocol == "dectris1" else stream_messages.dectris2.start, START, 0)
if protocol == "karabo-bridge":
    json.dump(reference, open("karabo.json", "w"))
context.destroy(linger=0)
