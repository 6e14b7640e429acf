"""dials_formats.py A.expt B.expt: compares predicted reflections on two experiment lists.

The crystal is the true one of truth.tsv.  Prints the number of reflections on A within its sweep, and
the largest differences between A and B: largest_px with the parallax of each, largest_flat_px without
parallax, largest_phi_deg.
"""
import sys

import numpy as np
from dxtbx.model.experiment_list import ExperimentListFactory

import dials_truth

INDICES = np.indices((61, 61, 61)).reshape(3, -1).T - 30


def predict(path):
    """Returns for each reflection its positions with and without parallax, px, and phi, deg."""
    experiment = ExperimentListFactory.from_json_file(path, check_format=False)[0]
    first, last = experiment.scan.get_oscillation_range()
    s1, phi = dials_truth.rays(experiment, dials_truth.settings()[0][0], INDICES, (first + last) / 2)
    panel = experiment.detector[0]
    fast, slow = panel.get_image_size()
    found = {}
    for hkl, s, angle in zip(map(tuple, INDICES), s1, phi):
        if any(hkl) and first < angle < last:
            place = dials_truth.place(panel, s)
            if 0 < place[0] < fast and 0 < place[1] < slow:
                flat = np.array(panel.get_ray_intersection(tuple(s))) / panel.get_pixel_size()
                found[hkl] = (place, flat, angle)
    return found


a, b = predict(sys.argv[1]), predict(sys.argv[2])
both = a.keys() & b.keys()
print("reflections", len(both))
if len(both) > 0.99 * max(len(a), len(b)):
    for i, name in enumerate(("largest_px", "largest_flat_px", "largest_phi_deg")):
        print(name, max(np.abs(np.subtract(a[hkl][i], b[hkl][i])).max() for hkl in both))
