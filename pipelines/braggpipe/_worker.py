"""Workers call the function of a stage for one frame after the other.

They run in their own thread, so that the stream can send heartbeats while the function computes.
"""
from __future__ import annotations

import argparse
import hashlib
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from braggpipe._command import Span
from braggpipe._frame import Array, Frame, experiment_of, frame_of
from braggpipe._memory import Memory
from braggpipe._wire import EXPERIMENT, FRAME, IMAGES, NOTHING, RECIPES, SHARED, TYPES, Keys, Message, pack, sum_parts

if TYPE_CHECKING:
    from braggpipe._link import Held
    from braggpipe._stream import Stream

HISTORY_MAX, CPU_STEP_NS = 16383, 10_000_000
FORMER_RUN = "BRAGG_FORMER_RUN"  # environment variable: the run before the restart
_PAYLOADS = ("cells_m", "domains", "phi_rad")  # keys of a lattice that are numbers of payload parts


class Wrong(Exception):
    """The received frame, or the result of the function, is invalid.  The text says why."""


def as_row(result: Any, count: int) -> Array:
    """Returns the result of the function as a flat array of `count` numbers.  Raises Wrong."""
    if result is None:
        raise Wrong("the function returned None; expected an image")
    given: Array = numpy.ascontiguousarray(result).ravel()
    if given.dtype.kind not in "fiub":
        raise Wrong(f"the function returned {given.dtype}; expected numbers")
    if given.size != count:
        raise Wrong(f"the function returned {given.size} pixels; expected {count}")
    return given


def as_image(given: Array, memory: Memory) -> Array:
    """Returns a copy of the result in a type that images can have.

    A copy is necessary because the function may change its own array later.  Raises Wrong if a
    pixel is not finite or does not fit.
    """
    kind, is_ready = given.dtype.kind, given.dtype.str in TYPES
    image = memory.result(given, given.dtype if is_ready else numpy.dtype("<f4" if kind == "f" else "<i4"))
    if kind == "f":
        check_finite(image, given)
    elif not (is_ready or numpy.array_equal(image, given)):
        raise _wrong(given, image != given)
    return image


def check_finite(image: Array, given: Array) -> None:
    """Raises Wrong if a pixel is not finite.

    The sum is tested first, because it is fast: one infinite pixel or NaN makes the sum infinite or
    NaN.  If the sum overflows, all pixels are tested.  Integers are always finite.
    """
    with numpy.errstate(over="ignore", invalid="ignore"):
        is_finite = image.dtype.kind != "f" or numpy.isfinite(numpy.einsum("i->", image)) or numpy.isfinite(image).all()
    if not is_finite:
        raise _wrong(given, ~numpy.isfinite(image))


def _wrong(given: Array, wrong: Array) -> Wrong:
    at = int(wrong.argmax())
    return Wrong(f"pixel {at} is {given[at]}; expected a finite number that fits into 32 bits")


