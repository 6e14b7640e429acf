#!/usr/bin/python3
"""Compares what DIALS found in this folder with what was simulated.

Reads strong.refl, indexed.refl, refined.expt and integrated.refl, and the
structure factors that ship with the programs, common/io/lysozyme.f32.
Prints: cell_error (largest relative), indexed (fraction of the strong spots),
misorientation_deg, cc (of I against F^2), reflections.
"""
import sys

import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

CELL = (59.062, 68.451, 30.517)
MISSET_DEG = (12.3, 34.5, 56.7)


def rotation(axis, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    m = np.eye(3)
    m[i, i] = m[j, j] = c
    m[i, j], m[j, i] = -s, s
    return m


def misorientation(found_A):
    """Degrees between found and true setting, over the operators of 222.

    The simulator's lab (x along the beam) becomes DIALS' by (x,y,z) -> (z,y,-x)."""
    to_dials = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float)
    u = rotation(2, MISSET_DEG[2]) @ rotation(1, MISSET_DEG[1]) @ rotation(0, MISSET_DEG[0])
    true_real = to_dials @ u @ np.diag(CELL)  # columns a, b, c
    found_real = np.linalg.inv(found_A).T
    # pair the axes by length: DIALS may name them in another order
    order = [int(np.argmin([abs(np.linalg.norm(found_real[:, j]) - c) for j in range(3)])) for c in CELL]
    worst = 0.0
    for i, j in enumerate(order):
        a = true_real[:, i] / np.linalg.norm(true_real[:, i])
        b = found_real[:, j] / np.linalg.norm(found_real[:, j])
        worst = max(worst, float(np.degrees(np.arccos(min(1.0, abs(a @ b))))))
    return worst, order


def table(path):
    """|F| by index, of the asymmetric unit to 1.4 A as common/io/lysozyme.c lists it."""
    values = iter(np.fromfile(path, "<f4").astype(float))
    f = {}
    for hkl in np.ndindex(*(int(edge / 1.4) + 1 for edge in CELL)):
        q = np.linalg.norm(np.array(hkl) / CELL)
        absent = hkl.count(0) == 2 and sum(hkl) % 2
        if 0 < q < 1 / 1.4 and not absent:
            f[hkl] = next(values)
    return f


def main():
    expt = ExperimentListFactory.from_json_file("refined.expt", check_format=False)[0]
    lengths = sorted(expt.crystal.get_unit_cell().parameters()[:3])
    cell_error = max(abs(x / c - 1) for x, c in zip(lengths, sorted(CELL)))
    print("cell_error", cell_error)
    strong = flex.reflection_table.from_file("strong.refl")
    indexed = flex.reflection_table.from_file("indexed.refl")
    good = indexed.get_flags(indexed.flags.indexed).count(True)
    print("indexed", good / len(strong))
    A = np.array(expt.crystal.get_A()).reshape(3, 3)
    degrees, order = misorientation(A)
    print("misorientation_deg", degrees)

    refl = flex.reflection_table.from_file("integrated.refl")
    refl = refl.select(refl.get_flags(refl.flags.integrated_sum))
    # whole reflections only, well inside the sweep
    refl = refl.select(refl["partiality"] > 0.99)
    f = table(sys.argv[1])
    x, y = [], []
    for hkl, i, lp in zip(refl["miller_index"], refl["intensity.sum.value"], refl["lp"]):
        key = tuple(abs(hkl[j]) for j in order)
        if key in f:
            x.append(i * lp)
            y.append(f[key] ** 2)
    print("cc", np.corrcoef(x, y)[0, 1])
    print("reflections", len(x))


main()
