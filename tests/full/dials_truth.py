"""The ground truth in the terms of DIALS, for the other dials_*.py.

It has setting matrices from the table of `bragg-orient --truth`, the structure factors that ship with
the programs, and positions of reflections.  As a program, `dials_truth.py MASTER` prints the
polarization in an NXmx file, if there is one: polarization_fraction and polarization_normal, as
dials.import takes them.
"""
import csv
import sys

import numpy as np

CELL = (59.062, 68.451, 30.517)
TO_DIALS = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float)  # from the simulator's lab, x along the beam


def settings(path="truth.tsv"):
    """Returns by frame the matrices of its lattices: columns a*, b*, c* in 1/A at phi 0."""
    frames = {}
    with open(path, newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            axes = [[float(row[f"{axis}s_{k}"]) for k in "xyz"] for axis in "abc"]
            frames.setdefault(int(row["frame"]), []).append(TO_DIALS @ np.array(axes).T)
    return frames


def structure_factors(path):
    """|F| by index, of the asymmetric unit to 1.4 A as common/io/structure_factors/lysozyme.c lists it."""
    values = iter(np.fromfile(path, "<f4").astype(float))
    f = {}
    for hkl in np.ndindex(*(int(edge / 1.4) + 1 for edge in CELL)):
        q = np.linalg.norm(np.array(hkl) / CELL)
        absent = hkl.count(0) == 2 and sum(hkl) % 2
        if 0 < q < 1 / 1.4 and not absent:
            f[hkl] = next(values)
    return f


class Match:
    """A setting that DIALS found against a true one: `indices` turns its indices into the true ones.
    `turn_deg` is the rotation between the two as a vector in the lab, `strain` the largest relative
    difference of a length.  A found setting that is another lattice has a large strain or turn."""

    def __init__(self, true, found):
        self.indices = np.rint(np.linalg.inv(true) @ found)
        if np.linalg.det(self.indices) != 1:
            self.strain, self.turn_deg = np.inf, np.full(3, 180.0)
            return
        change = found @ np.linalg.inv(true @ self.indices)
        u, stretch, v = np.linalg.svd(change)
        turn = u @ v
        self.strain = abs(stretch - 1).max()
        sine = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
        angle = np.arctan2(np.linalg.norm(sine), (np.trace(turn) - 1) / 2)
        self.turn_deg = np.degrees(angle) * sine / max(np.linalg.norm(sine), 1e-300)


def setting(crystal):
    return np.array(crystal.get_A()).reshape(3, 3)


def rays(experiment, true, hkl, near_deg):
    """Diffracted beams s1 of indices by a true setting, and the angle, deg, of each that is nearest to a
    given one: where r turned about the spindle fulfils |s0 + r| = |s0|.  nan where it never does."""
    axis = np.array(experiment.goniometer.get_rotation_axis())
    s0 = np.array(experiment.beam.get_s0())
    r = hkl @ true.T
    along = np.outer(r @ axis, axis)
    x, y = r - along, np.cross(axis, r)
    a, b, c = 2 * x @ s0, 2 * y @ s0, (r**2).sum(1) + 2 * along @ s0
    with np.errstate(invalid="ignore"):
        half = np.arccos(-c / np.hypot(a, b))
    phi = np.arctan2(b, a) + np.array([half, -half])
    phi += 2 * np.pi * np.rint((np.radians(near_deg) - phi) / (2 * np.pi))
    off = np.where(np.isfinite(phi), abs(phi - np.radians(near_deg)), np.inf)
    phi = np.take_along_axis(phi, off.argmin(0)[None], 0)[0]
    s1 = s0 + along + x * np.cos(phi)[:, None] + y * np.sin(phi)[:, None]
    return s1, np.degrees(phi)


def place(panel, s1):
    """Returns where rays meet the panel, px; NaN for rays that miss it."""
    try:
        return panel.get_ray_intersection_px(tuple(s1))
    except RuntimeError:
        return np.nan, np.nan


def zeta(experiment, s1):
    """Returns Kabsch's factor zeta of a reflection: the cosine with which it passes through the Ewald sphere."""
    e1 = np.cross(s1, experiment.beam.get_s0())
    return abs(e1 @ experiment.goniometer.get_rotation_axis()) / np.linalg.norm(e1, axis=1)


def polarization(master):
    """(fraction, normal), or nothing where the file is silent.  NeXus' x is DIALS's -x."""
    import h5py

    with h5py.File(master) as file:
        for word in ("polarization", "polarisation"):
            stokes = file.get("entry/instrument/beam/incident_%s_stokes" % word)
            if stokes is not None:
                i, q, u, _ = np.ravel(stokes[()])[:4]
                psi = np.arctan2(u, q) / 2
                return (1 + np.hypot(q, u) / i) / 2, (np.sin(psi), np.cos(psi), 0.0)
    return None


if __name__ == "__main__":
    found = polarization(sys.argv[1])
    if found:
        print("polarization_fraction", found[0])
        print("polarization_normal", "%r,%r,%r" % tuple(map(float, found[1])))
