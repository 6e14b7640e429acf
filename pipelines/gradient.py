#!/usr/bin/python3
"""Recovers the orientation and cell of a crystal, and the detector distance, from one noisy frame.

    gradient.py            simulates a frame, starts close to the true values, fits them with
                           PyTorch, and prints start, result and ground truth
    gradient.py --check    first compares all derivatives with differences between images, using
                           torch.autograd.gradcheck

The loss is the negative Poisson log-likelihood of the counts, per photon.  Any other
differentiable function of the image can be the loss, also a neural network: its gradient is
propagated to the parameters.  Each new set of values runs the programs once, which takes 0.1 s or
more.
"""
import sys
from typing import Any

import torch

import braggpipe

START: dict[str, Any] = dict(detpixels=96, pixel=0.8, distance=80, ncells=6, cell=(40, 50, 60, 90, 90, 90), default_F=40, fluence=1e28,
                             misset=(10, 20, 30), oversample=2, precision="double")
STEPS = {"rot_x": 0.1, "rot_y": 0.1, "rot_z": 0.1, "cell_a": 0.1, "cell_b": 0.1, "cell_c": 0.1, "distance": 0.1}  #: deg, A, mm
BACKGROUND = 0.5  #: photons per pixel


class Scaled:
    """The image of the model as a function of dimensionless offsets of about 1.

    Parameter i has the value start[i] + STEPS[i] * steps[i].
    """

    def __init__(self) -> None:
        model = braggpipe.Model(list(STEPS), **START)
        self.names, self.start, self.image = model.names, torch.from_numpy(model.start), model.torch()
        self.steps = torch.tensor([STEPS[name] for name in self.names], dtype=torch.float64)

    def values(self, steps: Any) -> Any:
        return self.start + self.steps * steps

    def __call__(self, steps: Any) -> Any:
        return self.image(self.values(steps))


def check(model: Scaled) -> bool:
    """Returns True if the derivatives agree with differences between images.

    The step is 5e-3, because images are float32: differences over steps of 1e-6 would be noise.
    """
    steps = torch.full((len(model.names),), 0.3, dtype=torch.float64, requires_grad=True)
    largest = float(model(steps).max())
    return bool(torch.autograd.gradcheck(lambda x: model(x) / largest, steps, eps=5e-3, atol=1e-5, rtol=1e-3))


def fit(model: Scaled, counts: Any) -> Any:
    """Returns the parameter values that maximise the Poisson likelihood of the counts."""
    steps = torch.zeros(len(model.names), dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([steps], max_iter=40, line_search_fn="strong_wolfe")

    def loss() -> Any:
        search.zero_grad()
        mean = model(steps) + BACKGROUND
        total = (mean - counts * torch.log(mean)).sum() / counts.sum()
        total.backward()
        return total

    search.step(loss)
    return model.values(steps.detach())


def main() -> int:
    torch.manual_seed(1)
    model = Scaled()
    if "--check" in sys.argv[1:]:
        print("gradcheck:", "accepted" if check(model) else "refused")
    truth = torch.tensor([0.6, -0.4, 0.5, 0.7, -0.6, 0.8, -0.5], dtype=torch.float64)
    counts = torch.poisson(model(truth) + BACKGROUND)
    found = fit(model, counts)
    print(f"{int(counts.sum())} photons\n{'':10} {'start':>9} {'found':>9} {'truth':>9}")
    for name, *numbers in zip(model.names, model.start, found, model.values(truth)):
        print(f"{name:10}", *(f"{float(number):9.4f}" for number in numbers))
    far = ((found - model.values(truth)) / model.steps).abs().max()
    return 0 if far < 0.2 else 1


if __name__ == "__main__":
    sys.exit(main())
