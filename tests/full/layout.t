#!/bin/sh
# Shell scripts parse and can be run; C is laid out by clang-format.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
for script in "$top"/scripts/* "$top"/tests/*/*.t "$top"/tests/*.sh "$top"/.ci/run; do
	head -n 1 "$script" | grep -q 'python\|perl' && continue
	check "$(basename "$script") parses" sh -n "$script"
done
for script in "$top"/scripts/*; do
	check "$(basename "$script") can be run" test -x "$script"
done
check 'C is laid out by .clang-format' "$top/scripts/format" --check
finish
