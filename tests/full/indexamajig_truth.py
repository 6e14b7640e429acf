#!/usr/bin/python3
"""indexamajig_truth.py STREAM TRUTH: what CrystFEL's indexamajig found (stream format 2.3),
against the table of bragg-orient --truth.  Prints
  chunks     frames in the stream
  indexed    those with a crystal
  turned     degrees by which axes are off, in the worst and in the middle crystal; over 222
  offset     mean of peak minus predicted reflection, fast and slow, in pixels
  pairs      peaks with a reflection within 3 pixels
A stream that ends in the middle or has a frame that TRUTH lacks is an error."""
import re
import sys

import numpy as np

TO_CRYSTFEL = np.array([[0, 0, 1], [0, -1, 0], [1, 0, 0]])  # from the MOSFLM axes
NEAR_PIXELS = 3
PER_NM = 10  # of 1/A


def read_truth(path):
    """Reciprocal axes by frame, 1/nm, rows a*, b*, c*."""
    lines = [line.rstrip("\n").split("\t") for line in open(path)]
    rows = {int(cells[0]): dict(zip(lines[0], cells)) for cells in lines[1:]}
    return {frame: PER_NM * np.array([[float(row[f"{a}s_{x}"]) for x in "xyz"] for a in "abc"]) @ TO_CRYSTFEL.T
            for frame, row in rows.items()}


def read_table(lines, end, columns):
    """Rows of numbers up to the line `end`, of these columns."""
    next(lines)  # the heading
    rows = []
    for line in lines:
        if line == end:
            return np.array(rows).reshape(-1, len(columns))
        words = line.split()
        rows.append([float(words[c]) for c in columns])
    raise SystemExit(f"the stream ends before '{end}'")


def read_stream(path):
    """A list of frames: number, peaks, crystals of axes and reflections."""
    lines = (line.rstrip("\n") for line in open(path))
    frames, frame = [], None
    for line in lines:
        if line == "----- Begin chunk -----":
            frame = {"crystals": [], "peaks": np.empty((0, 2))}
        elif frame is None:
            continue  # the head of the stream
        elif line.startswith("Event: "):
            frame["number"] = int(re.search(r"(\d+)$", line).group(1))
        elif line == "Peaks from peak search":
            frame["peaks"] = read_table(lines, "End of peak list", (0, 1))
        elif line == "--- Begin crystal":
            frame["crystals"].append({"axes": {}})
        elif match := re.match(r"([abc])star = (\S+) (\S+) (\S+) nm\^-1$", line):
            frame["crystals"][-1]["axes"][match.group(1)] = [float(n) for n in match.groups()[1:]]
        elif line == "Reflections measured after indexing":
            frame["crystals"][-1]["spots"] = read_table(lines, "End of reflections", (7, 8))
        elif line == "----- End chunk -----":
            frames.append(frame)
            frame = None
    if frame is not None:
        raise SystemExit("the stream ends in the middle of a frame")
    return frames


def turned(found, true):
    """Largest angle between axes, degrees; two-fold axes may be turned about."""
    unit = lambda rows: rows / np.linalg.norm(rows, axis=1)[:, None]
    cosines = np.abs(np.sum(unit(found) * unit(true), axis=1))
    return np.degrees(np.arccos(np.minimum(cosines, 1))).max()


def offsets(peaks, spots):
    """Peak minus the nearest reflection, where there is one."""
    away = peaks[:, None, :] - spots[None, :, :]
    nearest = np.argmin(np.linalg.norm(away, axis=2), axis=1)
    away = away[np.arange(len(peaks)), nearest]
    return away[np.linalg.norm(away, axis=1) < NEAR_PIXELS]


truth = read_truth(sys.argv[2])
frames = read_stream(sys.argv[1])
angles, pairs = [], [np.empty((0, 2))]
for frame in frames:
    for crystal in frame["crystals"]:
        angles.append(turned(np.array([crystal["axes"][a] for a in "abc"]), truth[frame["number"]]))
        if len(frame["peaks"]) and len(crystal["spots"]):
            pairs.append(offsets(frame["peaks"], crystal["spots"]))
pairs = np.concatenate(pairs)
print("chunks", len(frames))
print("indexed", sum(1 for frame in frames if frame["crystals"]))
if angles:
    print(f"turned {max(angles):.3f} {np.median(angles):.3f}")
if len(pairs):
    print("offset {:.3f} {:.3f}".format(*pairs.mean(axis=0)))
print("pairs", len(pairs))
