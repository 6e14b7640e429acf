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
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from braggpipe._frame import Experiment, Frame, Frames, Loop, experiment_of, frame_of
from braggpipe._link import Held
from braggpipe._pipeline import Child, FilePipeline
from braggpipe._simulate import STAGES, commands
from braggpipe._stream import Anew, Stream
from braggpipe._wire import IMAGES, NOTHING, End, Message

_COUNT_MAX = 10 ** 15  # number of frames from which a pipeline counts as endless


class Error(RuntimeError):
    """A pipeline failed.  The text is the message of the program that failed."""


class _Taker:
    """Passes frames from the thread of the stream to the loop, and finished frames back.

    The class has the interface of Worker in _worker.py.
    """

    wants, gives, identity, is_program = IMAGES, NOTHING, "any", False
    wake: Callable[[], None] = staticmethod(lambda: None)
    interrupted: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self, hold: bool) -> None:
        self.hold = hold  # the run may wait until this loop has its frames
        self.came_queue: queue.SimpleQueue[Held | End] = queue.SimpleQueue()
        self.finished: queue.SimpleQueue[Held] = queue.SimpleQueue()
        self.freed: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.known = threading.Event()  # set when the experiment has arrived or the stream has ended
        self.counted = threading.Event()  # set when the number of frames is known or the stream has ended
        self.total: int | None = None  # number of frames of the run
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
            raise End(1, f"the source was started again with other options: lineage {self.lineage}; expected {self.experiment.lineage}")
        self.experiment = self.experiment or experiment_of(message.keys, message.payload)
        self.known.set()

    def count_frames(self, total: int) -> None:
        """Stores the number of frames of the run.  A source that was restarted counts only the rest."""
        self.total = total if self.total is None else self.total
        self.counted.set()

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
        self.taker.counted.set()

    def end(self) -> End:
        """Returns the result of the stream, which has ended, and leaves it for other calls."""
        while not isinstance(end := self.taker.came_queue.get(), End):
            pass
        self.taker.came_queue.put(end)
        return end

    def error(self, end: End) -> Error:
        said = self.child.said() if self.child else ""
        silence = "was stopped" if self.taker.experiment else "sent no frames. The loop replaces the sink: leave the sink out"
        return Error("\n".join(filter(None, (end.text, said))) or f"the pipeline {silence}")

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


class _Stays:
    """The runs of a pipeline, one for each loop.  The last run is new until a loop takes it."""

    def __init__(self, start: Callable[[], _Stay]) -> None:
        self.start, self.all, self.is_new, self.pid = start, [start()], True, os.getpid()

    def take(self, restarts: bool) -> _Stay | None:
        """Returns a run for a loop.  None: a loop has taken the only run."""
        if not self.is_new:
            if not restarts:
                return None
            self.all.append(self.start())
        self.is_new = False
        return self.all[-1]

    def leave(self, stay: _Stay) -> None:
        """Ends a run.  The last run is kept, because it has the experiment and the number of frames."""
        try:
            stay.close()
        finally:
            self.all = [one for one in self.all if one is not stay or one is self.all[-1]]

    def close(self) -> None:
        for stay in list(self.all):
            self.leave(stay)


class Live(Frames):
    """The frames of a pipeline that is running already, for one loop: see braggpipe.open."""

    _restarts = False

    def __init__(self, start: Callable[[], _Stay], name: str, shown: set[str] | None = None) -> None:
        # shown: lines of the programs that were printed already, to which this class adds
        self._stays, self._name = _Stays(start), name
        self._shown: set[str] = set() if shown is None else shown
        self._finalizer = weakref.finalize(self, self._stays.close)

    def close(self) -> None:
        self._finalizer()

    def __repr__(self) -> str:
        return f"<braggpipe.{type(self).__name__}: {self._name}>"

    def __reduce__(self) -> Any:
        raise TypeError("a stream of frames runs in the process that opened it and cannot be pickled or copied. Call braggpipe.open "
                        "in the other process (loops with the same group= share the frames), or pickle the frames")

    def _check(self) -> None:
        """Raises Error if the frames are closed, and in a forked process.

        The thread of the stream does not exist there, so a loop would wait for ever.
        """
        if not self._finalizer.alive:
            raise Error(f"{self._name}: these frames are closed. Call braggpipe.open or braggpipe.simulate again")
        if self._stays.pid != os.getpid():
            raise Error(f"this stream of frames was opened in process {self._stays.pid}; this process, {os.getpid()}, was forked from "
                        "it. To get frames here, call braggpipe.open in this process, or pass it the frames")

    @property
    def experiment(self) -> Experiment:
        stay = self._stays.all[-1]
        if not stay.taker.experiment:
            self._check()
        stay.taker.known.wait()
        if not stay.taker.experiment:
            end = stay.end()
            stay.close()
            raise stay.error(end)
        return stay.taker.experiment

    def __iter__(self) -> Iterator[Frame]:
        self._check()
        return Loop(self._loop())

    def _loop(self) -> Iterator[Frame]:
        stay = self._stays.take(self._restarts)
        if not stay:
            raise Error(f"{self._name}: a loop has already taken the frames of this stream. Call braggpipe.open again")
        try:
            yield from self._frames(stay)
        finally:
            self._stays.leave(stay)

    def _next(self, taker: _Taker) -> Held | End:
        """Waits for the next frame.  A forked process has no thread that could deliver the frame."""
        if self._stays.pid != os.getpid():
            self._check()
        return taker.take()

    def _frames(self, stay: _Stay) -> Iterator[Frame]:
        taker = stay.taker
        while isinstance(held := self._next(taker), Held):
            frame = _frame(held, taker)
            if frame:
                yield frame
                taker.frames += 1
                if held.lease and not held.lease.is_intact():
                    raise Error(f"frame {held.number}: the stage before reused the memory of the pixels while the loop was reading them")
                held.is_finished = True
                frame = None
            taker.finished.put(held)
            held = None
            taker.wake()
        taker.came_queue.put(held)  # for _Stay.end
        stay.close()
        if held.status:
            raise stay.error(held)
        for line in stay.child.said().splitlines() if stay.child else []:
            if line not in self._shown:  # each epoch repeats the warnings
                self._shown.add(line)
                print(line, file=sys.stderr)


