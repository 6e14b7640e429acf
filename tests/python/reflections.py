"""Compares the reflections of recordings with numpy.

photons.rec has stills of one step without background, more.rec the same with background.  The other
recordings must have the same reflections as more.rec.
"""
import sys

import numpy

import braggpipe


def close(a, b, relative=1e-5):
    assert numpy.allclose(a, b, rtol=relative, atol=0), (a, b)


def groups(frame):
    """Returns the pixels of each (h, k, l), brightest first, from the true lattice and the panel alone."""
    panel, lattice = frame.experiment.panels[0], frame.truth.lattices[0]
    slow, fast = (numpy.mgrid[0:panel.shape[0], 0:panel.shape[1]] + 0.5).reshape(2, -1, 1)
    exit = panel.origin_m + panel.pixel_m * (fast * panel.fast + slow * panel.slow)
    exit /= numpy.linalg.norm(exit, axis=1)[:, None]
    q = (exit - frame.experiment.beam) / frame.truth.wavelength_A
    hkl = numpy.rint(q @ numpy.linalg.inv(lattice.reciprocal_A)).astype(int)
    photons = frame.pixels.astype("f8")
    found = {}
    for at in numpy.argsort(-photons, kind="stable"):
        found.setdefault(tuple(hkl[at]), []).append(at)
    return found, photons, fast[:, 0], slow[:, 0]


def check_rows(frame, more):
    found, photons, fast, slow = groups(frame)
    rows = frame.reflections
    assert rows.dtype.names[:3] == ("fast", "slow", "photons") and len(rows) > 20
    should = {key for key, at in found.items() if photons[at].sum() > 5}
    assert {tuple(row[["h", "k", "l"]].tolist()) for row in rows} == should
    scattered = more.pixels.astype("f8") - photons
    for number, row in enumerate(rows, 1):
        at = found[tuple(row[["h", "k", "l"]].tolist())]
        sums = numpy.cumsum(photons[at])
        close(row["photons"], sums[-1])
        close(row["fast"], photons[at] @ fast[at] / sums[-1])
        close(row["slow"], photons[at] @ slow[at] / sums[-1])
        close(row["peak"], photons[at[0]])
        count = int(numpy.searchsorted(sums, 0.99 * sums[-1])) + 1
        assert abs(row["pixels"] - count) <= 1 and row["background"] == 0
        close(more.reflections[number - 1]["background"], scattered[at[:row["pixels"]]].sum(), 1e-3)
        bright = [pixel for pixel in at if photons[pixel] > 0.1001]
        assert (frame.labels.reshape(-1)[bright] == number).all()
    a, per_A = frame.truth.lattices[0].reciprocal_A, 1 / frame.truth.wavelength_A
    exits = numpy.stack([rows["h"], rows["k"], rows["l"]], 1) @ a + per_A * frame.experiment.beam
    assert numpy.allclose(rows["s"], per_A - numpy.linalg.norm(exits, axis=1), atol=1e-9)
    assert (rows["phi"] == 0).all() and (rows["F2"] > 0).all()


def read(name):
    return list(braggpipe.open(name))


frames, more = sorted(read("photons.rec"), key=lambda f: f.number), sorted(read("more.rec"), key=lambda f: f.number)
for one, other in zip(frames, more, strict=True):
    check_rows(one, other)
    assert (other.labels == one.labels).all()
for name in sys.argv[1:]:
    for one, other in zip(sorted(read(name), key=lambda f: f.number), more, strict=True):
        assert one.reflections.tobytes() == other.reflections.tobytes(), name
        assert one.labels.tobytes() == other.labels.tobytes(), name
assert all(frame.reflections is None and frame.labels is None for frame in read("x.rec"))
