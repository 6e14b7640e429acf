"""dectris1_smv.py ENDPOINT: receives a series of Stream V1 and writes r_N.img in SMV, from the values of the stream alone."""

import json
import struct
import sys

import bitshuffle
import numpy
import zmq

socket = zmq.Context().socket(zmq.PULL)
socket.setsockopt(zmq.RCVTIMEO, 120000)
socket.connect(sys.argv[1])
settings = json.loads(socket.recv_multipart()[1])
pixel_mm = settings["x_pixel_size"] * 1e3


def header(frame, shape):
    """Mosflm counts the beam centre along the slow axis first."""
    start = settings["omega_start"] + frame * settings["omega_increment"]
    values = {
        "HEADER_BYTES": 1024,
        "DIM": 2,
        "BYTE_ORDER": "little_endian",
        "TYPE": "unsigned_short",
        "SIZE1": shape[1],
        "SIZE2": shape[0],
        "PIXEL_SIZE": pixel_mm,
        "DISTANCE": settings["detector_distance"] * 1e3,
        "WAVELENGTH": settings["wavelength"],
        "BEAM_CENTER_X": settings["beam_center_y"] * pixel_mm,
        "BEAM_CENTER_Y": settings["beam_center_x"] * pixel_mm,
        "OSC_START": start,
        "PHI": start,
        "OSC_RANGE": settings["omega_increment"],
        "TIME": settings["count_time"],
        "TWOTHETA": settings["two_theta_start"],
        "DETECTOR_SN": "000",
    }
    text = "{\n" + "".join(f"{key}={value};\n" for key, value in values.items()) + "}\f"
    return text.encode().ljust(1024)


while len(parts := socket.recv_multipart()) > 1:
    frame, form = json.loads(parts[0])["frame"], json.loads(parts[1])
    kind, shape = numpy.dtype(form["type"]), tuple(form["shape"][::-1])
    total, block = struct.unpack(">QI", parts[2][:12])
    packed = numpy.frombuffer(parts[2][12:], "u1")
    pixels = bitshuffle.decompress_lz4(packed, shape, kind, block // kind.itemsize)
    with open(f"r_{frame:04d}.img", "wb") as file:
        file.write(header(frame, shape) + pixels.astype("<u2").tobytes())
