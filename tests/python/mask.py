"""mask.py: Experiment.mask of a pipeline, a recording and an NXmx file, in a folder with m.rec and m.nxs.

The files hold an image of 40 x 60 pixels: a beam stop, dead and hot pixels, and two masked rows.
"""
import pickle

import h5py
import numpy

import braggpipe

with h5py.File("m.nxs") as file:
    words = file["entry/instrument/detector/pixel_mask"][()]
assert {0, 1, 2, 16, 256} <= set(numpy.unique(words).tolist()), numpy.unique(words)
for name in "m.rec", "m.nxs":
    frames = braggpipe.open(name)
    frame = next(iter(frames))
    for experiment in frames.experiment, frame.detach().experiment, pickle.loads(pickle.dumps(frame)).experiment:
        mask = experiment.mask
        assert mask.shape == frame.image.shape == (40, 60) and mask.dtype == numpy.uint32 and not mask.flags.writeable, name
        assert numpy.array_equal(mask, words), name
    assert len(pickle.dumps(frames.experiment.words)) < 2000, name
text = repr(frames.experiment)
assert "1 of 40 x 60 pixels" in text and "lysozyme" in text and len(text) < 120, text
panels = braggpipe.simulate(detpixels=(60, 40), cut=(1, 2), ncells=3, beamstop=1, frames=1)
both = panels.experiment.mask
assert both.shape == (2, 20, 60) and (both[0, :15] == 0).all() and (both[1, 10:] == 0).all() and (both[0, -1] == 256).any(), both
whole = braggpipe.simulate(detpixels=(60, 40), ncells=3, frames=1).experiment.mask
assert whole.shape == (40, 60) and not whole.any() and not whole.flags.writeable
