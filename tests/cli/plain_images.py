"""Writes TIFF and EDF images as other programs could write them, into the working directory, and variants that are refused.

The pixels are those of image.raw (float32), of WIDTH x HEIGHT: plain_images.py WIDTH HEIGHT.
"""

import array
import struct
import sys
import zlib

WIDTH, HEIGHT = map(int, sys.argv[1:])
values = array.array("f", open("image.raw", "rb").read())


def pixels(code, order="<"):
    whole = code not in "fd"
    return struct.pack(f"{order}{len(values)}{code}", *(int(v) if whole else v for v in values))


def tiff(name, data, bits, form=1, order="<", strips=1, pack=None, **tags):
    """Strips come after the tags, each packed by a function; tags that are given replace those of a plain image."""
    rows = -(-HEIGHT // strips)
    sizes = [min(rows, HEIGHT - i * rows) * WIDTH * bits // 8 for i in range(strips)]
    if pack:
        starts = [sum(sizes[:i]) for i in range(strips)]
        packed = [pack(data[at:at + n]) for at, n in zip(starts, sizes)]
        data, sizes = b"".join(packed), [len(strip) for strip in packed]
    entries = {256: (3, [WIDTH]), 257: (3, [HEIGHT]), 258: (3, [bits]), 259: (3, [1]), 262: (3, [1]), 273: (4, [0] * strips),
               277: (3, [1]), 278: (3, [rows]), 279: (4, sizes), 339: (3, [form])}
    entries.update({int(k[1:]): v for k, v in tags.items() if k[0] == "t"})
    entries = {k: v for k, v in sorted(entries.items()) if v}
    tables = 8 + 2 + 12 * len(entries) + 4
    room = sum(4 * len(v) for _, v in entries.values() if len(v) > 1)
    at = tables + room
    entries[273] = (4, [at + sum(sizes[:i]) for i in range(strips)])
    out, far, behind = b"", b"", tables
    for tag, (kind, numbers) in entries.items():
        item = "H" if kind == 3 else "I"
        if len(numbers) == 1:
            out += struct.pack(f"{order}HHI{item}", tag, kind, 1, numbers[0]) + (b"\0\0" if kind == 3 else b"")
        else:
            out += struct.pack(f"{order}HHII", tag, kind, len(numbers), behind + len(far))
            far += struct.pack(f"{order}{len(numbers)}{item}", *numbers)
    head = struct.pack(f"{order}2sHI", b"II" if order == "<" else b"MM", 42, 8)
    with open(name, "wb") as f:
        f.write(head + struct.pack(f"{order}H", len(entries)) + out + struct.pack(f"{order}I", tags.get("next", 0)) + far.ljust(room, b"\0") + data)


def edf(name, data, kind, order="LowByteFirst", behind=b"", **keys):
    text = dict(EDF_DataBlockID="0.Image.Psd", ByteOrder=order, DataType=kind, Dim_1=WIDTH, Dim_2=HEIGHT, Size=len(data)) | keys
    head = "{\n" + "".join(f"{k} = {v} ;\n" for k, v in text.items() if v is not None)
    head += " " * (-(len(head) + 2) % 512) + "}\n"
    with open(name, "wb") as f:
        f.write(head.encode() + data + behind)


short = pixels("H")
tiff("u16.tif", short, 16)
tiff("be16.tif", pixels("H", ">"), 16, order=">")
tiff("u32.tif", pixels("I"), 32)
tiff("i32.tif", pixels("i"), 32, form=2, strips=7)
tiff("f32.tif", pixels("f"), 32, form=3, strips=3)
tiff("z16.tif", short, 16, strips=7, pack=zlib.compress, t259=(3, [8]))
tiff("zf32.tif", pixels("f"), 32, form=3, pack=zlib.compress, t259=(3, [32946]))
for code, order in ("H", "<"), ("H", ">"), ("i", ">"):
    size = struct.calcsize(code)
    rows = [[int(v) for v in values[i:i + WIDTH]] for i in range(0, len(values), WIDTH)]
    steps = [(b - a) % 256**size for row in rows for a, b in zip([0] + row, row)]
    tiff(f"steps_{'le' if order == '<' else 'be'}{8 * size}.tif", struct.pack(f"{order}{len(steps)}{code.upper()}", *steps), 8 * size,
         form=2 if code == "i" else 1, order=order, strips=3, pack=zlib.compress, t259=(3, [8]), t317=(3, [2]))
edf("u16.edf", short, "UnsignedShort")
edf("be16.edf", pixels("H", ">"), "UnsignedShort", order="HighByteFirst")
edf("i32.edf", pixels("i"), "SignedInteger", WaveLength="1.1e-10", PSize_1="1.6e-3")
edf("u32.edf", pixels("I"), "UnsignedLong", Compression="NoSpecificValue", RasterOrientation=1)
edf("f32.edf", pixels("f"), "FloatValue")

low = list(values)
low[7], low[8] = -1, -2
tiff("gaps.tif", struct.pack(f"<{len(low)}i", *map(int, low)), 32, form=2)
low[9] = -3
tiff("dark.tif", struct.pack(f"<{len(low)}i", *map(int, low)), 32, form=2)

tiff("lzw.tif", short, 16, t259=(3, [5]))
deflate = dict(pack=zlib.compress, t259=(3, [8]))
tiff("floats.tif", pixels("f"), 32, form=3, t317=(3, [3]), **deflate)
tiff("zshort.tif", short, 16, pack=lambda strip: zlib.compress(strip)[:-9], t259=(3, [8]))
tiff("zless.tif", short, 16, pack=lambda strip: zlib.compress(strip[:-2]), t259=(3, [8]))
tiff("zmore.tif", short, 16, pack=lambda strip: zlib.compress(strip + b"\0\0"), t259=(3, [8]))
tiff("zraw.tif", short, 16, pack=lambda strip: strip, t259=(3, [8]))
tiff("zempty.tif", short, 16, pack=lambda strip: b"", t259=(3, [8]))
tiff("zlarge.tif", short, 16, t256=(4, [1 << 20]), t257=(4, [1 << 20]), **deflate)
tiff("turned.tif", short, 16, t274=(3, [6]))
tiff("white.tif", short, 16, t262=(3, [0]))
tiff("rgb.tif", short, 16, t277=(3, [3]))
tiff("tiles.tif", short, 16, t324=(4, [8]))
tiff("pages.tif", short, 16, next=8)
tiff("double.tif", short, 64, form=3)
tiff("bits.tif", short, 12)
tiff("strips.tif", short[:-2], 16, t279=(4, [len(short) - 2]))
tiff("short.tif", short[:-2], 16)
edf("packed.edf", short, "UnsignedShort", Compression="ZCompression")
edf("turned.edf", short, "UnsignedShort", RasterOrientation=3)
edf("double.edf", short, "DoubleValue")
edf("order.edf", short, "UnsignedShort", order=None)
edf("pages.edf", short, "UnsignedShort", behind=b"{\n" + b" " * 600)
edf("stack.edf", short, "UnsignedShort", Dim_3=2)
edf("size.edf", short, "UnsignedShort", Size=12)
edf("short.edf", short[:-2], "UnsignedShort", Size=len(short))
edf("elsewhere.edf", short, "UnsignedShort", EDF_BinaryFileName="a.bin")
edf("nodim.edf", short, "UnsignedShort", Dim_2=None)
edf("wave.edf", short, "UnsignedShort", WaveLength="1.3e-10", PSize_1="2e-3")
edf("named.edf", short, "UnsignedShort", WaveLength="short")
