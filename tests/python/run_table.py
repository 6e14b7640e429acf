"""run_table.py sweep|stills REFL EXPT TSV: compares the DIALS table of a run with the table of the same run as text."""
import json
import sys

import msgpack
import numpy

kind, refl, expt, text = sys.argv[1:]
name, version, table = msgpack.unpackb(open(refl, "rb").read(), strict_map_key=False)
expt = json.load(open(expt))
rows = numpy.genfromtxt(text, names=True, delimiter="\t")
TYPES = {"int": ("<i4", 1), "std::size_t": ("<u8", 1), "double": ("<f8", 1), "vec3<double>": ("<f8", 3), "int6": ("<i4", 6),
         "cctbx::miller::index<>": ("<i4", 3)}
column = {}
for key, (dtype, (count, data)) in table["data"].items():
    dtype, width = TYPES[dtype]
    column[key] = numpy.frombuffer(data, dtype).reshape(-1, width)
    assert count == len(column[key]) == table["nrows"] > 20, key
experiments = expt["experiment"]
assert [e["identifier"] for e in experiments] == [table["identifiers"][i] for i in range(len(experiments))]
assert len({e["identifier"] for e in experiments}) == len(experiments) == len(expt["crystal"])
photons, box, flags = column["intensity.sum.value"][:, 0], column["bbox"], column["flags"][:, 0]
assert numpy.isclose(photons.sum(), rows["photons"].sum(), rtol=1e-6)
frames = int(rows["frame"].max()) + 1
if kind == "sweep":
    (one,), (scan,), (images,) = experiments, expt["scan"], expt["imageset"]
    first = scan["image_range"][0]
    assert scan["image_range"] == [first, first + frames - 1] and len(scan["epochs"]) == frames and first == 0
    assert images["template"] == "f_##.cbf" and one["imageset"] == one["scan"] == 0
    # of each reflection its frames lie together, and their rows are summed
    keys = numpy.stack([rows[k] for k in "hkl"], 1).astype(int)
    count = 0
    for i, hkl in enumerate(column["miller_index"]):
        here = rows[(keys == hkl).all(1) & (rows["frame"] >= box[i, 4] + 1) & (rows["frame"] < box[i, 5] + 1)]
        assert len(here) == box[i, 5] - box[i, 4], hkl
        weight = here["photons"] / here["photons"].sum()
        assert numpy.isclose(photons[i], here["photons"].sum(), rtol=1e-6)
        at = [weight @ here[k] for k in ("fast", "slow", "phi")]
        z = (at[2] - scan["oscillation"][0]) / scan["oscillation"][1] + first - 1
        assert numpy.allclose(column["xyzobs.px.value"][i], [*at[:2], z], atol=1e-5), hkl
        count += len(here)
    assert count == len(rows) > table["nrows"]
    cut = (box[:, 4] == first - 1) | (box[:, 5] == first - 1 + frames)
    assert ((flags & 256 == 0) == cut).all() and 0 < cut.sum() < len(cut)
    assert ((column["inverse_scale_factor"][:, 0] == 0) == cut).all()
else:
    assert expt["scan"] == [] and table["nrows"] == len(rows)
    of = [int(e["identifier"].split("-")[1]) for e in experiments]
    lattice = [int(e["identifier"].split("-")[2]) for e in experiments]
    ids = column["id"][:, 0]
    assert of == sorted(of) and len(set(of)) < len(of) and len(set(of)) < frames
    assert (numpy.array(of)[ids] == rows["frame"]).all() and (numpy.array(lattice)[ids] == rows["lattice"]).all()
    assert (flags & 256 != 0).all() and numpy.allclose(photons, rows["photons"], rtol=1e-6)
    assert [expt["imageset"][e["imageset"]]["images"] for e in experiments] == [["f_%02d.cbf" % n] for n in of]
