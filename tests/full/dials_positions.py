"""Compares spots that DIALS found in a rotation series with the true setting of the crystal.

    dials_positions.py FILE.expt SPOTS.refl [SETTING.expt]

The true setting is that of truth.tsv.  Beam, detector and spindle are those of FILE.expt.  SETTING.expt
(default: FILE.expt) has the crystal by which SPOTS.refl is indexed.  Prints
  spots          number of indexed spots that are compared, none near the spindle
  kept           their fraction within 1.5 pixels and 2 frames
  mean_dx, mean_dy        mean of found minus true position, px
  mean_dphi_deg  mean of found minus true angle about the spindle
  radial_px      mean distance from the beam at 2 theta of 25 to 38 degrees, where parallax is large
  misorientation_deg, spindle_deg, strain   difference of the settings: rotation, its part about the
                 spindle, and strain
"""
import sys

import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

import dials_truth


def read(path):
    return ExperimentListFactory.from_json_file(path, check_format=False)[0]


def residuals(experiment, true, hkl, found):
    """Returns found minus true (px, px, deg), the true positions (px), 2 theta (deg) and zeta."""
    start, width = experiment.scan.get_oscillation()
    phi = start + width * found[:, 2]
    s1, true_phi = dials_truth.rays(experiment, true, hkl, phi)
    panel = experiment.detector[0]
    places = np.array([dials_truth.place(panel, s) for s in s1])
    s0 = np.array(experiment.beam.get_s0())
    two_theta = np.degrees(np.arccos(s1 @ s0 / (s0 @ s0)))
    return np.column_stack([found[:, :2] - places, phi - true_phi]), places, two_theta, dials_truth.zeta(experiment, s1)


def main():
    experiment, crystal = read(sys.argv[1]), read(sys.argv[-1]).crystal
    true = dials_truth.settings()[0][0]
    match = dials_truth.Match(true, dials_truth.setting(crystal))
    axis = experiment.goniometer.get_rotation_axis()
    print("misorientation_deg", np.linalg.norm(match.turn_deg))
    print("spindle_deg", match.turn_deg @ axis)
    print("strain", match.strain)

    spots = flex.reflection_table.from_file(sys.argv[2])
    spots = spots.select(spots.get_flags(spots.flags.indexed))
    hkl = np.array(spots["miller_index"]) @ match.indices.T
    d, places, two_theta, zeta = residuals(experiment, true, hkl, np.array(spots["xyzobs.px.value"]))
    good = zeta > 0.2
    d, places, two_theta = d[good], places[good], two_theta[good]
    near = (abs(d[:, :2]).max(1) < 1.5) & (abs(d[:, 2]) < 2 * experiment.scan.get_oscillation()[1])
    print("spots", len(d))
    print("kept", near.mean())
    d, places, two_theta = d[near], places[near], two_theta[near]
    for name, mean in zip(("mean_dx", "mean_dy", "mean_dphi_deg"), d.mean(0)):
        print(name, mean)
    out = places - experiment.detector[0].get_ray_intersection_px(experiment.beam.get_s0())
    radial = (d[:, :2] * out).sum(1) / np.linalg.norm(out, axis=1)
    print("radial_px", radial[(two_theta > 25) & (two_theta < 38)].mean())


if len(sys.argv) == 3:
    sys.argv.append(sys.argv[1])
main()
