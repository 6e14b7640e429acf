"""hdf5_bomb.py FILE: puts all zeros of 1 GiB, in one chunk, in the place of the images of a data file of bragg-write."""
import sys
import zlib

import h5py

SIDE = 1 << 14
packer = zlib.compressobj(9, zlib.DEFLATED, -15)
block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
adler = (1 << 30) % 65521 << 16 | 1
chunk = b"\x78\x9c" + block * (SIDE * SIDE * 4 >> 20) + b"\x03\0" + adler.to_bytes(4, "big")
with h5py.File(sys.argv[1], "a") as file:
    path = next(name for name in ("entry/data/data", "data") if name in file)
    shape = file[path].shape
    del file[path]
    data = file.create_dataset(path, shape, "i4", chunks=(1, SIDE, SIDE), maxshape=(None, None, None), compression="gzip")
    for i in range(shape[0]):
        data.id.write_direct_chunk((i, 0, 0), chunk)
