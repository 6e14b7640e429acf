#!/bin/sh
# The CUDA engine's threads, run on this processor: every nanoBragg command line of the
# reference cases and cases drawn by chance against the reference engine by the gate.
# CUDA_ENGINE=cuda asks the GPU instead, CUDA_RANDOM says how many are drawn, CUDA_OUT is a
# file for JSON lines; GOLDEN_CASES, a pattern of names, limits the run.
BRAGG_TESTS=${BRAGG_TESTS:-$(cd "$(dirname "$0")/.." && pwd)}
. "$BRAGG_TESTS/lib.sh"
. "$BRAGG_TESTS/gate.sh"
scratch
# shellcheck disable=SC2086 # options are words
hold_against_reference "${CUDA_RANDOM:-15}" --engine="${CUDA_ENGINE:-host}" ${CUDA_OUT:+--out=$CUDA_OUT}

# what a user sees
without_card() {
	[ "$status" = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^bragg-nanobragg: --engine=cuda: ' err && [ ! -e floatimage.bin ]
}
if ! command -v bragg-nanobragg >/dev/null; then
	skip 'without a card: one line' 'the programs are not built'
elif enginecheck probe >/dev/null 2>&1; then
	skip 'without a card: one line' 'there is one'
else
	status=0
	bragg-nanobragg --engine=cuda --physics=physical -cell 100 -detpixels 16 -floatfile floatimage.bin 2>err >out || status=$?
	check 'without a card: one line, status 2, no file' without_card
	note "$(cat err)"
fi
finish
