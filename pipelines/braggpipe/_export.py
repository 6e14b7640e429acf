"""Parts of the modules that make training sets: command line, frames, photons of a frame, and files."""
from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy

from braggpipe import Error, _simulate, open as open_frames
from braggpipe._dataset import Dataset
from braggpipe._frame import Array, Frame

_EPILOG = """
All other options are those of bragg-geometry, bragg-orient, bragg-intensity, bragg-background and bragg-noise, as for
braggpipe.simulate.  See braggpipe-training(7).
"""


class Parser(argparse.ArgumentParser):
    """A parser of a command `python3 -m braggpipe.NAME`, whose errors are one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog.partition(' ')[0]}: {message}", file=sys.stderr)
        sys.exit(2)


def simulating(name: str, description: str | None) -> Parser:
    """Returns the parser of a command whose frames come from a source, or from options of the programs."""
    parser = Parser(prog=name, description=description, epilog=_EPILOG, usage=f"python3 -m {name} [-h] OUTPUT [OPTION...]")
    parser.add_argument("--from", dest="source", metavar="SOURCE",
                        help="take the frames of a recording, an NXmx file, a pipeline file or a shell pipeline, instead of a simulation")
    parser.add_argument("--frames", type=count, help="number of frames of the simulation")
    return parser


def count(text: str) -> int:
    """Returns the number, which is at least 1.  It is a type of argparse."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"is no number of at least 1 (got {text})")
    return int(text)


def frames_of(parser: Parser, options: argparse.Namespace, rest: Sequence[str], **needed: Any) -> Iterator[Frame]:
    """Yields the frames that a command line asks for.

    Arguments:
        rest: the options that the parser does not know.  They are those of a simulation.
        needed: options of a simulation that the command needs.  Those of the user replace them.
    """
    if options.source:
        if rest or options.frames:
            parser.error(f"--from and options of a simulation cannot be used together (got {rest[0] if rest else '--frames'})")
        with open_frames(options.source) as frames:
            yield from frames
        return
    if not options.frames:
        parser.error("the number of frames is missing. Give --frames=N, or --from=SOURCE")
    yield from Dataset(options.frames, **{**needed, **_settings(parser, rest)})


def _settings(parser: Parser, words: Sequence[str]) -> dict[str, Any]:
    """Returns the keyword arguments of a simulation for words such as --osc=0.1 and --random."""
    repeated = {name for stage in _simulate.STAGES for name, (_, repeats) in _simulate.shapes(f"bragg-{stage}").items() if repeats}
    settings: dict[str, Any] = {}
    for word in words:
        option, sign, value = word.partition("=")
        if not option.startswith("--"):
            parser.error(f"{word} is no option; expected --NAME=VALUE")
        name, one = option[2:].replace("-", "_"), value if sign else True
        if option[2:] in repeated:
            settings.setdefault(name, []).append(one)
        elif name in settings:
            parser.error(f"{option} is given more than once; give it once")
        else:
            settings[name] = one
    return settings


def option(frame: Frame, stage: str, name: str) -> str:
    """Returns the text of an option in the history of a frame, such as option(frame, "noise", "gain"); "" if it is not there."""
    for line in frame.experiment.history.splitlines():
        program, *words = line.split("\t")
        if program == f"bragg-{stage}":
            return next((word.partition("=")[2] for word in words if word.startswith(f"{name}=")), "")
    return ""


def photons(frame: Frame) -> Array:
    """Returns the image of a frame in photons, float32.

    Raises ValueError if the frame does not say what a photon is.
    """
    if frame.unit != "ADU":
        return frame.image.astype("f4")
    keys = frame.experiment.keys  # which NXmx files do not have
    gain, offset = (keys.get(key, option(frame, "noise", name)) for key, name in (("gain", "gain"), ("adc_offset", "adc-offset")))
    if option(frame, "noise", "gain-switching") not in ("", "0") or gain == "" or offset == "":
        raise ValueError(f"frame {frame.number} has no constant gain; expected counts with one gain and offset, as without --gain-switching")
    counts: Array = (frame.image.astype("f4") - numpy.float32(offset)) / numpy.float32(gain)
    return counts


@contextlib.contextmanager
def new_file(path: str) -> Iterator[str]:
    """Gives the name of a file to write, which gets the name `path` at the end.  After an exception there is no file.

    Raises FileExistsError if the file exists.
    """
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists. Choose another name, or remove the file")
    part = f"{path}.part{os.getpid()}"
    try:
        yield part
        os.rename(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def package(name: str, install: str) -> Any:
    """Returns a package that only this command needs.  Raises ImportError with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"the package {(error.name or name).partition('.')[0]} is missing. Run: {install}") from None


def run(name: str, command: Callable[[], None]) -> None:
    """Runs a command.  An error becomes one line and exit status 1."""
    try:
        command()
    except (Error, ImportError, OSError, TypeError, ValueError) as error:
        sys.exit(f"{name}: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(130)
