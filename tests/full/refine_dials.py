"""refine_dials.py RECIPES: how far what dials.stills_process found (found/idx-still_*) and the recipes of a
recording are from the truth.  Prints
  stills      in the recording
  dials_deg   the worst misorientation that DIALS left
  refined_deg the worst that is left now
"""
import glob
import re
import sys

import numpy as np

import dials_truth
from braggpipe import open as frames_of

settings = dials_truth.settings()


def found():
    """By frame, the rotation from the true setting to that of DIALS, deg, in the simulator's lab."""
    from dxtbx.model.experiment_list import ExperimentListFactory

    turns = {}
    for path in glob.glob("found/idx-still_*_integrated.expt"):
        frame = int(re.search(r"_(\d+)_", path)[1])
        (experiment,) = ExperimentListFactory.from_json_file(path, check_format=False)
        match = dials_truth.Match(settings[frame][0], dials_truth.setting(experiment.crystal))
        turns[frame] = dials_truth.TO_DIALS.T @ match.turn_deg
    return turns


turns = found()
left = []
for frame in frames_of(sys.argv[1]):
    true = settings[frame.number][0]
    reciprocal = np.asarray(frame.truth.lattices[0].reciprocal_A).reshape(3, 3)
    left.append(np.linalg.norm(dials_truth.Match(true, dials_truth.TO_DIALS @ reciprocal.T).turn_deg))
print("stills", len(left))
print("dials_deg", max(np.linalg.norm(turn) for turn in turns.values()))
print("refined_deg", max(left))
