#!/usr/bin/python3
"""Writes NXmx files whose modules have the positions of another file, with other chains of transformations.

    nxmx_chains.py chain FROM TO    an arm: rotations in deg and rad with offsets, lengths in mm,
                                    relative names, texts of variable length, data of three
                                    dimensions, groups of other names; nothing but the geometry
    nxmx_chains.py arm FROM TO      FROM with that arm in the place of its chain
    nxmx_chains.py pack FROM TO FILTER    FROM with its mask in one chunk, packed by a filter
    nxmx_chains.py bad FROM TO WHAT    FROM with one thing that cannot be
"""
import shutil
import sys

import h5py
import numpy as np

DETECTOR = "entry/instrument/detector"


def rotation(axis, rad):
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(rad) * cross + (1 - np.cos(rad)) * cross @ cross


def motion(turn=np.eye(3), shift=(0, 0, 0)):
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = turn, shift
    return m


def matrix_of(file, path):
    """Returns the transformation of the chain in a file of bragg-write, which has translations only."""
    shift = np.zeros(3)
    while path != ".":
        shift += file[path][()] * file[path].attrs["vector"]
        path = file[path].attrs["depends_on"]
        path = path.decode() if isinstance(path, bytes) else path
    return shift


def axis(group, name, value, kind, vector, units, on, offset=None):
    data = group.create_dataset(name, data=value)
    data.attrs["transformation_type"] = kind
    data.attrs["vector"] = np.array(vector, dtype="f8")
    data.attrs["units"] = units
    data.attrs["depends_on"] = on
    if offset is not None:
        data.attrs["offset"] = np.array(offset, dtype="f8")
        data.attrs["offset_units"] = "mm"


ARM = (
    motion(rotation((1, 2, 3), np.radians(20)), (0.004, -0.002, 0.001))
    @ motion(shift=0.0305 * np.array([0, 0.6, 0.8]))
    @ motion(rotation((0, 1, 0), float(np.float32(-0.35))), (-0.01, 0.02, 0.03))
)


def put_arm(moves, of):
    """ARM; `of` begins the names of what is depended on."""
    slanted = np.array((1, 2, 3)) / np.sqrt(14)
    axis(moves, "first", np.array([20.0]), "rotation", slanted, "deg", ".", (4, -2, 1))
    axis(moves, "second", 6.1, "translation", (0, 3, 4), "mm", of + "first")
    axis(moves, "third", np.float32(-0.35), "rotation", (0, 1, 0), "rad", of + "second", (-10, 20, 30))


def arm(source, path):
    shutil.copy(source, path)
    back = np.linalg.inv(ARM)
    with h5py.File(path, "r+") as f:
        moves = f[f"{DETECTOR}/transformations"]
        module = f[f"{DETECTOR}/module"]
        corner = (back @ [*matrix_of(f, module["module_offset"].name), 1])[:3]
        put_arm(moves, moves.name + "/")
        last = moves.name + "/third"
        f[f"{DETECTOR}/depends_on"][()] = last
        for data, value, vector in (
            (module["module_offset"], np.linalg.norm(corner), corner / np.linalg.norm(corner)),
            (module["fast_pixel_direction"], None, None),
            (module["slow_pixel_direction"], None, None),
        ):
            if value is None:
                vector = back[:3, :3] @ data.attrs["vector"]
            else:
                data[()] = value
                data.attrs["depends_on"] = last
            data.attrs["vector"] = vector


def chain(source, path):
    back = np.linalg.inv(ARM)
    with h5py.File(source) as old, h5py.File(path, "w") as new:
        for name, kind in (
            ("a_note", "NXnote"),
            ("scan", "NXentry"),
            ("scan/hall", "NXinstrument"),
            ("scan/hall/beam", "NXbeam"),
            ("scan/hall/camera", "NXdetector"),
            ("scan/hall/camera/moves", "NXtransformations"),
        ):
            new.create_group(name).attrs["NX_class"] = kind
        new["scan/hall/beam/incident_wavelength"] = old["entry/instrument/beam/incident_wavelength"][()] / 10
        new["scan/hall/beam/incident_wavelength"].attrs["units"] = "nm"
        camera = new["scan/hall/camera"]
        moves = camera["moves"]
        put_arm(moves, "")
        for name in "sensor_thickness", "sensor_material", "saturation_value":
            old.copy(f"{DETECTOR}/{name}", camera)
        modules = sorted(k for k in old[DETECTOR] if k.startswith("module"))
        slow, fast = (int(n) for n in old[f"{DETECTOR}/{modules[0]}/data_size"])
        mask = np.zeros((slow * len(modules), fast), "u4")
        if "pixel_mask" in old[DETECTOR]:
            mask = old[f"{DETECTOR}/pixel_mask"][()]
        camera["pixel_mask"] = mask.reshape(len(modules), slow, fast).astype("i8")
        for i, name in enumerate(modules):
            group = camera.create_group(f"z{len(modules) - i:03}")
            group.attrs["NX_class"] = np.array("NXdetector_module", dtype="S")
            group["data_origin"] = np.array([i, 0, 0], dtype="u2")
            group["data_size"] = np.array([1, slow, fast], dtype="i4")
            offset = f"{DETECTOR}/{name}/module_offset"
            corner = (back @ [*matrix_of(old, offset), 1])[:3]
            # the one module with an offset, the other without
            on = "/scan/hall/camera/moves/third"
            axis(group, "place", 1e3, "translation", corner, "mm", on)
            if i % 2 == 0:
                axis(group, "module_offset", 0.0, "translation", (0, 0, 0), "m", "place")  # as in masters of DECTRIS
            for k in "fast", "slow":
                old_axis = old[f"{DETECTOR}/{name}/{k}_pixel_direction"]
                vector = back[:3, :3] @ old_axis.attrs["vector"]
                axis(group, f"{k}_pixel_direction", 1e6 * old_axis[()], "translation", vector, "um", "place")


