#!/usr/bin/python3
"""Draws what was measured beside models of it: residual.py COUNTS.rec START.rec REFINED.rec PICTURE.png

One row: a part of the first frame's counts, the model that its refinement began with, the refined model, and what
that leaves, in standard deviations.  See braggpipe-refine(7)."""
import sys

import braggpipe
import matplotlib
import numpy

matplotlib.use("Agg")
import matplotlib.pyplot  # noqa: E402

EDGE = 90  # pixels of the part that is shown


def first(source):
    """The first frame of a recording, or of a pipeline."""
    with braggpipe.open(source) as frames:
        return next(iter(frames))


def model(recipes):
    """Photons of the first recipe."""
    return first(f"bragg-replay --quiet --first=1 {recipes} | bragg-intensity --quiet").image.astype(float)


def brightest(image):
    """Where a square of EDGE pixels has most spots: slices along slow and fast."""
    spots = numpy.minimum(image, 20)
    tiles = [(spots[s:s + EDGE, f:f + EDGE].sum(), s, f) for s in range(0, image.shape[0] - EDGE, 30)
             for f in range(0, image.shape[1] - EDGE, 30)]
    _, s, f = max(tiles)
    return slice(s, s + EDGE), slice(f, f + EDGE)


def between_spots(photons, spots):
    """A curved surface through what lies between the spots of a part."""
    y, x = numpy.indices(photons.shape) / EDGE
    terms = numpy.stack([numpy.ones_like(x), x, y, x * y, x * x, y * y], axis=-1)
    empty = spots < 0.1
    return terms @ numpy.linalg.lstsq(terms[empty], photons[empty], rcond=None)[0]


counts, start, refined, picture = sys.argv[1:]
measured = first(counts)
photons = (measured.image.astype(float) - measured.experiment.keys["adc_offset"]) / measured.experiment.keys["gain"]
after = model(refined)
part = brightest(after)
photons, before, after = photons[part], model(start)[part], after[part]
background = between_spots(photons, after)
left = (photons - after - background) / numpy.sqrt(numpy.maximum(after + background, 0.1))
top = numpy.percentile(photons, 99.7)
rows = [("counts", photons), ("start", before + background), ("refined", after + background), ("left over, sigma", left)]
figure, axes = matplotlib.pyplot.subplots(1, 4, figsize=(12, 3.3), constrained_layout=True)
for axis, (title, image) in zip(axes, rows):
    sigma = image is left
    shown = axis.imshow(image, cmap="RdBu_r" if sigma else "gray_r", vmin=-5 if sigma else 0, vmax=5 if sigma else top,
                        interpolation="nearest")
    axis.set_title(title)
    axis.set_xticks([])
    axis.set_yticks([])
    figure.colorbar(shown, ax=axis, shrink=0.8)
figure.savefig(picture, dpi=80)
