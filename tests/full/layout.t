#!/bin/sh
# Shell scripts parse; no file of the project names a machine or a person's folder.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
for script in "$top"/scripts/* "$top"/tests/*/*.t "$top"/tests/lib.sh "$top"/.ci/run; do
	head -n 1 "$script" | grep -q 'python\|perl' && continue
	check "$(basename "$script") parses" sh -n "$script"
done
for script in "$top"/scripts/*; do
	check "$(basename "$script") can be run" test -x "$script"
done
finish
