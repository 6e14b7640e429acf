"""Frames of a running pipeline.  The loop is its sink; a thread exchanges the messages."""
from __future__ import annotations

import argparse
import os
import queue
import sys
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from braggpipe._frame import Experiment, Frame, Frames, Loop, experiment_of, frame_of
from braggpipe._link import Held
from braggpipe._pipeline import Child, FilePipeline
from braggpipe._stream import Anew, Stream
from braggpipe._wire import IMAGES, NOTHING, End, Message


class Error(RuntimeError):
    """A pipeline failed.  The text is the message of the program that failed."""


class _Taker:
    """Passes frames from the thread of the stream to the loop, and finished frames back.

    The class has the interface of Worker in _worker.py.
    """

    wants, gives, identity, is_program = IMAGES, NOTHING, "any", False
    hold = True  # the run may wait until this loop has its frames
    wake: Callable[[], None] = staticmethod(lambda: None)
    interrupted: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self) -> None:
        self.came_queue: queue.SimpleQueue[Held | End] = queue.SimpleQueue()
        self.finished: queue.SimpleQueue[Held] = queue.SimpleQueue()
        self.freed: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.known = threading.Event()  # set when the experiment has arrived or the stream has ended
        self.experiment: Experiment | None = None
        self.lineage, self.former = "", 0
        self.have: list[int] = []
        self.over: list[Held] = []  # frames received in a run that is over
        self.start_ns, self.frames, self.count = time.monotonic_ns(), 0, 0
        self.is_waiting = False  # the loop is waiting for a frame

    def take(self) -> Held | End:
        self.is_waiting = True
        held = self.came_queue.get()
        self.is_waiting = False
        return held

    def begin(self, message: Message, network: bool) -> None:
        self.lineage = self.came = message.keys["lineage"]
        if self.experiment and self.experiment.lineage != self.lineage:
            raise End(1, f"another run computes something else (lineage {self.lineage}, not {self.experiment.lineage})")
        self.experiment = self.experiment or experiment_of(message.keys)
        self.known.set()

    def begin_anew(self, stream: Stream) -> None:
        self.over += stream.frames
        self.former, self.lineage = stream.run, ""
        self.have = [*self.have, *stream.seen, *(held.number for held in stream.frames)]
        raise Anew

    def put(self, held: Held) -> None:
        self.came_queue.put(held)

    def results(self) -> Iterator[Held]:
        while not self.finished.empty():
            held = self.finished.get()
            if not any(held is former for former in self.over):
                yield held

    def steps(self) -> int:
        """Counts up with every call: the loop may take any time and never counts as hung."""
        self.count += 1
        return self.count

    def work(self, bytes_in: int, bytes_out: int) -> dict[str, int]:
        time_ns = time.monotonic_ns() - self.start_ns
        return {"bytes_in": bytes_in, "bytes_out": bytes_out, "codec_ns": 0, "compute_ns": 0, "cpu_ns": time.process_time_ns(),
                "frames": self.frames, "time_ns": time_ns, "wait_in_ns": time_ns, "wait_out_ns": 0}


class _Stay:
    """Runs the stream in a thread, and passes the result of the stream to the loop."""

    def __init__(self, taker: _Taker, options: argparse.Namespace, child: Child | None, clean: Callable[[], None]) -> None:
        self.taker, self.options, self.child, self.clean = taker, options, child, clean
        self.stream: Stream | None = None
        self.left, self.lock, self.pid = False, threading.Lock(), os.getpid()
        self.thread = threading.Thread(target=self.main, daemon=True, name="braggpipe")
        self.thread.start()

    def main(self) -> None:
        stdin = self.child.stdout if self.child and not self.options.ins else -1
        while True:
            with self.lock:
                self.stream = stream = Stream("python", self.options, self.taker, stdin)
                if self.left:
                    stream.leaving = 130
            try:
                end = stream.main()
            except Anew:
                continue
            except BaseException as error:  # without an end, the loop would wait for ever
                end = End(1, f"{type(error).__name__}: {error}")
            break
        self.taker.came_queue.put(end)
        self.taker.known.set()

    def close(self) -> None:
        """Stops the pipeline if it was started for this loop.  Leaves any other pipeline.

        Does nothing in a forked process, because the thread does not exist there.
        """
        if self.pid != os.getpid():
            return
        with self.lock:
            self.left = True
            if self.stream:
                self.stream.leave(130 if self.child else 0)
        try:
            self.thread.join(10)
        finally:
            try:
                if self.child:
                    self.child.stop()
            finally:
                self.clean()


