#!/bin/sh
# Random combinations of options, through the stages: engines, precisions and instruction sets agree
# on images and on tables of reflections.  Always the same ones; COMBINATIONS=SEED takes others.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs combinations bash python:numpy
scratch
check 'random combinations of options' /usr/bin/python3 "$BRAGG_TESTS/full/combinations.py" "${COMBINATIONS:-1}" 40
note "$tap_output"
finish
