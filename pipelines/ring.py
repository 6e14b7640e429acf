#!/usr/bin/python3
"""A stage written in Python that makes images: a ring around the beam centre.

The radius grows by 1 pixel per frame.  The program is used instead of bragg-intensity.  Example:

pipelines/ring.py | bragg-noise | bragg-write ring_%d.img
"""
import numpy

import braggpipe


def ring(frame):
    y, x = numpy.indices(frame.experiment.shape) - 99.5
    return 100 * numpy.exp(-((numpy.hypot(x, y) - 60 - frame.number) ** 2) / 8)


braggpipe.source("ring", ring, detpixels=200, frames=5)
