"""ZeroMQ sockets: endpoints, encryption keys, and connections that are restored after a cut."""
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

Address = tuple[bytes, ...]  # address of a neighbour at a bound socket; () at a connected socket

PART_MAX, NOTICE_MAX = 1 << 33, 1 << 20  # max bytes of a message part: with and without pixels
COPIED = 1 << 16  # bytes from which a part is sent without a copy, and kept until it is sent
LINGER_MS = 500  # time to send the last messages after the end
WATCHED = zmq.EVENT_CONNECTED | zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH
_DONTWAIT, _SNDMORE, _POLLIN = int(zmq.DONTWAIT), int(zmq.SNDMORE), int(zmq.POLLIN)  # ints: combining enums is slower than sending

# --- endpoints ----------------------------------------------------------------


def is_network(endpoint: str) -> bool:
    return endpoint.startswith("tcp://")


def is_local(endpoint: str) -> bool:
    """Returns True if only processes of this host can reach the endpoint."""
    return not is_network(endpoint) or endpoint[6:].startswith(("127.", "localhost:", "[::1]:"))


def is_refused(endpoint: str) -> bool:
    """Returns True if no process has bound the endpoint.

    Returns False if this is unknown, for example if a connection takes longer than one second.
    """
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
    """Returns whether the endpoint is to be bound, and the endpoint without its @.

    Raises End with status 2 if the endpoint is malformed.
    """
    bound, name = text.startswith("@"), text.removeprefix("@")
    path, (host, _, port) = name.removeprefix("ipc://"), name.removeprefix("tcp://").rpartition(":")
    if name.startswith("ipc://"):
        if not path.startswith("/") or len(os.fsencode(path)) > 107:
            raise End(2, f"endpoint '{name}': expected an absolute path of at most 107 bytes after ipc://")
    elif not is_network(name):
        raise End(2, f"endpoint '{name}': expected ipc://PATH or tcp://HOST:PORT")
    elif not host or not (bound and port == "*" or port.isdecimal() and 1 - bound <= int(port) <= 65535):
        raise End(2, f"endpoint '{name}': expected a port at the end, :1 to :65535" + ", or :* for a free one" * bound)
    return bound, name


def _check_user(endpoint: str, owner: int) -> None:
    """Raises End if the socket belongs neither to this user nor to root.

    Otherwise another user could send frames to this process.
    """
    if owner not in (os.geteuid(), 0):
        raise End(1, f"{endpoint}: the socket belongs to user {owner}; expected your own (user {os.geteuid()}) or root's. "
                     "Use a folder that only you can write to, such as $XDG_RUNTIME_DIR")


