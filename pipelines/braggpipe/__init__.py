"""Simulates X-ray diffraction images in Python: a loop receives one frame after the other.

    import braggpipe

    for frame in braggpipe.simulate(detector="pilatus-300k", frames=3, random=True):
        print(frame.number, frame.image.mean(), frame.truth.lattices[0].rotation)

The crystal is lysozyme unless an option names another one: model="mine.pdb", mtz="mine.mtz".

Frames from a pipeline:

    simulate   runs a pipeline; its options are keyword arguments
    open       reads a shell pipeline, a pipeline file, an endpoint, a recording or image files
    Dataset    frames by index, with splits, for training; BlockShuffle is a random order of them
    Model      one image as a function of parameters, with its gradient

Analyses of frames:

    score      compares found spots with the true reflections; its result is a Score

Stages written in Python:

    transform  changes images in the middle of a pipeline
    source     makes images from recipes, instead of bragg-intensity
    sink       receives every frame at the end of a pipeline
    parser     the command line of a stage, to which a program adds its own options

Modules that are imported by their names:

    braggpipe.torch      data sets and fits for PyTorch
    braggpipe.shards     training sets for spot finders, as safetensors
    braggpipe.resonet    training files for resonet
    braggpipe.unet       a network that finds spots, as a baseline
    braggpipe.residual   what a refined model leaves unexplained in an image

Positions in pixels count from the corner of the first pixel: pixel i covers i to i + 1.  Arrays have
the axes (slow, fast).  Panel.beam is where the direct beam meets a panel.  With the default
convention, mosflm, this is one pixel beyond the middle of the detector, as in nanoBragg.

The module needs the programs of braggpipe in PATH, and the packages pyzmq, msgpack and numpy.
"""
from __future__ import annotations

import glob as _glob
import os as _os
import re as _re
import shlex as _shlex
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from braggpipe import _live, _recording
from braggpipe._command import parser
from braggpipe._frame import Array, Crystal, Experiment, Frame, Frames, Lattice, Panel, Truth
from braggpipe._dataset import BlockShuffle, Dataset
from braggpipe._live import Error, Live, Pipeline
from braggpipe._model import Model
from braggpipe._programs import sink, source, transform
from braggpipe._score import Score, score

if _TYPE_CHECKING:
    from typing_extensions import Unpack as _Unpack

    from braggpipe._options import Options as _Options

__all__ = ["Array", "BlockShuffle", "Crystal", "Dataset", "Error", "Experiment", "Frame", "Frames", "Lattice", "Live", "Model", "Panel",
           "Pipeline", "Score", "Truth", "open", "parser", "score", "simulate", "sink", "source", "transform", "__version__"]

__version__ = "0.1.0"

del annotations  # a name of __future__, not of this module


