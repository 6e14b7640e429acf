#!/bin/sh
# tests/full/combinations.t with more random combinations of options.
COMBINATIONS=${COMBINATIONS:-1 100} exec sh "${BRAGG_TESTS:-$(dirname "$0")/..}/full/combinations.t"
