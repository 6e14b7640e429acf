"""braggpipe in Python: frames in a loop, pipelines from keyword arguments, and stages of one's own.

    import braggpipe

    for frame in braggpipe.simulate(mtz="mine.mtz", detector="eiger-4m", frames=100, random=True):
        print(frame.number, frame.image.mean(), frame.truth.lattices[0].rotation)

It needs braggpipe's programs in PATH, and the packages pyzmq, msgpack and numpy.
"""
from __future__ import annotations

import glob as _glob
import os as _os
import re as _re
import shlex as _shlex
from typing import Any as _Any

from braggpipe import _live, _recording, _simulate
from braggpipe._command import parser
from braggpipe._frame import Array, Crystal, Experiment, Frame, Frames, Lattice, Panel, Truth
from braggpipe._live import Error, Live
from braggpipe._model import Model
from braggpipe._programs import sink, source, transform

__all__ = ["Array", "Crystal", "Error", "Experiment", "Frame", "Frames", "Lattice", "Live", "Model", "Panel", "Truth", "open", "parser",
           "simulate", "sink", "source", "transform", "__version__"]

__version__ = "0.1.0"


def open(source: str | _os.PathLike[str], *, group: str | None = None, keys: str | None = None, insecure: bool = False,
         start_timeout: float = 30.0, hold: bool = True, set: dict[str, _Any] | None = None) -> Frames:
    """Frames for a loop, from

    - a shell pipeline, as "bragg-geometry | bragg-orient --frames=3 | bragg-intensity": without a last stage;
      "bragg-replay ..." alone is one, too;
    - a pipeline file of bragg-run, or the name of one that ships ("lysozyme"): the loop stands in the place of its last
      stages, no file is written; set={"orient.frames": 5} is --set;
    - an endpoint ("ipc:///run/user/1000/frames", "tcp://host:5555", "@..." binds): a pipeline that somebody else started; it waits
      for this loop if it is the last stage, or one of those, that the run asks for (bragg-orient --groups), and ends when that
      leaves early; hold=False only looks on, and may leave at any time; `keys` is the folder of the keys for tcp, `insecure` does without; `group` shares the frames
      with other loops of that name, else each gets all;
    - a recording of bragg-tap, or an NXmx file (which needs h5py);
    - images, SMV or CBF, also as a pattern ("lyso_*.img"): bragg-replay plays them, numbered from 0, without the truth.

    What runs for the loop is stopped when it is left, by whatever way.  Frames come as they are finished.
    A failure is raised as braggpipe.Error in the words of the program that failed; no connection within `start_timeout` (s) is
    one.  An example:

        with braggpipe.open("lysozyme") as frames:
            images = [frame.image.copy() for frame in frames]
    """
    name = _os.fspath(source)
    if "|" in name or _re.match(r"\s*bragg-[a-z]+\s", name):
        return _live.shell(name, group=group, keys=keys, insecure=insecure, start_timeout_s=start_timeout)
    if _re.match(r"@?(ipc|tcp)://", name):
        return _live.live([name], group, keys, insecure, start_timeout, hold=hold)
    if _os.path.isfile(name) and not name.endswith((".yaml", ".yml")):
        return _open_file(name)
    if name.endswith((".yaml", ".yml")) or not _os.sep in name and "." not in name:
        words = [f"--set={key}={value}" for key, value in (set or {}).items()]
        return _live.pipeline_file(name, words, group=group, keys=keys, insecure=insecure, start_timeout_s=start_timeout)
    if images := sorted(filter(_os.path.isfile, _glob.glob(name))):
        return _play(images)
    raise FileNotFoundError(f"{name}: is no file, no endpoint (ipc://, tcp://) and no shell pipeline (with |)")


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
    raise ValueError(f"{name}: is no recording, no NXmx file, no image (SMV, CBF) and no pipeline file (.yaml)")


def simulate(**options: _Any) -> Frames:
    """Frames of bragg-geometry | bragg-orient | bragg-intensity [| bragg-background] | bragg-noise, with these options.

    Keywords are the names of the programs' options, with _ for -: frames=100, random=True, detector="eiger-4m",
    cell=(60, 70, 80, 90, 90, 90), beam_size="50um"; see their --help.  What two programs have goes to the first; the name
    of a stage with a dict is for that one: noise={"seed": 3}.  Without noise, and so in photons: noise=False.
    There is background when one of its options is given, or background=True.

        for frame in braggpipe.simulate(detector="pilatus-300k", frames=3, random=True, water=0.1):
            ...
    """
    return _live.shell(" | ".join(_simulate.commands(_simulate.STAGES, options)), group=None, keys=None, insecure=False, start_timeout_s=30.0)
