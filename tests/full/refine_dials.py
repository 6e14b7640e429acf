"""refine_dials.py: compares crystals of DIALS and of bragg-refine with the ground truth, truth.tsv.

DIALS indexed stills (indexed.expt, indexed.refl), and bragg-refine refined them (refined.expt).  Prints
  stills, spots   numbers that DIALS indexed
  dials_deg, refined_deg   largest misorientation of each
  dials_px, refined_px, true_px   rms distance of the found spots from predictions of DIALS with the
                  indexed crystals, the refined ones and the true ones
"""
import numpy as np
from dials.algorithms.spot_prediction import StillsReflectionPredictor
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

import dials_truth

true = dials_truth.settings()
found = ExperimentListFactory.from_json_file("indexed.expt", check_format=False)
refined = ExperimentListFactory.from_json_file("refined.expt", check_format=False)
all_spots = flex.reflection_table.from_file("indexed.refl")
turns = {"dials": [], "refined": []}
apart = {"dials": [], "refined": [], "true": []}


def away(experiment, setting, indices, spots):
    """Returns predicted minus found positions of reflections, px.  DIALS predicts them for a crystal with this setting."""
    table = flex.reflection_table()
    for column in ("panel", "entering", "flags", "s1", "xyzobs.mm.value", "xyzobs.px.value"):
        table[column] = spots[column]
    table["id"] = flex.int(len(spots), 0)
    hkl = np.rint(np.array(spots["miller_index"]) @ indices.T).astype(int)
    table["miller_index"] = flex.miller_index([tuple(map(int, one)) for one in hkl])
    StillsReflectionPredictor(experiment).for_reflection_table(table, tuple(setting.ravel()))
    places = np.array([dials_truth.place(experiment.detector[0], s1) for s1 in table["s1"]])
    return places - np.array(spots["xyzobs.px.value"])[:, :2]


for number, (before, after) in enumerate(zip(found, refined, strict=True)):
    frame = before.imageset.indices()[0]
    spots = all_spots.select((all_spots["id"] == number) & (all_spots["miller_index"] != (0, 0, 0)))
    one = {"dials": dials_truth.setting(before.crystal), "refined": dials_truth.setting(after.crystal), "true": true[frame][0]}
    for name, setting in one.items():
        match = dials_truth.Match(setting, one["dials"])
        apart[name].append(away(before, setting, match.indices, spots))
        if name != "true":
            turns[name].append(np.linalg.norm(dials_truth.Match(one["true"], setting).turn_deg))
print("stills", len(refined))
print("spots", sum(map(len, apart["dials"])))
for name, several in turns.items():
    print(name + "_deg", max(several))
for name in apart:
    print(name + "_px", np.sqrt((np.concatenate(apart[name]) ** 2).sum(1).mean()))