class Live(Frames):
    """The frames of a running pipeline, for a loop: see braggpipe.open."""

    def __init__(self, options: argparse.Namespace, child: Child | None, clean: Callable[[], None]) -> None:
        self._taker = _Taker()
        self._taker.hold = options.hold
        self._stay = _Stay(self._taker, options, child, clean)
        self.close = weakref.finalize(self, self._stay.close)  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        raise TypeError("a stream of frames runs in the process that opened it and cannot be pickled or copied: call braggpipe.open "
                        "in the other process (with the same group= the frames are shared out), or pickle the frames")

    def _check_process(self) -> None:
        """Raises Error in a forked process.

        The thread of the stream does not exist there, so a loop would wait for ever.
        """
        if self._stay.pid != os.getpid():
            raise Error(f"this stream of frames was opened in process {self._stay.pid}, which this process, {os.getpid()}, was forked "
                        "from: call braggpipe.open in this process, or pass it the frames")

    @property
    def experiment(self) -> Experiment:
        if not self._taker.experiment:
            self._check_process()
        self._taker.known.wait()
        if not self._taker.experiment:
            end = self._taker.came_queue.get()
            self._taker.came_queue.put(end)  # for the next call
            assert isinstance(end, End)
            self.close()
            raise self._error(end)
        return self._taker.experiment

    def _error(self, end: End) -> Error:
        said = self._stay.child.said() if self._stay.child else ""
        silence = "was stopped" if self._taker.experiment else "gave no frames: a loop stands in the place of its last stage"
        return Error("\n".join(filter(None, (end.text, said))) or f"the pipeline {silence}")

    def _frame(self, held: Held) -> Frame | None:
        message, taker = held.message, self._taker
        assert taker.experiment
        if not held.is_whole(taker.experiment.count):
            held.damaged = True
            return None
        if message.keys["lineage"] != taker.came:
            raise Error(f"{message.stage} computes something else (lineage {message.keys['lineage']}, not {taker.came})")
        return frame_of(message.frame, message.keys, message.payload, taker.experiment, held.array(taker))

    def __iter__(self) -> Iterator[Frame]:
        self._check_process()
        return Loop(self._loop())

    def _loop(self) -> Iterator[Frame]:
        taker = self._taker
        try:
            while isinstance(held := taker.take(), Held):
                frame = self._frame(held)
                if frame:
                    yield frame
                    taker.frames += 1
                    if held.lease and not held.lease.is_intact():
                        raise Error(f"frame {held.number}: its pixels were taken away while they were read")
                    held.is_finished = True
                    frame = None
                taker.finished.put(held)
                held = None
                taker.wake()
            taker.came_queue.put(held)  # for another loop over these frames
            self.close()
            if held.status:
                raise self._error(held)
            said = self._stay.child.said() if self._stay.child else ""
            if said:
                print(said, file=sys.stderr)
        finally:
            self.close()


def live(endpoints: list[str], group: str | None, keys: str | None, insecure: bool, start_timeout_s: float,
         child: Child | None = None, clean: Callable[[], None] = lambda: None, hold: bool = True) -> Live:
    # Receives frames from these endpoints; without endpoints, from the output of `child`.
    # `clean` is called after the end.  The other arguments are those of braggpipe.open.
    group = group or f"python-{uuid.uuid4().hex[:12]}"
    options = argparse.Namespace(ins=endpoints, outs=[], group=group, keys=keys, insecure=insecure, quiet=True, verbose=False,
                                 start_timeout=start_timeout_s, source_timeout=None, hold=hold)
    return Live(options, child, clean)


def shell(script: str, **options: Any) -> Live:
    """Starts a shell pipeline and returns the frames that its last program outputs."""
    return live([], child=Child(script, tempfile.TemporaryFile()), **options)


def pipeline_file(path: str, run_options: list[str], **options: Any) -> Live:
    """Starts a pipeline file without its sinks and returns the frames that the sinks would get.

    `run_options` are options of bragg-run, such as --set=STAGE.OPTION=VALUE.
    """
    pipeline = FilePipeline(path, run_options)
    child = Child(pipeline.script, tempfile.TemporaryFile())
    return live(pipeline.endpoints, child=child, clean=pipeline.remove, **options)