class Pipeline(Live):
    """The frames of a pipeline that was started for the loop: see braggpipe.simulate, braggpipe.open.

        frames = braggpipe.simulate(frames=3, random=True)
        print(len(frames))
        for epoch in range(2):
            print([frame.number for frame in frames])

    Each loop runs the whole pipeline and gets all frames, so a second loop gets the same frames
    again.  len() is the number of frames; it waits until the source has sent this number.
    """

    _restarts = True

    def __len__(self) -> int:
        stay = self._stays.all[-1]
        if stay.taker.total is None:
            self._check()
        stay.taker.counted.wait()
        if stay.taker.total is None:
            raise stay.error(stay.end())
        if stay.taker.total > _COUNT_MAX:
            raise TypeError(f"{self._name}: this pipeline does not end, so the number of its frames is not known")
        return stay.taker.total

    def __bool__(self) -> bool:
        """Returns True.  Without this method, `if frames` would wait for the number of frames."""
        return True


def _frame(held: Held, taker: _Taker) -> Frame | None:
    """Returns the frame of a message; None if the message is corrupt."""
    message = held.message
    assert taker.experiment
    if not held.is_whole(taker.experiment.count):
        held.damaged = True
        return None
    if message.keys["lineage"] != taker.came:
        raise Error(f"frame {held.number} from {message.stage} belongs to another experiment: lineage {message.keys['lineage']}; "
                    f"expected {taker.came}")
    return frame_of(message.frame, message.keys, message.payload, taker.experiment, held.array(taker))


def _stay(endpoints: list[str], group: str | None, keys: str | None, insecure: bool, start_timeout_s: float,
          child: Child | None = None, clean: Callable[[], None] = lambda: None, hold: bool = True) -> _Stay:
    # Receives frames from these endpoints; without endpoints, from the output of `child`.
    # `clean` is called after the end.  The other arguments are those of braggpipe.open.
    group = group or f"python-{uuid.uuid4().hex[:12]}"
    options = argparse.Namespace(ins=endpoints, outs=[], group=group, keys=keys, insecure=insecure, quiet=True, verbose=False,
                                 start_timeout=start_timeout_s, source_timeout=None, hold=hold)
    return _Stay(_Taker(hold), options, child, clean)


def live(endpoint: str, **options: Any) -> Live:
    """Connects to a pipeline that is running already."""
    return Live(lambda: _stay([endpoint], **options), endpoint)


def shell(script: str, shown: set[str] | None = None, **options: Any) -> Pipeline:
    """Starts a shell pipeline and returns the frames that its last program outputs.

    `shown` contains the lines of the programs that are not printed again.
    """
    return Pipeline(lambda: _stay([], child=Child(script, tempfile.TemporaryFile()), **options), script, shown)


def simulate(options: Mapping[str, Any], shown: set[str] | None = None) -> Pipeline:
    """Starts the pipeline of braggpipe.simulate with these options."""
    return shell(" | ".join(commands(STAGES, options)), shown, group=None, keys=None, insecure=False, start_timeout_s=30.0)


def pipeline_file(path: str, run_options: list[str], **options: Any) -> Pipeline:
    """Starts a pipeline file without its sinks and returns the frames that the sinks would get.

    `run_options` are options of bragg-run, such as --set=STAGE.OPTION=VALUE.
    """
    def start() -> _Stay:
        pipeline = FilePipeline(path, run_options)
        child = Child(pipeline.script, tempfile.TemporaryFile())
        return _stay(pipeline.endpoints, child=child, clean=pipeline.remove, **options)

    return Pipeline(start, path)
