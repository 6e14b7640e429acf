"""refine_dials.py start: writes the settings that dials.stills_process found (idx-still_*) as a list
for bragg-orient --orientations, with the indices of truth.tsv.
refine_dials.py end RECIPES: how far DIALS and the recipes of a recording are from the truth.  Prints
  stills      in the recording
  dials_deg   the worst misorientation that DIALS left
  refined_deg the worst that is left now
"""
import glob
import re
import sys

import numpy as np

import dials_truth

settings = dials_truth.settings()


def turned(vector_deg):
    """The matrix of a rotation vector."""
    x, y, z = np.radians(vector_deg)
    angle = max(np.linalg.norm([x, y, z]), 1e-300)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) / angle
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def found():
    """By frame, the rotation from the true setting to that of DIALS, deg, in the simulator's lab."""
    from dxtbx.model.experiment_list import ExperimentListFactory

    turns = {}
    for path in glob.glob("idx-still_*_integrated.expt"):
        frame = int(re.search(r"_(\d+)_", path)[1])
        (experiment,) = ExperimentListFactory.from_json_file(path, check_format=False)
        match = dials_truth.Match(settings[frame][0], dials_truth.setting(experiment.crystal))
        turns[frame] = dials_truth.TO_DIALS.T @ match.turn_deg
    return turns


turns = found()
if sys.argv[1] == "start":
    from braggpipe import open as frames_of

    with open("orientations", "w") as out:
        for frame in frames_of("true.rec"):
            rotation = turned(turns[frame.number]) @ np.asarray(frame.truth.lattices[0].rotation).reshape(3, 3)
            print(*("%.15g" % number for number in rotation.ravel()), file=out)
else:
    from braggpipe import open as frames_of

    left = []
    for frame in frames_of(sys.argv[2]):
        true = settings[frame.number][0]
        reciprocal = np.asarray(frame.truth.lattices[0].reciprocal_A).reshape(3, 3)
        left.append(np.linalg.norm(dials_truth.Match(true, dials_truth.TO_DIALS @ reciprocal.T).turn_deg))
    print("stills", len(left))
    print("dials_deg", max(np.linalg.norm(turn) for turn in turns.values()))
    print("refined_deg", max(left))
