"""Calls of the module that mypy --strict accepts.  It is never run."""
import numpy
import braggpipe
frames = braggpipe.simulate(detector="eiger-4m", frames=100, random=True, beam_size="50um", cell=(60, 70, 80, 90, 90, 90), noise={"seed": 3},
                            mosaic=numpy.float32(0.1), crystal=[{"name": "A"}, {"name": "B", "ncells": 9}], background=False, reflections=True,
                            before_noise="./streak.py", after_noise=["python3", "lines.py"])
assert isinstance(frames, braggpipe.Pipeline)
number: int = len(frames)
model = braggpipe.Model("rot", shape="gauss", steps="auto")
train = braggpipe.Dataset(100, split="train", random=True)
