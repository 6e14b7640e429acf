#!/usr/bin/python3
"""Writes NXmx series as other programs do, with the detector and the images of files of bragg-write.

    nexus_series.py links OWN MASTER [FILTER]   data_000001 and so on, two images a file, are links to other files,
                                                as in masters of DECTRIS; the rotation is in the goniometer
    nexus_series.py virtual OWN MASTER [FILTER] a virtual data set over such files, in another order of names
    nexus_series.py plain OWN FILE STEM         one file of STEM_0.raw and so on: int16, gzip, shuffle, chunks of parts of images
    nexus_series.py largest OWN FILE            no mask, but pixels of the largest value
    nexus_series.py gap OWN FILE                two panels with a gap between them
    nexus_series.py bad OWN FILE WHAT           something that cannot be read
"""
import os
import sys

import h5py
import numpy as np

FILTERS = {"bslz4": (32008, (0, 3, 2, 0, 2)), "zstd": (32008, (0, 3, 2, 0, 3)), "lz4": (32004, (0,)), "none": None}


def declare(file, path, shape, kind, name):
    """Creates a data set whose chunks are images, packed by a filter that h5py need not have."""
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((1,) + shape[1:])
    if FILTERS[name]:
        number, values = FILTERS[name]
        if number == 32008 and h5py.h5z.filter_avail(number):
            values = values[3:]  # the filter adds the others
        made.set_filter(number, h5py.h5z.FLAG_OPTIONAL, values)
    group = file.require_group(os.path.dirname(path) or "/")
    h5py.h5d.create(group.id, os.path.basename(path).encode(), h5py.h5t.py_create(np.dtype(kind)), h5py.h5s.create_simple(shape), made)
    return file[path]


def split(own, stem, name, files, where="entry/data/data"):
    """Writes the packed images of OWN to files of two images each."""
    images = own["entry/data/data"]
    for k in range(files):
        with h5py.File(f"{stem}_{k + 1:06d}.h5", "w") as f:
            data = declare(f, where, (2,) + images.shape[1:], images.dtype, name)
            for i in range(2):
                data.id.write_direct_chunk((i, 0, 0), images.id.read_direct_chunk((2 * k + i, 0, 0))[1])


def master(own, path):
    """Writes everything but the images and what braggpipe adds."""
    f = h5py.File(path, "w", libver="latest")
    f.attrs["default"] = "entry"
    entry = f.create_group("entry")
    entry.attrs["NX_class"] = "NXentry"
    entry["definition"] = "NXmx"
    for name in "instrument", "sample":
        own.copy(f"entry/{name}", entry)
    data = entry.create_group("data")
    data.attrs["NX_class"] = "NXdata"
    return f


def goniometer(f, start, width, frames):
    """The rotation as DECTRIS has it, without a chain."""
    del f["entry/sample/depends_on"], f["entry/sample/transformations"]
    group = f.create_group("entry/sample/goniometer")
    group.attrs["NX_class"] = "NXcollection"
    for name, value in ("omega", start + width * np.arange(frames)), ("omega_end", start + width * np.arange(1, frames + 1)), ("chi", 0 * np.arange(frames)):
        group[name] = value.astype("f4")
        group[name].attrs["units"] = "degree"


def main(how, source, target, name="bslz4"):
    with h5py.File(source) as own:
        images = own["entry/data/data"]
        frames, stem = len(images), os.path.splitext(target)[0]
        f = master(own, target)
        where = "entry/data"
        if how == "links":
            split(own, stem + "_data", name, frames // 2)
            for k in range(frames // 2):
                f[f"{where}/data_{k + 1:06d}"] = h5py.ExternalLink(os.path.basename(f"{stem}_data_{k + 1:06d}.h5"), "/entry/data/data")
            goniometer(f, 10, 0.5, frames)
        elif how in ("virtual", "bad"):
            split(own, stem + "_v", "bslz4" if how == "bad" else name, frames // 2, "d")
            layout = h5py.VirtualLayout(images.shape, images.dtype)
            for k in range(frames // 2):
                part = h5py.VirtualSource(os.path.basename(f"{stem}_v_{frames // 2 - k:06d}.h5"), "d", (2,) + images.shape[1:])
                first = frames - 2 * k - 2
                if name == "half":
                    layout[first : first + 2, :5] = part[:, :5]
                elif name != "gap" or k:
                    layout[first : first + 2] = part
            f.create_virtual_dataset(f"{where}/data", layout)
        elif how == "plain":
            stored = pixels(name, images.shape)
            f.create_dataset(f"{where}/data", data=stored.astype("i2"), chunks=(3, 4, stored.shape[2]), compression="gzip", shuffle=True)
        elif how == "largest":
            stored = pixels("a", images.shape).astype(images.dtype)
            stored[0, 3, 5] = stored[0, 39, 60] = stored[1, 7, 7] = np.iinfo(images.dtype).max
            f[f"{where}/data"] = stored
            f["entry/instrument/detector"].pop("pixel_mask", None)
        elif how == "gap":
            stored = pixels("two", images.shape)
            half = stored.shape[1] // 2
            f[f"{where}/data"] = np.concatenate([stored[:, :half], 0 * stored[:, :7] + 9, stored[:, half:]], axis=1).astype(images.dtype)
            second = sorted(f["entry/instrument/detector"], key=lambda n: f["entry/instrument/detector"][n].attrs.get("NX_class") == b"NXdetector_module")[-1]
            f[f"entry/instrument/detector/{second}/data_origin"][0] += 7
            f["entry/instrument/detector"].pop("pixel_mask", None)
        elif how == "sizes":
            f[f"{where}/data_000001"] = np.zeros(images.shape, "u2")
            f[f"{where}/data_000002"] = np.zeros(images.shape, "u4")
        f.close()


def pixels(stem, shape):
    return np.stack([np.fromfile(f"{stem}_{i}.raw", "<f4").reshape(shape[1:]) for i in range(shape[0])])


main(*sys.argv[1:])
