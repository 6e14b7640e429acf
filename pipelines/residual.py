#!/usr/bin/python3
"""Draws a measured image next to its models before and after refinement.

    residual.py COUNTS.rec START.rec REFINED.rec PICTURE.png

The picture is one row of four images, each showing the same part of the first frame:
- the measured counts, converted to photons
- the model from which the refinement started
- the refined model
- the residual of the refined model, in standard deviations

See braggpipe-refine(7).
"""
import sys

import braggpipe
import matplotlib
import numpy

matplotlib.use("Agg")
import matplotlib.pyplot  # noqa: E402

EDGE = 90  # edge of the part that is shown, in pixels


def first(source):
    """Returns the first frame of a recording or of a pipeline."""
    with braggpipe.open(source) as frames:
        return next(iter(frames))


def model(recipes):
    """Returns the expected photons of the first recipe of a recording, as a float array."""
    return first(f"bragg-replay --quiet --first=1 {recipes} | bragg-intensity --quiet").image.astype(float)


def brightest(image):
    """Finds the square of EDGE x EDGE pixels with the most spots: returns its (slow, fast) slices.

    Pixels count with at most 20 photons, so that a few bright spots do not decide.
    """
    spots = numpy.minimum(image, 20)
    tiles = [(spots[s:s + EDGE, f:f + EDGE].sum(), s, f) for s in range(0, image.shape[0] - EDGE, 30)
             for f in range(0, image.shape[1] - EDGE, 30)]
    _, s, f = max(tiles)
    return slice(s, s + EDGE), slice(f, f + EDGE)


def between_spots(photons, spots):
    """Fits the background of a part of the image.

    The fit is a second-order polynomial in slow and fast, of the pixels in `photons` where the
    model `spots` has less than 0.1 photons.  Returns the polynomial at all pixels.
    """
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
