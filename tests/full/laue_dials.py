"""Compares a table of reflections of a wide band with the rays that laue-dials predicts.

laue_dials.py PACKAGES TABLE: laue-dials is in PACKAGES, DIALS is Debian's.  The laboratory frame has x along the beam.
"""
import sys
import warnings

import numpy

from laue_scene import BAND_A, CELL, D_MIN_A, DISTANCE_M, MISSET, PIXEL_M, PIXELS, read_rows, rotation

warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
from laue_dials.algorithms.laue import LauePredictor  # noqa: E402


def ray_of(hkl):
    hkl = numpy.array(hkl, int)
    return tuple(hkl // numpy.gcd.reduce(abs(hkl)))


predictor = LauePredictor(numpy.array([1.0, 0, 0]), [*CELL, 90, 90, 90], rotation(MISSET), *BAND_A, D_MIN_A)
rays, wavelengths, _, indices = predictor.predict_s1()
rows = read_rows(sys.argv[2])
off, away = [], []
for ray, wavelength, hkl in zip(rays, wavelengths, indices):
    row = rows.get(tuple(int(round(i)) for i in hkl))
    if row is None:
        continue
    off.append(row["wavelength"] / wavelength - 1)
    inner = numpy.linalg.norm(hkl / CELL) > 0.2 and min(wavelength - BAND_A[0], BAND_A[1] - wavelength) > 0.06 * wavelength
    if inner and 5 < row["fast"] < PIXELS - 5 and 5 < row["slow"] < PIXELS - 5:
        at = DISTANCE_M / PIXEL_M / ray[0]  # x along the beam, y against slow, z along fast
        away.append((row["fast"] - (PIXELS / 2 + ray[2] * at), row["slow"] - (PIXELS / 2 - ray[1] * at)))
seen = {ray_of(hkl) for hkl in indices}
missing = [hkl for hkl, row in rows.items()
           if row["s"] == 0 and any(hkl) and ray_of(hkl) not in seen and
           min(row["wavelength"] - BAND_A[0], BAND_A[1] - row["wavelength"]) > 1e-3 and
           numpy.linalg.norm(numpy.array(hkl) / CELL) < 1 / (D_MIN_A + 0.01)]
off, away = numpy.array(off), numpy.array(away)
print(f"{len(seen)} rays of laue-dials, {len(off)} in the table of {len(rows)}; missing there: {len(missing)}; wavelength {abs(off).max():.1e}; "
      f"centroids {away.mean(0)} {away.std(0)} px of {len(away)}")
assert len(seen) == 9756 and len(off) > 8000 and not missing
assert abs(off).max() < 2e-6  # of hc and of float32
assert len(away) > 5000 and abs(away.mean(0)).max() < 0.02 and away.std(0).max() < 0.1
