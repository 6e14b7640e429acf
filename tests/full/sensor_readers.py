#!/usr/bin/python3
"""Compares the positions of spots on a thick sensor with positions that dxtbx predicts for a rotation frame.

Usage: sensor_readers.py HEADER FILE...: dxtbx reads each FILE, HEADER is a CBF of the same frame
whose comments tell orientation, rotation and sensor.  Spots between 33 and 37 degrees count.
Prints for each: file, thickness_mm, material, mu_ratio (dxtbx's mu over the simulation's), spots, and
along the radius, in pixels, observed less predicted: plain (without parallax), dxtbx (as it
corrects), caught (the same for the photons that are caught alone).

dxtbx takes the mean depth over all photons, those that go through at depth 0:
1/mu - (t + 1/mu) exp(-mu t) for a path t through the sensor.  What is caught is less by
exp(-mu t), and its mean depth larger by as much.
"""
import functools
import sys

import dxtbx
import numpy as np

TO_DIALS = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float)
HALF = 7  # of the window about a spot, px


def header(path):
    found = {}
    for line in open(path, "rb").read(8192).split(b"\r\n"):
        words = line[2:].decode("ascii", "replace").split()
        if line.startswith(b"# ") and words:
            found[words[0]] = words[1:]
    return found


@functools.lru_cache
def crossings(reciprocal, phi, osc, wavelength):
    """s1 of all reflections that cross the Ewald sphere well within the frame, at 30 to 40 deg."""
    reciprocal = np.array(reciprocal, float).reshape(3, 3) @ TO_DIALS.T
    s0 = np.array([0, 0, -1]) / wavelength
    most = int(1 / (0.9 * wavelength) / np.linalg.norm(reciprocal, axis=1).min()) + 1
    grid = np.arange(-most, most + 1)
    hkl = np.array(np.meshgrid(grid, grid, grid)).reshape(3, -1).T
    r = hkl @ reciprocal
    theta2 = 2 * np.arcsin(np.clip(np.linalg.norm(r, axis=1) * wavelength / 2, 0, 1))
    r = r[(theta2 > np.radians(30)) & (theta2 < np.radians(40))]
    # about x: |s0 + r|^2 = |s0|^2, that is 2 s0.r + |r|^2 = 0
    across = np.hypot(r[:, 1], r[:, 2])
    cosine = (r**2).sum(1) * wavelength / 2 / across  # of the angle of (y, z) from z
    r, across, cosine = (a[np.abs(cosine) < 1] for a in (r, across, cosine))
    out = []
    for sign in (1, -1):
        turn = np.degrees(sign * np.arccos(cosine) - np.arctan2(-r[:, 1], r[:, 2]))
        turn = (turn - phi + 180) % 360 - 180 + phi
        a = np.radians(turn)
        turned = np.stack(
            [r[:, 0], r[:, 1] * np.cos(a) - r[:, 2] * np.sin(a), r[:, 1] * np.sin(a) + r[:, 2] * np.cos(a)], 1
        )
        inside = (turn > phi + 0.15 * osc) & (turn < phi + 0.85 * osc)
        near = (turn > phi - osc) & (turn < phi + 2 * osc)
        out.append((turned + s0, inside, near))
    return [np.concatenate(parts) for parts in zip(*out)]


def centroid(pixels, fast, slow):
    f, s = int(fast), int(slow)
    if not (HALF <= f < pixels.shape[1] - HALF and HALF <= s < pixels.shape[0] - HALF):
        return None
    box = pixels[s - HALF : s + HALF + 1, f - HALF : f + HALF + 1].astype(float)
    if box.min() < 0 or box.max() > 1e8 or box.sum() < 1e4:
        return None
    at = np.arange(-HALF, HALF + 1) + 0.5
    return np.array([f + (box.sum(0) @ at) / box.sum(), s + (box.sum(1) @ at) / box.sum()])


def read(path, said):
    image = dxtbx.load(path)
    panel = image.get_detector()[0]
    data = image.get_raw_data(0) if path.endswith(".nxs") else image.get_raw_data()
    pixels = (data[0] if isinstance(data, tuple) else data).as_numpy_array()
    mask = image.get_static_mask()
    if mask:
        pixels[~mask[0].as_numpy_array()] = -1  # gaps
    wavelength = image.get_beam().get_wavelength()
    phi, osc = (float(said[k][0]) for k in ("Start_angle", "Angle_increment"))
    s1, inside, near = crossings(tuple(said["BRAGG_RECIPROCAL"]), phi, osc, round(wavelength, 9))
    mu, thickness = panel.get_mu(), panel.get_thickness()
    pixel = panel.get_pixel_size()[0]
    plain = []
    for v in s1:
        try:
            plain.append(np.array(panel.get_ray_intersection(v)) / pixel)
        except RuntimeError:
            plain.append(np.array([-1e9, -1e9]))
    plain = np.array(plain)
    rows = []
    for i in np.flatnonzero(inside):
        cosine = abs(s1[i] @ np.array(panel.get_normal())) / np.linalg.norm(s1[i])
        apart = np.hypot(*(plain[near] - plain[i]).T)
        if not (33 < np.degrees(np.arccos(cosine)) < 37) or (apart < 3 * HALF).sum() > 1:
            continue
        mm = plain[i] * pixel
        corrected = np.array(panel.millimeter_to_pixel(tuple(mm)))
        seen = centroid(pixels, *corrected)
        if seen is None:
            continue
        caught = plain[i] + (corrected - plain[i]) / -np.expm1(-mu * thickness / cosine)
        out = plain[i] - np.array(panel.get_beam_centre_px(image.get_beam().get_s0()))
        out /= np.hypot(*out)
        rows.append([(seen - at) @ out for at in (plain[i], corrected, caught)])
    rows = np.array(rows).reshape(-1, 3)
    print("file", path)
    print("thickness_mm %g\nmaterial %s" % (thickness, panel.get_material()))
    print("mu_ratio %.4f\nspots %d" % (mu / float(said.get("BRAGG_SENSOR", ["", "", "nan"])[2]), len(rows)))
    for name, mean in zip(("plain", "dxtbx", "caught"), rows.mean(0)):
        print("%s %.4f" % (name, mean))
    print("spread %.3f" % rows.std(0)[2])


for name in sys.argv[2:]:
    read(name, header(sys.argv[1]))
