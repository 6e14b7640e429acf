#!/usr/bin/python3
"""Compares the lattices of indexed.expt with those of frame 0 in truth.tsv.

Prints `lattice I ERROR` for each true lattice that an indexed one comes nearest to:
the largest difference of a reciprocal axis over its length, whatever the names and
signs of the axes; and `indexed FRACTION` of the strong spots.
"""
import csv

import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

# the simulator's lab (x along the beam) becomes DIALS' by (x,y,z) -> (z,y,-x)
TO_DIALS = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float)


def truth():
    """Columns a*, b*, c* of each lattice of frame 0, in DIALS' lab."""
    axes = ("as_x as_y as_z", "bs_x bs_y bs_z", "cs_x cs_y cs_z")
    with open("truth.tsv", newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            if row["frame"] == "0":
                rows = [[float(row[key]) for key in axis.split()] for axis in axes]
                yield TO_DIALS @ np.array(rows).T


def error(true, found):
    """Of the worst axis, each paired with the found one that is nearest to it."""
    worst = 0.0
    for axis in true.T:
        distance = min(min(np.linalg.norm(axis - f), np.linalg.norm(axis + f)) for f in found.T)
        worst = max(worst, distance / np.linalg.norm(axis))
    return worst


def main():
    experiments = ExperimentListFactory.from_json_file("indexed.expt", check_format=False)
    found = [np.array(e.crystal.get_A()).reshape(3, 3) for e in experiments]
    for number, true in enumerate(truth()):
        print("lattice", number, min(error(true, a) for a in found))
    indexed = flex.reflection_table.from_file("indexed.refl")
    good = indexed.get_flags(indexed.flags.indexed).count(True)
    print("indexed", good / len(flex.reflection_table.from_file("strong.refl")))


main()
