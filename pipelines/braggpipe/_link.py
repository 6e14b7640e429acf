"""Link: a connection to a neighbour of a stage.  Held: a frame that this process holds."""
from __future__ import annotations

from typing import Any

from braggpipe import _packed
from braggpipe._frame import Array
from braggpipe._shared import Lease, Pool
from braggpipe._sockets import Address, Port
from braggpipe._wire import ANYTHING, IMAGES, PACKED, SHARED, TYPES, End, Keys, Message

LEASES_MAX = 6  # max slots that are read in place at a time; at most half of the slots of a pool


class Link:
    """A connection to a neighbour, which sends frames to this process or receives them.

    A link is up if its port is an --in, and down if its port is an --out.
    """

    def __init__(self, port: Port, address: Address) -> None:
        self.port, self.address = port, address
        self.answered = not port.bound  # the neighbour has our hello
        # given, down: the experiment was sent; granted, up: the first credit was sent;
        # gone: the neighbour said bye
        self.given = self.granted = self.gone = False
        self.lost_s = 0.0  # since when the neighbour cannot be reached; 0: it can be reached
        # credit, down: number of frames that may be sent now
        # messages: number of experiments and frames that were sent (down) or received (up)
        self.credit = self.messages = 0
        self.sent: list[int] = []  # down: frames whose credit the neighbour has not returned
        self.way: list[int] = []  # down: the latest of `sent`, which may not have arrived yet
        self.passed: list[int] = []  # up: frames whose credit is to be returned
        # down: `messages` and `sent` when the neighbour was asked what has arrived; None: not asked
        self.asked: tuple[int, list[int]] | None = None
        self.pool: Pool | None = None  # up: shared memory of the neighbour
        # shares, down: the neighbour can read our shared memory
        # reading, down: message parts of the images that the neighbour reads there, by slot
        self.shares, self.reading = False, dict[int, Any]()

    def meet(self, keys: Keys) -> None:
        self.uuid, self.stage, self.group = keys["uuid"], keys["stage"], keys["group"]
        self.wants = IMAGES if keys["wants"] == ANYTHING else keys["wants"]
        self.durable = keys["durable"] and not keys["gives"]  # a sink that the run may wait for
        self.blamed = (keys["gives"] or keys["durable"]) and not keys.get("order")  # at its end, its frames are lost

    def is_open(self) -> bool:
        return self.answered and not self.gone and not self.lost_s and (self.port.up or self.wants == IMAGES)

    def meet_pool(self, message: Message) -> None:
        """Opens the shared memory of the neighbour.

        If this process cannot read it, pixels arrive inside messages.
        """
        if self.pool and self.pool.is_of(message.keys):
            return
        try:
            self.pool = Pool(message.keys, self.uuid, message.run, message.incarnation)
        except (OSError, ValueError):
            self.pool = None


class Held:
    """A frame that this process holds.

    When the worker has finished with the frame, one of `parts`, `error`, `damaged` and
    `is_finished` is set.
    """

    def __init__(self, link: Link, message: Message) -> None:
        self.link: Link | None = link
        self.message, self.number = message, message.frame
        self.network = link.port.network
        self.parts: list[Any] = []
        # shared: like `parts`, for neighbours that read our shared memory; slot: slot of the image
        self.slot, self.shared = 0, list[Any]()
        self.error = ""
        self.groups: set[str] = set()  # groups that have not received the frame yet
        self.damaged = self.taken = self.is_finished = self.is_read = False
        self.lease: Lease | None = None  # lease of the pixels in shared memory
        if message.flags & SHARED:
            if not link.pool:
                raise ValueError("the pixels are in shared memory that was not announced")
            self.lease = link.pool.lease(message.payload[0])
            message.payload[0] = self.lease.pixels

    def is_whole(self, count: int) -> bool:
        """Decompresses the pixels if they are compressed.

        Returns False if the pixels are corrupt, or the checksum of the payload is wrong.  Checksums
        are compared only for compressed pixels and messages from a network.
        """
        size = PACKED.get(self.message.flags & sum(PACKED)) if not self.lease else None
        if size:
            try:
                self.message.payload[0] = _packed.unpack(self.message.payload[0], count, size)
            except (ValueError, IndexError):
                return False
        return not (self.network or size) or self.message.is_whole()

    def array(self, worker: Any) -> Array | None:
        """Returns the pixels if they are in shared memory; None if they are in the message.

        If many frames of the pool are still being read, returns a copy.
        """
        if not self.lease:
            return None
        lease, dtype = self.lease, TYPES[self.message.keys["image"]["type"]]
        self.is_read = True

        def free() -> None:
            worker.freed.put(lease)
            if worker.is_waiting:  # a busy worker wakes the stream with its next result
                worker.wake()

        array: Array = lease.array(dtype, free)
        if lease.pool.leased.bit_count() <= min(LEASES_MAX, lease.pool.slots // 2):
            return array
        copy = array.copy()
        if not lease.is_intact():
            raise End(1, f"frame {self.number}: the stage before reused the memory of the pixels while they were read")
        self.lease = None
        return copy

    def is_done(self) -> bool:
        return bool(self.parts or self.error or self.damaged or self.is_finished)
