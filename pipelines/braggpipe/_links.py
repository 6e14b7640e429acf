"""The data plane of bragg-wire(5): links to the neighbours of a stage, and the frames on them.

Up is the direction of the source, down the direction of the sinks.
"""
from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any

from braggpipe._link import Held, Link
from braggpipe._packed import is_able
from braggpipe._sockets import NOTICE_MAX, Address, Port, Sockets, is_local
from braggpipe._wire import (ACK, BYE, CREDIT, EXPERIMENT, FRAME, HEARTBEAT, HELLO, KINDS, LOST, NOTHING, POOL, End, Keys,
                             Message, pack, ranges)

GREET_S = 0.5  # time to wait for an answer before another hello
CREDIT_FIRST, CREDIT_MAX = 4, 1024  # frames in transit per link: at the start; maximum


class Links:
    """The links of a stage, and the messages on them.  Stream (_stream.py) completes the class.

    `worker` processes the frames: a Worker (_worker.py) or a _Taker (_live.py).
    """

    sockets: Sockets
    stdout: int
    heard_s: float

    def __init__(self, name: str, options: argparse.Namespace, worker: Any) -> None:
        self.waited: set[str] = set()  # groups of sinks that must have every frame; empty: unknown
        self.name, self.options, self.worker = name, options, worker
        self.uuid, self.run, self.former = os.urandom(16).hex(), 0, 0  # former: the run before the restart
        self.control = self.told = ""  # endpoint of the source: ours; as sent to stages below
        self.ports: list[Port] = []
        self.links: list[Link] = []
        self.source: Port | None = None
        self.pipes: dict[bool, Port | None] = {}  # ports to the neighbours at stdin (True), stdout
        self.frames: list[Held] = []  # all frames in this process, in the order of arrival
        self.ready: list[Held] = []  # finished frames that are still to be sent
        self.buried: set[str] = set()  # uuids of processes that the source excluded
        self.dropped, self.ticks, self.hello_due = 0, 0, False
        self.kept_s = 0.0  # time of the last check of connections; 0: check now
        self.bytes_in = self.bytes_out = 0
        self.seen: dict[int, int] = {}  # sink: checksums of finished frames, by frame number
        self.acks: list[int] = []  # sink: frames that are still to be acknowledged to the source

    def is_last(self) -> bool:
        return bool(self.worker.gives == NOTHING)

    def is_durable(self) -> bool:
        """Returns True if this is a sink for whose frames the run may wait."""
        return self.is_last() and bool(self.worker.hold)

    def say(self, port: Port | None, kind: int, address: Address = (), **keys: Any) -> bool:
        return port is not None and port.send(address, pack([1, kind, self.run, 1, 0, 0, self.name, 0, 0], keys, network=port.network))

    def hello(self, port: Port, downstream: bool, address: Address = ()) -> bool:
        near: Keys = {"upstreams": []}  # only the source gets the lists of neighbours
        if port is self.source:
            near = {name: [{"uuid": link.uuid} for link in self.links if link.port.up == up]
                    for up, name in ((True, "upstreams"), (False, "downstreams"))}
        return self.say(port, HELLO, address, control=self.told, downstream=downstream, durable=self.is_durable(),
                        gives=self.worker.gives, wants=self.worker.wants, identity=self.worker.identity,
                        group=self.options.group or f"{self.name}/{KINDS[self.worker.gives]}",
                        host=os.uname().nodename, pid=os.getpid(), stage=self.name, uuid=self.uuid, **near)

    def greet(self, now: float) -> None:
        """Sends hello on connected ports, and answers the hellos of new neighbours.

        Repeats a hello if no reply comes, because the peer may have died before the first one
        arrived.
        """
        for port in self.ports:
            link = self.link_of(port)
            if port.bound or not port.socket or not (port.up or self.run):
                continue
            if port.greeted_s and (link and not link.lost_s or now < port.greeted_s + GREET_S):
                continue
            if port.greeted_s and port.network:
                self.cut(port)  # discards the hellos that wait for a connection
            elif self.hello(port, port.up):
                port.greeted_s = now
        for link in self.links:
            if not link.answered and (link.port.up or self.run):
                link.answered = self.hello(link.port, link.port.up, link.address)

    # --- neighbours -----------------------------------------------------------

    def link_of(self, port: Port, address: Address | None = None) -> Link | None:
        return next((link for link in self.links if link.port is port and address in (None, link.address)), None)

    def meet(self, port: Port, address: Address, message: Message) -> None:
        keys = message.keys
        nameless = port.up and not keys["downstream"] and not message.run  # a stage that sends frames knows the run
        if nameless or keys["uuid"] in self.buried or not (keys["wants"] or keys["gives"]) or message.run == self.former != 0:
            self.dropped += 1
            return
        link = self.link_of(port, address)
        if link and not port.bound and not link.lost_s:
            self.cut(port)  # a second hello: the peer asks for a new connection
            return
        if not link or not port.bound:
            link = Link(port, address)
            self.links.append(link)
        link.meet(keys)
        self.inherit(link)
        for other in [other for other in self.links if other.port is port and other is not link]:
            if other.uuid == link.uuid or not port.bound:  # it connected again, or was replaced
                self.drop(other, died=other.uuid != link.uuid)
        self.hello_due = True
        if keys["downstream"] == port.up:
            raise End(2, f"{port.endpoint}: {link.stage} and this stage both use {'--in' if port.up else '--out'}; expected --out at one end and "
                      "--in at the other")
        if port.up:
            self.meet_upstream(link, message)

    def inherit(self, link: Link) -> None:
        """Moves the state of shared memory from previous links of the same process to this link."""
        for former in [other for other in self.links if other.uuid == link.uuid and other is not link]:
            link.reading.update(former.reading)
            if former.pool:
                link.pool, former.pool = former.pool, None
                link.pool.cut()

    def meet_upstream(self, link: Link, message: Message) -> None:
        gives, control = message.keys["gives"], self.resolve(message.keys["control"], link.port)
        if gives != self.worker.wants:
            raise End(2, f"wants {KINDS[self.worker.wants]}, got {KINDS[gives]} from {link.stage}")
        if not self.run:
            self.learn(message.run, message.keys["control"] if is_local(control) else control, control)
        elif message.run != self.run and control != self.control:
            raise End(1, f"{link.stage} belongs to another run. Connect stages of one run only")
        elif message.run != self.run:
            self.drop(link, died=False)  # the source was restarted and will inform us, too

    @staticmethod
    def resolve(control: str, port: Port) -> str:
        """Returns the endpoint of the source as this host can reach it.

        If the source listens on all interfaces, the host is that of the stage which sent the hello.
        """
        host, _, number = control.rpartition(":")
        everywhere = host in ("tcp://0.0.0.0", "tcp://[::]") and port.network and not port.bound
        return f"{port.endpoint.rpartition(':')[0]}:{number}" if everywhere else control

    def learn(self, run: int, told: str, control: str) -> None:
        for port in self.ports:
            if is_local(told) and not port.up and not is_local(port.endpoint):
                raise End(2, f"--out={'@' * port.bound}{port.endpoint}: stages on other hosts cannot reach the source at {told}. "
                             "Add --control=tcp://HOST:PORT to the options of the source")
        self.run, self.control, self.heard_s = run, control, time.monotonic()
        self.told = told  # the endpoint that downstream stages get
        self.source, self.hello_due = Port(self.sockets, control, False, True, NOTICE_MAX), True
        below = self.pipes.get(False)
        if below:
            os.write(self.stdout, f"bragg1 {run:016x} {below.endpoint} {told}\n".encode())

    def drop(self, link: Link, died: bool) -> None:
        """Removes a link.

        Frames that were received through it stay in this process.  Frames that were sent through it
        are reported to the source as lost.
        """
        self.links.remove(link)
        for frame in self.frames:
            frame.link = None if frame.link is link else frame.link
        self.hello_due = True
        if link.sent and link.blamed:
            self.say(self.source, LOST, ids=ranges(link.sent), status=int(died))

    def bury(self, link: Link) -> None:
        if link.port in self.pipes.values():
            raise End(1, f"{link.stage} (the stage {'before' if link.port.up else 'after'} this one) died")
        self.drop(link, died=True)
        if not link.port.bound:
            self.cut(link.port)  # discards messages to the dead process

    def cut(self, port: Port) -> None:
        """Closes a connection, which is then opened again.

        If the neighbour has died, a message of the source (fence) says so.
        """
        port.drop()
        self.kept_s = 0.0
        for link in self.links:
            if link.port is port:
                link.lost_s = link.lost_s or time.monotonic()

    def damaged(self, link: Link | None) -> None:
        """Handles a corrupt message.

        Any message may have been lost, so a link through a network is connected again.
        """
        self.dropped += 1
        if link and link.port.network and not link.port.bound:
            self.cut(link.port)
        elif link and link.port.network:
            link.answered, self.kept_s = False, 0.0  # a second hello asks the peer to connect again

    # --- the data plane -------------------------------------------------------

    def take(self, port: Port, address: Address, message: Message | None) -> None:
        link = self.link_of(port, address)
        if not message:
            self.damaged(link)
        elif message.kind == HELLO:
            self.meet(port, address, message)
        elif link and (message.run == self.run != 0 or message.kind == BYE and not message.run):
            (self.take_up if port.up else self.take_down)(link, message)
            if message.kind == BYE:
                link.gone, link.sent, link.way, link.reading = True, [], [], {}
                if message.keys["status"]:
                    raise End(130 if message.keys["status"] == 130 else 1)
        else:
            self.dropped += 1

    def take_up(self, link: Link, message: Message) -> None:
        if message.kind == HEARTBEAT:
            self.say(link.port, HEARTBEAT, link.address, ids=[], progress=link.messages)
        elif message.kind == POOL:
            link.meet_pool(message)
        elif message.kind in (EXPERIMENT, FRAME):
            link.messages += 1
            self.bytes_in += message.size()
            (self.on_experiment if message.kind == EXPERIMENT else self.on_frame)(link, message)

    def on_experiment(self, link: Link, message: Message) -> None:
        if link.port.network and not message.is_whole():
            self.damaged(link)
        elif not self.worker.lineage:
            self.worker.begin(message, any(port.network for port in self.ports))
            self.hello_due |= self.is_last()  # the list of durable frames is sent after the next hello
        elif message.keys["lineage"] != self.worker.came:
            raise End(1, f"{link.stage}: has other options than the other stages before this one: lineage "
                         f"{message.keys['lineage']}; expected {self.worker.came}")

    def on_frame(self, link: Link, message: Message) -> None:
        if not link.granted or sum(frame.link is link for frame in self.frames) >= CREDIT_MAX:
            raise End(1, f"{link.stage}: sent more frames than this stage has asked for")
        self.ticks += 1
        frame = Held(link, message)
        if message.frame in self.seen or self.is_last() and any(other.number == frame.number for other in self.frames):
            self.take_again(frame)
        else:
            self.frames.append(frame)
            self.worker.put(frame)

    def take_again(self, frame: Held) -> None:
        """Handles a frame that this sink has already or is processing.

        Raises End if the frame differs from the first one.
        """
        if self.seen.get(frame.number, frame.message.sum) != frame.message.sum:
            raise End(1, f"frame {frame.number}: arrived twice, with different pixels")
        if frame.number in self.seen:
            self.acks.append(frame.number)
        self.give_credit(frame)

    def take_down(self, link: Link, message: Message) -> None:
        if message.kind == HEARTBEAT and link.asked:
            self.on_answer(link, message.keys["progress"])
        elif message.kind == CREDIT:
            link.credit = min(CREDIT_MAX, link.credit + message.keys["grant"])
            link.shares, slots = bool(message.keys.get("shared")), int(message.keys.get("slots", 0))
            link.reading = {slot: pixels for slot, pixels in link.reading.items() if not slots >> slot & 1}
            for number in [number for number in link.sent if message.lists(number)]:
                link.sent.remove(number)
                if number in link.way:  # earlier ones have arrived, too, or are lost
                    del link.way[:link.way.index(number) + 1]

    def on_answer(self, link: Link, progress: int) -> None:
        """Handles the answer of a neighbour: `progress` messages had arrived when it was asked.

        The other messages are lost, and their credit is valid again.  The source notices that no
        process has the lost frames.
        """
        assert link.asked
        (messages, sent), link.asked = link.asked, None
        lost = max(0, messages - progress)
        link.way = [number for number in link.way if number not in sent]
        link.messages -= lost
        link.credit += min(lost, sum(number in sent for number in link.sent))
        link.given = not lost or bool(link.sent)

    def pump(self) -> None:
        """Sends the experiment, then frames as credit allows.  Returns credit of finished frames."""
        while not self.worker.freed.empty():
            self.worker.freed.get().give_back()
        for frame in self.worker.results():
            self.finished(frame)
        links = [link for link in self.links if link.is_open() and self.worker.lineage]
        for link in links:
            if link.port.up and not link.granted:
                link.granted = self.credit(link, CREDIT_FIRST, [])
            elif not link.port.up and not link.given:
                self.announce(link)
                link.given = self.send(link, self.worker.experiment)
        if self.acks and self.source:
            if self.is_durable():
                self.say(self.source, ACK, ids=ranges(self.acks))
            self.acks = []
        while self.ready and self.pass_on(self.ready[0], [link for link in links if link.given]):
            self.passed(self.ready.pop(0))
        for link in links:  # one message for all frames and all free slots of this turn
            if link.port.up and (link.passed or link.pool and link.pool.returned):
                passed, link.passed = link.passed, []
                self.credit(link, len(passed), passed)

    def announce(self, link: Link) -> None:
        """Announces our shared memory to a neighbour on this host."""
        if link.port.network:
            return
        self.worker.memory.open(self.uuid, self.run, 4 * self.worker.shown.count)
        slots = self.worker.memory.slots
        if slots:
            self.say(link.port, POOL, link.address, pid=os.getpid(), fd=slots.fd)

    def finished(self, frame: Held) -> None:
        if frame.damaged:
            self.frames.remove(frame)
            self.damaged(frame.link)
        elif frame.error:
            raise End(1, f"frame {frame.number}: {frame.error}")
        elif self.is_last():
            self.seen[frame.number] = frame.message.sum
            self.acks.append(frame.number)
            self.passed(frame)
        else:
            self.ready.append(frame)

    def pass_on(self, frame: Held, links: list[Link]) -> bool:
        """Sends a frame to one process of each group: the one with the fewest frames in transit.

        Returns False while the frame has to wait for the credit of a group.  Frames do not wait for
        groups of sinks that the source does not name.
        """
        groups = {link.group for link in links}
        spare = {link.group for link in links if link.durable and self.waited and link.group not in self.waited}
        frame.groups = groups & frame.groups if frame.taken else groups
        for group in sorted(frame.groups):
            able = [link for link in links if link.group == group and link.credit and not link.lost_s]
            link = next((link for link in sorted(able, key=lambda link: len(link.sent)) if self.send_frame(link, frame)), None)
            if link:
                link.credit -= 1
                link.sent.append(frame.number)
                link.way.append(frame.number)
                frame.groups.discard(group)
                frame.taken = True
        return frame.taken and not frame.groups - spare

    def send_frame(self, link: Link, frame: Held) -> bool:
        """Sends a frame: with its pixels, or without them to a process that reads our memory."""
        shared = frame.shared if link.shares else []
        is_sent = self.send(link, frame.parts, shared)
        if is_sent and shared:
            link.reading[frame.slot] = frame.parts[2]
        return is_sent

    def send(self, link: Link, parts: list[Any], shared: Sequence[Any] = ()) -> bool:
        if link.port.send(link.address, list(shared or parts)):
            link.messages += 1
            self.bytes_out += sum(map(len, parts))
            return True
        link.lost_s = time.monotonic()  # the bye of the neighbour may still arrive
        return False

    def passed(self, frame: Held) -> None:
        self.ticks += 1
        self.frames.remove(frame)
        self.give_credit(frame)

    def give_credit(self, frame: Held) -> None:
        if frame.lease and not frame.is_read:
            frame.lease.give_back()
        if frame.link and frame.link.is_open():  # else: the next link starts with new credit
            frame.link.passed.append(frame.number)

    def credit(self, link: Link, grant: int, numbers: list[int]) -> bool:
        able: Keys = {"packed": True} if is_able() else {}
        if link.pool:
            able |= {"shared": True, "slots": link.pool.take_returned()}
        return self.say(link.port, CREDIT, link.address, grant=grant, ids=ranges(numbers), **able)
