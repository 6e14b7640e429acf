"""nxmx_reflections.py MASTER RECORDING: compares the reflections in master and data files with those of the recording."""
import glob
import sys

import h5py
import numpy

import braggpipe

master, recording = sys.argv[1:]
frames = sorted(braggpipe.open(recording), key=lambda frame: frame.number)
rows = numpy.concatenate([frame.reflections for frame in frames])
numbers = numpy.concatenate([numpy.full(len(frame.reflections), frame.number) for frame in frames])
assert len(rows) > 50 and len(set(numbers)) > 5
names = ["lattice", "h", "k", "l", "panel", "fast", "slow", "photons", "peak", "pixels", "phi", "s", "F2", "background", "wavelength", "orders"]
with h5py.File(master) as file:
    group = file["entry/reflections"]
    assert group.attrs["NX_class"] in ("NXdata", b"NXdata") and set(group) == {"frame", "z", *names}
    assert (group["frame"][()] == numbers).all() and group["frame"].dtype == "u8"
    for name in names:
            # the module has doubles where the file has floats, so that rows have no unused bytes
        assert group[name].dtype == (numpy.dtype("<f4") if name in ("background", "wavelength") else rows.dtype[name]), name
        assert (group[name][()] == rows[name]).all(), name
    # bragg-write computes z in single precision, the module for the recording in double precision
    assert group["z"].dtype == "<f4" and numpy.allclose(group["z"], rows["z"], rtol=1e-6)
    assert file["entry/braggpipe/reflections"]["rows"].tolist() == [len(frame.reflections) for frame in frames]
    assert (rows["background"] > 0).all() and (rows["photons"] > 2).all()
parts = [h5py.File(name) for name in sorted(glob.glob(master.replace(".nxs", "_data_*.h5")))]
assert (numpy.concatenate([part["entry/reflections/photons"][()] for part in parts]) == rows["photons"]).all()
for frame, other in zip(frames, sorted(braggpipe.open(master), key=lambda frame: frame.number), strict=True):
    assert all((frame.reflections[name] == other.reflections[name]).all() for name in names)
