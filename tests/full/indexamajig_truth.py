#!/usr/bin/python3
"""indexamajig_truth.py STREAM TRUTH: compares results of CrystFEL's indexamajig with the ground truth.

TRUTH is the table of bragg-orient --truth.  --copy-header=frame_id identifies the frames.  Prints
  chunks    number of frames in the stream, and of frames whose hit flag is right
  lattices  in these frames: true lattices, found lattices, and found ones that are off by more than a
            degree
  turned    degrees between a found lattice and the nearest true one, modulo 222: median, 90 %, maximum
  cell      mean a, b, c of the found lattices, angstrom
  offset    peak minus true position, with the geometry that indexamajig had, along fast and slow:
            mean and its error, pixels
It is an error if the stream is truncated, or has a frame twice or a frame that is not in TRUTH.
"""
import sys

import numpy as np

from crystfel_stream import Panel, Stream

TO_CRYSTFEL = np.array([[0, 0, 1], [0, -1, 0], [1, 0, 0]])  # from the MOSFLM axes
GROUP_222 = [np.diag(d) for d in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))]
NEAR_PIXELS = 3
WRONG_DEG = 1
PER_NM = 10  # of 1/A
EV_NM = 1239.841984


def read_truth(path):
    """Returns by frame the reciprocal axes of all lattices, 1/nm, rows a*, b*, c*."""
    lines = [line.rstrip("\n").split("\t") for line in open(path)]
    truth = {}
    for cells in lines[1:]:
        row = dict(zip(lines[0], cells))
        lattices = truth.setdefault(int(row["frame"]), [])
        if row["lattices"] != "0":
            axes = np.array([[float(row[f"{a}s_{x}"]) for x in "xyz"] for a in "abc"])
            lattices.append(PER_NM * axes @ TO_CRYSTFEL.T)
    return truth


def turn(found, true):
    """Degrees from one lattice to the other, the rotation next to the strain between them; one of
    the other hand is none of the same."""
    if np.linalg.det(found) * np.linalg.det(true) <= 0:
        return 180
    def angle(of):
        u, _, v = np.linalg.svd(np.linalg.inv(true) @ of @ found)
        rotation = u @ v
        sine = np.linalg.norm(rotation - rotation.T) / np.sqrt(8)
        return np.degrees(np.arctan2(sine, (np.trace(rotation) - 1) / 2))
    return min(angle(of) for of in GROUP_222)


def offsets(frame, geometry, lattices):
    """Returns peak minus nearest position of a reflection of any lattice, for peaks that have a near one."""
    top, settings = geometry
    panels = {name: Panel(top, s, frame["detector_distance"]) for name, s in settings.items()}
    wave = frame["beam_energy"] / EV_NM
    beam = np.array([0, 0, wave])
    for *at, name in frame["peaks"]:
        panel, best = panels[name], None
        at = np.array(at) - panel.first
        ray = panel.plane @ [*at, 1]
        q = ray / np.linalg.norm(ray) * wave - beam
        for axes in lattices:
            hkl = np.rint(np.linalg.solve(axes.T, q))
            place = np.linalg.solve(panel.plane, hkl @ axes + beam)
            away = at - place[:2] / place[2]
            if best is None or np.linalg.norm(away) < np.linalg.norm(best):
                best = away
        if best is not None and np.linalg.norm(best) < NEAR_PIXELS:
            yield best


truth, stream = read_truth(sys.argv[2]), Stream(sys.argv[1])
numbers = [frame["number"] for frame in stream.frames]
if len(set(numbers)) < len(numbers) or not set(numbers) <= set(truth):
    raise SystemExit("a frame comes twice, or is none of those in the table")
turns, cells, away, right = [], [], [], 0
for frame in stream.frames:
    lattices = truth[frame["number"]]
    right += frame["hit"] == bool(lattices)
    for crystal in frame["crystals"]:
        turns.append(min((turn(crystal["axes"], axes) for axes in lattices), default=180))
        cells.append(crystal["cell"])
    away += offsets(frame, stream.geometry, lattices)
turns = np.array(turns)
print("chunks", len(numbers), right)
print("lattices", sum(len(truth[n]) for n in numbers), len(turns), (turns > WRONG_DEG).sum())
if len(turns):
    figures = np.median(turns), np.percentile(turns, 90), turns.max()
    print("turned {:.4f} {:.4f} {:.4f}".format(*figures))
    print("cell {:.3f} {:.3f} {:.3f}".format(*(PER_NM * np.mean(cells, axis=0))))
if len(away) > 1:
    error = np.std(away, axis=0, ddof=1).mean() / np.sqrt(len(away))
    print("offset {:.4f} {:.4f} {:.4f}".format(*np.mean(away, axis=0), error))
