"""The command line of a stage in Python, and what it leaves behind when asked to."""
from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from braggpipe._wire import Keys

Span = tuple[str, int, int, int]  # what, frame, from and until in ns


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(2)


class _Once(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        if getattr(namespace, self.dest) != self.default:
            parser.error(f"{option_string} is given twice")
        setattr(namespace, self.dest, values)


def _seconds(text: str) -> float:
    if not 0.1 <= float(text) <= 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not between 0.1 and 1e6 s")
    return float(text)


def parser(description: str | None = None) -> argparse.ArgumentParser:
    """An argparse parser with the options of every stage; those of the function are added to it."""
    new = _Parser(description=description, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    common = new.add_argument_group("common options")
    for name, kind, text in (("in", "ENDPOINT", "receive from here instead of the pipe; @ENDPOINT binds; may be repeated"),
                             ("out", "ENDPOINT", "send to here instead of the pipe; @ENDPOINT binds; may be repeated")):
        common.add_argument(f"--{name}", dest=f"{name}s", metavar=kind, action="append", default=[], help=text)
    for name, kind, text in (("group", "NAME", "share frames with these processes; every group gets all (NAME/image)"),
                             ("keys", "DIR", "folder of the keys for tcp endpoints, see bragg-run(1)"),
                             ("stats", "FILE", "append what this stage cost as a line of JSON; - is stderr"),
                             ("trace", "FILE", "write a trace for Perfetto")):
        common.add_argument(f"--{name}", metavar=kind, action=_Once, help=text)
    waits: list[tuple[str, float | None, str]] = [
        ("start", 30.0, "how long to wait for the other stages (30)"),
        ("source", None, "how long to wait for a source that died (twice its --dead-after)")]
    for name, seconds, text in waits:
        common.add_argument(f"--{name}-timeout", metavar="S", type=_seconds, default=seconds, action=_Once, help=text)
    for name, text in (("insecure", "allow tcp endpoints without keys"),
                       ("verbose", "show where the function raised an exception"), ("quiet", "say only what went wrong")):
        common.add_argument(f"--{name}", action="store_true", help=text)
    new.set_defaults(common={action.dest for action in common._group_actions} | {"common"})
    return new


def write_stats(path: str, name: str, work: Keys) -> None:
    line: Keys = {"stage": name, "pid": os.getpid(), "identity": "python"}
    line.update((key.replace("time_ns", "wall_ns").replace("_ns", "_s"), value / 1e9 if key.endswith("_ns") else value)
                for key, value in work.items())
    text = json.dumps(line, separators=(",", ":")) + "\n"
    if path == "-":
        sys.stderr.write(text)
        return
    with open(path, "a") as file:
        file.write(text)


def write_trace(path: str, name: str, spans: Sequence[Span]) -> None:
    pid = os.getpid()
    events: list[Keys] = [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}]
    events += [{"name": what, "ph": "X", "pid": pid, "tid": pid, "ts": start_ns / 1e3, "dur": (end_ns - start_ns) / 1e3,
                "args": {"frame": number}} for what, number, start_ns, end_ns in spans]
    with open(path, "w") as file:
        file.write("[" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "]\n")
