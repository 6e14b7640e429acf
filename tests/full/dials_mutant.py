"""dials_mutant.py IN.expt OUT.expt FAULT: the experiment list with one fault, which checks must see:
half-pixel   the detector lies half a pixel further along fast
phi-start    phi is that of the front of a step, where there are ten steps a frame
spindle      the spindle turns the other way
unpolarized  the beam is not polarized
crossed      its E field swings at right angles to the true direction
kahn         Kahn's factor stands for the fraction
"""
import sys

from dxtbx.model.experiment_list import ExperimentListFactory
from scitbx.matrix import col


def half_pixel(x):
    for panel in x.detector:
        fast, slow = col(panel.get_fast_axis()), panel.get_slow_axis()
        panel.set_frame(fast, slow, col(panel.get_origin()) + fast * panel.get_pixel_size()[0] / 2)


def phi_start(x):
    start, width = x.scan.get_oscillation()
    x.scan.set_oscillation((start - width / 20, width))


FAULTS = {
    "half-pixel": half_pixel,
    "phi-start": phi_start,
    "spindle": lambda x: x.goniometer.set_rotation_axis(-col(x.goniometer.get_rotation_axis())),
    "unpolarized": lambda x: x.beam.set_polarization_fraction(0.5),
    "crossed": lambda x: x.beam.set_polarization_normal((1, 0, 0)),
    "kahn": lambda x: x.beam.set_polarization_fraction(2 * x.beam.get_polarization_fraction() - 1),
}
experiments = ExperimentListFactory.from_json_file(sys.argv[1], check_format=False)
FAULTS[sys.argv[3]](experiments[0])
experiments.as_file(sys.argv[2])
