"""Stages written in Python: transform, source and sink run until the stream ends.

Each of the three functions ends the process with the exit status of the stage.
"""
from __future__ import annotations

import argparse
import os
import signal
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from braggpipe._command import check_files, parser, write_stats, write_trace
from braggpipe._frame import Array, Frame
from braggpipe._stream import Stream
from braggpipe._worker import Eater, Painter, Worker

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braggpipe._options import RecipesOptions


def _run(worker: Worker, options: argparse.Namespace, stdin: int = 0) -> NoReturn:
    name = worker.stage
    try:
        check_files(options)
    except OSError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        sys.exit(1)
    end = Stream(name, options, worker, stdin).main()
    text, status = "", end.status  # the message in `end` has been printed
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
        os._exit(status)  # does not wait for a function that hangs
    sys.exit(status)


def transform(name: str, function: Callable[[Array, Frame], Any], options: argparse.Namespace | None = None) -> NoReturn:
    """Runs a stage that changes images: function(image, frame) returns the new image.

        import braggpipe

        braggpipe.transform("double", lambda image, frame: 2 * image)

    Arguments:
        name: name of the stage in messages and in the history of the frames.
        function: called for each frame.  `image` is a copy of frame.image that may be changed:
            float32 photons, or integers in detector units (ADU).  The returned image must have the
            same number of pixels, and all must be finite.  Integers other than uint16, uint32 and
            int32 become int32; floating-point numbers become float32.  It is fastest to change
            `image` in place and to return it.
        options: result of parser().parse_args().  Options that a program added to the parser are
            stored in the lineage of the frames.  None: parse the command line.

    Does not return.  An exception in the function ends the run with exit status 1.
    """
    options = options or parser().parse_args()
    _run(Worker(name, function, options), options)


def source(name: str, function: Callable[[Frame], Any], options: argparse.Namespace | None = None,
           **settings: Unpack[RecipesOptions]) -> NoReturn:
    """Runs a stage that makes images from recipes: function(frame) returns the image.

        import braggpipe
        import numpy

        def flat(frame):
            return numpy.full(frame.experiment.shape, 10.0)

        braggpipe.source("flat", flat, frames=100, detector="eiger-4m")

    The stage is used instead of bragg-intensity, after bragg-orient.  As the first program of a
    pipe, it starts bragg-geometry and bragg-orient itself.

    Arguments:
        name: name of the stage in messages and in the history of the frames.
        function: called for each frame.  It returns photons in the shape frame.experiment.shape.
            frame.truth contains the orientations and the seed that bragg-orient drew.
        options: as for transform.
        settings: options of bragg-geometry and bragg-orient, as for simulate.  They are used only
            if the stage starts these programs.

    Does not return.  An exception in the function ends the run with exit status 1.
    """
    from braggpipe._pipeline import Child
    from braggpipe._simulate import commands

    options = options or parser().parse_args()
    worker = Painter(name, function, options)
    mode = os.fstat(0).st_mode
    if options.ins or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        _run(worker, options)
    child = Child("trap : INT; " + " | ".join(commands(["geometry", "orient"], settings)), stderr=None)
    worker.interrupted = lambda: os.killpg(child.process.pid, signal.SIGINT)  # the child does not get Ctrl-C: it has its own session
    try:
        _run(worker, options, child.stdout)
    finally:
        child.stop()


def sink(name: str, function: Callable[[Frame], object], options: argparse.Namespace | None = None) -> NoReturn:
    """Runs a sink: function(frame) is called for every frame.

        import braggpipe

        braggpipe.sink("mean", lambda frame: print(frame.number, frame.image.mean(), flush=True))

    When the function returns, the frame counts as durable: the run does not send the frame again.
    Frames arrive in the order in which they are finished, not in the order of their numbers.

    Arguments:
        name: name of the stage in messages.
        function: called for each frame; its result is ignored.
        options: as for transform.

    Does not return.  An exception in the function ends the run with exit status 1.
    """
    options = options or parser().parse_args()
    _run(Eater(name, function, options), options)
