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
OWN = ("before_noise", "after_noise")  # keywords for commands of the user, which change the images


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


def _own(value: Any) -> list[str]:
    """Returns the commands of OWN: a text of the shell, or the words of a command.  None and "" are no command."""
    if not value:
        return []
    if callable(value):
        raise TypeError("an own stage is a program: call braggpipe.transform in a file, and give before_noise=[sys.executable, FILE]")
    return [value if isinstance(value, str) else shlex.join(map(str, value))]


def _is_given(keyword: str, value: Any, known: Mapping[str, dict[str, bool]]) -> bool:
    """Raises TypeError for an option that no stage has, and names the most similar option."""
    names = {option.replace("-", "_"): stage for stage, options in known.items() for option in options}
    if keyword not in known and keyword.replace("-", "_") not in names:
        raise _unknown(keyword, [*names, *known, *(OWN if "noise" in known else ())], "a simulation")
    for key in value if keyword in known and isinstance(value, Mapping) else ():
        if key.replace("_", "-") not in known[keyword]:
            raise _unknown(key, [name.replace("-", "_") for name in known[keyword]], f"bragg-{keyword}")
    return value is not None


def commands(stages: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Returns one shell command for each stage that the settings require, and those of OWN.

    Options that are None count as not given, and options of a stage that is False are left out.
    Raises TypeError for an option that no stage has, and names the most similar option.
    """
    known = {stage: _options(f"bragg-{stage}") for stage in stages}
    words: dict[str, list[str]] = {stage: [] for stage in stages}
    wanted = {stage for stage in stages if stage != "background"}
    own = {place: _own(settings.get(place)) for place in OWN if "noise" in known}
    for keyword, value in settings.items():
        if keyword in own or not _is_given(keyword, value, known):
            continue
        option = keyword.replace("_", "-")
        stage = keyword if keyword in known else next(stage for stage in stages if option in known[stage])
        given = (value if isinstance(value, Mapping) else {}) if keyword in known else {keyword: value}
        for key, one in given.items():
            option = key.replace("_", "-")
            words[stage] += _words(option, one, known[stage][option])
        wanted.add(stage)
    wanted -= {stage for stage in stages if settings.get(stage) is False}
    for stage in {"geometry", "orient", "intensity"} & set(stages) - wanted:
        raise TypeError(f"{stage}=False: a simulation cannot do without bragg-{stage}")
    programs = {stage: shlex.join([f"bragg-{stage}", *words[stage]]) for stage in stages if stage in wanted}
    last = [programs.pop("noise")] if "noise" in programs else []
    return [*programs.values(), *own.get("before_noise", ()), *last, *own.get("after_noise", ())]
