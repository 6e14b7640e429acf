#!/usr/bin/python3
"""A stage written in Python that changes images: darkens the corners, as optics do.

Example:

bragg-geometry | bragg-orient | bragg-intensity | pipelines/vignette.py 0.5 | bragg-noise | bragg-write x_%d.img
"""
import numpy

import braggpipe

parser = braggpipe.parser(__doc__)
parser.add_argument("strength", nargs="?", type=float, default=0.3, help="how much darker the corners are (0.3)")
options = parser.parse_args()


def vignette(image, frame):
    slow, fast = image.shape[-2:]
    y, x = numpy.mgrid[-1:1:slow * 1j, -1:1:fast * 1j]
    return image * (1 - options.strength * (x * x + y * y) / 2)


braggpipe.transform("vignette", vignette, options)
