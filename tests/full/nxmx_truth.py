"""nxmx_truth.py NAME: compares the ground truth in /entry/braggpipe of NAME.nxs with the headers of NAME_*.img.

The headers are in the laboratory frame of the simulator.
"""
import glob
import re
import sys

import h5py
import numpy as np

name = sys.argv[1]
with h5py.File(name + ".nxs") as file:
    truth = file["entry/braggpipe"]
    frames, lattices = truth["frames"][()], truth["lattices"][()]
    turn, lineage = truth["lab_to_nexus"][()], truth["lineage"][()].decode()
assert np.allclose(turn @ turn.T, np.eye(3)) and np.isclose(np.linalg.det(turn), 1)
paths = sorted(glob.glob(name + "_*.img"))
assert len(paths) == len(frames) > 1
for frame, path in zip(frames, paths):
    text = open(path, "rb").read(2048).split(b"\f")[0].decode()
    header = dict(re.findall(r"(\w+)=([^;]*);", text))
    reals = lambda key: np.array([float(word) for word in header[key].split()])
    assert (frame["number"], frame["seed"]) == (int(header["BRAGG_FRAME"]), int(header["BRAGG_SEED"]))
    assert lineage == header["BRAGG_LINEAGE"]
    assert frame["lattices"] == int(header["BRAGG_LATTICES"]) == 1
    assert np.isclose(frame["wavelength"], float(header["WAVELENGTH"]))
    (lattice,) = lattices[lattices["frame"] == frame["number"]]
    assert np.allclose(lattice["cell"], reals("BRAGG_CELL"))
    assert np.allclose(lattice["orientation"], turn @ reals("BRAGG_ROTATION").reshape(3, 3))
    assert np.allclose(lattice["a_matrix"], turn @ reals("BRAGG_RECIPROCAL").reshape(3, 3).T)
