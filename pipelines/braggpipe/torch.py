"""Data sets and fits for PyTorch.  Import it as braggpipe.torch; it needs the package torch.

    Labelled            images and the reflection of each pixel, simulated while a network is trained
    image_and_labels    the same pair of one frame, for braggpipe.Dataset
    Scaled, fit, check  fit of crystal and detector parameters to counts, by gradients

braggpipe.Dataset and braggpipe.Model.torch need no import of this module.
"""
from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy
import torch
import torch.utils.data

from braggpipe._dataset import Dataset
from braggpipe._frame import Frame
from braggpipe._model import Model

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braggpipe._options import Options, SetOptions

__all__ = ["Labelled", "Scaled", "check", "fit", "image_and_labels"]


def image_and_labels(frame: Frame) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (image, labels) of a frame: float32 and int64 tensors of the shape of the image.

        dataset = braggpipe.Dataset(40, item=braggpipe.torch.image_and_labels, random=True, detpixels=64,
                                    reflections=1, labels=True)
        image, labels = dataset[3]

    The label of a pixel identifies the reflection that contributes most photons to the pixel: the row
    of this reflection in frame.reflections, counted from 1.  It is 0 where the crystals contribute
    less than 0.1 photons.  A label does not say whether the reflection is visible above the noise:
    frame.reflections["z"] does.

    Raises ValueError if the frame has no labels.
    """
    if frame.labels is None:
        raise ValueError(f"frame {frame.number} has no labels: use the options reflections=1 and labels=True")
    return torch.from_numpy(frame.image.astype(numpy.float32)), torch.from_numpy(frame.labels.astype(numpy.int64))


def _visible_labels(least_z: float, frame: Frame) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns image_and_labels of a frame, with the label 0 for reflections whose z is not above least_z."""
    image, labels = image_and_labels(frame)
    if not least_z > 0 or frame.reflections is None:
        return image, labels
    z = frame.reflections["z"]
    seen = torch.from_numpy(numpy.concatenate([[False], z > least_z]))
    return image, torch.where(seen[labels], labels, 0)


class Labelled(torch.utils.data.IterableDataset):
    """Images and pixel labels, simulated while a network is trained.

        train = braggpipe.torch.Labelled(frames=16, random=True, detpixels=64, ncells=10)
        for images, labels in torch.utils.data.DataLoader(train, batch_size=4, num_workers=2):
            masks = labels > 0

    Yields (image, labels) for each frame, see image_and_labels.  The frames are divided into one part
    for each worker process of a DataLoader, so each frame comes once.  For random access and random
    order use braggpipe.Dataset.

    Arguments:
        photons: reflections with fewer photons in the frame do not label pixels.
        visible: reflections whose z in Frame.reflections is not above this number do not label pixels;
            5 is the usual limit of what a spot finder sees.  0: all reflections label pixels.
        frames: number of frames of the whole set, before the split.
        split: "train", "validation" or "test", see braggpipe.Dataset.  None: all frames.
        options: options of braggpipe.simulate.

    Two sets share no frame if they have different splits or different seeds (option seed).
    """

    def __init__(self, photons: float = 1.0, *, visible: float = 0.0, frames: int = 1, split: str | None = None,
                 **options: Unpack[SetOptions]) -> None:
        super().__init__()
        settings: dict[str, Any] = {**options, "reflections": photons, "labels": True}
        self.dataset = Dataset(frames, split=split, item=functools.partial(_visible_labels, visible), **settings)

    def __len__(self) -> int:
        return len(self.dataset)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        worker, count = torch.utils.data.get_worker_info(), len(self.dataset)
        place, of = (worker.id, worker.num_workers) if worker else (0, 1)
        return self.dataset.loop(count * place // of, count * (place + 1) // of)


class Scaled:
    """The image of a braggpipe.Model as a function of dimensionless offsets of about 1.

        model = braggpipe.torch.Scaled({"rot_x": 0.1, "distance": 0.1}, detpixels=64, pixel=0.8, distance=80,
                                       ncells=6, oversample=2)
        image = model(torch.zeros(2, dtype=torch.float64))

    Parameter i has the value start[i] + steps[i] * offsets[i].  Optimisers work best if all their
    variables are of similar size.

    Arguments:
        steps: step of each parameter, by its name.  Names and units are those of braggpipe.Model.
        options: options of braggpipe.simulate, as for braggpipe.Model.

    Attributes:
        names: names of the parameters, in the order of the offsets.
        start: values of the parameters where all offsets are 0, float64.
        steps: steps of the parameters, float64.
    """

    def __init__(self, steps: Mapping[str, float], /, **options: Unpack[Options]) -> None:
        model = Model(list(steps), **options)
        self.names, self.start, self._image = model.names, torch.from_numpy(model.start), model.torch()
        self.steps = torch.tensor([steps[name] for name in self.names], dtype=torch.float64)

    def values(self, offsets: torch.Tensor) -> torch.Tensor:
        """Returns the values of the parameters, in their units."""
        return self.start + self.steps * offsets

    def __call__(self, offsets: torch.Tensor) -> torch.Tensor:
        """Returns the expected photons of each pixel, float64.  Autograd can differentiate it."""
        return self._image(self.values(offsets))


def check(model: Scaled, offset: float = 0.3) -> bool:
    """Returns True if the derivatives agree with differences between images.

    The test is at the point where all offsets are `offset`.  The step of the differences is 5e-3:
    images are float32, so differences over much smaller steps would be noise.
    """
    at = torch.full((len(model.names),), offset, dtype=torch.float64, requires_grad=True)
    largest = float(model(at).max())
    return bool(torch.autograd.gradcheck(lambda x: model(x) / largest, at, eps=5e-3, atol=1e-5, rtol=1e-3))


def fit(model: Scaled, counts: torch.Tensor, background: float = 0.0, max_iter: int = 40) -> torch.Tensor:
    """Returns the values of the parameters that maximise the Poisson likelihood of the counts.

    Arguments:
        model: the model.  The search starts with all offsets 0.
        counts: counted photons, a tensor of the shape of the image.
        background: photons per pixel that are added to the model.  It must be more than 0 if a
            pixel of the model is 0.
        max_iter: largest number of steps of the optimiser, L-BFGS.
    """
    offsets = torch.zeros(len(model.names), dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([offsets], max_iter=max_iter, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        mean = model(offsets) + background
        total = (mean - counts * torch.log(mean)).sum() / counts.sum()
        total.backward()
        return total

    search.step(loss)
    return model.values(offsets.detach())
