"""Reads pixels in place in the shared memory of an upstream stage, see bragg-wire(5).

The shared memory of this process is in _memory.py.
"""
from __future__ import annotations

import fcntl
import mmap
import os
import stat
import struct
import weakref
from collections.abc import Callable
from typing import Any

import msgpack
import numpy

from braggpipe._wire import Keys

HEADER, MAGIC = struct.Struct("=8s33s3xIQQI4x"), b"bragg-p\0"
PAGE, SLOTS_MAX, GENERATIONS = 4096, 64, 72
_GET_SEALS, _NEEDED_SEALS = 1034, 2 | 4  # F_GET_SEALS; against shrinking and growing


class Pool:
    """The shared memory that a neighbour announced.

    Raises OSError if it cannot be opened, and ValueError if it is not a pool of this neighbour.
    """

    def __init__(self, keys: Keys, uuid: str, run: int, incarnation: int) -> None:
        self.pid, self.fd = keys["pid"], keys["fd"]
        self.returned = self.leased = 0  # bit masks of slots: to be reported as free; being read
        path = f"/proc/{int(self.pid)}/fd/{int(self.fd)}"
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            what = os.fstat(file)
            if (not stat.S_ISREG(what.st_mode) or what.st_uid != os.geteuid() or what.st_size < PAGE or
                    fcntl.fcntl(file, _GET_SEALS) & _NEEDED_SEALS != _NEEDED_SEALS):
                raise ValueError(f"{path}: is not shared memory of this user that is sealed against changes of its size")
            self.memory = memoryview(mmap.mmap(file, what.st_size, mmap.MAP_SHARED, mmap.PROT_READ))
        finally:
            os.close(file)
        magic, owner, born, of_run, self.slot_bytes, self.slots = HEADER.unpack(self.memory[:HEADER.size])
        if ((magic, owner, born, of_run) != (MAGIC, uuid.encode() + b"\0", incarnation, run) or
                not 1 <= self.slots <= SLOTS_MAX or PAGE + self.slots * self.slot_bytes != what.st_size):
            raise ValueError(f"{path}: is shared memory of another process or another run")

    def is_of(self, keys: Keys) -> bool:
        return (self.pid, self.fd) == (keys["pid"], keys["fd"])

    def lease(self, descriptor: Any) -> Lease:
        """Returns a lease of the pixels of a frame.  Its slot is occupied until it is given back.

        Raises ValueError if the descriptor does not name pixels in this pool.
        """
        pid, fd, slot, offset, length, generation = msgpack.unpackb(descriptor)
        first = PAGE + slot * self.slot_bytes
        if ((pid, fd) != (self.pid, self.fd) or not 0 <= slot < self.slots or offset < first or (offset - first) % 64 or
                not 0 <= length <= first + self.slot_bytes - offset):
            raise ValueError("the pixels of a frame are outside the announced shared memory")
        self.leased |= 1 << slot
        return Lease(self, slot, generation, self.memory[offset:offset + length])

    def take_returned(self) -> int:
        """Returns the bit mask of the slots that became free since the previous call."""
        returned, self.returned = self.returned, 0
        return returned

    def cut(self) -> None:
        """Reports all free slots again, because the link was replaced by a new one."""
        self.returned |= ~self.leased & (1 << self.slots) - 1


class Lease:
    """The pixels in a slot.  The thread of the stream gives the lease back, once."""

    def __init__(self, pool: Pool, slot: int, generation: int, pixels: memoryview) -> None:
        self.pool, self.slot, self.generation, self.pixels = pool, slot, generation, pixels
        self.is_back = False

    def array(self, dtype: str, free: Callable[[], object]) -> Any:
        """Returns the pixels as an array.  Calls free() when the array and all its views are gone."""
        array = numpy.frombuffer(self.pixels, dtype)
        weakref.finalize(array, free).atexit = False
        return array

    def is_intact(self) -> bool:
        """Returns True if the slot still contains this image.  Call after reading the pixels."""
        at = GENERATIONS + 8 * self.slot
        return int.from_bytes(self.pool.memory[at:at + 8], "little") == self.generation

    def give_back(self) -> None:
        if not self.is_back:
            self.is_back = True
            self.pool.leased &= ~(1 << self.slot)
            self.pool.returned |= 1 << self.slot
