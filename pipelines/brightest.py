#!/usr/bin/python3
"""A sink written in Python: prints the position and the value of the brightest pixel of each frame.

Each line contains the frame number, the slow and the fast index of the pixel, and its value.
Example:

bragg-geometry | bragg-orient --frames=5 --random | bragg-intensity | pipelines/brightest.py
"""
import numpy

import braggpipe


def brightest(frame):
    slow, fast = numpy.unravel_index(frame.image.argmax(), frame.image.shape)
    print(frame.number, slow, fast, frame.image[slow, fast], flush=True)


braggpipe.sink("brightest", brightest)
