"""Memory in which images are made: private, or shared with downstream stages (bragg-wire(5))."""
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

_ADD_SEALS, _SEALS, _SEAL_FUTURE_WRITE = 1033, 1 | 2 | 4, 16  # F_ADD_SEALS; no more seals, shrinking, growing
_WORTH_BYTES, _SMALL_BYTES, _POOL_BYTES = 1 << 16, 1 << 20, 1 << 30
_SLOTS_MIN, _USEFUL_SLOTS_MIN, _KEPT_MAX = 6, 3, 1


class Slots:
    """The shared memory of this process, divided into slots of one image each.

    Only one thread may take slots.  A slot becomes free when its array is deleted.  Each reader
    holds the array; for another process, the link to this process holds it.
    Raises OSError if the system does not provide such memory.
    """

    def __init__(self, uuid: str, run: int, image_bytes: int) -> None:
        self.slot_bytes = -(-image_bytes // PAGE) * PAGE
        self.count = max(_SLOTS_MIN, min(SLOTS_MAX, _POOL_BYTES // self.slot_bytes))
        self.free = [*reversed(range(self.count))]  # slots without memory are at the start
        self.ready = self.kept = 0  # slots that have memory; free slots that cannot get any
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
                        raise  # F_SEAL_FUTURE_WRITE exists since Linux 5.1 and is optional
        except BaseException:
            os.close(self.fd)
            raise
        HEADER.pack_into(self.memory, 0, MAGIC, uuid.encode(), 1, run, self.slot_bytes, self.count)
        self.generations = numpy.frombuffer(self.memory, "<u8", SLOTS_MAX, GENERATIONS)
        self.address = self.generations.ctypes.data - GENERATIONS

    def take(self, dtype: Any, count: int, window: int) -> Array | None:
        """Returns an array in a free slot; None if no slot is free.

        Large images use at most `window` + 1 slots (but 3 are always allowed): one for each frame
        in transit, and one that is being returned.
        """
        most = max(_USEFUL_SLOTS_MIN, window + 1) if self.slot_bytes > _SMALL_BYTES else SLOTS_MAX
        if len(self.free) <= max(self.kept, self.count - most):
            return None
        slot = self.free.pop()
        offset = PAGE + slot * self.slot_bytes
        if slot >= self.ready:
            try:  # without memory now, writing to the slot later would end the process with SIGBUS
                os.posix_fallocate(self.fd, offset, self.slot_bytes)
            except OSError:
                self.kept = len(self.free)
                return None
            self.ready = slot + 1
        self.generations[slot] += 1  # before the slot is written, so that old readers notice
        array = numpy.frombuffer(self.memory, dtype, count, offset)
        weakref.finalize(array, self.free.append, slot).atexit = False
        return array

    def find(self, image: Array) -> tuple[int, bytes] | None:
        """Returns the slot that contains an image, and the descriptor of the image; or None."""
        offset = image.ctypes.data - self.address
        if not PAGE <= offset < PAGE + self.count * self.slot_bytes:
            return None
        slot = (offset - PAGE) // self.slot_bytes
        return slot, msgpack.packb([os.getpid(), self.fd, slot, offset, image.nbytes, int(self.generations[slot])])


class Memory:
    """Makes copies of images in memory that is used again.

    Memory of earlier copies is used again because new pages cost more time than the copy itself.
    """

    def __init__(self) -> None:
        self.free: collections.deque[bytearray] = collections.deque(maxlen=4)
        self.slots: Slots | None = None
        self.window = SLOTS_MAX  # maximum number of frames in transit
        self.kept = 0  # number of lent images that the function kept

    def open(self, uuid: str, run: int, image_bytes: int) -> None:
        """Makes results in shared memory from now on.

        Does nothing if images are small or if the system does not provide shared memory.
        """
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
        weakref.finalize(array, self.free.append, memory).atexit = False  # views of the array keep the memory
        return array

    def lend(self, image: Array) -> Array:
        """Returns a flat copy of the image that a function may change.

        The copy is in shared memory if possible, unless functions kept several of such copies.
        """
        shared = self.slots.take(image.dtype, image.size, self.window) if self.slots and self.kept <= _KEPT_MAX else None
        copy = self._own(image.dtype, image.size) if shared is None else shared
        numpy.copyto(copy, image.ravel())
        return copy

    def result(self, image: Array, dtype: Any) -> Array:
        """Returns a flat copy of the image with pixels of type `dtype`, for other processes."""
        shared = self.slots.take(dtype, image.size, self.window) if self.slots else None
        copy = self._own(dtype, image.size) if shared is None else shared
        with numpy.errstate(over="ignore", invalid="ignore"):
            numpy.copyto(copy, image, casting="unsafe")
        return copy