def pack(source, path, number):
    shutil.copy(source, path)
    with h5py.File(path, "r+") as f:
        mask = f[f"{DETECTOR}/pixel_mask"][()]
        del f[f"{DETECTOR}/pixel_mask"]
        how = {"compression": int(number), "compression_opts": (0, 2) if number == "32008" else (0,)}
        f.create_dataset(f"{DETECTOR}/pixel_mask", data=mask, chunks=mask.shape, **how)


def beam_says(entry, what):
    """The wavelength is in another field than NXbeam/incident_wavelength, or missing."""
    old = entry["instrument/beam"]
    if what != "two":
        del old["incident_wavelength"]
    mono = entry["instrument"].create_group("mono")
    mono.attrs["NX_class"] = np.array("NXmonochromator", dtype="S")
    where, name, value, units = {
        "none": (mono, "d_spacing", 3.1, "angstrom"),
        "two": (old, "incident_energy", 9000.0, "eV"),
        "eV": (old, "incident_energy", 9000.0, "eV"),
        "keV": (old, "incident_energy", [9.0, 9.1], "keV"),
        "J": (mono, "energy", 9000 * 1.602176634e-19, "J"),
        "mono": (mono, "wavelength", 0.13, "nm"),
        "odd": (mono, "energy", 9.0, "furlong"),
        "bare": (mono, "wavelength", 1.25, None),
    }[what]
    where[name] = value
    if units:
        where[name].attrs["units"] = units


def says_otherwise(f, detector, what):
    """A third-party file in which a field contradicts the modules."""
    del f["entry/braggpipe"]
    more = detector.create_group("detectorSpecific")
    if what == "centre":
        detector["beam_center_y"][...] = detector["beam_center_y"][()] + 30
    elif what == "mm":
        for name in "beam_center_x", "beam_center_y":
            detector[name][...] = detector[name][()] * detector["x_pixel_size"][()] * 1000
            detector[name].attrs["units"] = "mm"
    elif what == "zero":
        detector["beam_center_x"][...] = detector["beam_center_y"][...] = 0
    elif what == "energy":
        more["photon_energy"] = 8000.0
        more["photon_energy"].attrs["units"] = "eV"
    elif what == "alone":
        for name in "data", "pixel_mask":
            del detector[name]
        del f["entry/data"]
        more["x_pixels_in_detector"], more["y_pixels_in_detector"] = 1031, 1065
    elif what:
        raise SystemExit(what)


def bad(source, path, what):
    shutil.copy(source, path)
    with h5py.File(path, "r+") as f:
        detector = f[DETECTOR]
        module = detector[next(k for k in detector if k.startswith("module"))]
        z = detector["transformations/det_z"]
        if what == "cycle":
            z.attrs["depends_on"] = module["module_offset"].name
        elif what == "nowhere":
            z.attrs["depends_on"] = "/entry/no/such/axis"
        elif what == "nan":
            z[()] = np.nan
        elif what == "units":
            z.attrs["units"] = "furlong"
        elif what == "no-vector":
            del z.attrs["vector"]
        elif what == "zero-vector":
            z.attrs["vector"] = np.zeros(3)
        elif what == "huge":
            module["data_size"][...] = [2**31, 2**31]
        elif what == "huge-mask":
            del detector["pixel_mask"]
            detector.create_dataset("pixel_mask", shape=(2**40, 2**22), dtype="u4", chunks=(1, 1))
        elif what == "huge-size":
            del module["data_size"]
            module.create_dataset("data_size", shape=(2**40,), dtype="u4", chunks=(1024,))
        elif what == "text-mask":
            del detector["pixel_mask"]
            detector["pixel_mask"] = "none"
        elif what == "signed-mask":
            mask = -2 * detector["pixel_mask"][()].astype("i4")
            del detector["pixel_mask"]
            detector["pixel_mask"] = mask
        elif what == "lost-mask":
            del detector["pixel_mask"]
            detector["pixel_mask"] = h5py.ExternalLink("no_such_file.h5", "/mask")
        elif what == "spectrum":
            f["entry/instrument/beam/incident_wavelength_weights"] = np.ones(3)
        elif what == "oblong":
            module["slow_pixel_direction"][()] *= 2
        elif what == "behind":
            module["data_origin"][...] = [60000, 0]
        elif what == "wavelength":
            f["entry/instrument/beam/incident_wavelength"][...] = -1
        elif what.startswith("beam-"):
            beam_says(f["entry"], what[5:])
        elif what.startswith("foreign"):
            says_otherwise(f, detector, what[8:])
        elif what == "no-module":
            for name in [k for k in detector if k.startswith("module")]:
                del detector[name]
        elif what == "no-detector":
            detector.attrs["NX_class"] = "NXcollection"
        else:
            raise SystemExit(what)


def main():
    {"chain": chain, "arm": arm, "pack": pack, "bad": bad}[sys.argv[1]](*sys.argv[2:])


main()
