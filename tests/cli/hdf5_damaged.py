"""Writes corrupt copies of a series of bragg-write, compressed with gzip.

    hdf5_damaged.py MASTER

The name of each folder says what is wrong with the copy in it.  In hang, segv and abort one byte of a
virtual data set differs, in the global heap.  libhdf5 1.10 hangs or crashes on it.  In huge the image
of a data file has 3 GB, in a chunk of 3 MB.
"""
import pathlib
import shutil
import sys
import zlib

import h5py

master = pathlib.Path(sys.argv[1])
data = master.read_bytes()


def copy(folder):
    pathlib.Path(folder).mkdir()
    for part in [master, *master.parent.glob(master.stem + "_data_*.h5")]:
        shutil.copy(part, folder)
    return pathlib.Path(folder, master.name)


def heap():
    """Yields first byte and end of each object of the global heap."""
    objects = {}
    at = data.find(b"GCOL") + 16
    while (index := int.from_bytes(data[at:at + 2], "little")) and index not in objects:
        size = int.from_bytes(data[at + 8:at + 16], "little")
        objects[index] = (at, at + 16 + size)
        at += 16 + (size + 7) // 8 * 8
    return objects


def zeros(size):
    """Returns so many zeros as zlib compresses them: repeats one block instead of compressing all."""
    block = 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = whole * (size // block) + rest.compress(bytes(size % block)) + rest.flush()
    return b"\x78\xda" + packed + (size % 65521 << 16 | 1).to_bytes(4, "big")


objects = heap()
size = objects[max(objects)][0] + 8
for name, at, value in (("hang", size, data[size] + 8),  # the size of an object
                        ("segv", objects[8][1] - 14, 0x20),  # 2 million blocks of a selection
                        ("abort", objects[5][1] - 19, 0x04)):  # 1025 dimensions
    copy(name).write_bytes(data[:at] + bytes([value]) + data[at + 1:])

EDGE = 27000
part = copy("huge").with_name(master.stem + "_data_000001.h5")
with h5py.File(part, "r+") as file:
    del file["entry/data/data"]
    image = file.create_dataset("entry/data/data", (3, EDGE, EDGE), "u4", chunks=(1, EDGE, EDGE), compression="gzip")
    for frame in range(3):
        image.id.write_direct_chunk((frame, 0, 0), zeros(4 * EDGE * EDGE))
