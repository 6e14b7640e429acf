"""reflections_dials.py REFL EXPT TABLE: reads a DIALS reflection table and its experiments, and compares them with a table."""
import json
import sys

import msgpack
import numpy

name, version, table = msgpack.unpackb(open(sys.argv[1], "rb").read(), strict_map_key=False)
expt = json.load(open(sys.argv[2]))
should = numpy.genfromtxt(sys.argv[3], names=True, delimiter="\t")
TYPES = {"int": ("<i4", 1), "std::size_t": ("<u8", 1), "double": ("<f8", 1), "vec3<double>": ("<f8", 3), "int6": ("<i4", 6),
         "cctbx::miller::index<>": ("<i4", 3)}
assert name == "dials::af::reflection_table" and version == 1 and table["nrows"] == len(should) > 40
column = {}
for key, (kind, (count, data)) in table["data"].items():
    dtype, width = TYPES[kind]
    column[key] = numpy.frombuffer(data, dtype).reshape(-1, width)
    assert count == len(column[key]) == len(should), key
identifiers = {int(k): v for k, v in table["identifiers"].items()}
assert [one["identifier"] for one in expt["experiment"]] == [identifiers[0], identifiers[1]] and len(expt["crystal"]) == 2
assert (column["miller_index"] == numpy.stack([should[k] for k in "hkl"], 1)).all()
assert (column["id"][:, 0] == should["lattice"]).all() and (column["panel"][:, 0] == should["panel"]).all()
assert numpy.allclose(column["xyzobs.px.value"][:, :2], numpy.stack([should["fast"], should["slow"]], 1), atol=1e-5)
assert numpy.allclose(column["xyzobs.px.value"][:, 2], 0.5) and numpy.allclose(column["intensity.sum.value"][:, 0], should["photons"])
box = column["bbox"]
assert (box[:, 4:] == [0, 1]).all() and (box[:, 1] > box[:, 0]).all() and (box[:, 3] > box[:, 2]).all()
within = (box[:, :4] >= 2).all(1) & (box[:, :4] <= 126).all(1)  # others may go on on the next panel
assert sum(within) > 20 and ((box[:, 1] - box[:, 0]) * (box[:, 3] - box[:, 2]) >= should["pixels"])[within].all()
s0 = -numpy.array(expt["beam"][0]["direction"]) / expt["beam"][0]["wavelength"]
away = []
for i, panel in enumerate(column["panel"][:, 0]):
    crystal, panel = expt["crystal"][column["id"][i, 0]], expt["detector"][0]["panels"][panel]
    axes = numpy.linalg.inv(numpy.array([crystal[f"real_space_{a}"] for a in "abc"])).T
    d = numpy.array([panel["fast_axis"], panel["slow_axis"], panel["origin"]]).T
    fast, slow, one = numpy.linalg.inv(d) @ (s0 + column["miller_index"][i] @ axes)
    at = numpy.array([fast / one, slow / one]) / panel["pixel_size"]
    away.append(column["xyzobs.px.value"][i, :2] - at)
    fast, slow, one = numpy.linalg.inv(d) @ column["s1"][i]
    assert numpy.allclose([fast / one / panel["pixel_size"][0], slow / one / panel["pixel_size"][1]],
                          column["xyzobs.px.value"][i, :2], atol=1e-6)
assert (abs(numpy.median(away, axis=0)) < 0.3).all() and numpy.median(numpy.hypot(*numpy.transpose(away))) < 1
