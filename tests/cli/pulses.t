#!/bin/sh
# Numbers of pulses as facilities count: in tables, headers and files.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'h5py' python:h5py

shots() { # NAME OPTION...
	name=$1
	shift
	bragg-geometry --quiet --detpixels=32 --pixel=2 --distance=120 --ncells=5 --oversample=1 |
		bragg-orient --quiet --frames=5 --seed=3 --truth="${name%%.*}.tsv" --overwrite "$@" | bragg-intensity --quiet |
		bragg-noise --quiet | bragg-write --quiet --overwrite "$name"
}
# header NAME: the line of each header; keys may stand behind "# "
header() {
	grep -aho 'BRAGG_PULSE.*' "$@" | tr -d '\r;'
}
last() { # FILE: the columns behind panel_deg
	awk -F'\t' '{ for (i = 37; i <= NF; i++) printf "%s ", $i; print "" }' "$1" | tr '\n' /
}

shots plain_%d.img
is 'no numbers unless asked for' "$(header plain_*.img)$(last plain_%d.tsv)" //////
shots train_%d.img --facility=euxfel --train-pulses=2 --first-pulse=77
is 'trains and pulses in headers' "$(header train_0.img train_1.img train_4.img | tr '\n' /)" \
	'BRAGG_PULSE=trainId 77 pulseId 0/BRAGG_PULSE=trainId 77 pulseId 4/BRAGG_PULSE=trainId 79 pulseId 0/'
is 'the table has trains and pulses' "$(last train_%d.tsv)" 'trainId pulseId /77 0 /77 4 /78 0 /78 4 /79 0 /'
pixels() {
	tail -c 2048 "$1" | cksum
}
is 'the pixels are those without trains' "$(pixels train_3.img)" "$(pixels plain_3.img)"
shots fiducial_%d.cbf --facility=lcls --run-start=1600000000 --first-pulse=131037
is 'LCLS' "$(header fiducial_1.cbf)" 'BRAGG_PULSE seconds 1600000000 nanoseconds 8333333 fiducial 0'
shots swiss_%d.img --facility=swissfel --pulse-step=4 --first-pulse=5000000000
is 'SwissFEL at 25 Hz' "$(header swiss_2.img)" 'BRAGG_PULSE=pulse_id 5000000008'
is 'SACLA' "$(shots sacla_%d.img --facility=sacla && header sacla_3.img)" 'BRAGG_PULSE=tag 100000006'
shots run.nxs --facility=euxfel --train-pulses=3 --first-pulse=900
check 'a list for all frames in NXmx' /usr/bin/python3 -c "
import h5py
f = h5py.File('run.nxs')['/entry/braggpipe']
assert f['trainId'][()].tolist() == [900, 900, 900, 901, 901] and f['pulseId'][()].tolist() == [0, 4, 8, 0, 4]"
check 'recomputed from its file' bragg-replay --recompute run.nxs:4
finish
