#!/bin/sh
# Experiment lists that DIALS writes: dials.import of our own frames, and a detector of groups
# that dxtbx made, give the geometry back.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'experiment lists' dials.import python:bitshuffle.h5
same() {
	/usr/bin/python3 "$BRAGG_TESTS/full/expt_readers.py" "$@"
}
# import LIST FILE...
import() {
	list=$1
	shift
	dials.import "$@" output.experiments="$list" output.log="$list.log" >/dev/null 2>&1
}
# frames SCAN OUTPUT...: of the geometry that comes in, with the orientation said
frames() {
	scan=$1
	shift
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-orient $scan --phi-steps=$steps --misset=10,20,30 | bragg-intensity | bragg-noise --seed=3 --adc-offset=0 |
		bragg-write "$@" 2>>write.log
}
crystal='--ncells=8 --oversample=2 --polarization=0.998'
turn='--frames=3 --phi0=30 --osc=0.5' steps=9

# shellcheck disable=SC2086
bragg-geometry --detpixels=200,160 --pixel=0.4 --distance=120.5 --wavelength=1.0332 --beam-center=30.1,41.3 $crystal |
	frames "$turn" 'smv_%d.img' 'said_%d.raw' one.nxs
for kind in smv nxmx; do
	[ $kind = smv ] && files=$(ls "$PWD"/smv_?.img) || files=$PWD/one.nxs
	# shellcheck disable=SC2086
	check "DIALS imports $kind" import $kind.expt $files
	# the start of a scan goes through radians in DIALS
	# shellcheck disable=SC2086
	bragg-geometry --expt=$kind.expt $crystal | frames "--scan=$kind.expt --phi0=30" "${kind}_%d.raw"
	is "$kind: as many frames are made as DIALS imported" "$(ls ${kind}_*.raw | wc -l)" 3
	for i in 0 1 2; do
		check "$kind: the bytes of frame $i" cmp said_$i.raw ${kind}_$i.raw
	done
done

# of the others the geometry matters alone
crystal='--ncells=3 --oversample=1 --polarization=0.998' turn='--frames=2 --phi0=30 --osc=0.5' steps=1
# shellcheck disable=SC2086
bragg-geometry --detpixels=200,160 --pixel=0.4 --cut=2,4 --rotate=3,5,7 --twotheta=10 --distance=200 $crystal |
	frames "$turn" panels.nxs
check 'DIALS imports eight panels' import panels.expt "$PWD/panels.nxs"
# shellcheck disable=SC2086
bragg-geometry --expt=panels.expt $crystal | frames --scan=panels.expt again.nxs
check 'DIALS imports the list that was written from a list' import again.expt "$PWD/again.nxs"
check 'panels, beam, spindle and scan are the same' same panels.expt again.expt
note "$tap_output"

check 'dxtbx makes a detector of groups' same make groups
# shellcheck disable=SC2086
bragg-geometry --expt=groups.expt --matrix=groups.expt --default-F=100 --layers=2 $crystal | frames --scan=groups.expt tilted.nxs
check 'DIALS imports what was made of it' import tilted.expt "$PWD/tilted.nxs"
check 'groups, a tilted beam and four axes stand as dxtbx has them' same groups.expt tilted.expt
note "$tap_output"
finish