def _peer_user(fd: int) -> int | None:
    """Returns the user id of the process at the other end of a local connection; None: unknown."""
    try:
        with socket.socket(fileno=os.dup(fd)) as peer:
            return int(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    except OSError:
        return None


def _clear(path: str) -> None:
    """Removes the socket at `path` if no process listens at it.

    ZeroMQ would replace any file there.  Raises End with status 2 if the file is not a socket, or
    if a process uses the socket.
    """
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise End(2, f"{path}: exists already, and is not a socket. Choose another endpoint")
    if not is_refused(f"ipc://{path}"):
        raise End(2, f"{path}: another process uses this endpoint. Choose another endpoint")
    os.unlink(path)


# --- sockets ------------------------------------------------------------------


class Sockets:
    """The ZeroMQ context of this process, and the access control of its tcp sockets.

    With `folder`, only clients with a listed key may connect (ZeroMQ RFC 27).
    """

    def __init__(self, folder: str | None, insecure: bool, warn: Callable[[str], None]) -> None:
        self.folder, self.insecure, self.warn = folder, insecure, warn
        self.context, self.refused = zmq.Context(), 0
        self.gate: zmq.Socket[bytes] | None = None

    def close(self) -> None:
        self.context.destroy()

    def load(self, name: str) -> tuple[bytes, bytes | None]:
        """Returns the (public, secret) keys of a file in the folder of the keys.

        Raises End if another user could read a secret key or change a file, because that user could
        then take part in the run.
        """
        assert self.folder
        path = os.path.join(self.folder, name)
        try:
            for what, forbidden in ((self.folder, 0o077), (path, 0o077 if name.endswith("secret") else 0o022)):
                if os.stat(what).st_uid != os.geteuid():
                    raise End(2, f"--keys: {what}: belongs to user {os.stat(what).st_uid}; expected your own file (user {os.geteuid()})")
                if os.stat(what).st_mode & forbidden:
                    raise End(2, f"--keys: {what}: other users can read or change this file. Run: chmod go-rwx {what}")
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
            raise End(2, f"endpoint '{endpoint}' needs keys. Use --keys=DIR (bragg-run --make-keys=DIR makes the keys), or --insecure, "
                         "with which anybody who reaches the endpoint can read, take and forge frames")
        else:
            self.warn(f"--insecure: anybody who reaches {endpoint} can read, take and forge frames")
            self.warn = lambda text: None

    def guard(self) -> None:
        """Starts the access control: libzmq sends a request about every client to the gate."""
        if self.gate:
            return
        assert self.folder
        listed = [user for user in ("client", "watcher") if os.path.lexists(os.path.join(self.folder, f"{user}.key"))]
        self.users = {self.load(f"{user}.key")[0]: user for user in listed}
        self.gate = self.context.socket(zmq.REP)
        self.gate.bind("inproc://zeromq.zap.01")

    def judge(self) -> None:
        """Answers one request of libzmq: whether a client with this key may connect."""
        assert self.gate
        version, number, _, _, _, mechanism, *key = self.gate.recv_multipart()
        user = self.users.get(zmq.utils.z85.encode(key[0])) if mechanism == b"CURVE" else None  # type: ignore[no-untyped-call]
        self.refused += not user
        answer = [b"200", b"OK", user.encode()] if user else [b"400", b"this key is not admitted", b""]
        self.gate.send_multipart([version, number, *answer, b""])


class Port:
    """One endpoint of this process, --in (`up`) or --out.

    A bound port serves any number of neighbours.  A connected port leads to one neighbour, and its
    connection is restored after a cut.
    """

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
                    for user in (os.geteuid(), 0) if self.up else ():  # only these users may send frames; the kernel checks
                        new.setsockopt(zmq.IPC_FILTER_UID, user)
                new.bind(self.endpoint)
                self.endpoint = str(new.get_string(zmq.LAST_ENDPOINT)).rstrip("\0")
            else:
                if not self.network and os.path.exists(self.endpoint[len("ipc://"):]):
                    _check_user(self.endpoint, os.stat(self.endpoint[len("ipc://"):]).st_uid)
                self.watch = new.get_monitor_socket(WATCHED)
                new.connect(self.endpoint)
        except zmq.ZMQError as error:
            raise End(1, f"{self.endpoint}: cannot {'bind this endpoint' if self.bound else 'connect'}: {error.strerror}") from error

    def reopen(self, now: float, pause_s: float) -> bool:
        """Connects again after drop, at most once per `pause_s`.  Returns True if it did."""
        anew = not self.socket and now > self.opened_s + pause_s
        if anew:
            self.open()
        return anew

    def linger(self, ms: int) -> None:
        if self.socket:
            self.socket.linger = ms

    def drop(self) -> None:
        """Closes the connection and discards the messages that are not sent yet."""
        if self.watch:
            self.socket.disable_monitor()
        self.socket.close(0)
        self.socket = self.watch = None

    def send(self, address: Address, parts: list[Any]) -> bool:
        """Sends a message.  Returns False if no neighbour is connected at this address."""
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
        """Yields (address, message) for each arrived message; a corrupt message is None."""
        while self.socket and self.socket.get(zmq.EVENTS) & _POLLIN:
            parts = [self.socket.recv(copy=False)]
            while parts[-1].more:
                parts.append(self.socket.recv(copy=False))
            if self.bound and self.network and self.sockets.folder and parts[-1].get("User-Id") != "client":
                continue  # clients with the key `watcher` may not exchange frames
            if not self.bound and not self.network:
                self.ended = self.was_cut()  # earlier events say which user's process sent it
            address = (parts.pop(0).bytes,) if self.bound else ()
            try:
                yield address, Message([part.buffer for part in parts], self.network)
            except (ValueError, TypeError, msgpack.UnpackException):
                yield address, None

    def was_cut(self) -> bool:
        """Returns True if the connection ended since the previous call.

        Raises End if the other end refuses the keys, or belongs to another user.
        """
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
                raise End(1, f"{self.endpoint}: the other end refuses the keys of this stage. Give both ends the same --keys")
        return cut
