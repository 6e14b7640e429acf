"""dials_stills.py: compares the results of dials.stills_process (idx-still_*) with the true settings of truth.tsv.

The geometry is that of the file.  Prints
  stills              number of stills that were indexed and integrated
  misorientation_deg  largest misorientation; a tilt of the crystal moves no spot of a still
  about_beam_deg      its part about the beam, z, which moves all spots
  indexed             number of spots of all stills
  integrated          number of reflections of all stills above 3 sigma
  mean_dx, mean_dy    mean of found minus true position of indexed spots, px
"""
import glob
import re

import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

import dials_truth


def still_rays(experiment, true, hkl):
    """s1 of reflections turned onto the Ewald sphere in the plane of r and s0, the shortest way."""
    s0 = np.array(experiment.beam.get_s0())
    k = np.linalg.norm(s0)
    r = hkl @ true.T
    length = np.linalg.norm(r, axis=1)
    aside = r - np.outer(r @ s0, s0) / k**2
    aside /= np.linalg.norm(aside, axis=1)[:, None]
    sine = length / (2 * k)  # of theta
    return s0 - np.outer(length * sine, s0 / k) + aside * (length * np.sqrt(1 - sine**2))[:, None]


settings = dials_truth.settings()
turns, twists, differences, integrated = [], [], [], 0
for path in sorted(glob.glob("idx-still_*_integrated.expt")):
    frame = int(re.search(r"_(\d+)_", path)[1])
    (true,) = settings[frame]
    (experiment,) = ExperimentListFactory.from_json_file(path, check_format=False)
    match = dials_truth.Match(true, dials_truth.setting(experiment.crystal))
    turns.append(np.linalg.norm(match.turn_deg))
    twists.append(abs(match.turn_deg[2]))
    spots = flex.reflection_table.from_file(path.replace("integrated.expt", "indexed.refl"))
    rays = still_rays(experiment, true, np.array(spots["miller_index"]) @ match.indices.T)
    places = np.array([dials_truth.place(experiment.detector[0], s1) for s1 in rays])
    differences.append(np.array(spots["xyzobs.px.value"])[:, :2] - places)
    refl = flex.reflection_table.from_file(path.replace(".expt", ".refl"))
    integrated += (refl["intensity.sum.value"] > 3 * flex.sqrt(refl["intensity.sum.variance"])).count(True)
d = np.concatenate(differences)
print("stills", len(turns))
print("misorientation_deg", max(turns))
print("about_beam_deg", max(twists))
print("indexed", len(d))
print("integrated", integrated)
print("mean_dx", d[:, 0].mean())
print("mean_dy", d[:, 1].mean())
