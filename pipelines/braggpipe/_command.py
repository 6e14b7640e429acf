"""The command line of a stage in Python, and the files of --stats and --trace."""
from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from braggpipe._wire import Keys

Span = tuple[str, int, int, int]  # name of the phase, frame number, start and end in ns


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(2)


class _Once(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        if getattr(namespace, self.dest) != self.default:
            parser.error(f"{option_string} is given more than once; give it once")
        setattr(namespace, self.dest, values)


def _seconds(text: str) -> float:
    if not 0.1 <= float(text) <= 1e6:
        raise argparse.ArgumentTypeError(f"{text} s is out of range; expected 0.1 to 1e6 s")
    return float(text)


def parser(description: str | None = None) -> argparse.ArgumentParser:
    """Returns an argparse parser with the options that all stages have.

        parser = braggpipe.parser("Darkens the corners.")
        parser.add_argument("--strength", type=float, default=0.3)
        options = parser.parse_args([])

    A program adds its own options and passes the result of parse_args() to transform, source or
    sink.  The added options are stored in the lineage of the frames.

    Arguments:
        description: text at the start of --help; line breaks are kept.

    On a wrong command line the parser prints a message and ends the process with exit status 2.
    """
    new = _Parser(description=description, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    common = new.add_argument_group("common options")
    for name, kind, text in (("in", "ENDPOINT", "receive from here instead of the pipe; @ENDPOINT binds; may be repeated"),
                             ("out", "ENDPOINT", "send to here instead of the pipe; @ENDPOINT binds; may be repeated")):
        common.add_argument(f"--{name}", dest=f"{name}s", metavar=kind, action="append", default=[], help=text)
    for name, kind, text in (("group", "NAME", "share the frames with the processes of this group; every group gets all frames (NAME/image)"),
                             ("keys", "DIR", "folder of the keys for tcp endpoints, see bragg-run(1)"),
                             ("stats", "FILE", "append times and counts of this stage as a line of JSON; - is stderr"),
                             ("trace", "FILE", "write a trace for Perfetto")):
        common.add_argument(f"--{name}", metavar=kind, action=_Once, help=text)
    waits: list[tuple[str, float | None, str]] = [
        ("start", 30.0, "how long to wait for the other stages, in s (30)"),
        ("source", None, "how long to wait for a source that died, in s (twice its --dead-after)")]
    for name, seconds, text in waits:
        common.add_argument(f"--{name}-timeout", metavar="S", type=_seconds, default=seconds, action=_Once, help=text)
    for name, text in (("insecure", "allow tcp endpoints without keys"),
                       ("verbose", "show where the function raised an exception"), ("quiet", "print only errors")):
        common.add_argument(f"--{name}", action="store_true", help=text)
    new.set_defaults(common={action.dest for action in common._group_actions} | {"common"})
    return new


def check_file(path: str, what: str, begins: tuple[bytes, ...]) -> None:
    """Raises OSError if writing to `path` would destroy something.  Call before the work.

    Refused are folders, symbolic links to a file or to nothing, and files that do not begin with
    one of `begins`.  `what` is the kind of file, for the message.
    """
    regular = os.path.isfile(path)
    if os.path.islink(path) and (regular or not os.path.exists(path)) and not path.startswith(("/dev/", "/proc/")):
        raise OSError(f"{path}: is a symbolic link; expected the name of a file. "
                      "Remove the link, or give the name of the file itself")
    if os.path.isdir(path):
        raise OSError(f"{path}: is a folder; expected the name of a file")
    if not regular:
        return
    with open(path, "rb") as file:
        first = file.read(16)
    if first and not first.startswith(begins):
        raise OSError(f"{path}: exists already, and is not a {what}. Remove the file, or choose another name")


def check_files(options: argparse.Namespace) -> None:
    """Raises OSError if --stats or --trace would destroy something."""
    if options.stats and options.stats != "-":
        check_file(options.stats, "file of --stats", (b'{"stage":',))
    if options.trace:
        check_file(options.trace, "trace", (b'[{"name":', b"[]\n"))


def open_there(path: str, flags: int) -> int:
    """Opens `path` for writing and returns the file descriptor.

    Raises OSError if `path` is a named pipe that no process reads within one second.
    """
    until_s = time.monotonic() + 1
    while True:
        try:
            file = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | flags, 0o666)
            os.set_blocking(file, True)
            return file
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > until_s:
                raise OSError(error.errno, "no process reads from this pipe", path) from error
        time.sleep(0.01)


def replace_file(path: str, text: str) -> None:
    """Replaces the file `path` by `text`: either the complete file appears or the old file stays.

    A device or a pipe is written in place.  Raises OSError with the name of the file.
    """
    if os.path.exists(path) and not os.path.isfile(path) or path.startswith(("/dev/", "/proc/")) and os.path.islink(path):
        try:
            with open(open_there(path, os.O_TRUNC), "w") as file:
                file.write(text)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        return
    part = f"{path}.part-{os.getpid()}"
    try:
        with open(part, "x") as file:
            file.write(text)
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise OSError(error.errno, error.strerror, path) from error


def lock_lines(file: int) -> None:
    """Locks a file against other processes that append lines to it.

    Waits for at most one second, and goes on without a lock where files cannot be locked.
    """
    until_s = time.monotonic() + 1
    while time.monotonic() < until_s:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            return


def open_lines(path: str) -> tuple[int, bool]:
    """Opens and locks a file for appending a line.  Returns the file, and whether this call made it."""
    left = 3
    while True:
        made = not os.path.exists(path)
        file = open_there(path, os.O_CREAT | os.O_APPEND)
        lock_lines(file)
        if os.fstat(file).st_nlink or not left:
            return file, made
        left -= 1
        os.close(file)  # another process has removed the file


def append_line(path: str, line: bytes) -> None:
    """Appends a line to a file: the complete line or nothing.  Raises OSError on failure."""
    file, made = open_lines(path)
    written = 0
    try:
        written = os.write(file, line)
        if written < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        if os.path.isfile(path) and (not written or os.lseek(file, 0, os.SEEK_CUR) == os.fstat(file).st_size):
            os.ftruncate(file, os.fstat(file).st_size - written)
            if made and os.fstat(file).st_size == 0:
                os.unlink(path)
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        os.close(file)


def write_stats(path: str, name: str, work: Keys) -> None:
    line: Keys = {"stage": name, "pid": os.getpid(), "identity": "python"}
    line.update((key.replace("time_ns", "wall_ns").replace("_ns", "_s"), value / 1e9 if key.endswith("_ns") else value)
                for key, value in work.items())
    text = json.dumps(line, separators=(",", ":")) + "\n"
    if path == "-":
        sys.stderr.write(text)
        return
    append_line(path, text.encode())


def write_trace(path: str, name: str, spans: Sequence[Span]) -> None:
    pid = os.getpid()
    events: list[Keys] = [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}]
    events += [{"name": what, "ph": "X", "pid": pid, "tid": pid, "ts": start_ns / 1e3, "dur": (end_ns - start_ns) / 1e3,
                "args": {"frame": number}} for what, number, start_ns, end_ns in spans]
    replace_file(path, "[" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "]\n")