class Worker(threading.Thread):
    """Calls function(image, frame) for each frame and sends on the result.

    run() and the methods that it calls run in the thread of the worker.  The thread of the stream
    calls all other methods.
    """

    wants: ClassVar[int] = IMAGES
    gives: ClassVar[int] = IMAGES
    identity, is_program, hold = "python", True, True
    wake: Callable[[], None]
    interrupted: Callable[[], object] = staticmethod(lambda: None)  # on Ctrl-C: informs a source that gets no signal

    def __init__(self, name: str, function: Callable[..., Any], options: argparse.Namespace) -> None:
        super().__init__(daemon=True)
        self.stage, self.function, self.verbose = name, function, options.verbose
        self.options = {key: value for key, value in sorted(vars(options).items()) if key not in options.common}
        self.tasks: queue.SimpleQueue[Held] = queue.SimpleQueue()
        self.finished: queue.SimpleQueue[Held] = queue.SimpleQueue()
        self.freed: queue.SimpleQueue[Any] = queue.SimpleQueue()  # leases of pixels that are no longer read
        self.memory, self.lineage = Memory(), ""
        self.at_work: Held | None = None
        self.is_waiting = False
        self.have: list[int] = []
        self.former = int(os.environ.get(FORMER_RUN, "0"), 16)
        self.start_ns, self.compute_ns, self.codec_ns, self.frames = time.monotonic_ns(), 0, 0, 0
        self.spans: list[Span] | None = [] if options.trace else None

    def begin(self, message: Message, network: bool) -> None:
        """Receives the experiment and starts the thread.

        `experiment` is then the experiment message for downstream stages, with the new lineage.
        """
        self.shown = experiment_of(message.keys, message.payload)
        keys, self.network = dict(message.keys), network
        self.came, history = keys["lineage"], keys["history"]
        text = "\n".join([self.came, self.stage, repr(self.options)])
        line = "\t".join([self.stage, *(f"{key}={value!r}" for key, value in self.options.items())]) + "\n"
        keys["lineage"] = self.lineage = hashlib.sha256(text.encode()).hexdigest()[:16]
        keys["history"] = history + line if len((history + line).encode()) <= HISTORY_MAX else history
        self.run_id = message.run
        self.experiment = self.pack(EXPERIMENT, message, keys, message.payload, message.sum)
        self.start()

    def count_frames(self, total: int) -> None:
        """Receives the number of frames of the run, which a stage does not need."""

    def begin_anew(self, stream: Stream) -> None:
        """Restarts this program, because the source was restarted and has opened a new run."""
        os.environ[FORMER_RUN] = f"{stream.run:016x}"
        stream.sockets.close()
        os.execv(sys.executable, sys.orig_argv)

    def pack(self, kind: int, message: Message, keys: Keys, payload: list[Any], crc: int, flags: int = 0) -> list[Any]:
        route = [1, kind, self.run_id, 1, message.frame, message.attempt, self.stage, self.gives | flags, crc]
        return pack(route, keys, payload, self.network)

    def put(self, frame: Held) -> None:
        self.tasks.put(frame)

    def results(self) -> Iterator[Held]:
        while not self.finished.empty():
            yield self.finished.get()

    def steps(self) -> int:
        """Returns a counter that rises while the function uses the CPU."""
        return time.clock_gettime_ns(time.pthread_getcpuclockid(self.ident)) // CPU_STEP_NS if self.ident else 0

    def work(self, bytes_in: int, bytes_out: int) -> dict[str, int]:
        """Returns the statistics since the start, for heartbeats and --stats."""
        time_ns = time.monotonic_ns() - self.start_ns
        return {"bytes_in": bytes_in, "bytes_out": bytes_out, "codec_ns": self.codec_ns, "compute_ns": self.compute_ns,
                "cpu_ns": time.process_time_ns(), "frames": self.frames, "time_ns": time_ns,
                "wait_in_ns": max(0, time_ns - self.codec_ns - self.compute_ns), "wait_out_ns": 0}

    def run(self) -> None:
        while True:
            self.is_waiting = True
            self.at_work = held = self.tasks.get()
            self.is_waiting = False
            try:
                self.compute(held)
            except BaseException as error:
                held.error = self.describe(error)
            self.at_work = None
            self.finished.put(held)
            self.wake()

    def compute(self, held: Held) -> None:
        message = held.message
        begin_ns = time.monotonic_ns()
        if not held.is_whole(self.shown.count):
            held.damaged = True
            return
        if message.keys["lineage"] != self.came:
            raise Wrong(f"{message.stage} has sent a frame of another experiment: lineage {message.keys['lineage']}; expected {self.came}")
        frame = frame_of(message.frame, message.keys, message.payload, self.shown, held.array(self))
        lent = self.lend(frame)
        compute_ns = time.monotonic_ns()
        result = self.call(lent, frame)
        encode_ns = time.monotonic_ns()
        if held.lease and not held.lease.is_intact():
            raise Wrong("the stage before reused the memory of the pixels while they were read")
        self.finish(held, result)
        end_ns = time.monotonic_ns()
        self.frames += 1
        self.compute_ns += encode_ns - compute_ns
        self.codec_ns += end_ns - encode_ns + compute_ns - begin_ns
        if self.spans is not None:
            self.spans += [("decode", held.number, begin_ns, compute_ns), ("compute", held.number, compute_ns, encode_ns),
                           ("encode", held.number, encode_ns, end_ns)]

    def lend(self, frame: Frame) -> list[Array]:
        """Returns copies of the image that the function may change: none or one."""
        return [self.memory.lend(frame.image)]

    def call(self, lent: list[Array], frame: Frame) -> Any:
        """Calls the function and returns the image to send on.

        This is the lent image itself if the function returned it and keeps no reference to it.
        Otherwise it is a copy of the result.
        """
        image = lent.pop()
        holders, address = sys.getrefcount(image), image.ctypes.data
        given = as_row(self.function(image.reshape(frame.image.shape), frame), image.size)
        is_back = given.dtype == image.dtype and given.ctypes.data == address
        if is_back:
            del given
        is_kept = sys.getrefcount(image) > holders
        self.memory.kept += is_kept
        if is_back and not is_kept:
            check_finite(image, image)
            return image
        given = image if is_back else given
        del image  # its memory can be used again
        return as_image(given, self.memory)

    def finish(self, held: Held, result: Any) -> None:
        """Replaces the image of the frame by the result, and packs the messages."""
        keys, image, payload = held.message.keys, held.message.keys["image"], held.message.payload
        image["type"], payload[image["pixels"]] = TYPES.index(result.dtype.str), memoryview(result.view(numpy.uint8))
        self.send(held, keys, payload, result)

    def send(self, held: Held, keys: Keys, payload: list[Any], image: Array) -> None:
        keys["lineage"], crc = self.lineage, sum_parts(payload)
        held.parts = self.pack(FRAME, held.message, keys, payload, crc)
        place = self.memory.slots.find(image) if self.memory.slots and keys["image"]["pixels"] == 0 else None
        if place:
            held.slot, descriptor = place
            held.shared = self.pack(FRAME, held.message, keys, [descriptor, *payload[1:]], crc, SHARED)

    def describe(self, error: BaseException) -> str:
        """Returns one line with the exception and its place in the program."""
        if isinstance(error, Wrong):
            return str(error)
        if self.verbose:
            traceback.print_exception(error)
        *_, last = traceback.extract_tb(error.__traceback__)
        return f"{' '.join(f'{type(error).__name__}: {error}'.split())} ({os.path.basename(last.filename)}:{last.lineno})"


