#!/usr/bin/python3
"""Files as other programs and detectors write them, of the image a_0000.cbf, which is a frame of a.nxs."""
import shutil

import fabio
import h5py
import numpy as np


def group(parent, name, nx_class):
    made = parent.create_group(name)
    made.attrs["NX_class"] = nx_class
    return made


image = fabio.open("a_0000.cbf")
data = image.data
image.write("fabio_0000.cbf")
header = dict(PIXEL_SIZE="0.3", DISTANCE="90", WAVELENGTH="1.03", BEAM_CENTER_X="5.25", BEAM_CENTER_Y="8.55", OSC_START="9.5", OSC_RANGE="0.5")
fabio.adscimage.AdscImage(data=data.astype("u2"), header=header).write("fabio_0000.img")
fabio.tifimage.TifImage(data=data.astype("u2")).write("eiger.tif")
fabio.edfimage.EdfImage(data=data.astype("i4")).write("fabio.edf")
data.astype("i4").tofile("jungfrau.bin")

# EPICS areaDetector: NeXus without the place of the detector
with h5py.File("epics.hdf5", "w") as file:
    entry = group(file, "entry", "NXentry")
    detector = group(group(entry, "instrument", "NXinstrument"), "detector", "NXdetector")
    detector["data"] = data[None].astype("i4")
    group(entry, "data", "NXdata")["data"] = h5py.SoftLink("/entry/instrument/detector/data")

# a skeleton that is made from a definition: fields of the right names, without content
with h5py.File("skeleton.hdf5", "w") as file:
    entry = group(file, "entry", "NXentry")
    entry["definition"] = "NXmx"
    module = group(group(group(entry, "instrument", "NXinstrument"), "detector", "NXdetector"), "detector_module", "NXdetector_module")
    module["data_origin"] = module["data_size"] = 1
    group(entry, "data", "NXdata")

# a master file whose data files were left behind
shutil.copy("a.nxs", "absent.nxs")
with h5py.File("absent.nxs", "r+") as file:
    for name in list(file["entry/data"]):
        del file["entry/data"][name]
    del file["entry/braggpipe"]
    file["entry/data/data_000001"] = h5py.ExternalLink("Therm_data_000001.h5", "/entry/data/data")
