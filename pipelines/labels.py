#!/usr/bin/python3
"""Images and their labels for PyTorch: an endless or counted set, computed while a network trains.

    from labels import Labelled
    loader = torch.utils.data.DataLoader(Labelled(frames=1000, random=True, detpixels=512), batch_size=4, num_workers=2)
    for images, labels in loader:
        masks = labels > 0

A label names the reflection that gives a pixel most of its light: the number of its row in `frame.reflections`, from 1, and
0 where the crystals give less than a tenth of a photon.  It does not say whether that light can be seen in the noise.  Each
worker process of a DataLoader computes other frames: its number is added to the seed.
"""
from collections.abc import Iterator
from typing import Any

import numpy
import torch

import braggpipe


class Labelled(torch.utils.data.IterableDataset):
    """(image, labels) of each frame: float32 and int64 tensors of the image's shape, (slow, fast) for one panel.

    `photons`: reflections below this many in the frame label no pixel.  `options` are those of braggpipe.simulate.
    """

    def __init__(self, photons: float = 1.0, seed: int = 1, **options: Any) -> None:
        super().__init__()
        self.seed = seed
        self.options = {**options, "reflections": photons, "labels": True}

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        worker = torch.utils.data.get_worker_info()
        seed = self.seed + (worker.id if worker else 0)
        for frame in braggpipe.simulate(seed=seed, **self.options):
            assert frame.labels is not None  # they were asked for
            labels = frame.labels.reshape(frame.image.shape)
            yield torch.from_numpy(frame.image.astype(numpy.float32)), torch.from_numpy(labels.astype(numpy.int64))