class Painter(Worker):
    """Worker of source(): calls function(frame), which makes the image of each recipe."""

    wants = RECIPES

    def lend(self, frame: Frame) -> list[Array]:
        return []

    def call(self, lent: list[Array], frame: Frame) -> Any:
        return as_image(as_row(self.function(frame), self.shown.count), self.memory)

    def finish(self, held: Held, result: Any) -> None:
        keys, recipe = held.message.keys, held.message.keys["recipe"]
        keys["image"] = {"count": self.shown.count, "pixels": 0, "type": TYPES.index(result.dtype.str), "unit": 0}
        for owner, names in [(recipe, ("sources",)), *((lattice, _PAYLOADS) for lattice in recipe["lattices"])]:
            for name in names:
                owner[name] = None if owner[name] is None else owner[name] + 1  # the pixels are now the first part
        self.send(held, keys, [memoryview(result.view(numpy.uint8)), *held.message.payload], result)


class Eater(Worker):
    """Worker of sink(): calls function(frame).  The frame is durable when the function returns."""

    gives = NOTHING

    def lend(self, frame: Frame) -> list[Array]:
        return []

    def call(self, lent: list[Array], frame: Frame) -> Any:
        self.function(frame)

    def finish(self, held: Held, result: Any) -> None:
        held.is_finished = True
