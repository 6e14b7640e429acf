"""A stage of braggpipe in Python: a function from pixels to pixels in the middle of a shell pipe.

    import bragg

    def double(pixels, frame, experiment):
        return 2 * pixels

    bragg.transform("double", double)

`pixels` is a numpy array of all pixels, float32 photons or integers in detector units, `frame` and `experiment` are the
maps that bragg-wire(5) describes.  The function runs in a thread of its own, so that heartbeats go on meanwhile.
It needs python3-zmq, python3-msgpack and python3-numpy.  Frames of one group go to one stage after this one.
"""
import concurrent.futures
import functools
import hashlib
import os
import signal
import sys
import tempfile
import time
from subprocess import PIPE, Popen

import msgpack
import numpy
import zmq

HELLO, EXPERIMENT, FRAME, CREDIT, BYE, HEARTBEAT, FENCE, FREE = 1, 2, 3, 4, 5, 8, 10, 11
IMAGES, TYPES = 3, ["<f4", "<u2", "<u4", "<i4"]  # the kind that flows, and of pixels

_TABLE = numpy.arange(256, dtype=numpy.uint32)
for _ in range(8):
    _TABLE = (_TABLE >> 1) ^ (numpy.uint32(0x82F63B78) * (_TABLE & 1))


def _steps(crc, data):
    """The register after each row of `data`, started at `crc`, byte by byte down the rows of all columns at once."""
    for row in data:
        crc = _TABLE[(crc ^ row) & 0xFF] ^ (crc >> 8)
    return crc


def crc32c(data, crc=0):
    """CRC-32C of bytes, continuing `crc`: the sum is linear, so that 4096 pieces are summed side by side."""
    data, crc, pieces = numpy.frombuffer(data, numpy.uint8), numpy.uint32(crc ^ 0xFFFFFFFF), 4096
    length = len(data) // pieces
    if length > 16:
        columns = numpy.ascontiguousarray(data[: pieces * length].reshape(pieces, length).T)
        sums = _steps(numpy.zeros(pieces, numpy.uint32), columns)
        # what a register becomes behind `length` zero bytes, as four tables of 256
        byte, zeros = numpy.arange(256, dtype=numpy.uint32), numpy.zeros(length, numpy.uint32)
        shift = [_steps(byte << numpy.uint32(8 * b), zeros) for b in range(4)]
        for piece in sums:
            crc = functools.reduce(lambda sum, b: sum ^ shift[b][crc >> 8 * b & 0xFF], range(4), piece)
        data = data[pieces * length:]
    return int(_steps(crc, data)) ^ 0xFFFFFFFF


