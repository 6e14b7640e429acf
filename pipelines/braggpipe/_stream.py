"""Stream: the part of one process in a run, from the first hello to the bye (bragg-wire(5))."""
from __future__ import annotations

import argparse
import os
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from subprocess import PIPE, Popen
from typing import Any

import zmq

from braggpipe._links import Links
from braggpipe._sockets import NOTICE_MAX, PART_MAX, Address, Port, Sockets, is_refused, parse_endpoint
from braggpipe._wire import BYE, FENCE, FREE, HAVE, HEARTBEAT, HELLO, WELCOME, End, Keys, Message, ranges

# TICK_MS: longest wait for events.  REOPEN_S: shortest time between two attempts to connect.
# GRACE_S: how much later than the end of a pipe a bye may arrive.  KEEP_S: time between two checks of
# the connections.
TICK_MS, REOPEN_S, GRACE_S, KEEP_S = 100, 0.1, 0.5, 0.01


def _write_quietly(fd: int) -> None:
    try:
        os.write(fd, b"\0")
    except BlockingIOError:
        pass  # the thread is already about to wake up


class Anew(Exception):
    """The source was restarted: this process must take part in the new run from the beginning."""


class Stream(Links):
    """The part of this process in one run.

    `stdin` is the file descriptor of the pipe from the previous stage.  It is not used if --in
    names endpoints.
    """

    def __init__(self, name: str, options: argparse.Namespace, worker: Any, stdin: int = 0) -> None:
        super().__init__(name, options, worker)
        self.stdin = stdin
        self.leaving: int | None = None
        self.sockets = Sockets(options.keys, options.insecure, self.warn)
        self.former = worker.former
        self.lock, self.stdout = threading.RLock(), -1
        self.own_fds: list[int] = []
        self.closed_s: dict[bool, float] = {}
        self.folder: Popen[bytes] | None = None
        self.line = b""  # text from stdin so far
        self.start_s = self.heard_s = time.monotonic()
        self.beat_s, self.patience_s, self.welcomed, self.interrupts = 0.0, 5.0, False, 0

    def warn(self, text: str) -> None:
        if not self.options.quiet:
            print(f"{self.name}: warning: {text}", file=sys.stderr, flush=True)

    def main(self) -> End:
        """Takes part in the run until the end.  Returns the End; raises Anew after a restart."""
        try:
            self.open()
            while True:
                self.turn()
        except (End, OSError, zmq.ZMQError) as error:
            end = error if isinstance(error, End) else End(1, str(error))
        except Anew:
            self.sockets.close()
            self.close_pipes()
            raise
        said = 0 if end.freed else end.status
        if self.worker.is_program and end.text:  # before the bye, which ends other processes
            print(f"{self.name}: {end.text}", file=sys.stderr, flush=True)
        self.bye(said)
        if said == 0:
            for port in self.ports:  # messages to processes that have left need not be sent
                port.linger(50)
        self.sockets.close()
        if self.sockets.refused:
            self.warn(f"{self.sockets.refused} connections were refused, because their keys are not in {self.options.keys}")
        if self.folder:
            self.folder.communicate()
        self.close_pipes()
        return end

    def leave(self, status: int) -> None:
        """Ends the stream soon, with this exit status.  May be called by any thread."""
        self.leaving = status
        self.worker.wake()

    def close_pipes(self) -> None:
        if self.worker.is_program:
            signal.set_wakeup_fd(-1)
        with self.lock:
            self.worker.wake = lambda: None
            for fd in self.own_fds:
                os.close(fd)
            self.own_fds = []

    # --- messages that are sent -----------------------------------------------

    def bye(self, status: int) -> None:
        """Says bye to the source and all neighbours, also to those that have not answered yet."""
        for link in self.links:
            if link.answered and not link.gone:
                self.say(link.port, BYE, link.address, reason="", said=True, status=status)
        for port in self.ports:
            if port.greeted_s and not self.link_of(port):
                self.say(port, BYE, reason="", said=True, status=status)
        if self.source:
            durable: Keys = {"durable": len(self.seen)} if self.is_last() else {}
            self.say(self.source, BYE, reason="", said=True, status=status, **durable)

    def beat(self) -> None:
        if all(frame.is_done() for frame in self.frames):
            self.ticks += 1  # a process that waits for others does not hang
        ids = {frame.number for frame in self.frames}.union(*(link.way for link in self.links))
        self.say(self.source, HEARTBEAT, ids=ranges(sorted(ids)), progress=self.ticks + self.worker.steps(),
                 work=self.worker.work(self.bytes_in, self.bytes_out))
        for link in self.links:
            if link.given and link.is_open() and not link.asked:
                link.asked = link.messages, list(link.sent)
                self.say(link.port, HEARTBEAT, link.address, ids=[], progress=link.messages)

    # --- the control plane ----------------------------------------------------

    def hear(self, port: Port, address: Address, message: Message | None) -> None:
        if not message or message.kind == HELLO:
            self.hello_due = True  # the source answers a hello by repeating what matters
        if message and message.run == self.run:
            self.heard_s = time.monotonic()
            self.obey(message.kind, message.keys)
        elif message and message.kind == WELCOME and not message.run:
            self.heard_s = time.monotonic()  # a restarted source without an experiment
        elif message and message.kind == WELCOME and not self.pipes:
            self.worker.begin_anew(self)

    def obey(self, kind: int, keys: Keys) -> None:
        if kind == WELCOME:
            self.welcomed = True
            self.waited = {group["name"] for group in keys.get("groups", ())} or self.waited
            if keys.get("known"):
                self.worker.count_frames(keys["total"])
            self.patience_s = min(max(keys["dead_after_s"], 0.1), 1e6)
            if keys.get("window") and not self.is_last():
                self.worker.memory.window = int(keys["window"])
        elif kind == FREE:
            raise End(keys["status"] if keys["status"] in (0, 130) else 1, freed=True)
        elif kind == FENCE and keys["uuid"] == self.uuid:
            self.links, self.source = [], None  # no process gets a bye
            reason = keys["reason"]
            raise End(1, f"the source {f'excluded this process: {reason}' if reason else 'presumed this process dead'}")
        elif kind == FENCE:
            self.buried.add(keys["uuid"])
            for link in [link for link in self.links if link.uuid == keys["uuid"] and not link.gone]:
                self.bury(link)
        elif kind == BYE:
            raise End(130 if keys["status"] == 130 else 1)

    def pump_control(self, now: float) -> None:
        assert self.source
        if self.source.reopen(now, REOPEN_S):
            self.hello_due = True
        if self.hello_due:
            self.hello_due = not self.hello(self.source, False)
            if self.is_durable() and self.worker.lineage and not self.hello_due:
                self.say(self.source, HAVE, ids=ranges(self.worker.have), known=True)
        if now > self.beat_s + min(1, self.patience_s / 5):
            self.beat_s = now
            self.beat()
        patience_s = self.options.source_timeout or 2 * self.patience_s
        if now > self.heard_s + (patience_s if self.welcomed else self.options.start_timeout):
            raise End(1, f"{self.control}: the source has stopped answering")

    # --- the loop -------------------------------------------------------------

    def open(self) -> None:
        if self.options.keys and self.options.insecure:
            raise End(2, "--keys and --insecure exclude each other")
        self.own_fds = [*os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)]
        self.wake, waker = self.own_fds

        def wake() -> None:
            with self.lock:
                if self.own_fds:
                    _write_quietly(waker)

        self.worker.wake = wake
        if self.worker.is_program:
            signal.set_wakeup_fd(waker)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) != signal.SIG_IGN:
                    signal.signal(number, lambda *_: None)
        if not self.is_last():
            self.stdout = os.dup(1)  # output of print() must not go into the pipe
            sys.stdout = sys.stderr
        for up, texts in ((False, self.options.outs), (True, self.options.ins)):
            if self.is_last() and not up:
                continue
            for bound, endpoint in [parse_endpoint(text) for text in texts]:
                self.ports.append(Port(self.sockets, endpoint, bound, up, PART_MAX if up else NOTICE_MAX))
            if not texts:
                self.open_pipe(up)

    def open_pipe(self, up: bool) -> None:
        kind = os.fstat(self.stdin if up else 1).st_mode
        if not stat.S_ISFIFO(kind) and not stat.S_ISSOCK(kind):
            raise End(2, f"{'stdin' if up else 'stdout'} is not a pipe. Put a stage {'before' if up else 'after'} this one, "
                         f"or name an endpoint with --{'in' if up else 'out'}=ENDPOINT")
        self.pipes[up] = None
        if not up:
            path = tempfile.mkdtemp(prefix="bragg-")  # a shell removes it, even if this process is killed
            self.folder = Popen(["sh", "-c", 'cat; rm -r "$0"', path], stdin=PIPE, stdout=2, start_new_session=True)
            port = self.pipes[up] = Port(self.sockets, f"ipc://{path}/data", True, up, NOTICE_MAX)
            self.ports.append(port)

    def read_pipe(self, now: float) -> None:
        """Reads the endpoints of the previous stage from the pipe.

        The end of the pipe means that the previous stage has ended.
        """
        text = os.read(self.stdin, 4096)
        if not text:
            self.closed_s[True] = now
        if self.pipes[True]:
            return
        self.line += text
        word, run, data, control, *_ = [*self.line.decode("ascii", "replace").split(), "", "", "", ""]
        if not text and not self.line:
            raise End(1)  # the previous stage has reported the reason
        if self.line.endswith(b"\n") and word == "bragg1" and control:
            port = self.pipes[True] = Port(self.sockets, data, False, True, PART_MAX)
            self.ports.append(port)
            self.learn(int(run, 16), control, control)
        elif not text or b"\n" in self.line or len(self.line) > 1000:
            raise End(2, f"stdin is not a pipe from a stage: it begins with {self.line[:40].decode('ascii', 'replace')!r}")

    def check(self, now: float) -> None:
        """Detects neighbours that died without a bye, and an input that never connects."""
        for up, since_s in self.closed_s.items():
            port = self.pipes[up]
            link = self.link_of(port) if port else None
            if now > since_s + GRACE_S and not (link and link.gone):
                if not link:
                    raise End(1)  # the previous stage has reported the reason
                self.bury(link)
        for link in [link for link in self.links if link.lost_s and not link.gone]:
            if now > link.lost_s + self.patience_s:
                self.bury(link)
        if not self.run and now > self.start_s + self.options.start_timeout:
            refused = [port.endpoint for port in self.ports if port.up and not port.bound and is_refused(port.endpoint)]
            failing = [port.endpoint for port in self.ports if port.up and port.cuts]
            raise End(1, f"{refused[0]}: no process binds this endpoint. One end needs @, as in --in=@{refused[0]}" if refused else
                      f"{failing[0]}: every connection ends before the first message. Give both ends the same --keys" if failing else
                      f"no stage connected to the input of this stage within {self.options.start_timeout:g} s")

    def on_signal(self, number: int) -> None:
        self.interrupts += number == signal.SIGINT
        if number in (signal.SIGTERM, signal.SIGHUP):
            raise End(1, f"ended by signal {number} ({signal.Signals(number).name})")
        if self.interrupts > 1 or self.interrupts and not self.welcomed:
            raise End(130)  # the first Ctrl-C makes the source end the stream
        if number == signal.SIGINT:
            self.worker.interrupted()

    def listen(self, port: Port, events: dict[Any, int], handle: Callable[..., None]) -> None:
        cut = (port.ended or port.watch in events) and port.was_cut()
        if cut or port.socket in events:
            for address, message in port.receive():
                try:
                    handle(port, address, message)
                except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                    self.dropped += 1
                    self.warn(f"dropped a message that does not follow bragg-wire(5): {error!r}")
        if cut and port.socket:
            link = self.link_of(port)
            if not (link and link.gone):
                self.cut(port)

    def wait(self) -> dict[Any, int]:
        """Waits at most TICK_MS for events.  Returns them by socket, as zmq.Poller does."""
        sockets = [self.sockets.gate, *(s for port in [*self.ports, self.source] if port for s in (port.socket, port.watch))]
        items = [(readable, zmq.POLLIN) for readable in (*sockets, self.wake) if readable is not None]
        items += [(self.stdin if up else self.stdout, zmq.POLLIN if up else zmq.POLLERR)
                  for up in self.pipes if up not in self.closed_s]
        return dict(zmq.zmq_poll(items, TICK_MS))

    def turn(self) -> None:
        events, now = self.wait(), time.monotonic()
        for number in os.read(self.wake, 4096) if self.wake in events else b"":
            self.on_signal(number)
        if self.leaving is not None:
            raise End(self.leaving)
        if True in self.pipes and self.stdin in events:
            self.read_pipe(now)
        if False in self.pipes and self.stdout in events:
            self.closed_s[False] = now
        if self.sockets.gate in events:
            self.sockets.judge()
        for port in self.ports:
            self.listen(port, events, self.take)
        if self.source:
            self.listen(self.source, events, self.hear)
        if self.hello_due or now > self.kept_s + KEEP_S:  # not for every frame: this is slow
            self.kept_s = now
            self.check(now)
            for port in self.ports:
                port.reopen(now, REOPEN_S)
            self.greet(now)
        self.pump()
        if self.source:
            self.pump_control(now)
