"""Programs that are stages: each of these runs until the stream ends, and ends the process."""
from __future__ import annotations

import argparse
import os
import signal
import stat
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from braggpipe._command import check_files, parser, write_stats, write_trace
from braggpipe._frame import Array, Frame
from braggpipe._stream import Stream
from braggpipe._worker import Eater, Painter, Worker


def _run(worker: Worker, options: argparse.Namespace, stdin: int = 0) -> NoReturn:
    name = worker.stage
    try:
        check_files(options)
    except OSError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        sys.exit(1)
    end = Stream(name, options, worker, stdin).main()
    text, status = "", end.status  # what is in `end` has been said
    try:
        if options.stats:
            write_stats(options.stats, name, worker.work(0, 0))
        if options.trace:
            write_trace(options.trace, name, worker.spans or [])
    except OSError as error:
        text, status = f"{error.filename}: {error.strerror}", status or 1
    if text and not end.text:
        print(f"{name}: {text}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    if worker.at_work:
        os._exit(status)  # nobody waits for a function that stands still
    sys.exit(status)


def transform(name: str, function: Callable[[Array, Frame], Any], options: argparse.Namespace | None = None) -> NoReturn:
    """A stage in the middle: function(image, frame) gives the image that goes on.

    `image` is a copy of frame.image that may be changed: float32 photons, or whole numbers in detector units.  To change
    it in place and give it back is fastest.  What is given has as many pixels, all finite; whole numbers that are no uint16, uint32 or int32 become int32, others float32.
    What the function raises ends the run.

    `options` are what parser().parse_args() gave; those that were added to the parser enter the lineage of the frames.
    """
    options = options or parser().parse_args()
    _run(Worker(name, function, options), options)


def source(name: str, function: Callable[[Frame], Any], options: argparse.Namespace | None = None, **settings: Any) -> NoReturn:
    """A stage that makes images: function(frame) gives photons of shape frame.experiment.shape.

    It stands where bragg-intensity does, behind bragg-orient, which numbers the frames.  At the start of a pipe it starts
    bragg-geometry and bragg-orient itself, with the options that are given here by their names, as in
    source("ring", function, frames=100, detector="eiger-4m").  frame.truth says what orientations and seed were drawn.
    """
    from braggpipe._pipeline import Child
    from braggpipe._simulate import commands

    options = options or parser().parse_args()
    worker = Painter(name, function, options)
    mode = os.fstat(0).st_mode
    if options.ins or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        _run(worker, options)
    child = Child("trap : INT; " + " | ".join(commands(["geometry", "orient"], settings)), stderr=None)
    worker.interrupted = lambda: os.killpg(child.process.pid, signal.SIGINT)  # it is in a session of its own
    try:
        _run(worker, options, child.stdout)
    finally:
        child.stop()


def sink(name: str, function: Callable[[Frame], object], options: argparse.Namespace | None = None) -> NoReturn:
    """A last stage: function(frame) is called for every frame, once it returns the frame counts as kept for good.

    Frames come as they are finished, not in the order of their numbers.  What the function raises ends the run.
    """
    options = options or parser().parse_args()
    _run(Eater(name, function, options), options)
