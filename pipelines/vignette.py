#!/usr/bin/python3
"""vignette.py [STRENGTH]: a stage of one's own in the middle of a pipe.  Darkens the corners, as optics do.

bragg-geometry | bragg-orient | bragg-intensity | pipelines/vignette.py 0.5 | bragg-noise | bragg-write x_%d.img
"""
import sys

import numpy

import bragg

strength = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3


def vignette(pixels, frame, experiment):
    for panel in experiment["panels"]:
        nfast, nslow, first = panel["fast_pixels"], panel["slow_pixels"], panel["first_pixel"]
        y, x = numpy.mgrid[-1:1:nslow * 1j, -1:1:nfast * 1j]
        pixels[first:first + nfast * nslow] *= (1 - strength * (x * x + y * y) / 2).ravel().astype(pixels.dtype)
    return pixels


bragg.transform("vignette", vignette, options=strength)
