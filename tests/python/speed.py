"""Compares the CPU time that Python spends on a frame with the time that numpy needs to copy the frame.

    speed.py EDGE FRAMES LEAST_READ LEAST_LOOP LEAST_TRANSFORM

A loop reads the frames in place, a second loop copies them, and a transform changes them.  EDGE is the
number of pixels along an edge.  The other arguments are ratios that must be reached: CPU time of a plain
copy over CPU time of this process for a frame.
"""
import os
import sys
import tempfile
import time

import numpy

import braggpipe

WARM, BATCH = 40, 20
edge, frames = map(int, sys.argv[1:3])
least = dict(zip(("read", "loop", "transform"), map(float, sys.argv[3:6])))
images, ready = (f"{stage} first --quiet --pixels={edge} | {stage} source --quiet --frames={frames} | {stage} make --quiet"
                 for stage in ("teststage", "bench-hop"))  # ready: they cost nothing
kept, ring = numpy.zeros((edge, edge), "f4"), [numpy.ones((edge, edge), "f4") for _ in range(8)]


class Meter:
    """CPU time of this process from the WARM-th frame on, and in turns with it that of plain copies."""

    def __init__(self):
        self.count = self.copies = self.copy_ns = self.start_ns = 0

    def tick(self):
        self.count += 1
        if self.count == WARM:
            self.start_ns = time.process_time_ns()
        elif self.count > WARM and self.count % BATCH == 0:
            begin_ns = time.thread_time_ns()
            for source in ring:
                numpy.copyto(kept, source)
            self.copy_ns += time.thread_time_ns() - begin_ns
            self.copies += len(ring)

    def ratio(self):
        frame_ns = (time.process_time_ns() - self.start_ns - self.copy_ns) / (self.count - WARM)
        copy_ns = self.copy_ns / self.copies
        return f"{copy_ns / frame_ns:.2f} ({copy_ns / 1e6:.2f} of {frame_ns / 1e6:.2f} ms)"


def read():
    return loop(ready, lambda image: image[-1, -1])


def loop(frames_from=images, use=lambda image: numpy.copyto(kept, image)):
    meter = Meter()
    for frame in braggpipe.open(frames_from):
        use(frame.image)
        meter.tick()
    assert meter.count == frames
    return meter.ratio()


STAGE = """import sys
sys.argv[1:] = {argv!r}
from speed import *
meter = Meter()
def same(image, frame):
    meter.tick()
    if meter.count == frames:
        open({said!r}, "w").write(meter.ratio())
    return image
braggpipe.transform("same", same, braggpipe.parser("").parse_args([]))
"""


def transform():
    with tempfile.TemporaryDirectory() as folder:
        said, script = f"{folder}/said", f"{folder}/stage.py"
        with open(script, "w") as out:
            out.write(STAGE.format(argv=sys.argv[1:], said=said))
        os.environ["PYTHONPATH"] = f"{os.environ['PYTHONPATH']}:{os.path.dirname(__file__)}"
        assert os.system(f"{images} | {sys.executable} {script} | teststage count --quiet {folder}") == 0
        return open(said).read()


if __name__ == "__main__":
    for name, measure in (("read", read), ("loop", loop), ("transform", transform)):
        text = measure()
        print(f"# {name}, {edge} x {edge}: {text} of numpy's copy", flush=True)
        assert float(text.split()[0]) >= least[name], f"{name}: less than {least[name]}"
