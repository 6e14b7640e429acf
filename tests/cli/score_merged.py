"""score_merged.py KEY: writes merged intensities with known faults, made from the ground truth KEY."""
import sys

import h5py
import numpy as np

KEY = h5py.File(sys.argv[1])
ROWS = {name: KEY[f"entry/reflections/{name}"][()] for name in KEY["entry/reflections"]}
LATTICE = KEY["entry/braggpipe/lattices"][0]
CELL = LATTICE["cell"]
TRUTH = {}
for h, k, l, f2 in zip(ROWS["h"], ROWS["k"], ROWS["l"], ROWS["F2"]):
    TRUTH[tuple(int(abs(i)) for i in (h, k, l))] = float(f2)  # P 21 21 21
UNIQUE = sorted(hkl for hkl, f2 in TRUTH.items() if f2 > 0)


def s2(hkl):
    """1 / (2 d)^2, 1/A^2"""
    return sum((i / edge)**2 for i, edge in zip(hkl, CELL[:3])) / 4


def write(name, intensity, symmetry="mmm", unique=UNIQUE, end="End of reflections\n"):
    with open(name, "w") as out:
        out.write(f"CrystFEL reflection list version 2.0\nSymmetry: {symmetry}\n   h    k    l          I    phase   sigma(I)   nmeas\n")
        for hkl in unique:
            out.write("%4i %4i %4i %.9g - 1.0 5\n" % (*hkl, intensity(hkl)))
        out.write(end)


def write_mtz(name, types, values, cell=CELL):
    """Writes columns h, k, l and those of `types`, by label, in P 21 21 21."""
    header = ["VERS MTZ:V1.1", f"NCOL {3 + len(types)} {len(UNIQUE)} 0", "CELL " + " ".join(f"{edge:9.4f}" for edge in cell),
              "SORT 0 0 0 0 0", "SYMINF 4 4 P 19 'P 21 21 21' PG222", "SYMM X, Y, Z", "SYMM -X+1/2, -Y, Z+1/2",
              "SYMM X+1/2, -Y+1/2, -Z", "SYMM -X, Y+1/2, -Z+1/2", "VALM NAN"]
    header += [f"COLUMN {label} {kind} 0 1 1" for label, kind in {"H": "H", "K": "H", "L": "H", **types}.items()]
    rows = np.array([[*hkl, *values(hkl)] for hkl in UNIQUE], dtype="<f4")
    with open(name, "wb") as out:
        out.write(b"MTZ " + np.array([21 + rows.size, 0x4144], dtype="<i4").tobytes() + bytes(68) + rows.tobytes())
        out.write("".join(f"{line:80}" for line in [*header, "END", "MTZENDOFHEADERS"]).encode())


sign = {hkl: 1 - 2 * (number % 2) for number, hkl in enumerate(UNIQUE)}
write("perfect.hkl", lambda hkl: TRUTH[hkl])
write("scaled.hkl", lambda hkl: 3 * np.exp(-2 * 20 * s2(hkl)) * TRUTH[hkl])
write("noisy.hkl", lambda hkl: TRUTH[hkl] * (1 + 0.1 * sign[hkl]))
shuffled = dict(zip(UNIQUE, np.random.default_rng(1).permutation([TRUTH[hkl] for hkl in UNIQUE])))
write("nonsense.hkl", lambda hkl: shuffled[hkl])
write("cut.hkl", lambda hkl: TRUTH[hkl], end="")
write("group.hkl", lambda hkl: TRUTH[hkl], symmetry="5m")
write("few.hkl", lambda hkl: TRUTH[hkl], unique=UNIQUE[:2])
# of the square cell: one merged with a mirror more, and one in the other setting
swap = {(h, k, l): (k, h, l) for h, k, l in UNIQUE}
write("square.hkl", lambda hkl: (TRUTH[hkl] + TRUTH.get(swap[hkl], TRUTH[hkl])) / 2, symmetry="4/mmm",
      unique=[hkl for hkl in UNIQUE if hkl[0] >= hkl[1] or swap[hkl] not in TRUTH])
write("swapped.hkl", lambda hkl: TRUTH[swap[hkl]], unique=[hkl for hkl in UNIQUE if TRUTH.get(swap[hkl])])
write_mtz("perfect.mtz", {"F": "F"}, lambda hkl: [TRUTH[hkl]**0.5])
write_mtz("other.mtz", {"F": "F"}, lambda hkl: [TRUTH[hkl]**0.5], cell=[84, 98, 44, 90, 90, 90])
# as aimless and careless leave it: intensities, of which weak ones are below 0, beside amplitudes that say less
weak = set(sorted(UNIQUE, key=TRUTH.get)[:len(UNIQUE) // 20])
print(2 * sum(TRUTH[hkl] for hkl in weak) / sum(TRUTH[hkl] for hkl in UNIQUE), file=open("r", "w"))
write_mtz("intensities.mtz", {"F": "F", "IMEAN": "J"}, lambda hkl: [7, -TRUTH[hkl] if hkl in weak else TRUTH[hkl]])
write_mtz("infinite.mtz", {"IMEAN": "J"}, lambda hkl: [np.inf])
write_mtz("phases.mtz", {"PHIC": "P"}, lambda hkl: [0])
# Friedel mates apart: of each, F^2(+) and F^2(-), as far as the ground truth has them
MATES = {hkl: [np.nan, np.nan] for hkl in UNIQUE}
for h, k, l, f2 in zip(ROWS["h"], ROWS["k"], ROWS["l"], ROWS["F2"]):
    if f2 > 0:
        MATES[tuple(abs(int(i)) for i in (h, k, l))][int(int(h) * k * l < 0)] = float(f2)


def mean(hkl):
    return np.nanmean(MATES[hkl][:1 if 0 in hkl else 2])


def columns(hkl):
    """Writes the columns of dials.merge and aimless: IMEAN, I(+), I(-), each with its sigma."""
    return [mean(hkl), 1, MATES[hkl][0], 1, MATES[hkl][1], 1]


both = [hkl for hkl in UNIQUE if 0 not in hkl and not np.isnan(MATES[hkl]).any()]
print(*UNIQUE, sep="\n", file=open("unique", "w"))
print(len(both), len([hkl for hkl in both if hkl[0] % 2]), file=open("mates", "w"))
types = {"IMEAN": "J", "SIGIMEAN": "Q", "I(+)": "K", "SIGI(+)": "M", "I(-)": "K", "SIGI(-)": "M"}
pair = {"I(+)": "K", "I(-)": "K"}
write_mtz("mates.mtz", types, columns)
write_mtz("odd.mtz", types, lambda hkl: [*columns(hkl)[:4], MATES[hkl][1] if hkl[0] % 2 else np.nan, 1])
write_mtz("pair.mtz", pair, lambda hkl: MATES[hkl])
write_mtz("inverted.mtz", pair, lambda hkl: MATES[hkl][::-1] if 0 not in hkl else MATES[hkl])
write_mtz("mean.mtz", {"IMEAN": "J"}, lambda hkl: [mean(hkl)])
with open("mates.hkl", "w") as out:
    out.write("CrystFEL reflection list version 2.0\nSymmetry: 222\n   h    k    l          I    phase   sigma(I)   nmeas\n")
    for (h, k, l), values in MATES.items():
        for sign, value in zip((1, -1)[:1 if 0 in (h, k, l) else 2], values):
            if not np.isnan(value):
                out.write("%4i %4i %4i %.9g - 1.0 5\n" % (sign * h, sign * k, sign * l, value))
    out.write("End of reflections\n")
