#!/bin/sh
# Shell scripts parse and can be run; C is laid out by clang-format; the top holds what belongs there.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$BRAGG_TESTS/..
scripts=$(ls "$top"/scripts/* | grep -v 'Dockerfile\|README')
for script in $scripts "$top"/tests/*/*.t "$top"/tests/*.sh "$top"/.ci/run; do
	head -n 1 "$script" | grep -q 'python\|perl\|awk' && continue
	check "$(basename "$script") parses" sh -n "$script"
done
for script in $scripts "$top"/tests/*/*.t; do
	check "$(basename "$script") can be run" test -x "$script"
done
# The first python3 on PATH may be one without Debian's modules.
is "tests call Debian's Python by its path" "$(cd "$top" && grep -lE '(^|[|;&(] |[(\t])python3 ' tests/*/*.t tests/*.sh | paste -sd' ')" ''
house='.ci .clang-format .editorconfig .gitignore CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE Makefile README.md bench common gpu pipelines scripts stages tests '
if names=$(cd "$top" && git ls-files --error-unmatch . 2>/dev/null); then
	is 'nothing else is in the top folder' "$(echo "$names" | cut -d/ -f1 | LC_ALL=C sort -u | tr '\n' ' ')" "$house"
else
	skip 'nothing else is in the top folder' 'this is no checkout of git'
fi

# absent PAGE: files that a page names and that do not exist.  A name counts from the folder of the
# page, from common/ as in an #include, or from the root.  Names with NAME are patterns of a recipe,
# nanoBragg.c is a program of others, and build/tests/unit/x.t is built from tests/unit/x.c.
absent() {
	grep -oE '[A-Za-z_*][A-Za-z0-9_./*-]*\.(c|h|cu|t|1|5|7|md)\b' "$1" | sort -u | while read -r name; do
		case $name in
		*NAME* | nanoBragg.c) continue ;;
		build/tests/unit/*) name=${name#build/} name=${name%.t}.c ;;
		esac
		found=
		for file in "${1%/*}"/$name "$top"/common/$name "$top"/$name; do
			[ ! -e "$file" ] || found=yes
		done
		[ "$found" ] || echo "$name"
	done
}
for page in "$top"/*.md $(cd "$top" && find bench common gpu pipelines scripts stages tests -name README.md | sort | sed "s|^|$top/|"); do
	[ "${page##*/}" = CHANGELOG.md ] || is "${page#"$top"/} names files that exist" "$(absent "$page" | paste -sd' ')" ''
done

# guided FOLDER: whether it has a README.md of 20 to 60 lines; the engine and the tour of common may be longer.
guided() {
	[ -f "$top/$1/README.md" ] || { echo missing; return; }
	lines=$(wc -l <"$top/$1/README.md")
	case $1 in common | common/engine) [ "$lines" -ge 20 ] ;; *) [ "$lines" -ge 20 ] && [ "$lines" -le 60 ] ;; esac || echo "$lines lines"
}
for folder in $(cd "$top" && ls -d bench common common/* common/*/* gpu pipelines scripts stages stages/* tests); do
	[ -d "$top/$folder" ] || continue
	sources=$(ls "$top/$folder" | grep -c '\.[ch]$')
	case $folder in
	common/*/*) [ "$sources" -gt 10 ] || continue ;;
	stages/*) [ "$sources" -gt 1 ] || continue ;;
	esac
	is "$folder has a guide" "$(guided "$folder")" ''
done

check 'C is laid out by .clang-format' "$top/scripts/format" --check
finish
