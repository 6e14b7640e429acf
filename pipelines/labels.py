#!/usr/bin/python3
"""Images and their labels for PyTorch: an endless or counted set, computed while a network trains.

    from labels import Labelled
    loader = torch.utils.data.DataLoader(Labelled(frames=1000, random=True, detpixels=512), batch_size=4, num_workers=2)
    for images, masks in loader: ...

A label says where the crystal gives light: a pixel is 1 where the lattices alone, without background and noise, give more
than `photons` photons, else 0.  That is exact, and no more: it does not say which reflection a pixel belongs to, nor whether
the light can be seen in the noise.  Each worker process of a DataLoader computes other frames: its number is added to the seed.
"""
import queue
import shlex
import shutil
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import torch

import braggpipe
from braggpipe import _live, _simulate


def pairs(photons: float = 1.0, **options: Any) -> Iterator[tuple[braggpipe.Frame, numpy.ndarray]]:
    """(frame, mask): images as detected, and where the crystal alone gives more than `photons`, uint8 of the image's shape.

    `options` are those of braggpipe.simulate.  One pipeline computes both: the photons go to the mask and, through background
    and noise, to the image.
    """
    geometry, orient, intensity, *rest = _simulate.commands(_simulate.STAGES, options)
    if not rest:
        raise TypeError("labels need bragg-noise: without it images and photons are the same")
    folder = tempfile.mkdtemp(prefix="bragg-")
    endpoint = f"ipc://{folder}/photons"
    rest[0] = shlex.join([*shlex.split(rest[0]), f"--in={endpoint}"])
    script = f"{geometry} | {orient} --groups=2 | {intensity} --out=@{endpoint} & {' | '.join(rest)}; wait"
    images = _live.shell(script, group="images", keys=None, insecure=False, start_timeout_s=30.0)
    lights: queue.SimpleQueue[Any] = queue.SimpleQueue()  # no longer than the pipeline's window

    def look() -> None:
        try:
            for light in braggpipe.open(endpoint):
                lights.put((light.number, (light.image > photons).astype(numpy.uint8)))
        except braggpipe.Error as error:
            lights.put(error)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    masks: dict[int, numpy.ndarray] = {}
    try:
        for frame in images:
            while frame.number not in masks:
                came = lights.get()
                if isinstance(came, braggpipe.Error):
                    raise came
                masks[came[0]] = came[1]
            yield frame, masks.pop(frame.number)
    finally:
        images.close()
        watcher.join(10)
        shutil.rmtree(folder, ignore_errors=True)


class Labelled(torch.utils.data.IterableDataset):
    """(image, mask) of each frame: float32 and int64 tensors of the image's shape, (slow, fast) for one panel."""

    def __init__(self, photons: float = 1.0, seed: int = 1, **options: Any) -> None:
        super().__init__()
        self.photons, self.seed, self.options = photons, seed, options

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        worker = torch.utils.data.get_worker_info()
        seed = self.seed + (worker.id if worker else 0)
        for frame, mask in pairs(self.photons, seed=seed, **self.options):
            yield torch.from_numpy(frame.image.astype(numpy.float32)), torch.from_numpy(mask.astype(numpy.int64))
