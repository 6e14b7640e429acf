#!/bin/sh
# A mesh scan as a beamline evaluates it: DIALS finds spots in the images of exactly those points at which the beam meets a
# crystal, and more of them where more of a crystal is in the beam.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import dials.find_spots python:bitshuffle.h5
bragg-geometry --detector=eiger2-1m --distance=120 --crystal-size=15um --beam-size=10um --ncells=30 --shape=gauss --mosaic-model=gauss \
	--mosaic-rms=0.1 --fluence=3e22 --energy=12400eV --oversample=2 |
	bragg-orient --mesh=8,5 --mesh-crystals=4 --random --seed=11 --osc=0.2 --truth=mesh.tsv | bragg-intensity |
	bragg-background --water=0.01 | bragg-noise --seed=1 | bragg-write mesh.nxs
check 'DIALS imports the mesh' quiet dials.import mesh.nxs output.experiments=imported.expt convert_sequences_to_stills=True
check 'and finds spots' quiet dials.find_spots imported.expt output.reflections=strong.refl nproc=2 filter.min_spot_size=2
/usr/bin/python3 - >figures <<'END'
import csv, math
from dials.array_family import flex
strong = flex.reflection_table.from_file("strong.refl")
found = {}
for z in strong["xyzobs.px.value"].parts()[2] if len(set(strong["id"])) < 2 else strong["id"]:
    found[int(math.floor(z))] = found.get(int(math.floor(z)), 0) + 1
lit = {}
for row in csv.DictReader(open("mesh.tsv"), delimiter="\t"):
    lit[int(row["frame"])] = lit.get(int(row["frame"]), 0) + (0 if row["share"] == "-" else float(row["share"]))
blocks = max(lit.values())
strongly = {k for k, v in lit.items() if v > 0.02 * blocks}
print("hits", len(strongly))
print("missed", len([k for k in strongly if found.get(k, 0) < 5]))
print("invented", len([k for k, v in lit.items() if v == 0 and found.get(k, 0) > 2]))
END
is 'points with a crystal' "$(awk '$1 == "hits" { print($2 > 5 && $2 < 30) }' figures)" 1
is 'DIALS finds spots at each of them' "$(grep missed figures)" 'missed 0'
is 'and at no other point' "$(grep invented figures)" 'invented 0'
note "$(cat figures)"
finish
