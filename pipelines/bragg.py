"""A stage of braggpipe in Python: a function from pixels to pixels in the middle of a pipeline.

    import bragg

    def double(pixels, frame, experiment):
        return 2 * pixels

    bragg.transform("double", double)

`pixels` is a numpy array of all pixels, float32 photons or integers in detector units, `frame` and `experiment` are the
maps that bragg-wire(5) describes.  The function runs in a thread of its own, so that heartbeats go on meanwhile, and
gives as many pixels, all finite.  What it raises ends the run.  vignette.py has an option of its own.
It needs python3-zmq, python3-msgpack and python3-numpy, and the bragg_*.py beside it.
"""
import argparse
import hashlib
import json
import os
import queue
import sys
import threading
import time
import traceback

import numpy

from bragg_links import IMAGES
from bragg_stream import Stream
from bragg_wire import EXPERIMENT, FRAME, pack, sum_parts

TYPES = ["<f4", "<u2", "<u4", "<i4"]  # of pixels
HISTORY_MAX, CPU_STEP_NS = 16383, 10_000_000

# --- the command line ---------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(2)


class _Once(argparse.Action):
    def __call__(self, parser, options, value, name=None):
        if getattr(options, self.dest) != self.default:
            parser.error(f"{name} is given twice")
        setattr(options, self.dest, value)


def _seconds(text):
    if not 0.1 <= float(text) <= 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not between 0.1 and 1e6 s")
    return float(text)


def parser(description=None):
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
    for name, seconds, text in (("start", 30.0, "how long to wait for the other stages (30)"),
                                ("source", None, "how long to wait for a source that died (twice its --dead-after)")):
        common.add_argument(f"--{name}-timeout", metavar="S", type=_seconds, default=seconds, action=_Once, help=text)
    for name, text in (("insecure", "allow tcp endpoints without keys"),
                       ("verbose", "show where the function raised an exception"), ("quiet", "say only what went wrong")):
        common.add_argument(f"--{name}", action="store_true", help=text)
    new.set_defaults(common={action.dest for action in common._group_actions} | {"common"})
    return new


# --- the function -------------------------------------------------------------


class _Wrong(Exception):
    """What the function gave is no image."""


def _as_image(result, count):
    """What the function gave, in one of the types that an image may have."""
    result = numpy.ascontiguousarray(result).ravel()
    kind, given = result.dtype.kind, result
    if kind not in "fiub":
        raise _Wrong(f"the function gave {result.dtype}, must be numbers")
    if result.size != count:
        raise _Wrong(f"the function gave {result.size} pixels, must be {count}")
    if result.dtype.str not in TYPES:
        with numpy.errstate(over="ignore"):
            result = result.astype("<f4" if kind == "f" else "<i4")
    bad = ~numpy.isfinite(result) if kind == "f" else result != given
    if bad.any():
        at = int(bad.argmax())
        raise _Wrong(f"pixel {at} is {given[at]}, must be finite and fit into 32 bits")
    return result


