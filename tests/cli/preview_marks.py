"""Looks at the pixels of a preview, with nothing but the standard library.

rings PNG PIXEL_MM DISTANCE_MM WAVELENGTH_A SCALE D...  pixels of rings lie where Bragg's law
    says, and on all of them; SCALE: pixels of the picture to one of the detector.  The beam is where
    MOSFLM's convention puts it, a pixel of the detector off the middle.  The side of the labels
    is left out.
truth PNG RAW EDGE FACTOR SHIFT  how many of the 12 brightest spots of a float32 image, EDGE wide,
    have a circle about them or are the direct beam, looked for SHIFT pixels of the picture beside
panels PNG RAW  likewise of two panels that stand apart, one of them tilted: see PANELS
table PNG TSV  whether a table of reflections has many rows, whether these rows have circles about them (labels
    hide some), and whether there is no more ink than these circles need
lattices PNG TSV  see lattices
ink PNG  how many pixels are masked, saturated, of rings, of beam and bar, of truth
"""
import array
import math
import struct
import sys
import zlib

SHADES = 249
MASKED, SATURATED, RING, BEAM, TRUTH = (SHADES + i for i in (2, 3, 4, 5, 6))


def read_png(path):
    """Returns width, height and the palette numbers, row by row."""
    data = open(path, "rb").read()
    packed, at = b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    assert (depth, color) == (8, 3), "not a palette of 8 bits"
    rows = zlib.decompress(packed)
    lines = [rows[y * (width + 1):(y + 1) * (width + 1)] for y in range(height)]
    assert not any(line[0] for line in lines), "a filter"
    return width, height, [line[1:] for line in lines]


def rings(path, pixel, distance, wavelength, scale, *ds):
    width, height, rows = read_png(path)
    expected = [distance * math.tan(2 * math.asin(wavelength / (2 * d))) / pixel * scale for d in ds]
    counts = [0] * len(expected)
    stray = 0
    for y, row in enumerate(rows):
        for x in range(width // 2 - 10):
            if row[x] == RING:
                r = math.hypot(x + 0.5 - width / 2 - scale, y + 0.5 - height / 2 - scale)
                off, k = min((abs(r - e), k) for k, e in enumerate(expected))
                counts[k] += off < 1.5
                stray += off >= 1.5
    full = all(n > (0.3 * math.pi * r if r < width / 2 else 0) for n, r in zip(counts, expected))
    print("stray %d, every ring is there: %s" % (stray, full))


def brightest(pixels, edge, count):
    """Returns pixels that are at least 20 pixels apart, and at least 20 pixels from the edge."""
    found = []
    for i in sorted(range(len(pixels)), key=lambda k: -pixels[k]):
        f, s = i % edge, i // edge
        inside = 20 < f < edge - 20 and 20 < s < len(pixels) // edge - 20
        if inside and all(math.hypot(f - a, s - b) > 20 for a, b in found):
            found.append((f, s))
            if len(found) == count:
                break
    return found


def circled(rows, x, y, radius, number=TRUTH):
    """Returns the fraction of a circle that is drawn, at the best position within 2 pixels."""
    best = 0
    around = [(round(radius * math.cos(a / 8)), round(radius * math.sin(a / 8))) for a in range(50)]
    for j in range(-2, 3):
        for i in range(-2, 3):
            hits = sum(rows[y + j + v][x + i + u] == number for u, v in around
                       if 0 <= y + j + v < len(rows) and 0 <= x + i + u < len(rows[0]))
            best = max(best, hits / len(around))
    return best


def truth(path, raw, edge, factor, shift):
    width, _, rows = read_png(path)
    pixels = array.array("f", open(raw, "rb").read())
    radius = 4 * (2 if width >= 700 else 1)
    spots = brightest(pixels, int(edge), 12)
    places = [(int(f / factor), int(s / factor)) for f, s in spots]
    print(sum(rows[y][x] == BEAM or circled(rows, x + int(shift), y, radius) > 0.7 for x, y in places))


# Two panels of 256 x 256 pixels of 0.2 mm: corner in mm, fast axis; slow is along y.
PANELS = (((-52.0, -25.6, 120.0), (1.0, 0.0, 0.0)),
          ((0.8, -25.6, 140.0), (0.98480775, 0.0, 0.17364818)))


def slopes(panel, f, s):
    (x, y, z), axis = PANELS[panel]
    z += 0.2 * f * axis[2]
    return (x + 0.2 * f * axis[0]) / z, (y + 0.2 * s) / z


def panels(path, raw):
    """For each panel, of how many of its 8 brightest spots there is a circle where a ray from the
    sample meets the plane across the beam, 120 mm away."""
    _, _, rows = read_png(path)
    pixels = array.array("f", open(raw, "rb").read())
    corners = [slopes(p, f, s) for p in (0, 1) for f in (0, 256) for s in (0, 256)]
    left, top = min(c[0] for c in corners), max(c[1] for c in corners)
    wide, high = max(c[0] for c in corners) - left, top - min(c[1] for c in corners)
    pixel = max(0.2, 120 * max(wide, high) / 511.5)
    for p in (0, 1):
        found = 0
        for f, s in brightest(pixels[65536 * p:65536 * (p + 1)], 256, 8):
            x, y = slopes(p, f + 0.5, s + 0.5)
            found += circled(rows, int(120 * (x - left) / pixel), int(120 * (top - y) / pixel), 4) > 0.7
        print(found)


def table(path, tsv):
    _, _, rows = read_png(path)
    lines = [line.rstrip("\n").split("\t") for line in open(tsv) if not line.startswith("#")]
    fast, slow = lines[0].index("fast"), lines[0].index("slow")
    at = [(int(float(line[fast])), int(float(line[slow]))) for line in lines[1:]]
    dots = sum(row.count(TRUTH) for row in rows)
    circles = sum(circled(rows, x, y, 4) > 0.7 for x, y in at)
    print(len(at) > 100, circles > 0.95 * len(at), dots < 34 * len(at))


def lattices(path, tsv):
    """Prints the number of lattices, of how many of them most reflections have a circle of their own colour and
    size, and the number of colours.  The palette of such a picture has five gray values less."""
    _, _, rows = read_png(path)
    lines = [line.rstrip("\n").split("\t") for line in open(tsv) if not line.startswith("#")]
    fast, slow, lattice = (lines[0].index(name) for name in ("fast", "slow", "lattice"))
    numbers = sorted({int(line[lattice]) for line in lines[1:]})
    first = SHADES - 5 + 6
    good = 0
    for n in numbers:
        at = [(int(float(line[fast])), int(float(line[slow]))) for line in lines[1:] if int(line[lattice]) == n]
        own = sum(circled(rows, x, y, 4 + 2 * (n % 3), first + n % 6) > 0.5 for x, y in at)
        good += own > 0.8 * len(at)
    colours = {value for row in rows for value in row if value >= first}
    print(len(numbers), good, len(colours))


def ink(path):
    _, _, rows = read_png(path)
    print(*(sum(row.count(number) for row in rows) for number in (MASKED, SATURATED, RING, BEAM, TRUTH)))


{"rings": lambda p, *n: rings(p, *map(float, n)),
 "truth": lambda p, r, *n: truth(p, r, *map(float, n)), "ink": ink, "panels": panels, "table": table,
 "lattices": lattices}[sys.argv[1]](*sys.argv[2:])
