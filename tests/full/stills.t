#!/bin/sh
# A still of NXmx through DIALS: imported as it is, indexed with the cell known, and turned as
# the file says.  The indexer for sequences is Debian's only one that works for stills.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs stills dials.import python:bitshuffle.h5
crystal | bragg-orient --frames=1 --random --mosaic=0.3 --mosaic-domains=100 | images 0 | bragg-write still.nxs 2>write.log
check 'DIALS imports a still' quiet dials.import still.nxs output.experiments=imported.expt
check 'as such' grep -q 'num stills: 1' dials.import.log
check 'finds spots' quiet dials.find_spots imported.expt
check 'indexes' quiet dials.index imported.expt strong.refl stills.indexer=sequences \
	unit_cell=59.062,68.451,30.517,90,90,90 space_group=P222
/usr/bin/python3 "$BRAGG_TESTS/full/stills_truth.py" still.nxs >truth.txt 2>truth.log
sed 's/^/# /' truth.txt
tail -n 3 truth.log | sed 's/^/# /'
check 'orientation within 0.1 degrees' awk -v x="$(value misorientation_deg)" 'BEGIN {exit !(x != "" && x < 0.1)}'
check 'over 90 % of the spots indexed' awk -v x="$(value indexed)" 'BEGIN {exit !(x > 0.9)}'
finish
