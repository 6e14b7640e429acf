"""Starts and stops pipelines of shell commands.

Each pipeline runs in its own session, so that all its processes can be stopped together.
"""
from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from typing import IO

STOP_S, KILL_S = 5.0, 3.0  # time to end by itself; time to end after SIGTERM or SIGKILL


INSTALLED = os.path.join(os.sep, "share", "braggpipe", "pipelines", "braggpipe")  # this folder, if it was installed with the programs


def search_path() -> str:
    """Returns the PATH in which programs are found.

    If this module was installed with the programs, as by `make install` or from a bundle, their
    folder comes first.
    """
    path = os.environ.get("PATH", os.defpath)
    for file in (os.path.abspath(__file__), os.path.realpath(__file__)):
        folder = os.path.dirname(file)
        programs = os.path.join(folder.removesuffix(INSTALLED), "bin")
        if folder.endswith(INSTALLED) and os.path.isfile(os.path.join(programs, "bragg-run")):
            return programs + os.pathsep + path
    return path


class Child:
    """A shell that runs a script.

    `stderr` is a file for the messages of the programs, which said() returns.  None: the programs
    write to the stderr of this process.
    """

    def __init__(self, script: str, stderr: IO[bytes] | None) -> None:
        self.messages = stderr
        # stages of bragg-run write extra messages for a terminal, which said() must not contain
        environment = {key: value for key, value in os.environ.items() if stderr is None or key != "BRAGG_TERMINAL"}
        environment["PATH"] = search_path()
        self.process = subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=stderr, start_new_session=True, env=environment)
        assert self.process.stdout
        self.stdout = self.process.stdout.fileno()

    def said(self) -> str:
        """Returns all messages of the programs so far; "" if they are not collected."""
        if not self.messages or self.messages.closed:
            return ""
        self.messages.seek(0)
        return self.messages.read().decode(errors="replace").strip()

    def stop(self) -> None:
        """Waits until all processes have ended.  Ends the others by SIGTERM, then by SIGKILL."""
        try:
            for number, seconds in ((0, STOP_S), (signal.SIGTERM, KILL_S), (signal.SIGKILL, KILL_S)):
                until_s = time.monotonic() + seconds
                os.killpg(self.process.pid, number)
                while time.monotonic() < until_s:
                    self.process.poll()
                    os.killpg(self.process.pid, 0)  # raises ProcessLookupError when no process is left
                    time.sleep(0.01)
        except ProcessLookupError:
            pass
        except BaseException:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        self.process.poll()
        assert self.process.stdout
        self.process.stdout.close()


class FilePipeline:
    """The script with which bragg-run would start a pipeline file, without the sinks.

    The loop replaces the sinks.  `endpoints` are the endpoints from which the sinks would receive, as
    values of --in: a leading @ binds the endpoint.
    Raises ValueError with the message of bragg-run if bragg-run refuses the file, or if no stage
    sends frames.
    """

    def __init__(self, path: str, options: list[str]) -> None:
        run = shutil.which("bragg-run", path=search_path())
        if not run:
            raise FileNotFoundError("bragg-run is not in PATH. Build or install the programs of braggpipe")
        asked = subprocess.run([run, "--dry-run", *options, path], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if asked.returncode:
            raise ValueError(asked.stderr.strip())
        self.folder = tempfile.mkdtemp(prefix="bragg-")
        lines, self.ends = [], []
        for line in asked.stdout.splitlines():
            if line.startswith("dir="):
                lines.append(f"dir={shlex.quote(self.folder)}")
            elif " & source=" in line:
                lines.append(re.sub(r' "?--groups=[^ ]*', "", line))  # the run waits only for the loop
            elif not line.endswith(" &") or '"--out=' in line:
                lines.append(line)
            else:
                self.ends += re.findall(r'"--in=(@?ipc://\$dir/[^"]*)"', line)
        self.script = "\n".join(lines)
        self.endpoints = sorted({end.replace("$dir", self.folder) for end in self.ends})
        if not self.endpoints:
            self.remove()
            raise ValueError(f"{path}: no stage sends frames to a sink. Add a sink, such as bragg-write; the loop replaces it")

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
