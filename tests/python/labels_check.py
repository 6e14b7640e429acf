"""PyTorch gets each frame of one recipe once, with labels that fit it, from any number of worker processes."""
import collections

import braggpipe
import braggpipe.torch
import labels
import numpy
import torch

options = dict(random=True, detpixels=200, pixel=0.4, ncells=10, fluence=1e26)
light = {frame.number: frame.detach() for frame in braggpipe.simulate(noise=False, frames=6, reflections=2.0, labels=True, **options)}
noisy = {frame.number: frame.image.astype("f4").tobytes() for frame in braggpipe.simulate(frames=6, **options)}


def number_of(image):
    """The number of the frame with exactly these pixels."""
    (number,) = [number for number, pixels in noisy.items() if pixels == image.numpy().tobytes()]
    return number


def check(image, label):
    """Labels name rows that shine there; pixels without a label get nearly nothing of any row."""
    frame = light[number_of(image)]
    assert image.dtype == torch.float32 and label.dtype == torch.int64 and image.shape == label.shape == (200, 200)
    label = label.numpy()
    assert numpy.array_equal(label, numpy.reshape(frame.labels, (200, 200)))
    assert 5 < (label > 0).sum() < label.size / 2 and label.max() <= len(frame.reflections)
    assert frame.image[label > 0].min() > 0.09 and image.numpy()[label > 0].mean() > image.numpy()[label == 0].mean() + 2
    brightest = numpy.unravel_index(frame.image.argmax(), frame.image.shape)
    row = frame.reflections[label[brightest] - 1]
    assert abs(row["slow"] - brightest[0]) < 3 and abs(row["fast"] - brightest[1]) < 3, row
    return frame.number


def numbers(data, **how):
    """The numbers of the frames of an epoch, in the order in which the DataLoader gives them."""
    loader = torch.utils.data.DataLoader(data, **how)
    return [check(image, label) for images, batch in loader for image, label in zip(images, batch)]


labelled = labels.Labelled(photons=2.0, frames=6, **options)
assert [check(image, label) for image, label in labelled] == list(range(6)) == numbers(labelled) and len(labelled) == 6
for workers in 1, 3:
    for _ in range(2):  # a second epoch, too
        found = numbers(labelled, num_workers=workers, batch_size=2)
        assert sorted(found) == list(range(6)), (workers, found)

indexed = braggpipe.Dataset(6, item=braggpipe.torch.image_and_labels, block=3, reflections=2.0, labels=True, **options)
for workers in 0, 2:
    assert numbers(indexed, num_workers=workers, batch_size=3) == list(range(6)), workers
shuffled = numbers(indexed, sampler=braggpipe.BlockShuffle(indexed, seed=2), batch_size=3)
assert sorted(shuffled) == list(range(6)) and shuffled != list(range(6)) and {*shuffled[:3]} in ({0, 1, 2}, {3, 4, 5}), shuffled

try:
    braggpipe.torch.image_and_labels(next(iter(braggpipe.simulate(detpixels=16, ncells=3))))
except ValueError as error:
    assert "reflections=1 and labels=True" in str(error), error
else:
    raise AssertionError("no labels, and no error")
parts = collections.Counter()
for split in "train", "validation", "test":  # the parts of a set share no frame
    part = labels.Labelled(frames=100, split=split, detpixels=16, pixel=5, ncells=3, random=True)
    pixels = {image.numpy().tobytes() for image, _ in part}
    assert len(pixels) == len(part) == {"train": 80}.get(split, 10)
    parts.update(pixels)
assert set(parts.values()) == {1}
for image, label in labels.Labelled(**dict(options, frames=100000)):  # left early: all that runs ends
    break
