"""Where images are made: in shared memory that the next stages read, as bragg-wire(5) says, or in that of this process."""
from __future__ import annotations

import collections
import fcntl
import mmap
import os
import weakref
from typing import Any

import msgpack
import numpy

from braggpipe._frame import Array
from braggpipe._shared import GENERATIONS, HEADER, MAGIC, PAGE, SLOTS_MAX

_ADD_SEALS, _SEALS, _SEAL_FUTURE_WRITE = 1033, 1 | 2 | 4, 16  # F_ADD_SEALS; against seals, shrinking and growing
_WORTH_BYTES, _SMALL_BYTES, _POOL_BYTES = 1 << 16, 1 << 20, 1 << 30
_SLOTS_MIN, _USEFUL_SLOTS_MIN, _KEPT_MAX = 6, 3, 1


class Slots:
    """The pool of this process.  OSError when the system has no such memory.

    One thread takes.  A slot is free again when its array is gone: whoever reads it holds that, for another process its link."""

    def __init__(self, uuid: str, run: int, image_bytes: int) -> None:
        self.slot_bytes = -(-image_bytes // PAGE) * PAGE
        self.count = max(_SLOTS_MIN, min(SLOTS_MAX, _POOL_BYTES // self.slot_bytes))
        self.free = [*reversed(range(self.count))]  # those that have no memory yet lie at the bottom
        self.ready = self.kept = 0  # slots that have; free ones that get none
        size = PAGE + self.count * self.slot_bytes
        self.fd = os.memfd_create("bragg", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, size)
            os.posix_fallocate(self.fd, 0, PAGE)
            self.memory = mmap.mmap(self.fd, size)
            for seals in (_SEAL_FUTURE_WRITE, _SEALS):
                try:
                    fcntl.fcntl(self.fd, _ADD_SEALS, seals)
                except OSError:
                    if seals == _SEALS:
                        raise  # the other is there since Linux 5.1, and nobody needs it
        except BaseException:
            os.close(self.fd)
            raise
        HEADER.pack_into(self.memory, 0, MAGIC, uuid.encode(), 1, run, self.slot_bytes, self.count)
        self.generations = numpy.frombuffer(self.memory, "<u8", SLOTS_MAX, GENERATIONS)
        self.address = self.generations.ctypes.data - GENERATIONS

    def take(self, dtype: Any, count: int, window: int) -> Array | None:
        """An array in a free slot, of large images one for each frame under way and one whose return is; None when there is none."""
        most = max(_USEFUL_SLOTS_MIN, window + 1) if self.slot_bytes > _SMALL_BYTES else SLOTS_MAX
        if len(self.free) <= max(self.kept, self.count - most):
            return None
        slot = self.free.pop()
        offset = PAGE + slot * self.slot_bytes
        if slot >= self.ready:
            try:  # later, when there is none, writing to it would kill
                os.posix_fallocate(self.fd, offset, self.slot_bytes)
            except OSError:
                self.kept = len(self.free)
                return None
            self.ready = slot + 1
        self.generations[slot] += 1  # before anything is written to it
        array = numpy.frombuffer(self.memory, dtype, count, offset)
        weakref.finalize(array, self.free.append, slot).atexit = False
        return array

    def find(self, image: Array) -> tuple[int, bytes] | None:
        """The slot that an image lies in, and its descriptor."""
        offset = image.ctypes.data - self.address
        if not PAGE <= offset < PAGE + self.count * self.slot_bytes:
            return None
        slot = (offset - PAGE) // self.slot_bytes
        return slot, msgpack.packb([os.getpid(), self.fd, slot, offset, image.nbytes, int(self.generations[slot])])


class Memory:
    """Copies of images, made where copies were that nobody reads any more: new pages cost more than to copy."""

    def __init__(self) -> None:
        self.free: collections.deque[bytearray] = collections.deque(maxlen=4)
        self.slots: Slots | None = None
        self.window = SLOTS_MAX  # frames under way at most
        self.kept = 0  # images that were lent and not given back

    def open(self, uuid: str, run: int, image_bytes: int) -> None:
        """Results are made in shared memory from now on, if they are large enough and the system has it."""
        if not self.slots and image_bytes >= _WORTH_BYTES:
            try:
                self.slots = Slots(uuid, run, image_bytes)
            except OSError:
                pass

    def _own(self, dtype: Any, count: int) -> Array:
        memory = self.free.pop() if self.free else bytearray()
        if len(memory) != count * dtype.itemsize:
            memory = bytearray(count * dtype.itemsize)
        array = numpy.frombuffer(memory, dtype)
        weakref.finalize(array, self.free.append, memory).atexit = False  # views hold it
        return array

    def lend(self, image: Array) -> Array:
        """A copy for a function to change, all in one row; others may read it there, if nobody keeps it."""
        shared = self.slots.take(image.dtype, image.size, self.window) if self.slots and self.kept <= _KEPT_MAX else None
        copy = self._own(image.dtype, image.size) if shared is None else shared
        numpy.copyto(copy, image.ravel())
        return copy

    def result(self, image: Array, dtype: Any) -> Array:
        """A copy that other processes read, with pixels of another type."""
        shared = self.slots.take(dtype, image.size, self.window) if self.slots else None
        copy = self._own(dtype, image.size) if shared is None else shared
        with numpy.errstate(over="ignore", invalid="ignore"):
            numpy.copyto(copy, image, casting="unsafe")
        return copy
