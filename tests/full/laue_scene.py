"""The crystal, the band of wavelengths and the detector of the Laue patterns that laue.t compares with other programs."""
import numpy

CELL, MISSET, BAND_A, D_MIN_A = (40.0, 50.0, 60.0), (10.0, 20.0, 30.0), (0.7, 1.4), 1.6
DISTANCE_M, PIXEL_M, PIXELS = 0.1, 0.2e-3, 1000


def rotation(misset):
    x, y, z = numpy.radians(misset)
    about_x = numpy.array([[1, 0, 0], [0, numpy.cos(x), -numpy.sin(x)], [0, numpy.sin(x), numpy.cos(x)]])
    about_y = numpy.array([[numpy.cos(y), 0, numpy.sin(y)], [0, 1, 0], [-numpy.sin(y), 0, numpy.cos(y)]])
    about_z = numpy.array([[numpy.cos(z), -numpy.sin(z), 0], [numpy.sin(z), numpy.cos(z), 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def read_rows(path):
    """Returns the rows of a table of reflections, by h, k, l."""
    table = numpy.genfromtxt(path, names=True)
    return {tuple(int(row[name]) for name in "hkl"): row for row in table}
