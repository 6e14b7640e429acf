#!/bin/sh
# The CPU engine against the reference engine by the gate: every nanoBragg command line of the
# reference cases and cases drawn by chance, as users run it, with the best instruction set;
# CPU_RANDOM says how many are drawn.
BRAGG_TESTS=${BRAGG_TESTS:-$(cd "$(dirname "$0")/.." && pwd)}
. "$BRAGG_TESTS/lib.sh"
. "$BRAGG_TESTS/gate.sh"
scratch
hold_against_reference "${CPU_RANDOM:-8}" --engine=cpu
finish
