"""Builds pipelines from keyword arguments.  The options are read from --help of the programs."""
from __future__ import annotations

import difflib
import functools
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from braggpipe._pipeline import search_path

STAGES = ["geometry", "orient", "intensity", "background", "noise"]


@functools.lru_cache(maxsize=None)
def shapes(program: str) -> dict[str, tuple[str, bool]]:
    """Returns the options of a program: for each the shape of its value, and whether it may be repeated.

    The shape is the text after the name in --help, such as "=MM" or "[=PHOTONS]"; "" for a flag.
    Common options of all programs are not returned.  A line of --help that begins with an option has
    at most 8 blanks before the option.  Lines of descriptions have more.
    """
    path = shutil.which(program, path=search_path())
    if not path:
        raise FileNotFoundError(f"{program} is not in PATH. Build or install the programs of braggpipe")
    text = subprocess.run([path, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    own, _, _ = text.partition("\n Common options:")
    return {name: (shape, "be repeated" in " ".join(rest.split()))
            for name, shape, rest in re.findall(r"^ {1,8}--([\w-]+)(\[?=\S+)?((?:.|\n(?! {1,8}--))*)", own, re.MULTILINE)}


def _options(program: str) -> dict[str, bool]:
    return {name: repeats for name, (_, repeats) in shapes(program).items()}


def _words(option: str, value: Any, repeats: bool) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (bool, numpy.bool_)):
        return [f"--{option}"] * bool(value)
    if isinstance(value, Mapping):
        value = " ".join(f"{key}={_text(one)}" for key, one in value.items())
    elif repeats and isinstance(value, Sequence) and not isinstance(value, str):
        return [word for one in value for word in _words(option, one, False)]
    return [f"--{option}={_text(value)}"]


def _text(value: Any) -> str:
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return str(value)
    return ",".join(map(str, value))


def _unknown(name: str, names: Sequence[str], where: str) -> TypeError:
    near = difflib.get_close_matches(name, names, 1)
    return TypeError(f"{where} has no option {name!r}" + (f". Did you mean {near[0]!r}?" if near else ""))


def commands(stages: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Returns one shell command for each stage that the settings require.

    Raises TypeError for an option that no stage has, and names the most similar option.
    """
    known = {stage: _options(f"bragg-{stage}") for stage in stages}
    words: dict[str, list[str]] = {stage: [] for stage in stages}
    absent = {"background"}
    for keyword, value in settings.items():
        if keyword in known:
            if value is False:
                absent.add(keyword)
                continue
            absent.discard(keyword)
            for key, one in (value if isinstance(value, Mapping) else {}).items():
                option = key.replace("_", "-")
                if option not in known[keyword]:
                    raise _unknown(key, [name.replace("-", "_") for name in known[keyword]], f"bragg-{keyword}")
                words[keyword] += _words(option, one, known[keyword][option])
            continue
        option = keyword.replace("_", "-")
        owner = next((stage for stage in stages if option in known[stage]), None)
        if not owner:
            every = [name.replace("-", "_") for names in known.values() for name in names]
            raise _unknown(keyword, [*every, *stages], "a simulation")
        words[owner] += _words(option, value, known[owner][option])
        absent.discard(owner)
    for stage in absent & {"geometry", "orient", "intensity"}:
        raise TypeError(f"{stage}=False: a simulation cannot do without bragg-{stage}")
    return [shlex.join([f"bragg-{stage}", *words[stage]]) for stage in stages if stage not in absent]
