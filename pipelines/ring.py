#!/usr/bin/python3
"""A source of one's own: photons of a ring about the beam, in place of bragg-intensity's.

pipelines/ring.py | bragg-noise | bragg-write ring_%d.img
"""
import numpy

import braggpipe


def ring(frame):
    y, x = numpy.indices(frame.experiment.shape) - 99.5
    return 100 * numpy.exp(-((numpy.hypot(x, y) - 60 - frame.number) ** 2) / 8)


braggpipe.source("ring", ring, detpixels=200, frames=5)
