"""hdf5_files.py FOLDER: writes NXmx files as third-party programs write them, and files that contradict themselves."""
import os
import sys

import h5py
import numpy

SLOW, FAST = 80, 100


def axis(group, name, value, vector, on, units="m"):
    data = group.create_dataset(name, data=value)
    data.attrs.update(transformation_type="translation", vector=vector, depends_on=on)
    if units:
        data.attrs["units"] = units


def group(parent, name, nx_class):
    made = parent.create_group(name)
    made.attrs["NX_class"] = nx_class
    return made


def write(name, entry="entry", size=(SLOW, FAST), mask=None, offset=(0.6, 0.8, 0.0), value=0.005, units="m", place="m", waves=1.0, data=True, big=False, wave_units="angstrom"):
    with h5py.File(name, "w") as file:
        top = group(file, entry, "NXentry")
        instrument = group(top, "instrument", "NXinstrument")
        beam = group(instrument, "beam", "NXbeam")
        beam["incident_wavelength"] = waves
        beam["incident_wavelength"].attrs["units"] = wave_units
        detector = group(instrument, "detector", "NXdetector")
        here = f"/{entry}/instrument/detector"
        detector["depends_on"] = f"{here}/transformations/det_z"
        axis(group(detector, "transformations", "NXtransformations"), "det_z", numpy.array([0.15], ">f4" if big else "f8"), [0.0, 0.0, 1.0], ".", place)
        module = group(detector, "module", "NXdetector_module")
        module["data_origin"], module["data_size"] = [0, 0], numpy.array(size, ">i2" if big else "i8")
        axis(module, "module_offset", value, offset, "../transformations/det_z" if big else f"{here}/transformations/det_z")
        axis(module, "fast_pixel_direction", 7.5e-5, [-1.0, 0.0, 0.0], "module_offset" if big else f"{here}/module/module_offset", units)
        axis(module, "slow_pixel_direction", 7.5e-5, [0.0, -1.0, 0.0], f"{here}/module/module_offset")
        if mask:
            detector["pixel_mask"] = numpy.zeros(mask, "u4")
        if data:
            group(top, "data", "NXdata")["data"] = numpy.zeros((2, SLOW, FAST), "u4")


os.chdir(sys.argv[1])
write("plain.h5")
write("words.h5", wave_units="Angstroms")
write("big.h5", big=True)
write("zero.h5", offset=(0.0, 0.0, 0.0), value=0.0)
write("swapped.h5", size=(FAST, SLOW))
write("other.h5", size=(SLOW, FAST + 1))
write("mask.h5", mask=(SLOW + 1, FAST), data=False)
write("no-units.h5", units=None)
write("odd-units.h5", place="furlong")
write("distances.h5")
write("waves.h5", waves=[1.0, 1.1])
write("named.h5", entry="scan_7")
with h5py.File("distances.h5", "a") as file:
    axes = file["entry/instrument/detector/transformations"]
    kept = dict(axes["det_z"].attrs)
    del axes["det_z"]
    axes["det_z"] = [0.15, 0.16]
    axes["det_z"].attrs.update(kept)
for name, link in (("external", h5py.ExternalLink("named.h5", "/scan_7/instrument")), ("gone", h5py.ExternalLink("nowhere.h5", "/entry/instrument")),
                   ("loop", h5py.SoftLink("/entry/instrument")), ("pipe", h5py.ExternalLink("fifo", "/entry/instrument"))):
    with h5py.File(name + ".h5", "w") as file:
        group(file, "entry", "NXentry")["instrument"] = link
with h5py.File("chunk.h5", "w") as file:
    for name in ("energies", "weights"):
        file.create_dataset(name, (2, 10), "f8", chunks=(20000, 20000), maxshape=(None, None), compression="gzip")
os.mkfifo("fifo")
