"""score: how well found spots agree with the true reflections of frames."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy

from braggpipe._frame import Array, Frame, Lattice

_RADIUS_PX = 1.5  # largest distance of a found spot from its true reflection, as in bragg-score
_PLACED_PHOTONS = 100.0  # reflections with more photons count for the mean offset
_PANEL_PX = 1e7  # more than any position on a panel


@dataclasses.dataclass(frozen=True)
class Score:
    """How well found spots agree with the ground truth: the result of braggpipe.score.

    Ratios and distances are NaN if there is nothing to compute them from.

    Attributes:
        frames: number of frames.
        true: number of true reflections.
        strong: number of strong reflections, which a spot finder should find.
        found: number of found spots.
        right: number of found spots that pair with a true reflection.
        recall: fraction of the strong reflections that were found.
        precision: fraction of the found spots that pair with a true reflection.
        distance_px_median: median distance of the pairs, in pixels.
        distance_px_mad: median absolute deviation of these distances from their median.
        offset_px: mean of found minus true position, along fast and slow, in pixels.  It is that of
            reflections above 100 photons, weighted by photons.
    """

    frames: int
    true: int
    strong: int
    found: int
    right: int
    recall: float
    precision: float
    distance_px_median: float
    distance_px_mad: float
    offset_px: tuple[float, float]


def score(frames: Frame | Iterable[Frame], spots: Any, *, strong_photons: float = 30.0, strong_sigma: float | None = None) -> Score:
    """Compares found spots with the true reflections of frames.

        def find_spots(frame):
            slow, fast = (frame.image > 100).nonzero()
            return list(zip(fast + 0.5, slow + 0.5))

        frames = braggpipe.simulate(detpixels=256, frames=4, random=True, reflections=1)
        score = braggpipe.score(frames, find_spots)
        print(score.recall, score.precision, score.distance_px_median)

    The definitions are those of bragg-score(1), which gives the same metrics for a table of peaks.
    A found spot and a reflection of a pair are at most 1.5 pixels apart.  The nearest pairs are made
    first, and each spot and each reflection is in one pair at most.

    Arguments:
        frames: one frame, or several: a list, a Dataset, or what simulate and open return.  They need
            reflections: use the option reflections=1.
        spots: a function that is called with each frame and returns its spots, or these spots; for
            several frames a sequence with the spots of each frame, in the same order.
            The spots of a frame are rows (fast, slow) or (fast, slow, panel), as a list or an array,
            or an array with columns of these names.  Positions are in pixels from the corner of the
            panel: the centre of pixel i is i + 0.5.  Panels are counted from 0, and are needed if the
            detector has several.
        strong_photons: a reflection is strong if it has more photons.
        strong_sigma: a reflection is strong if its I/sigma is above this number, instead of by its
            photons.  This is the column z of Frame.reflections: sigma is the noise of its photons, of
            the background in its pixels, and of their readout.  A reflection above 5 is visible.

    Raises ValueError if a frame has no reflections, if there is not one list of spots for each frame,
    or if a position is not a number or its panel does not exist.
    """
    total = _Total(strong_photons, strong_sigma)
    for frame, found in _pairs_of(frames, spots):
        total.add(frame, _table(frame, found))
    return total.score()


def _pairs_of(frames: Frame | Iterable[Frame], spots: Any) -> Iterator[tuple[Frame, Any]]:
    """Yields each frame with its spots."""
    each = [frames] if isinstance(frames, Frame) else frames
    tables = [spots] if isinstance(frames, Frame) and not callable(spots) else spots
    rest = None if callable(tables) else iter(tables)
    for frame in each:
        if not isinstance(frame, Frame):
            raise TypeError(f"frames contain {type(frame).__name__}; expected Frame. A Dataset must be made without item=")
        found = tables(frame) if rest is None else next(rest, None)
        if found is None:
            raise ValueError(f"frame {frame.number} has no list of spots; expected one for each frame, which may be empty")
        yield frame, found
    if rest is not None and next(rest, None) is not None:
        raise ValueError("there are more lists of spots than frames; expected one for each frame")


def _table(frame: Frame, spots: Any) -> Array:
    """Returns the spots of a frame as rows of fast, slow and panel, float64."""
    panels = len(frame.experiment.panels)
    names = getattr(getattr(spots, "dtype", None), "names", None)
    if names:
        spots = numpy.stack([spots[name] for name in ("fast", "slow", "panel") if name in names], 1)
    rows = numpy.asarray(spots, "f8")
    if not rows.size:
        return numpy.zeros((0, 3))
    if rows.ndim != 2 or rows.shape[1] not in (2, 3) or panels > 1 and rows.shape[1] == 2:
        raise ValueError(f"the spots of frame {frame.number} have the shape {rows.shape}; "
                         f"expected rows of (fast, slow{', panel' if panels > 1 else ''})")
    if rows.shape[1] == 2:
        rows = numpy.pad(rows, ((0, 0), (0, 1)))
    if not numpy.isfinite(rows).all():
        raise ValueError(f"a spot of frame {frame.number} has a position that is not a finite number")
    strange = rows[~numpy.isin(rows[:, 2], range(panels)), 2]
    if strange.size:
        raise ValueError(f"a spot of frame {frame.number} is on panel {strange[0]:g}; expected a panel from 0 to {panels - 1}")
    return rows


class _Total:
    """The sums of a score over frames."""

    def __init__(self, strong_photons: float, strong_sigma: float | None) -> None:
        self.strong_photons, self.strong_sigma = strong_photons, strong_sigma
        self.frames = self.true = self.strong = self.found = self.strong_found = 0
        self.distances: list[Array] = []
        self.offset, self.weight = numpy.zeros(2), 0.0

    def add(self, frame: Frame, found: Array) -> None:
        rows = _reflections(frame)
        spot, row = _match(rows, found)
        photons = rows["photons"]
        strong = photons > self.strong_photons if self.strong_sigma is None else \
            rows["z"] > self.strong_sigma
        self.frames += 1
        self.true += len(rows)
        self.found += len(found)
        self.strong += int(strong.sum())
        self.strong_found += int(strong[row].sum())
        away = found[spot, :2] - numpy.stack([rows["fast"], rows["slow"]], 1)[row]
        self.distances.append(numpy.hypot(*away.T))
        weights = numpy.where(photons[row] > _PLACED_PHOTONS, photons[row], 0.0)
        self.offset += weights @ away
        self.weight += weights.sum()

    def score(self) -> Score:
        distances = numpy.concatenate([numpy.zeros(0), *self.distances])
        median = float(numpy.median(distances)) if distances.size else math.nan
        mad = float(numpy.median(abs(distances - median))) if distances.size else math.nan
        offset = self.offset / self.weight if self.weight else numpy.full(2, math.nan)
        return Score(self.frames, self.true, self.strong, self.found, distances.size,
                     self.strong_found / self.strong if self.strong else math.nan,
                     distances.size / self.found if self.found else math.nan, median, mad, (float(offset[0]), float(offset[1])))


def _match(rows: Array, found: Array) -> tuple[Array, Array]:
    """Returns (spots, rows): the indices of the found spots and reflections of the pairs."""
    keys = rows["panel"] * _PANEL_PX + rows["slow"]
    order = numpy.argsort(keys, kind="stable")
    wanted = found[:, 2] * _PANEL_PX + found[:, 1]
    first, end = (numpy.searchsorted(keys[order], wanted + sign * (_RADIUS_PX + 0.1)) for sign in (-1, 1))
    spot = numpy.repeat(numpy.arange(len(found)), end - first)
    inside = numpy.arange(spot.size) - numpy.repeat(numpy.cumsum(end - first) - (end - first), end - first)
    row = order[numpy.repeat(first, end - first) + inside]
    squared = (found[spot, 0] - rows["fast"][row]) ** 2 + (found[spot, 1] - rows["slow"][row]) ** 2
    near = squared <= _RADIUS_PX ** 2
    spot, row, squared = spot[near], row[near], squared[near]
    taken: dict[int, int] = {}
    free = set(range(len(rows)))
    for at in numpy.lexsort((row, spot, squared)).tolist():
        if int(spot[at]) not in taken and int(row[at]) in free:
            taken[int(spot[at])] = int(row[at])
            free.remove(int(row[at]))
    return numpy.array(list(taken), "i8"), numpy.array(list(taken.values()), "i8")


# --- equal lattices ---------------------------------------------------------


def _are_one(one: Lattice, other: Lattice) -> bool:
    """Returns True for lattices that bragg-score counts once: the same rotation (0.01 deg) and cell (1 %)."""
    turn_deg = math.degrees(float(numpy.linalg.norm(one.rotation - other.rotation)) / math.sqrt(2))
    return turn_deg <= 0.01 and numpy.allclose(one.cell, other.cell, rtol=0.01)


def _numbers(lattices: Sequence[Lattice]) -> list[int]:
    """Returns the number of the first lattice that is equal to each lattice."""
    return [next(i for i, first in enumerate(lattices) if _are_one(first, one)) for one in lattices]


def _reflections(frame: Frame) -> Array:
    """Returns the reflections of a frame.  Those of equal lattices, such as a crystal with a dark and a pumped part, are joined."""
    rows = frame.reflections
    if rows is None:
        raise ValueError(f"frame {frame.number} has no reflections: use the option reflections=1")
    numbers = _numbers(frame.truth.lattices)
    if numbers == list(range(len(numbers))):
        return rows
    joined: dict[tuple[int, ...], Any] = {}
    for row in rows:
        index = (numbers[row["lattice"]], *(int(row[name]) for name in "hkl"))
        if index not in joined:
            joined[index] = row.copy()
            continue
        one = joined[index]
        noise = (one["photons"] / one["z"]) ** 2 + row["photons"] if one["z"] else 0.0
        one["photons"] += row["photons"]
        if one["panel"] == row["panel"]:
            for name in ("fast", "slow"):
                one[name] += row["photons"] / one["photons"] * (row[name] - one[name])
        one["z"] = one["photons"] / math.sqrt(noise) if noise else 0.0
    return numpy.array(list(joined.values()), rows.dtype)
