"""score_tables.py NUMBER...: writes reflection tables with known faults.

Reads r_NUMBER.refl and r_NUMBER.expt of bragg-write, and writes FAULT_NUMBER.refl and .expt for each
fault.  score_tables.py --rows FILE prints how many rows have more than 10 photons.
"""
import json
import re
import struct
import sys

import numpy as np

TYPES = {"int": ("<i4", 1), "std::size_t": ("<u8", 1), "double": ("<f8", 1), "vec3<double>": ("<f8", 3), "int6": ("<i4", 6),
         "cctbx::miller::index<>": ("<i4", 3)}
SETTINGS = dict(hand=-np.eye(3), cyclic=np.roll(np.eye(3), 1, axis=1), twofold=np.diag([-1.0, -1, 1]))


def unpack(data):
    """Reads a table of bragg-write, which has the longest form of each type."""
    at = 0

    def value():
        nonlocal at
        kind, n = data[at], struct.unpack(">I", data[at + 1:at + 5])[0]
        at += 5
        if kind == 0xdd:
            return [value() for _ in range(n)]
        if kind == 0xdf:
            return {value(): value() for _ in range(n)}
        if kind == 0xce:
            return n
        at += n
        return data[at - n:at] if kind == 0xc6 else data[at - n:at].decode()
    return value()


def pack(x):
    if isinstance(x, list):
        return b"\xdd" + struct.pack(">I", len(x)) + b"".join(map(pack, x))
    if isinstance(x, dict):
        return b"\xdf" + struct.pack(">I", len(x)) + b"".join(pack(k) + pack(v) for k, v in x.items())
    if isinstance(x, int):
        return b"\xce" + struct.pack(">I", x)
    if isinstance(x, bytes):
        return b"\xc6" + struct.pack(">I", len(x)) + x
    return b"\xdb" + struct.pack(">I", len(x)) + x.encode()


def read(number):
    name, version, table = unpack(open(f"r_{number}.refl", "rb").read())
    columns = {n: np.frombuffer(b, TYPES[t][0]).reshape(rows, -1).copy() for n, (t, (rows, b)) in table["data"].items()}
    types = {n: t for n, (t, _) in table["data"].items()}
    return json.load(open(f"r_{number}.expt")), columns, types, table["identifiers"]


def write(fault, number, experiments, columns, types, identifiers):
    rows = len(columns["id"])
    data = {n: [types[n], [rows, c.tobytes()]] for n, c in columns.items()}
    table = ["dials::af::reflection_table", 1, dict(identifiers=identifiers, nrows=rows, data=data)]
    open(f"{fault}_{number}.refl", "wb").write(pack(table))
    json.dump(experiments, open(f"{fault}_{number}.expt", "w"))


def turn(axis, deg):
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(np.radians(deg)) * k + (1 - np.cos(np.radians(deg))) * k @ k


def change_axes(experiments, change):
    """`change` acts on rows a, b, c."""
    for crystal in experiments["crystal"]:
        rows = change(np.array([crystal[f"real_space_{i}"] for i in "abc"]))
        for i, row in zip("abc", rows):
            crystal[f"real_space_{i}"] = row.tolist()


def noise(c):
    true = c["intensity.sum.value"].copy()
    c["intensity.sum.value"] = true + np.where(np.arange(len(true)) % 2, 1, -1)[:, None] * np.sqrt(true)
    c["intensity.sum.variance"] = true


def wild(c):
    """Changes intensities: errors of half a sigma and of two sigma in turn, 1.25 times too bright; each tenth is 1000 times too bright."""
    true = c["intensity.sum.value"].copy()
    c["intensity.sum.value"] = 1.25 * true
    c["intensity.sum.variance"] = (0.25 * true / np.where(np.arange(len(true)) % 2, 2.0, 0.5)[:, None]) ** 2
    c["intensity.sum.value"][::10] *= 1000


def imageset(experiments, number):
    """Returns the experiment of a file with several images, as dials.import writes it."""
    images = [{"__id__": "ImageSet", "images": ["/somewhere/truth.nxs"], "single_file_indices": [int(number)]}]
    experiments["imageset"] = images
    for x in experiments["experiment"]:
        x["imageset"] = 0
        x["identifier"] = f"{x['identifier'][:8]}-of-another-{number}-{x['crystal']}"


