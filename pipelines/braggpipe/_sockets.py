"""Sockets: endpoints, keys, and connections that come back."""
from __future__ import annotations

import os
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import zmq
import zmq.auth
import zmq.utils.z85
from zmq.utils.monitor import parse_monitor_message

from braggpipe._wire import End, Message

Address = tuple[bytes, ...]  # of a neighbour behind a bound socket; empty behind one that connects

PART_MAX, NOTICE_MAX = 1 << 33, 1 << 20  # bytes of a part: from the stage before; where no pixels come
COPIED = 1 << 16  # bytes of a part that stays where it is when it is sent, and is held until then
LINGER_MS = 500  # that a last word may take
WATCHED = zmq.EVENT_CONNECTED | zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH
_DONTWAIT, _SNDMORE, _POLLIN = int(zmq.DONTWAIT), int(zmq.SNDMORE), int(zmq.POLLIN)  # to join enums costs more than to send

# --- endpoints ----------------------------------------------------------------


def is_network(endpoint: str) -> bool:
    return endpoint.startswith("tcp://")


def is_local(endpoint: str) -> bool:
    """Whether only this host reaches it."""
    return not is_network(endpoint) or endpoint[6:].startswith(("127.", "localhost:", "[::1]:"))


def is_refused(endpoint: str) -> bool:
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


def parse_endpoint(text: str) -> tuple[bool, str]:
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


def _check_user(endpoint: str, owner: int) -> None:
    """Refuses a socket of another user than this one and root: frames from there would be that user's."""
    if owner not in (os.geteuid(), 0):
        raise End(1, f"{endpoint}: the socket belongs to user {owner}; expected your own (user {os.geteuid()}) or root's. "
                     "Use a folder that only you can write to, such as $XDG_RUNTIME_DIR")


