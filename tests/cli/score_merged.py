"""Merged intensities with known faults, made from an answer key: score_merged.py KEY [mtz]."""
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


if len(sys.argv) > 2:
    import gemmi
    mtz = gemmi.Mtz(with_base=True)
    mtz.spacegroup = gemmi.SpaceGroup("P 21 21 21")
    mtz.set_cell_for_all(gemmi.UnitCell(*CELL))
    mtz.add_dataset("made")
    mtz.add_column("F", "F")
    mtz.set_data(np.array([[*hkl, TRUTH[hkl]**0.5] for hkl in UNIQUE], dtype=np.float32))
    mtz.write_to_file("perfect.mtz")
    mtz.set_cell_for_all(gemmi.UnitCell(84, 98, 44, 90, 90, 90))
    mtz.write_to_file("other.mtz")
else:
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
