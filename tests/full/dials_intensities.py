"""dials_intensities.py FILE.expt FILE.refl FACTORS [MERGED.mtz]: what DIALS integrated by summation,
I lp/qe, against the F^2 that went in.  The corrections are computed again for the beam of FILE.expt.
With MERGED.mtz it compares merged intensities as well; both have the crystal of FILE.expt.  Prints
  whole        reflections that are compared: whole, off the edges, beyond 2 theta of 7.5 degrees, inside
               of which DIALS's one width in phi is too small for those of small crystals
  scale        the mean I lp/qe over F^2
  cc           of I lp/qe and F^2
  azimuth      largest relative difference from the mean I lp/F^2 in a sector of 30 degrees
  two_theta    likewise in a ring of 5 degrees, up to 42.5
  raw_azimuth  likewise in a sector without the correction, which shows that there is one to be made
  merged, merged_cc    unique reflections, likewise beyond 10 A, and CC with F^2
"""
import sys

import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory
from iotbx import mtz

import dials_truth


def whole(refl, experiment):
    """Selects reflections that are completely on the detector and in the sweep, and far from the spindle."""
    x0, x1, y0, y1, z0, z1 = np.array(refl["bbox"]).T
    fast, slow = experiment.detector[0].get_image_size()
    first, last = experiment.scan.get_array_range()
    inside = (x0 >= 0) & (x1 <= fast) & (y0 >= 0) & (y1 <= slow) & (z0 >= first) & (z1 <= last)
    return inside & (refl["partiality"].as_numpy_array() > 0.99) & (abs(refl["zeta"].as_numpy_array()) > 0.3)


def unevenness(intensity, expected, where, edges):
    """Returns the largest relative difference from the mean in a bin of at least 50 reflections."""
    mean, worst = intensity.sum() / expected.sum(), 0.0
    for low, high in zip(edges, edges[1:]):
        chosen = (where >= low) & (where < high)
        if chosen.sum() >= 50:
            worst = max(worst, abs(intensity[chosen].sum() / expected[chosen].sum() / mean - 1))
    return worst


def squares(factors, hkl):
    return np.array([factors.get(tuple(key), np.nan) for key in abs(hkl).astype(int)]) ** 2


def main():
    experiments = ExperimentListFactory.from_json_file(sys.argv[1], check_format=False)
    experiment = experiments[0]
    factors = dials_truth.structure_factors(sys.argv[3])
    match = dials_truth.Match(dials_truth.settings()[0][0], dials_truth.setting(experiment.crystal))

    refl = flex.reflection_table.from_file(sys.argv[2])
    refl = refl.select(refl.get_flags(refl.flags.integrated_sum))
    refl.compute_corrections(experiments)
    expected = squares(factors, np.array(refl["miller_index"]) @ match.indices.T)
    s1, s0 = np.array(refl["s1"]), np.array(experiment.beam.get_s0())
    two_theta = np.degrees(np.arccos(s1 @ s0 / (s0 @ s0)))
    azimuth = np.degrees(np.arctan2(s1[:, 1], s1[:, 0]))
    good = whole(refl, experiment) & (two_theta > 7.5) & np.isfinite(expected)
    raw, lp, qe, expected, two_theta, azimuth = (
        values[good]
        for values in (
            *(refl[key].as_numpy_array() for key in ("intensity.sum.value", "lp", "qe")),
            expected,
            two_theta,
            azimuth,
        )
    )
    corrected = raw * lp / qe
    sectors, rings = np.arange(-180, 181, 30), np.arange(7.5, 43, 5)
    print("whole", len(corrected))
    print("scale", corrected.sum() / expected.sum())
    print("cc", np.corrcoef(corrected, expected)[0, 1])
    print("azimuth", unevenness(corrected, expected, azimuth, sectors))
    print("two_theta", unevenness(corrected, expected, two_theta, rings))
    print("raw_azimuth", unevenness(raw, expected, azimuth, sectors))
    if len(sys.argv) > 4:
        (mean,) = [a for a in mtz.object(sys.argv[4]).as_miller_arrays() if a.info().labels[0] == "IMEAN"]
        expected = squares(factors, np.array(mean.indices()) @ match.indices.T)
        known = np.isfinite(expected) & (mean.d_spacings().data().as_numpy_array() < 10)
        print("merged", known.sum())
        print("merged_cc", np.corrcoef(np.array(mean.data())[known], expected[known])[0, 1])


main()
