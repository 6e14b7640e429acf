"""What PyTorch is given fits the frames of the same seeds, in any number of worker processes."""
import braggpipe
import labels
import numpy
import torch

options = dict(frames=3, random=True, detpixels=200, pixel=0.4, ncells=10, fluence=1e26)
light = {seed: {f.number: f for f in braggpipe.simulate(noise=False, seed=seed, reflections=2.0, labels=True, **options)} for seed in (1, 2)}


def check(seed, number, image, label):
    """Labels name rows that shine there, pixels without a label get nearly nothing of any row."""
    frame = light[seed][number]
    assert image.dtype == torch.float32 and label.dtype == torch.int64 and image.shape == label.shape == (200, 200)
    label = label.numpy()
    assert numpy.array_equal(label, numpy.reshape(frame.labels, (200, 200)))
    assert 5 < (label > 0).sum() < label.size / 2 and label.max() <= len(frame.reflections)
    assert frame.image[label > 0].min() > 0.09 and image.numpy()[label > 0].mean() > image.numpy()[label == 0].mean() + 2
    brightest = numpy.unravel_index(frame.image.argmax(), frame.image.shape)
    row = frame.reflections[label[brightest] - 1]
    assert abs(row["slow"] - brightest[0]) < 3 and abs(row["fast"] - brightest[1]) < 3, row


for number, (image, label) in enumerate(labels.Labelled(photons=2.0, **options)):
    check(1, number, image, label)
assert number == 2
loader = torch.utils.data.DataLoader(labels.Labelled(photons=2.0, **options), num_workers=2)
seen = list(loader)
assert len(seen) == 6
for i, (image, label) in enumerate(seen):  # one from each worker in turn
    check(1 + i % 2, i // 2, image[0], label[0])
for image, label in labels.Labelled(**dict(options, frames=100000)):  # left early: all that runs ends
    break
