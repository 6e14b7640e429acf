#!/usr/bin/python3
"""A PyTorch data set of images and pixel labels, simulated while a network is trained.

    from labels import Labelled
    loader = torch.utils.data.DataLoader(Labelled(frames=1000, random=True, detpixels=512), batch_size=4, num_workers=2)
    for images, labels in loader:
        masks = labels > 0

The label of a pixel identifies the reflection that contributes most photons to the pixel.  The
label is the row number of this reflection in `frame.reflections`, counted from 1.  It is 0 where
the crystals contribute less than 0.1 photons.  A label does not say whether the reflection is
visible above the noise.

Each worker process of a DataLoader computes different frames, because the number of the worker is
added to the seed.
"""
from collections.abc import Iterator
from typing import Any

import numpy
import torch

import braggpipe


class Labelled(torch.utils.data.IterableDataset):
    """Yields (image, labels) for each frame: a float32 and an int64 tensor of the shape of the image.

    The shape is (slow, fast) for a detector with one panel.

    Arguments:
        photons: reflections with fewer photons in the frame do not label pixels.
        seed: the first seed; worker i of a DataLoader uses seed + i.
        options: the keywords of braggpipe.simulate.
    """

    def __init__(self, photons: float = 1.0, seed: int = 1, **options: Any) -> None:
        super().__init__()
        self.seed = seed
        self.options = {**options, "reflections": photons, "labels": True}

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        worker = torch.utils.data.get_worker_info()
        seed = self.seed + (worker.id if worker else 0)
        for frame in braggpipe.simulate(seed=seed, **self.options):
            assert frame.labels is not None  # because of the option labels=True
            labels = frame.labels.reshape(frame.image.shape)
            yield torch.from_numpy(frame.image.astype(numpy.float32)), torch.from_numpy(labels.astype(numpy.int64))
