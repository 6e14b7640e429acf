"""stills_truth.py FILE: the orientation that DIALS found for a still (indexed.expt), against
/entry/braggpipe of FILE.  Prints misorientation_deg, over the axes of 222, and indexed,
the fraction of the spots of strong.refl."""
import sys

import h5py
import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

TO_IMGCIF = np.diag([-1, 1, -1])  # from NeXus

with h5py.File(sys.argv[1]) as file:
    (lattice,) = file["entry/braggpipe/lattices"][()]
true_real = np.linalg.inv(TO_IMGCIF @ lattice["a_matrix"])  # rows a, b, c
(expt,) = ExperimentListFactory.from_json_file("indexed.expt", check_format=False)
found_real = np.linalg.inv(np.array(expt.crystal.get_A()).reshape(3, 3))
unit = lambda rows: rows / np.linalg.norm(rows, axis=1)[:, None]
cosines = np.abs(np.sum(unit(true_real) * unit(found_real), axis=1))
print("misorientation_deg", np.degrees(np.arccos(np.minimum(cosines, 1))).max())
strong, indexed = (flex.reflection_table.from_file(name) for name in ("strong.refl", "indexed.refl"))
print("indexed", indexed.get_flags(indexed.flags.indexed).count(True) / len(strong))
