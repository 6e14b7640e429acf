"""Residual of a refined model: what a model leaves unexplained in a measured image.

    python3 -m braggpipe.residual COUNTS.rec START.rec REFINED.rec PICTURE.png

draws one row of four images, each showing the same part of the first frame:

- the measured counts, converted to photons
- the model from which the refinement started
- the refined model
- the residual of the refined model, in standard deviations

The files are those of bragg-refine, see braggpipe-refine(7).  Only the picture needs matplotlib.
"""
from __future__ import annotations

import sys
from typing import Any

import numpy

from braggpipe import open as open_frames
from braggpipe._frame import Array, Frame

__all__ = ["background", "brightest", "counted_photons", "draw", "first_frame", "main", "model_image", "residual"]


def first_frame(source: str) -> Frame:
    """Returns the first frame of a recording or of a pipeline, with its own memory."""
    with open_frames(source) as frames:
        return next(iter(frames)).detach()


def model_image(recipes: str) -> Array:
    """Returns the expected photons of the first recipe of a recording, as a float64 image."""
    return first_frame(f"bragg-replay --quiet --first=1 {recipes} | bragg-intensity --quiet").image.astype("f8")


def counted_photons(frame: Frame) -> Array:
    """Returns the photons of a frame in detector units (ADU), as a float64 image."""
    keys = frame.experiment.keys
    photons: Array = (frame.image.astype("f8") - keys["adc_offset"]) / keys["gain"]
    return photons


def brightest(image: Array, edge: int = 90) -> tuple[slice, slice]:
    """Returns the (slow, fast) slices of the square of edge x edge pixels with the most spots.

    Pixels count with at most 20 photons, so that a few bright spots do not decide.
    """
    spots = numpy.minimum(image, 20)
    tiles = [(spots[s:s + edge, f:f + edge].sum(), s, f) for s in range(0, max(image.shape[0] - edge, 1), 30)
             for f in range(0, max(image.shape[1] - edge, 1), 30)]
    _, s, f = max(tiles)
    return slice(s, s + edge), slice(f, f + edge)


def background(photons: Array, model: Array) -> Array:
    """Returns the background of an image (slow, fast), fitted between the spots.

    The fit is a second-order polynomial in slow and fast, of the pixels in `photons` where `model`
    has less than 0.1 photons.  The result is the polynomial at all pixels.
    """
    y, x = numpy.indices(photons.shape) / max(photons.shape)
    terms = numpy.stack([numpy.ones_like(x), x, y, x * y, x * x, y * y], axis=-1)
    empty = model < 0.1
    fitted: Array = terms @ numpy.linalg.lstsq(terms[empty], photons[empty], rcond=None)[0]
    return fitted


def residual(photons: Array, model: Array) -> Array:
    """Returns (photons - model - background) in standard deviations of the expected photons.

    Arguments:
        photons: measured photons, an image (slow, fast).
        model: expected photons from the crystals, an image of the same shape.
    """
    level = background(photons, model)
    left: Array = (photons - model - level) / numpy.sqrt(numpy.maximum(model + level, 0.1))
    return left


def draw(counts: str, start: str, refined: str, picture: str) -> None:
    """Writes the picture of this module.  The arguments are names of files."""
    pyplot: Any = _pyplot()
    photons, before, after = counted_photons(first_frame(counts)), model_image(start), model_image(refined)
    part = brightest(after)
    photons, before, after = photons[part], before[part], after[part]
    level = background(photons, after)
    top = numpy.percentile(photons, 99.7)
    figure, axes = pyplot.subplots(1, 4, figsize=(12, 3.3), constrained_layout=True)
    images = [("counts", photons), ("start", before + level), ("refined", after + level), ("residual, sigma", residual(photons, after))]
    for axis, (title, image) in zip(axes, images):
        sigma = title == "residual, sigma"
        shown = axis.imshow(image, cmap="RdBu_r" if sigma else "gray_r", vmin=-5 if sigma else 0, vmax=5 if sigma else top,
                            interpolation="nearest")
        axis.set_title(title)
        axis.set_xticks([])
        axis.set_yticks([])
        figure.colorbar(shown, ax=axis, shrink=0.8)
    figure.savefig(picture, dpi=80)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def main() -> None:
    """Runs the command of this module."""
    if len(sys.argv) != 5:
        sys.exit("usage: residual.py COUNTS.rec START.rec REFINED.rec PICTURE.png")
    draw(*sys.argv[1:])


if __name__ == "__main__":
    main()
