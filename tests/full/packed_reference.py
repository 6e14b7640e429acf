"""packed_reference.py make|bslz4|hdf5|byte-offset SIZE COUNT: compresses with third-party implementations.

They compress the items in `items` into the file `theirs`, which is compared with the file `ours`.
"""
import struct
import sys

import bitshuffle
import numpy as np
from fabio.compression import compByteOffset, decByteOffset

what, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
kind = np.dtype(f"<u{size}")

if what == "make":
    random = np.random.default_rng(count)
    items = random.poisson(3.0, count)
    bright = random.random(count) < 0.01
    items[bright] = random.integers(0, 2 ** (8 * size - 1), bright.sum())
    items.astype(kind).tofile("items")
    sys.exit(0)

with open("ours", "rb") as file:
    ours = file.read()
if what == "hdf5":
    import bitshuffle.h5
    import h5py

    created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    created.set_chunk((count,))
    created.set_filter(bitshuffle.h5.H5FILTER, 0, (0, bitshuffle.h5.H5_COMPRESS_LZ4))
    with h5py.File("file.h5", "w") as file:
        space = h5py.h5s.create_simple((count,))
        data = h5py.h5d.create(file.id, b"data", h5py.h5t.py_create(kind), space, created)
        data.write_direct_chunk((0,), ours)
    with h5py.File("file.h5") as file:
        assert np.array_equal(file["data"][:], np.fromfile("items", kind)), "HDF5 reads others"
    sys.exit(0)
if what == "bslz4":
    items = np.fromfile("items", kind)
    header = struct.pack(">QI", count * size, 8192)
    theirs = header + bitshuffle.compress_lz4(items).tobytes()
    chunk = np.frombuffer(ours[12:], np.uint8)
    back = bitshuffle.decompress_lz4(chunk, (count,), kind)
else:
    items = np.fromfile("items", "<i4")
    theirs = compByteOffset(items)
    back = decByteOffset(ours, size=count, dtype=np.int32)
with open("theirs", "wb") as file:
    file.write(theirs)
assert np.array_equal(back, items), "ours reads as other items"
assert ours == theirs, f"ours has {len(ours)} bytes, theirs {len(theirs)}, or others"
