#!/bin/sh
# Two lattices in one sweep: Debian's DIALS, told only that there are two, indexes both,
# and their setting matrices are those of the table of bragg-orient.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import

# 20 frames of half a degree, in each of them the same two orientations
for _ in $(seq 20); do
	echo 0.8 0.4 -0.4 0.2
	echo 0.5 -0.5 0.7 0.1
done >orientations
crystal | bragg-orient --osc=0.5 --phi-steps=16 --lattices=2 --shares=1,0.6 --orientations=orientations --truth=truth.tsv |
	images 40 | bragg-write 'rot_%04d.img' 2>write.log
is 'twenty frames are written' "$(ls rot_*.img | wc -l)" 20
check 'DIALS imports one sweep' quiet dials.import rot_*.img output.experiments=imported.expt
check 'finds spots' quiet dials.find_spots imported.expt nproc=2
check 'indexes two lattices' quiet dials.index imported.expt strong.refl max_lattices=2
/usr/bin/python3 "$BRAGG_TESTS/full/multi_lattice_truth.py" >found 2>found.log
sed 's/^/# /' found
tail -n 3 found.log | sed 's/^/# /'
is 'both are found' "$(grep -c '^lattice' found)" 2
check 'their a*, b*, c* within 0.2 %' awk '/^lattice/ { n++; if ($3 > 0.002) bad = 1 } END { exit bad || n != 2 }' found
check 'over 90 % of the spots belong to them' awk '/^indexed/ { exit !($2 > 0.9) }' found
finish
