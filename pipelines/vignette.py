#!/usr/bin/python3
"""A stage of one's own in the middle of a pipe: darkens the corners, as optics do.

bragg-geometry | bragg-orient | bragg-intensity | pipelines/vignette.py 0.5 | bragg-noise | bragg-write x_%d.img
"""
import numpy

import bragg

parser = bragg.parser(__doc__)
parser.add_argument("strength", nargs="?", type=float, default=0.3, help="how much darker the corners are (0.3)")
options = parser.parse_args()


def vignette(pixels, frame, experiment):
    for panel in experiment["panels"]:
        nfast, nslow, first = panel["fast_pixels"], panel["slow_pixels"], panel["first_pixel"]
        y, x = numpy.mgrid[-1:1:nslow * 1j, -1:1:nfast * 1j]
        panel = pixels[first:first + nfast * nslow]
        panel[:] = panel * (1 - options.strength * (x * x + y * y) / 2).ravel()
    return pixels


bragg.transform("vignette", vignette, options)
