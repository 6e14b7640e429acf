"""hdf5_client.py PROTOCOL pull|sub|req bind|connect ENDPOINT WHAT [MESSAGES]: checks messages that are whole HDF5 files.

PROTOCOL is lclstreamer or crystfel; with a colon and the pixel type behind it if that is not uint16.  The pixels must be
those of a_0.raw and so on.  WHAT: for lclstreamer the frames of each message and the compression, such as 2,2,1:bslz4; for
crystfel the name of the fault, or - .  Prints the frame numbers.
"""

import io
import sys

import bslz4_blocks
import h5py
import numpy
import zmq

protocol, kind, way, endpoint, what = sys.argv[1:6]
protocol, _, asked = protocol.partition(":")
dtype = numpy.dtype(asked or "uint16")
SHAPE = (40, 50)
WAVELENGTH_A = 12398.419843320026 / 9500
socket = zmq.Context().socket({"pull": zmq.PULL, "sub": zmq.SUB, "req": zmq.REQ}[kind])
socket.setsockopt(zmq.RCVTIMEO, 15000)
if kind == "sub":
    socket.setsockopt(zmq.SUBSCRIBE, b"run12")
(socket.bind if way == "bind" else socket.connect)(endpoint)
names, *rows = (line.rstrip("\n").split("\t") for line in open("truth.tsv"))
TRUTH = {int(row[0]): dict(zip(names, row)) for row in reversed(rows)}


def expected(frame):
    return numpy.fromfile(f"a_{frame}.raw", "<f4").reshape(SHAPE)


def message():
    if kind == "req":
        socket.send(b"next")
    parts = socket.recv_multipart()
    assert kind != "sub" or parts.pop(0) == b"run12"
    assert len(parts) == 1, len(parts)
    return h5py.File(io.BytesIO(parts[0]), "r") if parts[0] else None


def everything(f):
    found = set()
    f.visititems(lambda name, item: found.add(name) if isinstance(item, h5py.Dataset) else None)
    return found


def image(data, index, filters):
    if filters != "bslz4":
        return data[index]
    assert list(map(int, data._filters)) == [32008], data._filters
    mask, chunk = data.id.read_direct_chunk((index, 0, 0))
    assert mask == 0
    return bslz4_blocks.chunk(chunk, data.dtype, SHAPE)


def lclstreamer(batch, filters):
    f = message()
    if fields:
        number, wavelength, data = f["/entry/id"][:], f["/wave"][:], f["/entry/raw/data"]
        assert everything(f) == {"entry/id", "wave", "entry/raw/data", "about/lineage", "hit"}, everything(f)
        assert number.dtype == "i8" and [int(n) for n in f["/hit"]] == [int(TRUTH[n]["lattices"] != "0") for n in number]
        assert all(len(text) == 16 for text in f["/about/lineage"][:])
    else:
        number, wavelength, data = f["/timestamp"][:], f["/wavelength"][:], f["/data"]
        assert everything(f) == {"timestamp", "wavelength", "data"} and number.dtype == "f8", everything(f)
    assert number.shape == wavelength.shape == (batch,) and data.shape == (batch, *SHAPE), (number.shape, batch, data.shape)
    assert data.chunks == (1, *SHAPE) and data.dtype == dtype and abs(wavelength - WAVELENGTH_A).max() < 1e-6
    assert (data.compression == "gzip") == (filters == "gzip") and (filters != "none" or not data._filters)
    for i, frame in enumerate(number):
        assert (image(data, i, filters) == expected(int(frame))).all(), frame
    return [int(frame) for frame in number]


def crystfel():
    f = message()
    if what in ("truncate", "empty"):
        raise AssertionError("the message is complete")
    frame, data = int(f["/entry_1/frame_id"][()]), f["/entry_1/data_1/data"]
    if what == "lie":
        numbers = [f["/LCLS/photon_energy_eV"][()], f["/LCLS/detector_1/EncoderValue"][()]]
        crystfel.off += numbers != [9500, 100]
        return [frame]
    assert data.chunks is None and (what == "shape") == (data.shape != SHAPE) and (what == "type") == (data.dtype != dtype)
    assert abs(f["/LCLS/photon_energy_eV"][()] - 9500) < 1e-6 and abs(f["/LCLS/detector_1/EncoderValue"][()] - 100) < 1e-9
    assert int(f["/braggpipe/hit"][()]) == int(TRUTH[frame]["lattices"] != "0") and f["/braggpipe/source"][()].decode() == "braggpipe"
    assert ("cell_length_a" in f["/braggpipe"]) == (what == "truth")
    if what in ("-", "truth"):
        assert (data[:] == expected(frame)).all()
    return [frame]


crystfel.off = 0
seen = []
if protocol == "crystfel":
    for _ in range(int(sys.argv[6]) if len(sys.argv) > 6 else 5):
        seen += crystfel()
    assert (what == "lie") == (crystfel.off > 0), crystfel.off
else:
    batches, _, filters = what.partition(":")
    filters, _, fields = filters.partition(":")
    for batch in batches.split(","):
        seen += lclstreamer(int(batch), filters)
assert len(seen) < 5 or seen == list(range(5)), seen
print(*seen, sep="\n")