class _Worker(threading.Thread):
    """Computes one frame after the other; the rest is called by the thread of the stream."""

    def __init__(self, name, function, options):
        super().__init__(daemon=True)
        self.stage, self.function, self.verbose = name, function, options.verbose
        self.options = {key: value for key, value in sorted(vars(options).items()) if key not in options.common}
        self.tasks, self.finished = queue.SimpleQueue(), queue.SimpleQueue()
        self.lineage = self.at_work = None
        self.start_ns, self.compute_ns, self.codec_ns, self.frames = time.monotonic_ns(), 0, 0, 0
        self.spans = [] if options.trace else None

    def begin(self, message, network):
        """Takes the experiment; .experiment is what the next stages get."""
        keys, self.network = message.keys, network
        self.came, history = keys["lineage"], keys["history"]
        text = "\n".join([self.came, self.stage, repr(self.options)])
        line = "\t".join([self.stage, *(f"{key}={value!r}" for key, value in self.options.items())]) + "\n"
        keys["lineage"] = lineage = hashlib.sha256(text.encode()).hexdigest()[:16]
        keys["history"] = history + line if len((history + line).encode()) <= HISTORY_MAX else history
        self.run_id, self.map, self.lineage = message.run, keys, lineage
        self.experiment = self.pack(EXPERIMENT, message, message.payload, message.sum)
        self.start()

    def pack(self, kind, message, payload, crc):
        route = [1, kind, self.run_id, 1, message.frame, message.attempt, self.stage, IMAGES, crc]
        return pack(route, message.keys, payload, self.network)

    def put(self, frame):
        self.tasks.put(frame)

    def results(self):
        while not self.finished.empty():
            yield self.finished.get()

    def steps(self):
        """Counts up while the function uses the CPU."""
        return time.clock_gettime_ns(time.pthread_getcpuclockid(self.ident)) // CPU_STEP_NS if self.ident else 0

    def work(self, bytes_in, bytes_out):
        """What the heartbeats say about the time since the start."""
        time_ns = time.monotonic_ns() - self.start_ns
        return {"bytes_in": bytes_in, "bytes_out": bytes_out, "codec_ns": self.codec_ns, "compute_ns": self.compute_ns,
                "cpu_ns": time.process_time_ns(), "frames": self.frames, "time_ns": time_ns,
                "wait_in_ns": max(0, time_ns - self.codec_ns - self.compute_ns), "wait_out_ns": 0}

    def run(self):
        while True:
            self.at_work = frame = self.tasks.get()
            try:
                self.compute(frame)
            except BaseException as error:
                frame.error = self.describe(error)
            self.at_work = None
            self.finished.put(frame)
            self.wake()

    def compute(self, frame):
        message, payload = frame.message, frame.message.payload
        begin_ns = time.monotonic_ns()
        if frame.network and not message.is_whole():
            frame.damaged = True
            return
        if message.keys["lineage"] != self.came:
            raise _Wrong(f"{message.stage} computes something else (lineage {message.keys['lineage']}, not {self.came})")
        image = message.keys["image"]
        pixels = numpy.frombuffer(payload[image["pixels"]], TYPES[image["type"]]).copy()
        compute_ns = time.monotonic_ns()
        result = _as_image(self.function(pixels, message.keys, self.map), pixels.size)
        encode_ns = time.monotonic_ns()
        image["type"], payload[image["pixels"]] = TYPES.index(result.dtype.str), result.view(numpy.uint8).data
        message.keys["lineage"] = self.lineage
        frame.parts = self.pack(FRAME, message, payload, sum_parts(payload))
        end_ns = time.monotonic_ns()
        self.frames += 1
        self.compute_ns += encode_ns - compute_ns
        self.codec_ns += end_ns - encode_ns + compute_ns - begin_ns
        if self.spans is not None:
            self.spans += [("decode", frame.number, begin_ns, compute_ns), ("compute", frame.number, compute_ns, encode_ns),
                           ("encode", frame.number, encode_ns, end_ns)]

    def describe(self, error):
        """One line: what was raised, and where."""
        if isinstance(error, _Wrong):
            return str(error)
        if self.verbose:
            traceback.print_exception(error)
        *_, last = traceback.extract_tb(error.__traceback__)
        return f"{' '.join(f'{type(error).__name__}: {error}'.split())} ({os.path.basename(last.filename)}:{last.lineno})"


# --- after the end ------------------------------------------------------------


def _write_stats(path, name, work):
    line = {"stage": name, "pid": os.getpid(), "identity": "python"}
    line.update((key.replace("time_ns", "wall_ns").replace("_ns", "_s"), value / 1e9 if key.endswith("_ns") else value)
                for key, value in work.items())
    with sys.stderr if path == "-" else open(path, "a") as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _write_trace(path, name, spans):
    pid = os.getpid()
    events = [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}]
    events += [{"name": what, "ph": "X", "pid": pid, "tid": pid, "ts": start_ns / 1e3, "dur": (end_ns - start_ns) / 1e3,
                "args": {"frame": number}} for what, number, start_ns, end_ns in spans]
    with open(path, "w") as file:
        file.write("[" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "]\n")


def transform(name, function, options=None):
    """Runs function(pixels, frame, experiment) -> pixels on every frame, and ends the process.

    `options` are what parser().parse_args() gave; those that were added to the parser enter the lineage of the frames.
    """
    options = options or parser().parse_args()
    worker = _Worker(name, function, options)
    end = Stream(name, options, worker).main()
    text, status = end.text, end.status
    try:
        if options.stats:
            _write_stats(options.stats, name, worker.work(0, 0))
        if options.trace:
            _write_trace(options.trace, name, worker.spans)
    except OSError as error:
        text, status = text or f"{error.filename}: {error.strerror}", status or 1
    if text:
        print(f"{name}: {text}", file=sys.stderr)
    sys.stderr.flush()
    if worker.at_work:
        os._exit(status)  # nobody waits for a function that stands still
    sys.exit(status)
