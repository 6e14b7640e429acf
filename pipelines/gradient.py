#!/usr/bin/python3
"""A crystal's orientation, cell and distance, found again from a noisy frame by PyTorch.

    gradient.py            simulates a frame, starts a little off and prints what it finds
    gradient.py --check    first lets torch.autograd.gradcheck compare all derivatives with differences of images

The loss is the negative Poisson likelihood of the counts.  Any other function of the image does as well, a network too: its
gradient reaches the parameters.  A set of values costs one run of the programs, a tenth of a second and more.
"""
import sys
from typing import Any

import torch

import braggpipe

START: dict[str, Any] = dict(detpixels=96, pixel=0.8, distance=80, ncells=6, cell=(40, 50, 60, 90, 90, 90), default_F=40, fluence=1e28,
                             misset=(10, 20, 30), oversample=2, precision="double")
STEPS = {"rot_x": 0.1, "rot_y": 0.1, "rot_z": 0.1, "cell_a": 0.1, "cell_b": 0.1, "cell_c": 0.1, "distance": 0.1}  #: deg, A, mm
BACKGROUND = 0.5  #: photons a pixel


class Scaled:
    """The model's image by numbers of about 1: steps away from the start."""

    def __init__(self) -> None:
        model = braggpipe.Model(list(STEPS), **START)
        self.names, self.start, self.image = model.names, torch.from_numpy(model.start), model.torch()
        self.steps = torch.tensor([STEPS[name] for name in self.names], dtype=torch.float64)

    def values(self, steps: Any) -> Any:
        return self.start + self.steps * steps

    def __call__(self, steps: Any) -> Any:
        return self.image(self.values(steps))


def check(model: Scaled) -> bool:
    """Whether autograd's derivatives are those of images, which are float32, and so no steps of 1e-6 will do."""
    steps = torch.full((len(model.names),), 0.3, dtype=torch.float64, requires_grad=True)
    largest = float(model(steps).max())
    return bool(torch.autograd.gradcheck(lambda x: model(x) / largest, steps, eps=5e-3, atol=1e-5, rtol=1e-3))


def fit(model: Scaled, counts: Any) -> Any:
    """The values that make the counts most likely."""
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
