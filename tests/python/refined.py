"""Compares results of bragg-refine with the ground truth and its error bars.

refined.py turned DEGREES
    Writes orientations for bragg-orient --orientations: those of truth.tsv, rotated by this angle about
    random axes.
refined.py judged FOUND,FOUND... NAME=VALUE...
    Reads FOUND.tsv, FOUND.cov and, for rotations, FOUND.expt with FOUND.truth.  Prints for all together
      frames  number of good frames
      least, most  rms of errors over error bars, of the parameters for which it is smallest and largest
      sds     by how many standard deviations the sum of e' F e exceeds that of chi-square
refined.py estimators BACKGROUND
    Makes one step from the ground truth with model_*.raw, their derivative images and random counts.
    Prints the same values after the name of each likelihood.  shifted: Poisson's, the right one; data:
    squares weighted by the counts; gauss: a Gaussian with the variance of the mean, and its ln.
"""
import csv
import glob
import json
import sys

import numpy as np

TO_DIALS = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float)  # from the simulator's lab


def truth(path="truth.tsv"):
    with open(path, newline="") as table:
        return list(csv.DictReader(table, delimiter="\t"))


def matrix(row, name):
    return np.array([[float(row[name % (i, j)]) for j in (1, 2, 3)] for i in (1, 2, 3)])


def turned(degrees):
    draw = np.random.default_rng(1)
    for row in truth():
        k = draw.normal(size=3)
        k /= np.linalg.norm(k)
        cross, angle = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]]), np.radians(float(degrees))
        turn = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        print(*("%.15g" % number for number in (turn @ matrix(row, "u%d%d")).ravel()))


def figures(errors, covariances, before=""):
    """Returns the values for errors[frames, parameters]."""
    bars = np.sqrt(np.einsum("fii->fi", covariances))
    rms = np.sqrt(((errors / bars) ** 2).mean(0))
    squares = np.einsum("fi,fij,fj", errors, np.linalg.inv(covariances), errors)
    print(before + "rms", *("%.2f" % one for one in rms))
    print(before + "least %.3f\n" % rms.min() + before + "most %.3f" % rms.max())
    print(before + "mean_square %.2f" % (squares / len(errors)))
    print(before + "sds %.2f" % ((squares - errors.size) / np.sqrt(2 * errors.size)))


def rotations(found, frames):
    """Returns the small rotations from the truth to the crystals of an experiment list, in deg about the axes of the laboratory frame.

    Axes may have other names."""
    with open(found + ".expt", encoding="ascii") as file:
        crystals = json.load(file)["crystal"]
    rows = {int(row["frame"]): row for row in truth(found + ".truth")}
    for frame, crystal in zip(frames, crystals, strict=True):
        edges = np.array([crystal["real_space_" + axis] for axis in "abc"]) @ TO_DIALS
        true = np.linalg.inv(np.array([[float(rows[frame][f"{axis}s_{k}"]) for k in "xyz"] for axis in "abc"])).T
        names = np.rint(edges @ np.linalg.inv(true))
        assert np.linalg.det(names) == 1, names
        left, _, right = np.linalg.svd(edges.T @ np.linalg.inv((names @ true).T))
        turn = left @ right
        yield np.degrees([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2


def errors_of(found, known):
    """Returns errors[frames, parameters] of one run, and their covariances."""
    with open(found + ".tsv", newline="") as table:
        rows = [row for row in csv.DictReader(table, delimiter="\t") if row["verdict"] == "good"]
    with open(found + ".cov", newline="") as table:
        lines = list(csv.DictReader(table, delimiter="\t"))
    names = [line["parameter"] for line in lines if line["frame"] == rows[0]["frame"]]
    at = [names.index(name) for name in known]
    covariances = np.array([[float(line[name]) for name in names] for line in lines]).reshape(len(rows), len(names), -1)
    errors = np.array([[float(row[name]) - value for name, value in known.items()] for row in rows])
    if "rot_x_deg" in known:
        errors[:, [list(known).index(f"rot_{axis}_deg") for axis in "xyz"]] = list(rotations(found, [int(row["frame"]) for row in rows]))
    return errors, covariances[:, at][:, :, at]


def judged(found, *known):
    known = {name: float(value) for name, value in (one.split("=") for one in known)}
    runs = [errors_of(one, known) for one in found.split(",")]
    print("frames", sum(len(errors) for errors, _ in runs))
    figures(*(np.concatenate(parts) for parts in zip(*runs)))


def step(slopes, scores, weights):
    """Returns the step of one frame that a score makes with the claimed information, and its covariance."""
    covariance = np.linalg.inv((slopes * weights) @ slopes.T)
    return covariance @ (slopes @ scores), covariance


def estimators(background):
    draw, found = np.random.default_rng(3), {}
    for path in sorted(glob.glob("model_*.raw")):
        if path.count(".") > 1:
            continue
        planes = sorted(glob.glob(path.replace(".raw", ".*.raw")))
        mean = np.fromfile(path, "<f4").astype(float) + float(background)
        slopes = np.array([np.fromfile(plane, "<f4") for plane in planes] + [np.full(mean.size, float(background))], float)
        counts = draw.poisson(mean)
        off, data = counts - mean, np.maximum(counts, 1)
        for name, scores, weights in (("shifted", off / mean, 1 / mean), ("data", off / data, 1 / data),
                                      ("gauss", off / mean + (off**2 / mean - 1) / (2 * mean), 1 / mean + 1 / (2 * mean**2))):
            found.setdefault(name, []).append(step(slopes, scores, weights))
    print("photons %.3f" % mean.mean())
    for name, steps in found.items():
        figures(np.array([one[0] for one in steps]), np.array([one[1] for one in steps]), name + "_")


if __name__ == "__main__":
    {"turned": turned, "judged": judged, "estimators": estimators}[sys.argv[1]](*sys.argv[2:])
