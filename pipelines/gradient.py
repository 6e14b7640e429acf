#!/usr/bin/python3
"""Recovers the orientation and cell of a crystal, and the detector distance, from one noisy frame.

    gradient.py            simulates a frame, starts close to the true values, fits them with
                           PyTorch, and prints start, result and ground truth
    gradient.py --check    first compares all derivatives with differences between images, using
                           torch.autograd.gradcheck

The loss of braggpipe.torch.fit is the negative Poisson log-likelihood of the counts, per photon.  Any
other differentiable function of the image can be the loss, also a neural network: its gradient is
propagated to the parameters.  Each new set of values runs the programs once, which takes 0.1 s or
more.
"""
import sys

import torch

from braggpipe.torch import Scaled, check, fit

START = dict(detpixels=96, pixel=0.8, distance=80, ncells=6, cell=(40, 50, 60, 90, 90, 90), default_F=40, fluence=1e28,
             misset=(10, 20, 30), oversample=2, precision="double")
STEPS = {"rot_x": 0.1, "rot_y": 0.1, "rot_z": 0.1, "cell_a": 0.1, "cell_b": 0.1, "cell_c": 0.1, "distance": 0.1}  # deg, A, mm
BACKGROUND = 0.5  # photons per pixel


def main():
    torch.manual_seed(1)
    model = Scaled(STEPS, **START)
    if "--check" in sys.argv[1:]:
        print("gradcheck:", "accepted" if check(model) else "refused")
    truth = torch.tensor([0.6, -0.4, 0.5, 0.7, -0.6, 0.8, -0.5], dtype=torch.float64)
    counts = torch.poisson(model(truth) + BACKGROUND)
    found = fit(model, counts, BACKGROUND)
    print(f"{int(counts.sum())} photons\n{'':10} {'start':>9} {'found':>9} {'truth':>9}")
    for name, *numbers in zip(model.names, model.start, found, model.values(truth)):
        print(f"{name:10}", *(f"{float(number):9.4f}" for number in numbers))
    far = ((found - model.values(truth)) / model.steps).abs().max()
    return 0 if far < 0.2 else 1


if __name__ == "__main__":
    sys.exit(main())
