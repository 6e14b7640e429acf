"""A neighbour of a stage, and a frame that came from one."""
from __future__ import annotations

from typing import Any

from braggpipe import _packed
from braggpipe._frame import Array
from braggpipe._shared import Lease, Pool
from braggpipe._sockets import Address, Port
from braggpipe._wire import ANYTHING, IMAGES, PACKED, SHARED, TYPES, End, Keys, Message

LEASES_MAX = 6  # slots of shared memory, and half of them, that are read at a time


class Link:
    """A neighbour on the data plane."""

    def __init__(self, port: Port, address: Address) -> None:
        self.port, self.address = port, address
        self.answered = not port.bound  # it has our hello
        self.given = self.granted = self.gone = False  # the experiment; its first credit; it said bye
        self.lost_s = 0.0  # since when it cannot be reached, 0: it can
        self.credit = self.messages = 0  # frames that may be sent there; experiments and frames that were, or that came
        self.sent: list[int] = []
        self.way: list[int] = []  # frames without their credit back; the last of these, which may not have arrived
        self.passed: list[int] = []  # frames from there whose credit is to be given back
        self.asked: tuple[int, list[int]] | None = None  # messages and frames sent when it was asked what had come
        self.pool: Pool | None = None  # its shared memory
        self.shares, self.reading = False, dict[int, Any]()  # it can read ours, and what it reads there, by its slot

    def meet(self, keys: Keys) -> None:
        self.uuid, self.stage, self.group = keys["uuid"], keys["stage"], keys["group"]
        self.wants = IMAGES if keys["wants"] == ANYTHING else keys["wants"]
        self.durable = keys["durable"] and not keys["gives"]  # a last stage whose frames may have to be there
        self.blamed = (keys["gives"] or keys["durable"]) and not keys.get("order")  # when it dies with frames

    def is_open(self) -> bool:
        return self.answered and not self.gone and not self.lost_s and (self.port.up or self.wants == IMAGES)

    def meet_pool(self, message: Message) -> None:
        """Its shared memory, if this process may read it; else pixels come in messages."""
        if self.pool and self.pool.is_of(message.keys):
            return
        try:
            self.pool = Pool(message.keys, self.uuid, message.run, message.incarnation)
        except (OSError, ValueError):
            self.pool = None


class Held:
    """A frame in this process.  Its worker sets one of parts, error and damaged."""

    def __init__(self, link: Link, message: Message) -> None:
        self.link: Link | None = link
        self.message, self.number = message, message.frame
        self.network = link.port.network
        self.parts: list[Any] = []
        self.slot, self.shared = 0, list[Any]()  # as parts, for who reads our shared memory; where that is
        self.error = ""
        self.groups: set[str] = set()  # groups: that are still to get it
        self.damaged = self.taken = self.is_finished = self.is_read = False
        self.lease: Lease | None = None  # of its pixels in shared memory
        if message.flags & SHARED:
            if not link.pool:
                raise ValueError("a descriptor of shared memory that is not named")
            self.lease = link.pool.lease(message.payload[0])
            message.payload[0] = self.lease.pixels

    def is_whole(self, count: int) -> bool:
        """Unpacks the pixels, if they are packed; False when the message was damaged by a network on its way."""
        size = PACKED.get(self.message.flags & sum(PACKED)) if not self.lease else None
        if size:
            try:
                self.message.payload[0] = _packed.unpack(self.message.payload[0], count, size)
            except (ValueError, IndexError):
                return False
        return not (self.network or size) or self.message.is_whole()

    def array(self, worker: Any) -> Array | None:
        """The pixels that lie in shared memory; None when they came in the message.  Who keeps many gets copies."""
        if not self.lease:
            return None
        lease, dtype = self.lease, TYPES[self.message.keys["image"]["type"]]
        self.is_read = True

        def free() -> None:
            worker.freed.put(lease)
            if worker.is_waiting:  # else it says soon that it has a frame ready
                worker.wake()

        array: Array = lease.array(dtype, free)
        if lease.pool.leased.bit_count() <= min(LEASES_MAX, lease.pool.slots // 2):
            return array
        copy = array.copy()
        if not lease.is_intact():
            raise End(1, f"frame {self.number}: its pixels were taken away while they were read")
        self.lease = None
        return copy

    def is_done(self) -> bool:
        return bool(self.parts or self.error or self.damaged or self.is_finished)
