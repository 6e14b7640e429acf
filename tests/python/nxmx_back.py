"""nxmx_back.py WHAT FILE [FILE]: NXmx files that were replayed and written again, or corrupted."""
import sys

import braggpipe
import h5py
import numpy

IMAGES = ["entry/data/data", "entry/braggpipe/labels",
          *("entry/derivatives/cell_" + name for name in "abc")]


def same(first: str, second: str) -> None:
    with h5py.File(first) as a, h5py.File(second) as b:
        names = IMAGES + ["entry/braggpipe/reflections", "entry/braggpipe/reflection_pixels",
                          *("entry/reflections/" + name for name in a["entry/reflections"])]
        for name in names:  # which are not empty
            assert a[name].dtype == b[name].dtype and len(a[name]) and (a[name][()] == b[name][()]).all(), name
            assert a[name][()].view("u1").any() or name.endswith(("background", "panel", "phi")), name
        for name in IMAGES[2:]:
            assert a[name].attrs["parameter_units"] == b[name].attrs["parameter_units"] == b"A"


def lists(recording: str, master: str) -> None:
    with h5py.File(master) as file:
        told, pixels = file["entry/braggpipe/reflections"][()], file["entry/braggpipe/reflection_pixels"][()]
        images = file["entry/data/data"][()]
    first = 0
    for frame, row, image in zip(braggpipe.open(recording), told, images, strict=True):
        count = int(frame.reflections["pixels"].sum())
        mine, first = pixels[first:first + count], first + count
        assert row["pixels"] == count and row["least_photons"] == 2
        total = image.sum(dtype="f8")
        assert abs(row["rest_photons"] + frame.reflections["photons"].sum() - total) <= 1e-6 * total
        at = 0
        for reflection in frame.reflections:   # its brightest pixel is in its list, which ascends
            own = mine[at:at + reflection["pixels"]]
            at += reflection["pixels"]
            assert (numpy.diff(own.astype("i8")) > 0).all()
            assert image.reshape(-1)[own].max() >= reflection["peak"] * (1 - 1e-6)
    assert first == len(pixels) > 100


def change(what: str, path: str) -> None:
    with h5py.File(path, "r+") as file:
        own = file["entry/braggpipe"]
        if what.startswith("label"):
            own["labels"][0, 3, 5] = own["labels"][0, 3, 5] ^ 1 if what == "label" else 10 ** 6
        elif what == "plane":
            file["entry/derivatives/cell_b"][0, 3, 5] += 1
        elif what == "rest":
            told = own["reflections"][()]
            told["rest_photons"][0] += 1e-9
            own["reflections"][()] = told
        elif what == "names":
            own["derivatives"][()] = b"cell_a,cell_b,../..a"
        else:
            own["reflection_pixels"][7] = own["reflection_pixels"][7] ^ 1 if what == "pixel" else 4096


if sys.argv[1] in ("same", "lists"):
    {"same": same, "lists": lists}[sys.argv[1]](*sys.argv[2:])
else:
    change(*sys.argv[1:])
