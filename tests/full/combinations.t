#!/bin/sh
# Random combinations of options, through the stages: engines, precisions and instruction sets agree
# on images and on tables of reflections.  Always the same ones, in which nearly each option occurs;
# COMBINATIONS='SEED COUNT' takes others, as tests/long/combinations.t does.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs combinations bash python:numpy
scratch
# shellcheck disable=SC2086 # two words
check 'random combinations of options' /usr/bin/python3 "$BRAGG_TESTS/full/combinations.py" ${COMBINATIONS:-18695 15}
note "$tap_output"
finish
