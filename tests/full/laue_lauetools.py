"""Compares a table of reflections of a wide band with the spots that LaueTools predicts.

laue_lauetools.py PACKAGES TABLE: LaueTools is in PACKAGES.  Its laboratory frame has x along the beam,
as ours has with mosflm, and its reciprocal vectors are U B h.
"""
import contextlib
import io
import sys
import types
import warnings

import matplotlib
import numpy

from laue_scene import BAND_A, CELL, D_MIN_A, DISTANCE_M, MISSET, PIXEL_M, PIXELS, read_rows, rotation

matplotlib.use("Agg")
import matplotlib.pyplot  # noqa: E402  before the names of wx, which it would use


def predict(packages):
    """Returns the spots of LaueTools: h, k, l; wavelength; 2 theta; chi."""
    sys.path.insert(0, packages)
    numpy.linalg.linalg = numpy.linalg  # LaueTools asks for this name, which newer versions of numpy lack
    for name in ("wx", "wx.lib", "wx.lib.platebtn"):  # of its windows
        sys.modules.setdefault(name, types.ModuleType(name))
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from LaueTools import lauecore
        crystal = {"mine": ["mine", [*CELL, 90, 90, 90], "no"]}
        points = lauecore.getLaueSpots(*BAND_A, [[numpy.diag(1 / numpy.array(CELL)), "no", rotation(MISSET), "mine"]],
                                       kf_direction="X>0", fastcompute=0, ResolutionAngstrom=D_MIN_A, verbose=0, dictmaterials=crystal)
        (spots,) = lauecore.filterLaueSpots(points, HarmonicsRemoval=0, fastcompute=0, kf_direction="X>0", detectordistance=20.0,
                                            detectordiameter=400.0)
    return {tuple(int(round(i)) for i in spot.Millers): (1 / spot.EwaldRadius, spot.Twicetheta, spot.Chi) for spot in spots}


spots = predict(sys.argv[1])
rows = read_rows(sys.argv[2])
on_detector, wavelengths, angles, chis = 0, [], [], []
for hkl, (wavelength, two_theta, chi) in spots.items():
    if hkl not in rows:
        continue
    row = rows[hkl]
    on_detector += 1
    wavelengths.append(row["wavelength"] / wavelength - 1)
    inner = numpy.linalg.norm(numpy.array(hkl) / CELL) > 0.2 and min(wavelength - BAND_A[0], BAND_A[1] - wavelength) > 0.06 * wavelength
    if inner and 5 < row["fast"] < PIXELS - 5 and 5 < row["slow"] < PIXELS - 5:
        ray = numpy.array([DISTANCE_M, -(row["slow"] - PIXELS / 2) * PIXEL_M, (row["fast"] - PIXELS / 2) * PIXEL_M])
        ray /= numpy.linalg.norm(ray)
        angles.append(numpy.degrees(numpy.arccos(ray[0])) - two_theta)
        chis.append((numpy.degrees(numpy.arctan2(ray[1], ray[2])) - chi + 180) % 360 - 180)
inside = [hkl for hkl, row in rows.items() if row["s"] == 0 and any(hkl)]
missing = [hkl for hkl in inside if hkl not in spots and min(rows[hkl]["wavelength"] - BAND_A[0], BAND_A[1] - rows[hkl]["wavelength"]) > 1e-3
           and numpy.linalg.norm(numpy.array(hkl) / CELL) < 1 / (D_MIN_A + 0.01)]
angles, chis = numpy.array(angles), numpy.array(chis)
pixel_deg = numpy.degrees(PIXEL_M / DISTANCE_M)
print(f"{len(spots)} spots of LaueTools, {on_detector} in the table of {len(rows)}; missing there: {len(missing)}; "
      f"wavelength {numpy.abs(wavelengths).max():.1e}; 2 theta {angles.mean():.1e} {angles.std():.1e}, chi {chis.mean():.1e} "
      f"{numpy.percentile(abs(chis), 68):.1e} deg (a pixel is {pixel_deg:.3f} deg)")
assert on_detector > 8000 and not missing
assert numpy.abs(wavelengths).max() < 2e-6  # of hc and of float32
assert len(angles) > 5000 and abs(angles.mean()) < 0.05 * pixel_deg and angles.std() < 0.1 * pixel_deg
assert abs(chis.mean()) < 0.05 * pixel_deg and numpy.percentile(abs(chis), 68) < 0.2 * pixel_deg
