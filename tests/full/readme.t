#!/bin/sh
# The pipelines of README.md work when pasted, and warn of nothing.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
scratch
grep -E '^bragg-[a-z]+ ' "$top/README.md" >lines
is 'README.md shows six pipelines' "$(wc -l <lines)" 6
number=0
while read -r line; do
	number=$((number + 1))
	mkdir "$number"
	status=0
	(cd "$number" && sh -c "$line" </dev/null >out 2>warnings) || status=$?
	is "pipeline $number ends well, without a warning" "$status $(cat "$number/warnings")" '0 '
	check "pipeline $number wrote an image" sh -c "ls $number/*.img $number/*.raw 2>/dev/null | grep -q ."
done <lines
finish
