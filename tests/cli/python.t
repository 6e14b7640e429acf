#!/bin/sh
# The Python module: frames in a loop, and however the loop is left nothing of its pipeline stays.  More of it: tests/full/python.t.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/python.sh"
loop 'frames of a pipeline are those of its recording, and a loop that is left stops its pipeline' same left
loop 'a stage that fails is quoted; options by their names, and the nearest for a wrong one' failed options
loop 'a stage gives back what it was lent: nobody sees what is done to it later' lent
loop 'frames, their truth and recordings survive pickling and copying; a stream says what to do instead' pickled
is 'the module has the version of the programs' "$(/usr/bin/python3 -c 'import braggpipe; print(braggpipe.__version__)')" \
	"$(bragg-run --version | sed 's/.*) \([^,]*\),.*/\1/')"
check 'the types of the options are those of the programs: scripts/make-python-options' \
	sh -c 'cd "$0" && scripts/make-python-options | cmp - pipelines/braggpipe/_options.pyi' "$top"
finish
