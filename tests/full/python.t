#!/bin/sh
# The Python module: all that gives frames, all ways out of a loop, stages, labels, the notebook, pip.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/python.sh"
loop 'a pipeline file runs without its last stages' file
loop 'an exception in a loop stops its pipeline' raised
loop 'and Ctrl-C' interrupted
loop 'and a kill of the process' killed
loop 'two loops at once have their own frames' two
loop 'a loop slower than the pipeline gets all frames' slow
loop 'images that are kept do not change' kept
loop 'a stage that dies is named' died
loop 'what is no source of frames is refused' refused
loop 'panels lie where they are' panels
loop 'sums of any length' sums
loop 'a source in Python, and a sink' stages
finish