def reindex(setting):
    def change(x, c):
        operator = SETTINGS[setting]
        change_axes(x, lambda rows: operator.T @ rows)
        c["miller_index"] = np.rint(c["miller_index"] @ operator).astype("<i4")
    return change


def files_of_one(x, c, number, name="frame_%s.cbf"):
    imageset(x, number)
    del x["imageset"][0]["single_file_indices"]
    x["imageset"][0]["images"] = ["/somewhere/" + name % number]


def shift(c, columns, by):
    for name in columns:
        c[name][:, 0] += by


def level(c, flags, by):
    """As a table of an earlier step: these flags alone, and spots moved along fast."""
    c["flags"][:] = flags
    shift(c, ["xyzobs.px.value"], by)


def found(x, c, number):
    """As dials.stills_process writes strong spots: no crystals and indices, and empty identifiers."""
    imageset(x, number)
    x["crystal"] = []
    x["experiment"] = [{k: v for k, v in one.items() if k != "crystal"} | dict(identifier="") for one in x["experiment"]]
    c["miller_index"][:] = 0
    level(c, 32, 0.25)


FAULTS = {
    "turned": lambda x, c, n: change_axes(x, lambda rows: rows @ turn([1, 2, 3], 0.5).T),
    "cell": lambda x, c, n: change_axes(x, lambda rows: rows * 1.01),
    "other": lambda x, c, n: change_axes(x, lambda rows: rows * 1.5),
    "shifted": lambda x, c, n: shift(c, ["xyzobs.px.value"], 0.5),
    "predicted": lambda x, c, n: shift(c, ["xyzcal.px"], -0.5),
    "corner": lambda x, c, n: x["detector"][0]["panels"][0]["origin"].__setitem__(0, x["detector"][0]["panels"][0]["origin"][0] - 0.2),
    "dropped": lambda x, c, n: c.__setitem__("flags", np.where(np.arange(len(c["flags"])) % 10, c["flags"].T, c["flags"].T & ~np.uint64(32)).T.astype("<u8")),
    "noisy": lambda x, c, n: noise(c),
    "halved": lambda x, c, n: (noise(c), c.__setitem__("intensity.sum.variance", c["intensity.sum.variance"] / 4)),
    "wild": lambda x, c, n: wild(c),
    "hand": lambda x, c, n: reindex("hand")(x, c),
    "cyclic": lambda x, c, n: reindex("cyclic")(x, c),
    "twofold": lambda x, c, n: reindex("twofold")(x, c),
    "images": lambda x, c, n: imageset(x, n),
    "files": lambda x, c, n: files_of_one(x, c, n),
    "integrated": lambda x, c, n: (imageset(x, n), noise(c), c.__setitem__("intensity.sum.variance", c["intensity.sum.variance"] / 4)),
    "indexed": lambda x, c, n: (imageset(x, n), level(c, 36, 0.5)),
    "found": lambda x, c, n: found(x, c, n),
    "nameless": lambda x, c, n: (found(x, c, n), c["id"].__setitem__(0, 1)),
    "unnumbered": lambda x, c, n: files_of_one(x, c, n, "frame_of_%.0s.cbf"),
    "index": lambda x, c, n: c["miller_index"].__setitem__((0, 0), 2000000000),
    "panel": lambda x, c, n: c["panel"].__setitem__(0, 7),
    "nan": lambda x, c, n: c["xyzobs.px.value"].__setitem__((3, 1), float("nan")),
    "row": lambda x, c, n: c["id"].__setitem__(2, 5),
}

if sys.argv[1] == "--rows":
    photons = unpack(open(sys.argv[2], "rb").read())[2]["data"]["intensity.sum.value"][1][1]
    print((np.frombuffer(photons) > 10).sum())
    sys.exit()
for number in sys.argv[1:]:
    for fault, change in FAULTS.items():
        experiments, columns, types, identifiers = read(number)
        change(experiments, columns, number)
        if fault in ("found", "nameless"):
            identifiers = {i: "" for i in range(2)} if fault == "nameless" else {0: ""}
        if fault in ("images", "files", "unnumbered", "integrated", "indexed"):
            identifiers = {int(i): x["identifier"] for i, x in enumerate(experiments["experiment"])}
        write(fault, number, experiments, columns, types, identifiers)
