"""Labels of 5 frames fit their images, and those of a recomputed photon image exactly."""
import braggpipe
import labels
import numpy

options = dict(frames=5, random=True, detpixels=200, pixel=0.4, ncells=10, fluence=1e26)
photons = {f.number: f.image.copy() for f in braggpipe.simulate(noise=False, **options)}
numbers = []
for frame, mask in labels.pairs(photons=2.0, **options):
    numbers.append(frame.number)
    assert numpy.array_equal(mask, photons[frame.number] > 2), frame
    assert 5 < mask.sum() < mask.size / 2 and mask.shape == frame.image.shape and frame.unit == "ADU"
    assert frame.image[mask == 1].mean() > frame.image[mask == 0].mean() + 2
assert sorted(numbers) == list(range(5)), numbers
dataset = labels.Labelled(**dict(options, frames=100000))
for image, mask in dataset:
    assert image.dtype == numpy.float32 and mask.dtype == numpy.int64 and image.shape == mask.shape == (200, 200)
    break
