#!/bin/sh
# What README.md says: it is short, its commands fit into 100 columns, its pictures show something,
# and every number in its words is held by a test, which readme-numbers.tsv names.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'what README.md says' python:zmq python:msgpack python:numpy
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch
check 'README.md has at most 150 lines' test "$(wc -l <"$top/README.md")" -le 150
# all in fences but the drawing, which has arrows
is 'commands of README.md have at most 100 columns' "$(awk '/^```/ { if (inside && !drawing) printf "%s", wide; inside = !inside; drawing = 0; wide = ""; next }
	inside && / -> / { drawing = 1 }
	inside && length > 100 { wide = wide $0 "\n" }' "$top/README.md")" ''
check 'README.md shows a picture' grep -q '^!\[' "$top/README.md"
for picture in $(sed -n 's/^!\[.*](\([^)]*\)).*/\1/p' "$top/README.md"); do
	check "$picture shows something" picture "$top/$picture"
done
check 'pipelines/vignette.py has at most 25 lines' test "$(wc -l <"$top/pipelines/vignette.py")" -le 25

# Its words and the remarks beside its commands: no code, no targets of links.
awk '/^```/ { inside = !inside; next }
	inside && !sub(/.*  # /, "") { next }
	{ gsub(/`[^`]*`/, ""); gsub(/\]\([^)]*\)/, "]"); print }' "$top/README.md" | tr '\n' ' ' >words
grep -v '^#' "$BRAGG_TESTS/full/readme-numbers.tsv" >rows
tab=$(printf '\t')
while IFS=$tab read -r number file text; do
	check "README.md still says '$number'" grep -qF -e "$number" words
	[ "$file" = - ] || check "$number: held by $file" grep -qF -e "$text" "$top/$file"
	awk -v number="$number" '{ while (at = index($0, number)) $0 = substr($0, 1, at - 1) substr($0, at + length(number)); print }' words >rest
	mv rest words
done <rows
is 'README.md has no other number' "$(grep -oE '([^ ]+ ){0,3}[^ ]*[0-9][^ ]*( [^ ]+)?' words)" ''
finish
