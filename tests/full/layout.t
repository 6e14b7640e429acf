#!/bin/sh
# Shell scripts parse and can be run; C is laid out by clang-format; the top holds what belongs there.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
scripts=$(ls "$top"/scripts/* | grep -v Dockerfile)
for script in $scripts "$top"/tests/*/*.t "$top"/tests/*.sh "$top"/.ci/run; do
	head -n 1 "$script" | grep -q 'python\|perl\|awk' && continue
	check "$(basename "$script") parses" sh -n "$script"
done
for script in $scripts "$top"/tests/*/*.t; do
	check "$(basename "$script") can be run" test -x "$script"
done
house='.ci .clang-format .editorconfig .gitignore CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE Makefile README.md bench common gpu pipelines scripts stages tests '
if names=$(cd "$top" && git ls-files --error-unmatch . 2>/dev/null); then
	is 'nothing else stands at the top' "$(echo "$names" | cut -d/ -f1 | LC_ALL=C sort -u | tr '\n' ' ')" "$house"
else
	skip 'nothing else stands at the top' 'this is no checkout of git'
fi
check 'C is laid out by .clang-format' "$top/scripts/format" --check
finish
