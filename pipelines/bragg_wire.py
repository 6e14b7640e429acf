"""What bragg.py needs of bragg-wire(5): sums, messages, and the sockets that they come through."""
import functools
import os
import socket
import stat
import time

import msgpack
import numpy
import zmq
import zmq.auth
import zmq.utils.z85

HELLO, EXPERIMENT, FRAME, CREDIT, BYE, WELCOME, TOTAL, HEARTBEAT, ACK, FENCE, FREE, LOST = range(1, 13)
PART_MAX, NOTICE_MAX = 1 << 33, 1 << 22  # bytes of a part: from the stage before; where no pixels come
LINGER_MS = 500  # that a last word may take


class End(Exception):
    """This process ends: with a status, and a line that says why unless another process has said it."""

    def __init__(self, status, text=""):
        super().__init__(text)
        self.status, self.text = status, text


# --- sums ---------------------------------------------------------------------

_TABLE = numpy.arange(256, dtype=numpy.uint32)
for _ in range(8):
    _TABLE = (_TABLE >> 1) ^ (numpy.uint32(0x82F63B78) * (_TABLE & 1))
_LIST = _TABLE.tolist()


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
    crc = int(crc)
    for byte in data.tobytes():
        crc = _LIST[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def sum_parts(parts):
    """CRC-32C over all payload parts, one after the other."""
    return functools.reduce(lambda crc, part: crc32c(part, crc), parts, 0)


# --- messages -----------------------------------------------------------------


class Message:
    """A message that came.  ValueError when it is none."""

    def __init__(self, parts):
        head, metadata, *self.payload = (part.buffer for part in parts)
        route = msgpack.unpackb(head) if len(head) <= 128 and len(metadata) <= 1 << 20 else []
        if len(route) != 11 or route[0] != 1 or not route[8] == len(self.payload) <= 1024:
            raise ValueError("a message without a route")
        _, self.kind, self.run, self.incarnation, self.frame, self.attempt, self.stage, self.flags, _, self.sum, _ = route
        before = len(head) - len(msgpack.packb(route[10]))
        if route[10] and route[10] != (crc32c(metadata, crc32c(head[:before])) or 1):
            raise ValueError("a message with a damaged route")
        self.keys = msgpack.unpackb(metadata)
        if not isinstance(self.keys, dict):
            raise ValueError("a message without a map")

    def size(self):
        return sum(map(len, self.payload))

    def is_whole(self):
        """False when the payload was damaged on its way."""
        return sum_parts(self.payload) == self.sum

    def lists(self, number):
        """Whether a frame is among the ids."""
        return any(r["first"] <= number <= r["last"] for r in self.keys["ids"])


def ranges(numbers):
    return [{"first": n, "last": n} for n in numbers]


def pack(route, keys, payload=(), network=False):
    """The parts of a message: `route` lacks the count of parts and the last sum, which only a network needs."""
    metadata = msgpack.packb(dict(sorted(keys.items())))
    head = msgpack.packb([*route[:8], len(payload), *route[8:], 0])
    if network:
        head = head[:-1] + msgpack.packb(crc32c(metadata, crc32c(head[:-1])) or 1)
    return [head, metadata, *payload]


# --- sockets ------------------------------------------------------------------


def is_network(endpoint):
    return endpoint.startswith("tcp://")


def is_local(endpoint):
    """Whether only this host reaches it."""
    return not is_network(endpoint) or endpoint[6:].startswith(("127.", "localhost:", "[::1]:"))


def is_refused(endpoint):
    """Whether nobody has bound it, as far as a second tells."""
    try:
        if not is_network(endpoint):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(endpoint.removeprefix("ipc://"))
        else:
            host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), 1).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return True
    except OSError:
        pass
    return False


def parse_endpoint(text):
    """(whether it is to be bound, the endpoint without its @)."""
    bound, name = text.startswith("@"), text.removeprefix("@")
    path, (host, _, port) = name.removeprefix("ipc://"), name.removeprefix("tcp://").rpartition(":")
    if name.startswith("ipc://"):
        if not path.startswith("/") or len(os.fsencode(path)) > 107:
            raise End(2, f"endpoint '{name}' must be an absolute path of at most 107 bytes")
    elif not is_network(name):
        raise End(2, f"endpoint '{name}' must begin with ipc:// or tcp://")
    elif not host or not (bound and port == "*" or port.isdecimal() and 1 - bound <= int(port) <= 65535):
        raise End(2, f"endpoint '{name}' must end with a port, :1 to :65535" + ", or with :* for a free one" * bound)
    return bound, name


def _clear(path):
    """ZeroMQ would replace whatever is there: a socket that nobody listens at is removed, nothing else."""
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise End(2, f"{path} exists and is no socket: name another endpoint")
    if not is_refused(f"ipc://{path}"):
        raise End(2, f"{path} is in use by another process")
    os.unlink(path)


