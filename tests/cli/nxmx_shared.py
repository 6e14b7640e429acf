"""Compares a series that several writers wrote together with the series WHOLE of one writer.

nxmx_shared.py same WHOLE MASTER [FILES]: frames, images and ground truth are equal and in the same
    order.  Each data file has at most FILES frames.  Master and index describe the data files rightly,
    and no frame is stored twice.
nxmx_shared.py watch WHOLE MASTER: reads MASTER while it is written, until it has all frames.  The
    frames that exist at any time must be equal to those of WHOLE.
"""
import os
import re
import sys
import time

import h5py
import numpy as np

IMAGES = ["data/data", "braggpipe/labels", "derivatives/scale"]


def entry(path):
    return h5py.File(path, "r")["entry"]


def images(group):
    return {name: group[name] for name in IMAGES if name in group}


def same_truth(a, b, places):
    frames, others = a["braggpipe/frames"][()], b["braggpipe/frames"][()]
    for name in frames.dtype.names:
        if name != "file":
            assert (frames[name][places] == others[name]).all(), name
    numbers = others["number"]
    for table, column in (("braggpipe/lattices", "frame"), ("reflections", "frame")):
        if table not in a:
            assert table not in b, table
            continue
        if table == "reflections":
            keep = np.isin(a[table][column][()], numbers)
            for name in a[table]:
                assert (a[table][name][()][keep] == b[table][name][()]).all(), name
        else:
            rows = a[table][()]
            assert (rows[np.isin(rows[column], numbers)] == b[table][()]).all(), table


def same(whole, master, most=None):
    a, b = entry(whole), entry(master)
    numbers = b["braggpipe/frames"]["number"]
    assert (a["braggpipe/frames"]["number"] == numbers).all(), f"frames {numbers}"
    same_truth(a, b, slice(None))
    assert images(a).keys() == images(b).keys()
    for name, data in images(a).items():
        assert data[()].any() and (data[()] == images(b)[name][()]).all(), name
    if "reflections" in a:
        pixels = "braggpipe/reflection_pixels"
        assert (pixels in a) == (pixels in b) and (pixels not in a or (a[pixels][()] == b[pixels][()]).all())
    of_file = {}
    for number, file in zip(numbers, b["braggpipe/frames"]["file"]):
        of_file.setdefault(int(file), []).append(int(number))
    folder = os.path.dirname(master)
    names = sorted(n for n in os.listdir(folder) if re.search(r"_data_\d+\.h5$", n))
    assert names == [f"s_data_{n:06d}.h5" for n in sorted(of_file)], names
    for file, held in of_file.items():
        data = entry(f"{folder}/s_data_{file:06d}.h5")
        assert data["braggpipe/frames"]["number"].tolist() == held, (file, held)
        assert most is None or len(held) <= most, (file, held)
    assert len(b["data/data"].virtual_sources()) == len(of_file), "virtual sources"
    listed = {}
    for line in open(master + ".index"):
        if line[0].isdigit():
            words = line.rstrip("\n").split("\t")
            listed[int(words[0])] = int(re.fullmatch(r"s_data_(\d+)\.h5", words[4])[1])
    assert listed == {n: f for f, held in of_file.items() for n in held}, listed
    return len(of_file)


def replaced(path, inode):
    """Returns True if another file soon replaces this one."""
    end = time.monotonic() + 30
    while os.stat(path).st_ino == inode and time.monotonic() < end:
        time.sleep(0.01)
    return os.stat(path).st_ino != inode


def watch(whole, master):
    """Verifies a series while it is written.  A data file may be ahead of its master."""
    a, seen, end = entry(whole), set(), time.monotonic() + 120
    want = len(a["braggpipe/frames"])
    while time.monotonic() < end:
        if os.path.exists(master):
            inode = os.stat(master).st_ino
            b = entry(master)
            numbers = b["braggpipe/frames"]["number"]
            same_truth(a, b, numbers)
            try:
                pixels = b["data/data"][()]
            except OSError:
                assert replaced(master, inode), "a master that its files do not fit"
                continue
            assert (a["data/data"][()][numbers] == pixels).all(), numbers
            seen.add(len(numbers))
            if len(numbers) == want:
                break
        time.sleep(0.01)
    assert max(seen) == want and len(seen) > 1, seen


verb, *arguments = sys.argv[1:]
if verb == "same":
    same(*arguments[:2], *map(int, arguments[2:]))
else:
    watch(*arguments)
