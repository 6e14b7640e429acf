"""dials_models.py FILE.expt [FILE.refl]: prints models that DIALS found.

Prints distance_mm, beam_fast_px, beam_slow_px (without parallax) and space_group of FILE.expt.  With
FILE.refl, prints also the indexed fraction of strong.refl, and the RMSDs of the refined spots:
rmsd_x_px, rmsd_y_px, rmsd_phi_deg.
"""
import sys

import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

experiment = ExperimentListFactory.from_json_file(sys.argv[1], check_format=False)[0]
panel = experiment.detector[0]
place = np.array(panel.get_beam_centre(experiment.beam.get_s0())) / panel.get_pixel_size()
print("distance_mm", panel.get_directed_distance())
print("beam_fast_px", place[0])
print("beam_slow_px", place[1])
if experiment.crystal:
    print("space_group", experiment.crystal.get_space_group().type().lookup_symbol())
if len(sys.argv) > 2:
    refl = flex.reflection_table.from_file(sys.argv[2])
    strong = flex.reflection_table.from_file("strong.refl")
    print("indexed", refl.get_flags(refl.flags.indexed).count(True) / len(strong))
    refl = refl.select(refl.get_flags(refl.flags.used_in_refinement))
    difference = np.array(refl["xyzobs.px.value"]) - np.array(refl["xyzcal.px"])
    difference[:, 2] *= experiment.scan.get_oscillation()[1]
    for name, root in zip(("rmsd_x_px", "rmsd_y_px", "rmsd_phi_deg"), np.sqrt((difference**2).mean(0))):
        print(name, root)
