#!/bin/sh
# Every program has a manual page without faults, which names every option of --help and no other.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'manual pages' mandoc
top=$BRAGG_TESTS/..

for page in "$top"/stages/*.[17] "$top"/common/wire/*.5; do
	faults=$(mandoc -T lint -W warning "$page" 2>&1 | grep -v 'referenced manual not found' || true)
	is "$(basename "$page") has no faults" "$faults" ''
	wide=$(mandoc -T ascii -O width=78 "$page" | col -bx | grep -E '.{81}' || true)
	is "$(basename "$page") fits into 80 columns" "$wide" ''
done

# two_examples PROGRAM: its help ends with them
two_examples() {
	is "$1 --help ends with two examples" \
		"$("$1" --help | tail -n 3 | sed -n "1p; 2,3s/.*\\b$1\\b.*/with it/p" | paste -sd,)" 'Examples:,with it,with it'
}

two_examples braggpipe
for source in "$top"/stages/bragg-*.c; do
	name=$(basename "$source" .c)
	check "$name has a manual page" test -f "$top/stages/$name.1"
	two_examples "$name"
	check "$name has --version" sh -c "$name --version | grep -q '^$name'"
	# ... and the other way round
	unknown=$(sed -n 's/^\.It //p' "$top/stages/$name.1" | grep -o 'Fl \\-[a-z][a-zA-Z-]*' | sed 's/Fl ./-/' | sort -u |
		while read -r option; do
			"$name" --help | grep -q -e "^ *$option\>" || echo "$option"
		done)
	is "$name.1 describes what there is" "$unknown" ''
	# GNU long options of --help must stand in the manual page of the program or of all programs
	for option in $("$name" --help | grep -o -- '--[a-z][a-z-]*' | sort -u); do
		case $option in --help | --version | --usage) continue ;; esac
		text=$(cat "$top/stages/$name.1" "$top/stages/braggpipe.7")
		case $text in
		*"${option#--}"*) ;;
		*) is "$name.1 describes $option" missing described ;;
		esac
	done
done
finish