def open(source: str | _os.PathLike[str], *, group: str | None = None, keys: str | None = None, insecure: bool = False,
         start_timeout: float = 30.0, hold: bool = True, set: dict[str, _Any] | None = None) -> Frames:
    """Opens a source of frames for a loop.

        with braggpipe.open("lysozyme", set={"orient.frames": 2}) as frames:
            images = [frame.image.copy() for frame in frames]

    `source` is one of:

    - a shell pipeline without a sink: "bragg-geometry | bragg-orient --frames=3 | bragg-intensity".
      A single command such as "bragg-replay photons.rec" is a pipeline, too.
    - a pipeline file of bragg-run, or the name of a shipped one ("lysozyme").  The loop replaces
      the sinks of the file, so no output file is written.
    - an endpoint of a pipeline that is already running: "ipc:///run/user/1000/frames" or
      "tcp://host:5555".  With a leading @, the loop binds the endpoint.
    - a recording of bragg-tap, or an NXmx file of bragg-write (needs the package h5py).
    - SMV or CBF images, also as a pattern ("lyso_*.img").  bragg-replay reads them; the frames are
      numbered from 0 and have no ground truth.

    Arguments:
        group: loops with the same group name divide the frames.  None: this loop gets all frames.
        keys: folder of the keys for tcp endpoints, see bragg-run(1).
        insecure: allow tcp endpoints without keys.
        start_timeout: how long to wait for a connection, in seconds.
        hold: only for endpoints.  True: the pipeline waits for this loop if it is a sink that the
            run requires (bragg-orient --groups), and ends if the loop ends early.  False: the loop
            is passive and may end at any time.
        set: only for pipeline files.  {"orient.frames": 5} is --set=orient.frames=5 of bragg-run.

    Returns Frames: an iterable that is also a context manager.  Frames arrive in the order in which
    they are finished.  The programs that were started for the loop are stopped when the loop is
    left, also by an exception.

    Raises:
        braggpipe.Error: a program failed, with its message, or there was no connection within
            `start_timeout`.  The loop raises this error.
        FileNotFoundError: `source` is none of the above, or a program is not in PATH.
        ValueError: the file has an unknown format, or bragg-run refuses the pipeline file.
    """
    name = _os.fspath(source)
    if "|" in name or _re.match(r"\s*bragg-[a-z]+\s", name):
        return _live.shell(name, group=group, keys=keys, insecure=insecure, start_timeout_s=start_timeout)
    if _re.match(r"@?(ipc|tcp)://", name):
        return _live.live(name, group=group, keys=keys, insecure=insecure, start_timeout_s=start_timeout, hold=hold)
    if _os.path.isfile(name) and not name.endswith((".yaml", ".yml")):
        return _open_file(name)
    if name.endswith((".yaml", ".yml")) or not _os.sep in name and "." not in name:
        words = [f"--set={key}={value}" for key, value in (set or {}).items()]
        return _live.pipeline_file(name, words, group=group, keys=keys, insecure=insecure, start_timeout_s=start_timeout)
    if images := sorted(filter(_os.path.isfile, _glob.glob(name))):
        return _play(images)
    missing = "is a folder" if _os.path.isdir(name) else "no such file"
    raise FileNotFoundError(f"{name}: {missing}; expected a file, a pattern of image files, an endpoint (ipc://, tcp://) or a shell pipeline (with |)")


def _play(images: list[str]) -> Frames:
    words = "bragg-replay " + " ".join(_shlex.quote(_os.path.join(".", image)) for image in images)
    return _live.shell(words, group=None, keys=None, insecure=False, start_timeout_s=30.0)


def _open_file(name: str) -> Frames:
    with _os.fdopen(_os.open(name, _os.O_RDONLY | _os.O_CLOEXEC), "rb") as file:
        magic = file.read(8)
    if magic == _recording.MAGIC:
        return _recording.Recording(name)
    if magic == b"\x89HDF\r\n\x1a\n":
        from braggpipe._nxmx import NXmx

        return NXmx(name)
    if magic[:7] in (b"###CBF:", b"{\nHEADE"):
        return _play([name])
    raise ValueError(f"{name}: has an unknown format; expected a recording, an NXmx file, an image (SMV, CBF) or a pipeline file (.yaml)")


def simulate(**options: _Unpack[_Options]) -> Pipeline:
    """Simulates frames with the options given as keywords.

        frames = braggpipe.simulate(detector="pilatus-300k", frames=3, random=True, water=0.1)
        for frame in frames:
            print(f"frame {frame.number} of {len(frames)}: {frame.image.max()} ADU")

    The pipeline is

        bragg-geometry | bragg-orient | bragg-intensity | bragg-background | bragg-noise

    Keywords are the options of these programs, with _ instead of -.  Values have the units of the
    options, see --help of each program: frames=100, random=True, detector="eiger-4m",
    cell=(60, 70, 80, 90, 90, 90), beam_size="50um".

    - If two programs have the same option, the first program gets the value.  A dict under the name
      of a stage sets options of that stage: noise={"seed": 3}.
    - An option that is None counts as not given.
    - noise=False omits bragg-noise and its options: pixels are then expected photons, without noise,
      and no pixel is dead or behind a beam stop.
    - bragg-background runs only if one of its options is given.  background=False omits it.
    - before_noise and after_noise add a stage of your own, see transform: a command of the shell, or a
      list of words.  before_noise=[sys.executable, "streak.py"] changes photons, after_noise changes
      detector counts.

    Editors and mypy know the names and types of the options (mypy before 1.7 needs
    --enable-incomplete-feature=Unpack).

    Returns a Pipeline: frames, as braggpipe.open returns them, with len(), for any number of loops.
    The loop raises braggpipe.Error if a program fails.
    Raises TypeError if no program has an option of that name, and FileNotFoundError if a program is
    not in PATH.
    """
    return _live.simulate(options)
