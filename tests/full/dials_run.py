"""dials_run.py FACTORS MERGED.mtz...: compares intensities of dials.merge with the simulated F^2.

The crystal has its simulated setting.  Prints for each file, beyond 10 A
  merged       number of unique reflections
  merged_cc    CC of I and F^2
  merged_r     R: the sum of |I/scale - F^2| over the sum of F^2
"""
import sys

import numpy as np
from iotbx import mtz

import dials_truth

factors = dials_truth.structure_factors(sys.argv[1])
for name in sys.argv[2:]:
    (mean,) = [a for a in mtz.object(name).as_miller_arrays() if a.info().labels[0] == "IMEAN"]
    hkl, intensity = abs(np.array(mean.indices())), np.array(mean.data())
    expected = np.array([factors.get(tuple(key), np.nan) for key in hkl]) ** 2
    known = np.isfinite(expected) & (mean.d_spacings().data().as_numpy_array() < 10)
    intensity, expected = intensity[known], expected[known]
    scale = (intensity @ expected) / (expected @ expected)
    print("merged", len(expected))
    print("merged_cc", np.corrcoef(intensity, expected)[0, 1])
    print("merged_r", abs(intensity / scale - expected).sum() / expected.sum())
