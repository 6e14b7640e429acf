#!/bin/sh
# dials.t with NXmx, and the pixels and spots of the same frames in SMV and CBF.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import python:bitshuffle.h5
series 0 --frames-per-file=8 rot.nxs 'rot_%04d.img' 'rot_%04d.cbf'
is 'a master and three data files' "$(ls rot*.nxs rot_data_*.h5 | tr '\n' ' ')" \
	'rot.nxs rot_data_000001.h5 rot_data_000002.h5 rot_data_000003.h5 '
check 'dxtbx reads the same frames from all formats' /usr/bin/python3 "$BRAGG_TESTS/full/nxmx_readers.py" rot
# spots FILE...: how many DIALS finds
spots() {
	mkdir other
	(cd other && dials.import "$@" >import.log && dials.find_spots imported.expt nproc=2 filter.min_spot_size=3 >spots.log)
	sed -n 's/^Saved \([0-9]*\) reflections.*/\1/p' other/spots.log
	rm -r other
}
smv=$(spots "$PWD"/rot_*.img)
is 'as many spots in CBF as in SMV' "$(spots "$PWD"/rot_*.cbf)" "$smv"
process rot.nxs
is 'as many spots in NXmx as in SMV' "$(sed -n 's/^Saved \([0-9]*\) reflections.*/\1/p' dials.find_spots.log)" "$smv"
finish
