"""expt_readers.py A.expt B.expt: verifies that two experiment lists describe the same experiment.

Positions of panels, beam and spindle relative to each other agree within 1e-9.  With `make NAME` it
writes NAME.expt instead: a detector of tilted groups, a beam that is not along an axis, and a
goniometer of four axes.
"""
import itertools
import sys

import numpy as np
from dxtbx.model import Beam, Crystal, Detector, Experiment, MultiAxisGoniometer, Scan
from dxtbx.model.experiment_list import ExperimentList
from scitbx.array_family import flex


def make(name):
    detector = Detector()
    root = detector.hierarchy()
    root.set_frame((1, 0, 0), (0, -1, 0), (-3, 4, -100))
    quadrant = root.add_group()
    quadrant.set_local_frame((0.8, 0.6, 0), (-0.6, 0.8, 0), (5, 6, 7))
    module = quadrant.add_group()
    module.set_local_frame((0.6, 0, -0.8), (0, 1, 0), (1, 2, 3))
    for i, group in enumerate((module, quadrant, root)):
        panel = group.add_panel()
        panel.set_local_frame((1, 0, 0), (0, 1, 0), (10.0 * i, 2, 0))
        panel.set_pixel_size((0.1, 0.1))
        panel.set_image_size((64, 32))
        panel.set_trusted_range((0, 60000))
        panel.set_thickness(0.32)
        panel.set_material("Si")
        panel.set_mu(3.9)
    beam = Beam((0.01, 0.02, 1), 1.03)
    axes = flex.vec3_double([(1, 0, 0), (0, 1, 0), (0.6, 0, 0.8), (0, 0.6, 0.8)])
    goniometer = MultiAxisGoniometer(axes, flex.double([10, 20, 30, 40]), flex.std_string(list("ABCD")), 2)
    crystal = Crystal((50, 1, 2), (3, 60, 4), (5, 6, 70), "P 1")
    scan = Scan((5, 6), (5.0, 0.5))
    ExperimentList([Experiment(beam, detector, goniometer, scan, crystal)]).as_file(name + ".expt")


def vectors(path):
    """Returns all directions, of length about 1, and all other values."""
    one = ExperimentList.from_file(path, check_format=False)[0]
    directions, others = [one.beam.get_unit_s0(), one.goniometer.get_rotation_axis()], []
    for panel in one.detector:
        directions += [np.array(panel.get_origin()) / 100, panel.get_fast_axis(), panel.get_slow_axis()]
        others += [*panel.get_pixel_size(), *panel.get_image_size(), panel.get_thickness()]
    others += [one.beam.get_wavelength(), *one.scan.get_oscillation(), one.scan.get_num_images()]
    return np.array(directions, float), np.array(others, float)


def angles(v):
    """Returns what a rotation of the laboratory frame does not change: products of pairs, and of triples for the hand."""
    triples = [np.linalg.det(v[list(t)]) for t in itertools.combinations(range(len(v)), 3)]
    return np.concatenate([(v @ v.T).ravel(), triples])


if sys.argv[1] == "make":
    make(sys.argv[2])
    sys.exit()
(first, alone), (second, others) = vectors(sys.argv[1]), vectors(sys.argv[2])
assert len(first) == len(second), (len(first), len(second))
worst = abs(angles(first) - angles(second)).max()
assert worst < 1e-9, worst
assert np.allclose(alone, others, rtol=1e-9, atol=0), (alone, others)
print("largest difference", worst)
