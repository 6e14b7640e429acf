#!/usr/bin/python3
"""Compares spots that DIALS found for a crystal of finite size and for a point.

Reads point.refl, crystal.refl, the images they come from and crystal.nxs.  Prints: matched (spots
of the crystal that a point has too, a fraction), moved_fast and moved_slow (mean, pixels), pixels
(of a spot, the median ratio), width (second moments that the crystal adds to the sums of images
around a spot, over those of the geometry, the median of spots), sizes (of crystal and beam, m).
"""
import h5py
import numpy as np
from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory

SIZE_M, PIXEL_M, DISTANCE_M, WINDOW = 0.3e-3, 75e-6, 0.1, 11


def spots(name):
    """Returns the centroids of spots, and the number of pixels that DIALS assigns to each."""
    refl = flex.reflection_table.from_file(name + ".refl")
    foreground = [int((box.mask.as_numpy_array() & 4 > 0).sum()) for box in refl["shoebox"]]
    return np.array(refl["xyzobs.px.value"]), np.array(foreground)


def image(name):
    """Returns the sum of all frames."""
    imageset = ExperimentListFactory.from_json_file(name + ".expt")[0].imageset
    return sum(imageset.get_raw_data(i)[0].as_numpy_array().astype(float) for i in range(len(imageset)))


def second_moments(counts, x, y):
    i, j = int(x), int(y)
    part = counts[j - WINDOW : j + WINDOW + 1, i - WINDOW : i + WINDOW + 1]
    edge = np.concatenate([part[0], part[-1], part[1:-1, 0], part[1:-1, -1]])
    part = part - edge.mean()
    v, u = np.mgrid[-WINDOW : WINDOW + 1, -WINDOW : WINDOW + 1]
    total = part.sum()
    mu, mv = (part * u).sum() / total, (part * v).sum() / total
    return np.array([(part * (u - mu) ** 2).sum(), (part * (v - mv) ** 2).sum()]) / total


def expected(x, y):
    """Returns the second moments of a cube along fast and slow, which grow with tan(2 theta) away from the beam."""
    away = (np.array([x, y]) - 512) * PIXEL_M / DISTANCE_M
    return SIZE_M**2 / 12 / PIXEL_M**2 * (1 + away**2)


def main():
    (points, small), (wide, large) = spots("point"), spots("crystal")
    images = image("point"), image("crystal")
    moved, ratio, width = [], [], []
    for at, pixels in zip(wide, large):
        apart = np.abs(points[:, :2] - at[:2]).max(axis=1) + np.abs(points[:, 2] - at[2])
        near = int(apart.argmin())
        if apart[near] > 1.5:
            continue
        moved.append(at - points[near])
        ratio.append(pixels / small[near])
        others = np.abs(points[:, :2] - points[near, :2]).max(axis=1) < 2 * WINDOW + 2
        inside = (at[:2] > 2 * WINDOW).all() and (at[:2] < 1024 - 2 * WINDOW).all()
        if inside and others.sum() == 1 and pixels > 25:
            x, y = points[near, :2]
            more = second_moments(images[1], x, y) - second_moments(images[0], x, y)
            width.append(more / expected(x, y))
    moved = np.array(moved)
    print("matched", len(moved) / len(wide))
    print("spots", len(wide), len(points), len(width))
    print("moved_fast", np.mean(moved[:, 0]))
    print("moved_slow", np.mean(moved[:, 1]))
    print("pixels", np.median(ratio))
    print("width", np.median(width))
    with h5py.File("crystal.nxs", "r") as f:
        found = [*f["/entry/braggpipe/crystal_0/size"][()]] if "/entry/braggpipe" in f else []
        found += [*f["/entry/instrument/beam/incident_beam_size"][()]]
        print("sizes", *("%g" % v for v in found))


main()