def _peer_user(fd: int) -> int | None:
    """The user of the process at the other end of a local connection; None if nothing says so."""
    try:
        with socket.socket(fileno=os.dup(fd)) as peer:
            return int(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    except OSError:
        return None


def _clear(path: str) -> None:
    """ZeroMQ would replace whatever is there: a socket that nobody listens at is removed, nothing else."""
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise End(2, f"{path} exists and is no socket: name another endpoint")
    if not is_refused(f"ipc://{path}"):
        raise End(2, f"{path} is in use by another process")
    os.unlink(path)


# --- sockets ------------------------------------------------------------------


class Sockets:
    """All sockets of this process, and who may connect to those of tcp: nobody without a key (ZeroMQ RFC 27)."""

    def __init__(self, folder: str | None, insecure: bool, warn: Callable[[str], None]) -> None:
        self.folder, self.insecure, self.warn = folder, insecure, warn
        self.context, self.refused = zmq.Context(), 0
        self.gate: zmq.Socket[bytes] | None = None

    def close(self) -> None:
        self.context.destroy()

    def load(self, name: str) -> tuple[bytes, bytes | None]:
        """The pair in a file of the folder; who else can read a secret, or change a file, could take part."""
        assert self.folder
        path = os.path.join(self.folder, name)
        try:
            for what, forbidden in ((self.folder, 0o077), (path, 0o077 if name.endswith("secret") else 0o022)):
                if os.stat(what).st_uid != os.geteuid():
                    raise End(2, f"--keys: {what}: belongs to somebody else, must be yours")
                if os.stat(what).st_mode & forbidden:
                    raise End(2, f"--keys: {what}: others can read or change it: say chmod go-rwx")
            return zmq.auth.load_certificate(path)
        except OSError as error:
            raise End(1, f"--keys: {path}: {error.strerror or error}") from error
        except ValueError as error:
            raise End(3, f"--keys: {path}: {error}") from error

    def secure(self, target: zmq.Socket[bytes], endpoint: str, bound: bool) -> None:
        if not is_network(endpoint):
            return
        if self.folder:
            target.curve_publickey, target.curve_secretkey = self.load(f"{'server' if bound else 'client'}.key_secret")
            if bound:
                target.curve_server, target.zap_domain = 1, b"bragg"
                self.guard()
            else:
                target.curve_serverkey = self.load("server.key")[0]
        elif not self.insecure:
            raise End(2, f"endpoint '{endpoint}' needs keys: say --keys=DIR (bragg-run --make-keys DIR makes them), or "
                         "--insecure, and anybody who reaches it can read, take and forge frames")
        else:
            self.warn(f"--insecure: anybody who reaches {endpoint} can read, take and forge frames")
            self.warn = lambda text: None

    def guard(self) -> None:
        """From now on the gate is asked about all who connect."""
        if self.gate:
            return
        assert self.folder
        listed = [user for user in ("client", "watcher") if os.path.lexists(os.path.join(self.folder, f"{user}.key"))]
        self.users = {self.load(f"{user}.key")[0]: user for user in listed}
        self.gate = self.context.socket(zmq.REP)
        self.gate.bind("inproc://zeromq.zap.01")

    def judge(self) -> None:
        """Answers one question of libzmq about somebody who connects."""
        assert self.gate
        version, number, _, _, _, mechanism, *key = self.gate.recv_multipart()
        user = self.users.get(zmq.utils.z85.encode(key[0])) if mechanism == b"CURVE" else None  # type: ignore[no-untyped-call]
        self.refused += not user
        answer = [b"200", b"OK", user.encode()] if user else [b"400", b"this key is not admitted", b""]
        self.gate.send_multipart([version, number, *answer, b""])


class Port:
    """Bound: for any number of neighbours.  Connected: to one, through connections that come back when they are cut."""

    def __init__(self, sockets: Sockets, endpoint: str, bound: bool, up: bool, part_max: int) -> None:
        self.sockets, self.endpoint, self.bound, self.up, self.part_max = sockets, endpoint, bound, up, part_max
        self.network, self.cuts, self.ended = is_network(endpoint), 0, False
        self.open()

    def open(self) -> None:
        self.opened_s, self.greeted_s = time.monotonic(), 0.0
        self.watch: Any = None
        new: Any = self.sockets.context.socket(zmq.ROUTER if self.bound else zmq.DEALER)
        self.socket: Any = new
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
                    for user in (os.geteuid(), 0) if self.up else ():  # frames come from these: the kernel says who connects
                        new.setsockopt(zmq.IPC_FILTER_UID, user)
                new.bind(self.endpoint)
                self.endpoint = str(new.get_string(zmq.LAST_ENDPOINT)).rstrip("\0")
            else:
                if not self.network and os.path.exists(self.endpoint[len("ipc://"):]):
                    _check_user(self.endpoint, os.stat(self.endpoint[len("ipc://"):]).st_uid)
                self.watch = new.get_monitor_socket(WATCHED)
                new.connect(self.endpoint)
        except zmq.ZMQError as error:
            raise End(1, f"cannot {'bind' if self.bound else 'connect to'} {self.endpoint}: {error.strerror}") from error

    def reopen(self, now: float, pause_s: float) -> bool:
        """Connects anew after drop, at most so often; true when it did."""
        anew = not self.socket and now > self.opened_s + pause_s
        if anew:
            self.open()
        return anew

    def linger(self, ms: int) -> None:
        if self.socket:
            self.socket.linger = ms

    def drop(self) -> None:
        """Ends a connection, with all that is on its way."""
        if self.watch:
            self.socket.disable_monitor()
        self.socket.close(0)
        self.socket = self.watch = None

    def send(self, address: Address, parts: list[Any]) -> bool:
        """False when nobody is there."""
        if not self.socket:
            return False
        whole: list[Any] = [*address, *parts]
        last = whole.pop()
        try:
            for part in whole:
                self.socket.send(part, _DONTWAIT | _SNDMORE, copy=len(part) < COPIED)
            self.socket.send(last, _DONTWAIT, copy=len(last) < COPIED)
        except zmq.ZMQError:
            return False
        return True

    def receive(self) -> Iterator[tuple[Address, Message | None]]:
        """(address, message or None for a damaged one) for each that is there."""
        while self.socket and self.socket.get(zmq.EVENTS) & _POLLIN:
            parts = [self.socket.recv(copy=False)]
            while parts[-1].more:
                parts.append(self.socket.recv(copy=False))
            if self.bound and self.network and self.sockets.folder and parts[-1].get("User-Id") != "client":
                continue  # a watcher has no business where frames flow
            if not self.bound and not self.network:
                self.ended = self.was_cut()  # an event that comes before says whose process sent it
            address = (parts.pop(0).bytes,) if self.bound else ()
            try:
                yield address, Message([part.buffer for part in parts], self.network)
            except (ValueError, TypeError, msgpack.UnpackException):
                yield address, None

    def was_cut(self) -> bool:
        """Whether its connection ended since this was last asked: where the watch has something to read."""
        cut, self.ended = self.ended, False
        while self.watch and self.watch.events & zmq.POLLIN:
            what = parse_monitor_message(self.watch.recv_multipart())
            if what["event"] == zmq.EVENT_CONNECTED:
                user = None if self.network else _peer_user(what["value"])
                if user is not None:
                    _check_user(self.endpoint, user)
                continue
            cut, self.cuts = True, self.cuts + 1
            if what["event"] == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                raise End(1, f"{self.endpoint}: my keys are refused")
        return cut
