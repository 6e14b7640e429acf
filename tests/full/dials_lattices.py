"""Compares the lattices of indexed.expt with those of frame 0 in truth.tsv.

Prints `lattice I STRAIN TURN` for each true lattice, of the indexed one that comes nearest to it: the
largest relative difference of a length, and the angle between the two in degrees; and `indexed FRACTION`
of the strong spots.
"""
import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

import dials_truth

experiments = ExperimentListFactory.from_json_file("indexed.expt", check_format=False)
found = [dials_truth.setting(e.crystal) for e in experiments]
for number, true in enumerate(dials_truth.settings()[0]):
    matches = [dials_truth.Match(true, setting) for setting in found]
    best = min(matches, key=lambda match: np.linalg.norm(match.turn_deg))
    print("lattice", number, best.strain, np.linalg.norm(best.turn_deg))
indexed = flex.reflection_table.from_file("indexed.refl")
good = indexed.get_flags(indexed.flags.indexed).count(True)
print("indexed", good / len(flex.reflection_table.from_file("strong.refl")))