class Sockets:
    """All sockets of this process, and who may connect to those of tcp: nobody without a key (ZeroMQ RFC 27)."""

    def __init__(self, folder, insecure, warn):
        self.folder, self.insecure, self.warn = folder, insecure, warn
        self.context, self.gate, self.refused = zmq.Context(), None, 0

    def close(self):
        self.context.destroy()

    def load(self, name):
        path = os.path.join(self.folder, name)
        try:
            return zmq.auth.load_certificate(path)
        except (OSError, ValueError) as error:
            raise End(2, f"--keys: {path}: {error}") from error

    def secure(self, target, endpoint, bound):
        if not is_network(endpoint):
            return
        if self.folder:
            target.curve_publickey, target.curve_secretkey = self.load(f"{'server' if bound else 'client'}.key_secret")
            if bound:
                target.curve_server = 1
                self.guard()
            else:
                target.curve_serverkey = self.load("server.key")[0]
        elif not self.insecure:
            raise End(2, f"endpoint '{endpoint}' needs keys: say --keys=DIR (bragg-run --make-keys DIR makes them), or "
                         "--insecure, and anybody who reaches it can read, take and forge frames")
        else:
            self.warn(f"--insecure: anybody who reaches {endpoint} can read, take and forge frames")
            self.warn = lambda text: None

    def guard(self):
        """Watchers have no business where frames flow: the client's key alone is admitted."""
        if self.gate:
            return
        self.client = self.load("client.key")[0]
        self.gate = self.context.socket(zmq.REP)
        self.gate.bind("inproc://zeromq.zap.01")

    def judge(self):
        """Answers one question of libzmq about somebody who connects."""
        version, number, _, _, _, mechanism, *key = self.gate.recv_multipart()
        good = mechanism == b"CURVE" and zmq.utils.z85.encode(key[0]) == self.client
        self.refused += not good
        answer = [b"200", b"OK", b"client"] if good else [b"400", b"this key is not admitted", b""]
        self.gate.send_multipart([version, number, *answer, b""])


class Port:
    """Bound: for any number of neighbours.  Connected: to one, through connections that come back when they are cut."""

    def __init__(self, sockets, endpoint, bound, up, part_max):
        self.sockets, self.endpoint, self.bound, self.up, self.part_max = sockets, endpoint, bound, up, part_max
        self.network = is_network(endpoint)
        self.open()

    def open(self):
        self.opened_s, self.greeted_s, self.watch = time.monotonic(), 0, None
        self.socket = new = self.sockets.context.socket(zmq.ROUTER if self.bound else zmq.DEALER)
        new.linger, new.sndhwm, new.rcvhwm, new.maxmsgsize = LINGER_MS, 0, 0, self.part_max
        new.ipv6, new.handshake_ivl, new.reconnect_ivl, new.reconnect_ivl_max = "[" in self.endpoint, 5000, 20, 500
        if self.network:
            new.heartbeat_ivl, new.heartbeat_timeout = 1000, 20000
        self.sockets.secure(new, self.endpoint, self.bound)
        try:
            if self.bound:
                new.router_mandatory = 1
                if not self.network:
                    _clear(self.endpoint[len("ipc://"):])
                new.bind(self.endpoint)
                self.endpoint = new.last_endpoint.decode().rstrip("\0")
            else:
                self.watch = new.get_monitor_socket(zmq.EVENT_DISCONNECTED)
                new.connect(self.endpoint)
        except zmq.ZMQError as error:
            raise End(1, f"cannot {'bind' if self.bound else 'connect to'} {self.endpoint}: {error.strerror}") from error

    def reopen(self, now, pause_s):
        """Connects anew after drop, at most so often; true when it did."""
        anew = not self.socket and now > self.opened_s + pause_s
        if anew:
            self.open()
        return anew

    def linger(self, ms):
        if self.socket:
            self.socket.linger = ms

    def drop(self):
        """Ends a connection, with all that is on its way."""
        if self.watch:
            self.socket.disable_monitor()
        self.socket.close(0)
        self.socket = self.watch = None

    def send(self, address, parts):
        """False when nobody is there."""
        if not self.socket:
            return False
        try:
            self.socket.send_multipart([*address, *parts], zmq.DONTWAIT, copy=len(parts) < 3)
        except zmq.ZMQError:
            return False
        return True

    def receive(self):
        """(address, message or None for a damaged one) for each that is there."""
        while self.socket:
            try:
                parts = self.socket.recv_multipart(zmq.DONTWAIT, copy=False)
            except zmq.Again:
                return
            address = (parts.pop(0).bytes,) if self.bound else ()
            try:
                yield address, Message(parts)
            except (ValueError, TypeError, msgpack.UnpackException):
                yield address, None

    def was_cut(self):
        """Whether its connection ended since this was last asked."""
        cut = False
        while self.watch and self.watch.poll(0):
            cut = bool(self.watch.recv_multipart())
        return cut
