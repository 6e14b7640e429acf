#!/usr/bin/python3
"""A last stage of one's own: prints where the brightest pixel of each frame is.

bragg-geometry | bragg-orient --frames=5 --random | bragg-intensity | pipelines/brightest.py
"""
import numpy

import braggpipe


def brightest(frame):
    slow, fast = numpy.unravel_index(frame.image.argmax(), frame.image.shape)
    print(frame.number, slow, fast, frame.image[slow, fast], flush=True)


braggpipe.sink("brightest", brightest)