class _Stage:
    def __init__(self, name, function, options):
        self.name, self.function, self.options = name, function, options
        self.uuid, self.context = os.urandom(16).hex(), zmq.Context()
        self.context.linger = 1000  # ms that a last word may take
        word = sys.stdin.readline().split()
        if len(word) != 4 or word[0] != "bragg1":
            sys.exit(1)  # the stage before has said why
        self.run, self.control_endpoint = int(word[1], 16), word[3]
        self.up, self.control = self.connect(word[2]), self.connect(word[3])
        folder = tempfile.mkdtemp(prefix="bragg-")  # a shell removes it, however this process ends
        self.folder = Popen(["sh", "-c", 'cat; rm -r "$0"', folder], stdin=PIPE, stdout=2, start_new_session=True)
        endpoint, self.down = f"ipc://{folder}/data", self.context.socket(zmq.ROUTER)
        self.down.bind(endpoint)
        print("bragg1", word[1], endpoint, word[3], flush=True)
        self.experiment = self.experiment_parts = self.upstream = None
        self.greeted, self.credit = set(), {}  # links below
        self.done, self.waiting, self.held, self.came = [], [], set(), 0  # computed, to be sent, in this process, all
        self.worker = concurrent.futures.ThreadPoolExecutor(1)
        self.wake_read, self.wake_write = os.pipe()

    def connect(self, endpoint):
        socket = self.context.socket(zmq.DEALER)
        socket.connect(endpoint)
        return socket

    def say(self, socket, kind, to=(), **keys):
        route = [1, kind, self.run, 1, 0, 0, self.name, 0, 0, 0, 0]
        socket.send_multipart([*to, msgpack.packb(route), msgpack.packb(dict(sorted(keys.items())))])

    def hello(self, socket, downstream, to=()):
        upstreams = [{"uuid": self.upstream}] if self.upstream else []
        self.say(socket, HELLO, to, control=self.control_endpoint, downstream=downstream, durable=False,
                 gives=IMAGES, wants=IMAGES, group=self.name, identity="python", pid=os.getpid(),
                 stage=self.name, upstreams=upstreams, uuid=self.uuid)

    def forward(self, kind, frame, keys, payload, crc):
        """The parts of a message with this stage's lineage."""
        keys["lineage"] = self.lineage
        route = [1, kind, self.run, 1, frame, 0, self.name, IMAGES, len(payload), crc, 0]
        return [msgpack.packb(route), msgpack.packb(keys), *payload]

    def take_experiment(self, route, keys, payload):
        text = "\n".join([keys["lineage"], self.name, repr(self.options)]).encode()
        self.experiment, self.lineage = keys, hashlib.sha256(text).hexdigest()[:16]
        keys = dict(keys, history=f"{keys['history']}{self.name}\toptions={self.options!r}\n")
        self.experiment_parts = self.forward(EXPERIMENT, 0, keys, payload, route[9])
        self.say(self.up, CREDIT, grant=2, ids=[])

    def compute(self, number, keys, payload):
        image = keys["image"]
        pixels = numpy.frombuffer(payload[image["pixels"]], TYPES[image["type"]]).copy()
        result = numpy.ascontiguousarray(self.function(pixels, keys, self.experiment))
        dtype = result.dtype.str if result.dtype.str in TYPES else "<f4"
        image["type"], payload[image["pixels"]] = TYPES.index(dtype), result.astype(dtype).tobytes()
        crc = functools.reduce(lambda sum, part: crc32c(part, sum), payload, 0)
        return number, self.forward(FRAME, number, keys, payload, crc)

    def from_above(self):
        parts = self.up.recv_multipart()
        route, keys, payload = msgpack.unpackb(parts[0]), msgpack.unpackb(parts[1]), parts[2:]
        self.came += route[1] in (EXPERIMENT, FRAME)
        if route[1] == HELLO:
            self.upstream = keys["uuid"]
            self.hello(self.control, False)
        elif route[1] == HEARTBEAT:
            self.say(self.up, HEARTBEAT, ids=[], progress=self.came)
        elif route[1] == EXPERIMENT:
            self.take_experiment(route, keys, payload)
        elif route[1] == FRAME:
            self.held.add(route[4])
            self.worker.submit(self.compute, route[4], keys, payload).add_done_callback(
                lambda future: (self.done.append(future), os.write(self.wake_write, b"x")))
        elif route[1] == BYE and keys["status"]:
            self.end(1)

    def from_below(self):
        address, route, keys, *_ = self.down.recv_multipart()
        kind, keys = msgpack.unpackb(route)[1], msgpack.unpackb(keys)
        self.credit[address] = self.credit.get(address, 0) + (keys["grant"] if kind == CREDIT else 0)
        if kind == HELLO:
            self.hello(self.down, False, [address])
        elif kind == BYE and keys["status"]:
            self.end(1)

    def pump(self):
        for address in self.credit.keys() - self.greeted:
            if self.experiment_parts:
                self.down.send_multipart([address, *self.experiment_parts])
                self.greeted.add(address)
        while self.done:
            self.waiting.append(self.done.pop(0))
            if self.waiting[-1].exception():
                print(f"{self.name}: {self.waiting[-1].exception()!r}", file=sys.stderr)
                self.end(1)
        for address in list(self.credit):
            while self.waiting and self.credit[address]:
                number, parts = self.waiting.pop(0).result()
                self.down.send_multipart([address, *parts])
                self.credit[address] -= 1
                self.held.discard(number)
                self.say(self.up, CREDIT, grant=1, ids=[{"first": number, "last": number}])

    def end(self, status):
        self.say(self.control, BYE, reason="", status=status)
        for address in self.credit if status else ():
            self.say(self.down, BYE, [address], reason="", status=status)
        self.worker.shutdown(wait=False, cancel_futures=True)
        self.context.destroy()
        self.folder.communicate()
        sys.exit(status)

    def main(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the source ends the stream
        poller, beat, heard = zmq.Poller(), 0.0, time.monotonic()
        for readable in (self.up, self.control, self.down, self.wake_read):
            poller.register(readable, zmq.POLLIN)
        self.hello(self.up, True)
        while True:
            ready = dict(poller.poll(500))
            if self.wake_read in ready:
                os.read(self.wake_read, 4096)
            if self.up in ready:
                self.from_above()
            if self.down in ready:
                self.from_below()
            if self.control in ready:
                heard = time.monotonic()
                (_, kind, *_), keys = (msgpack.unpackb(part) for part in self.control.recv_multipart()[:2])
                if kind == FREE or (kind == FENCE and keys["uuid"] in ("", self.uuid)):
                    self.end(int(kind != FREE))
            self.pump()
            if time.monotonic() - heard > 5:
                self.end(1)  # the source died
            if time.monotonic() - beat > 1:
                beat = time.monotonic()
                self.say(self.control, HEARTBEAT, ids=[{"first": i, "last": i} for i in sorted(self.held)], progress=0)


def transform(name, function, options=None):
    """Runs function(pixels, frame, experiment) -> pixels on every frame; `options` change the result: for the lineage."""
    _Stage(name, function, options).main()
