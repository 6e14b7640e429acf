#!/usr/bin/python3
"""Compares detectors that bragg-geometry --detector reads with third-party programs.

detector_truth.py NAME    reads NAME.poni with pyFAI and compares it with NAME.geom of bragg-geometry.
    Prints pixels (1: equal numbers), off (largest distance of a pixel from its counterpart, in
    pixels), masks (1: equal).
detector_truth.py same    compares ours.raw with theirs.raw.  Prints error: the largest difference of an
    unmasked pixel, relative to its value, with a floor of a thousandth of the mean.
"""
import re
import sys

import numpy as np


def read_geom(path):
    """Returns the numbers of a CrystFEL geometry with one panel, and its bad rectangles."""
    values, bad = {}, {}
    for line in open(path):
        found = re.match(r"(\w+)(?:/(\w+))? = (.*)", line)
        if found and found[1].startswith("bad"):
            bad.setdefault(found[1], {})[found[2]] = found[3]
        elif found:
            values[found[2] or found[1]] = found[3]
    return values, bad


def vector(text):
    return np.array([float(re.search(rf"([+-][0-9.e-]+){k}", text)[1]) if k in text else 0 for k in "xyz"])


def poni(name):
    import pyFAI

    ai = pyFAI.load(name + ".poni")
    values, bad = read_geom(name + ".geom")
    number = lambda key: float(values[key].split()[0])
    fast, slow = int(number("max_fs")) + 1, int(number("max_ss")) + 1
    as_many = not ai.detector.shape or tuple(ai.detector.shape) == (slow, fast)
    print("pixels", int(as_many and abs(ai.detector.pixel1 * number("res") - 1) < 1e-6))
    corner = np.array([number("corner_x"), number("corner_y"), (number("clen") + number("coffset")) * number("res")])
    f, s = np.meshgrid(np.arange(0, fast, 37), np.arange(0, slow, 37))
    ours = corner + (f[..., None] + 0.5) * vector(values["fs"]) + (s[..., None] + 0.5) * vector(values["ss"])
    t3, t1, t2 = ai.calc_pos_zyx(d1=s.ravel().astype(float), d2=f.ravel().astype(float))
    theirs = np.stack([t2, -t1, t3], axis=-1).reshape(ours.shape) * number("res")
    print("off", np.abs(ours - theirs).max())
    mask = np.zeros((slow, fast), bool)
    for b in bad.values():
        mask[int(b["min_ss"]) : int(b["max_ss"]) + 1, int(b["min_fs"]) : int(b["max_fs"]) + 1] = True
    theirs = ai.detector.mask
    print("masks", int(theirs is None and not mask.any() or theirs is not None and (mask == (theirs != 0)).all()))


def same():
    ours, theirs = (np.fromfile(name, "<f4").astype(float) for name in ("ours.raw", "theirs.raw"))
    seen = ours > 0
    floor = 1e-3 * ours[seen].mean()
    print("error", (np.abs(ours - theirs)[seen] / np.maximum(ours[seen], floor)).max())


same() if sys.argv[1] == "same" else poni(sys.argv[1])
