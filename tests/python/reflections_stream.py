"""reflections_stream.py STREAM TABLE: compares a CrystFEL stream with a table.

The lattice in the stream must predict the reflections of the stream in its geometry.
"""
import re
import sys

import numpy

text = open(sys.argv[1]).read()
table = numpy.genfromtxt(sys.argv[2], names=True, delimiter="\t")
panels = {}
for name, key, value in re.findall(r"^(p\d+)/(\w+) = (.*)$", text, re.M):
    panels.setdefault(name, {})[key] = value


def vector(words):
    return numpy.array([float(w) for w in re.match(r"(\S+)x (\S+)y (\S+)z", words).groups()])


res = float(re.search(r"^res = (.*)$", text, re.M)[1])
clen = float(re.search(r"^clen = (.*)$", text, re.M)[1])
per_nm = float(re.search(r"^photon_energy_eV = (.*)$", text, re.M)[1]) / 1239.84198
assert re.search(r"^header/int/frame_id = 3$", text, re.M) and len(panels) == 4
crystals = re.findall(r"--- Begin crystal\n(.*?)--- End crystal", text, re.S)
assert len(crystals) == 2
count, away = 0, []
for lattice, crystal in enumerate(crystals):
    axes = numpy.array([[float(x) for x in re.search(rf"{a}star = (\S+) (\S+) (\S+) nm", crystal).groups()] for a in "abc"])
    rows = [line.split() for line in crystal.split("panel\n")[1].split("End of")[0].splitlines()]
    mine = table[table["lattice"] == lattice]
    assert len(rows) == len(mine) > 20 and f"num_reflections = {len(rows)}\n" in crystal
    for row, should in zip(rows, mine):
        hkl, (intensity, sigma, peak, _, fs, ss) = numpy.array(row[:3], int), numpy.array(row[3:9], float)
        assert hkl.tolist() == [should["h"], should["k"], should["l"]] and row[9] == f"p{int(should['panel'])}"
        assert abs(intensity - should["photons"]) < 0.01 and abs(sigma**2 - intensity) < 1e-2 * intensity + 0.1
        panel = panels[row[9]]
        ss -= int(panel["min_ss"])
        assert abs(fs - should["fast"]) < 0.006 and abs(ss - should["slow"]) < 0.006
        at = numpy.array([float(panel["corner_x"]), float(panel["corner_y"]), res * (clen + float(panel["coffset"]))])
        at = at + fs * vector(panel["fs"]) + ss * vector(panel["ss"])
        exit = hkl @ axes + [0, 0, per_nm]
        away.append(at[:2] - exit[:2] * at[2] / exit[2])
    count += len(rows)
assert f"num_peaks = {count}\n" in text
assert (abs(numpy.median(away, axis=0)) < 0.3).all() and numpy.median(numpy.hypot(*numpy.transpose(away))) < 1, numpy.median(away, axis=0)
