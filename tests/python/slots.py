"""The shared memory in which a Python stage makes its images: how another process sees it, and what neighbours may report."""
import gc
import mmap
import os
import resource

import numpy

from braggpipe._link import Held, Link
from braggpipe._links import Links
from braggpipe._memory import Memory, Slots
from braggpipe._shared import Pool
from braggpipe._wire import CREDIT

UUID, RUN, PIXELS = "ab" * 16, 1 << 63, 100_000
FLOAT = numpy.dtype("<f4")


def refuses(*errors):
    class Refuses:
        def __enter__(self):
            pass

        def __exit__(self, kind, *_):
            assert kind and issubclass(kind, errors), kind
            return True
    return Refuses()


slots = Slots(UUID, RUN, 4 * PIXELS)
pool = Pool({"pid": os.getpid(), "fd": slots.fd}, UUID, RUN, 1)
assert (pool.slots, pool.slot_bytes) == (slots.count, slots.slot_bytes) == (64, 401408)
for uuid, run in (("cd" * 16, RUN), (UUID, RUN - 1)):
    with refuses(ValueError):
        Pool({"pid": os.getpid(), "fd": slots.fd}, uuid, run, 1)

# read by another where it lies; no memory twice while anybody holds it, or a part of it
images = [slots.take(FLOAT, PIXELS, 64) for _ in range(64)]
assert slots.take(FLOAT, PIXELS, 64) is None
for n, image in enumerate(images):
    image[:] = n
leases = [pool.lease(slots.find(image)[1]) for image in images]
for n, lease in enumerate(leases):
    assert lease.is_intact() and (numpy.frombuffer(lease.pixels, FLOAT) == n).all()
assert slots.find(numpy.zeros(9)) is None
part = memoryview(images[7][5:].view(numpy.uint8))
images[7] = image = None
gc.collect()
assert slots.take(FLOAT, PIXELS, 64) is None
del part
again = slots.take(FLOAT, PIXELS, 64)
again[:] = -1
assert slots.find(again)[0] == 7 and not leases[7].is_intact() and all(leases[n].is_intact() for n in (6, 8))

# nobody changes it but its owner
path = f"/proc/self/fd/{slots.fd}"
with open(path, "r+b") as file:
    for size in (0, 1 << 40):
        with refuses(OSError):
            os.ftruncate(file.fileno(), size)
    with refuses(OSError):
        os.write(file.fileno(), b"x")
    with refuses(OSError):
        mmap.mmap(file.fileno(), 4096)

# large images: one slot for each frame under way and one more, but three at least
for window, most in ((1, 3), (4, 5), (1000, 42)):
    large = Slots(UUID, RUN, 25_000_000)
    taken = [large.take(FLOAT, 10, window) for _ in range(50)]
    assert sum(image is not None for image in taken) == most, window
    assert large.count == 42

# the system's memory is out: those that are there must do
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
few = Slots(UUID, RUN, 4 * PIXELS)
taken = [few.take(FLOAT, PIXELS, 64) for _ in range(2)]
real, os.posix_fallocate = os.posix_fallocate, lambda *_: (_ for _ in ()).throw(OSError())
assert few.take(FLOAT, PIXELS, 64) is None
del taken
os.posix_fallocate = real
taken = [few.take(FLOAT, PIXELS, 64) for _ in range(3)]
assert [image is not None for image in taken] == [True, True, False]
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
memory = Memory()
memory.open(UUID, RUN, 4 * PIXELS)
assert memory.slots is None and (memory.result(numpy.ones(PIXELS), FLOAT) == 1).all()
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
memory.open(UUID, RUN, 40)
assert memory.slots is None  # such images go into their messages


class Port:
    network = up = bound = False

    def __init__(self):
        self.sent = []

    def send(self, address, parts):
        self.sent.append(parts)
        return True


class Said:
    kind = CREDIT

    def __init__(self, **keys):
        self.keys = {"grant": 1, "ids": [], **keys}

    def lists(self, number):
        return False


# what neighbours say of slots counts for what they were given, and for nobody else
slots = Slots(UUID, RUN, 4 * PIXELS)
links = Links.__new__(Links)
links.bytes_out = 0
honest, liar, blind = (Link(Port(), (name,)) for name in (b"honest", b"liar", b"blind"))
for link, keys in ((honest, {"shared": True, "slots": 0}), (liar, {"shared": True, "slots": -1}), (blind, {})):
    links.take_down(link, Said(**keys))


def send(*to):
    image = slots.take(FLOAT, PIXELS, 64)
    frame = Held.__new__(Held)
    frame.slot, descriptor = slots.find(image)
    pixels = memoryview(image.view(numpy.uint8))
    frame.parts, frame.shared = [b"", b"", pixels], [b"", b"", descriptor]
    assert all(links.send_frame(link, frame) for link in to)
    return frame.slot


assert send(honest, liar) == 0 and len(honest.port.sent[0][2]) == len(liar.port.sent[0][2]) < 50
links.take_down(liar, Said(shared=True, slots=(1 << 64) - 1))
assert not liar.reading and send(honest) == 1 and [*honest.reading] == [0, 1]
assert send(blind) == 2 and len(blind.port.sent[0][2]) == 4 * PIXELS and not blind.reading
assert send(honest) == 3  # the pixels of slot 2 are still in a message on its way
blind.port.sent.clear()
links.take_down(honest, Said(shared=True, slots=0b0010))
assert sorted({send(liar), send(liar)}) == [1, 2] and [*honest.reading] == [0, 3]
for nonsense in ("all", [1], None):
    with refuses(TypeError, ValueError):
        links.take_down(honest, Said(shared=True, slots=nonsense))
assert [*honest.reading] == [0, 3]
links.links = [liar]
former, uuid = liar, "ef" * 16
former.uuid = uuid
back = Link(Port(), (b"liar again",))
back.uuid = uuid
links.inherit(back)
assert sorted(back.reading) == [1, 2] and not back.shares  # what it reads stays; whether it reads it says anew
links.links = []
del liar, former, back, link, honest
gc.collect()
assert len(slots.free) == 64  # who is gone reads nothing
