#!/bin/sh
# Every program has a manual page without faults, which names every option of --help and no other.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'manual pages' mandoc
top=$BRAGG_TESTS/..
scratch

# narrow PAGE: cells of its tables that do not fit between their column and the next one
narrow() {
	awk '
		# the words of a cell of a table, without macros
		function cell(text,   n, i, words, shown) {
			n = split(text, words)
			shown = ""
			for (i = 1; i <= n; i++) {
				if (words[i] ~ /^(Sy|Em|Cm|Ar|Pa|Va|Ev|Ql|No|Li)$/) continue
				if (words[i] == "Xr") { shown = shown " " words[i + 1] "(" words[i + 2] ")"; i += 2 }
				else if (words[i] == "Ns") { i++; shown = shown words[i] }
				else shown = shown (words[i] ~ /^[,.;:]$/ ? "" : " ") (words[i] == "Fl" ? "-" : words[i])
			}
			gsub(/- \\?-?|"|\\&/, "", shown)
			sub(/^ /, "", shown)
			return shown
		}
		/^\.Bl -column/ {
			sub(/^\.Bl -column */, "")
			for (ncolumns = 0; match($0, /^("[^"]*"|[^-" ][^ ]*) */);) {
				width[++ncolumns] = substr($0, 1, RLENGTH)
				$0 = substr($0, RLENGTH + 1)
				gsub(/" *$|^"| *$/, "", width[ncolumns])
			}
			gap = ncolumns > 5 ? 1 : ncolumns == 5 ? 3 : 4
		}
		/^\.El/ { ncolumns = 0 }
		ncolumns && /^\.It / {
			n = split(substr($0, 5), cells, / +Ta( +|$)/)
			for (i = 1; i < n && i <= ncolumns; i++)
				if (length(cell(cells[i])) >= length(width[i]) + gap)
					print FNR ": " cell(cells[i])
		}' "$1"
}

for page in "$top"/stages/*/*.[157] "$top"/common/wire/*.5; do
	faults=$(mandoc -T lint -W warning "$page" 2>&1 | grep -v 'referenced manual not found' || true)
	is "$(basename "$page") has no faults" "$faults" ''
	wide=$(mandoc -T ascii -O width=78 "$page" | col -bx | grep -E '.{81}' || true)
	is "$(basename "$page") fits into 80 columns" "$wide" ''
	is "$(basename "$page") has columns that are wide enough" "$(narrow "$page")" ''
done

# A macro encloses the rest of its line: after a comma another line is needed.
is 'each literal has quotes of its own' "$(grep -nE '^\.(.* )?Ql .*( [,;:)] +[^ ]*[^ ,;:.)]| Ql )' "$top"/stages/*/*.[157] "$top"/common/wire/*.5)" ''

# Rules of bragg-wire(5): each has its number, and those that the steps of a sink refer to are meant.
rules=$(awk '/^\.Sh/ { p = /RULES/ } p && /^\.It [0-9]+\.$/ { n = $2 + 0; print n, "" } p && n { print n, $0 }' "$top/common/wire/bragg-wire.5")
is 'bragg-wire(5): rules are numbered without a gap' "$(echo "$rules" | awk 'NF == 1' | tr -d ' ' | paste -sd,)" "$(seq -s, 24)"
referred() {
	is "bragg-wire(5): '$1' is rule $2" "$(echo "$rules" | grep -c "^$2 .*$3")" 1
	check "bragg-wire(5): $1 refers to it" grep -q "$1.*$4" "$top/common/wire/bragg-wire.5"
}
referred 'A frame can come again' 11 'If a sink gets a frame that it already has' '(rule 11)'
referred 'the number of the frame to DATA' 8 'A stage MUST return the credit' '(rules 8 and 10)'
referred 'when all frames are finished' 13 'When all frames are acknowledged' '(rule 13)'
referred 'number of the frame to DATA' 10 'A sink MUST send ack' '(rules 8 and 10)'
referred 'hello of an observer' 24 'The source answers each hello of an observer with status' ''

# default PAGE TEXT PROGRAM OPTION VALUE: the page has the text, and the program the value
default() {
	check "$(basename "$1") has the default of --$4" grep -q -e "$2" "$1"
	is "the default of $3 is that of its help" "$("$3" --help | tr '\n' ' ' | sed -n "s/.*--$4=[^(]*(\([^)]*\)).*/\1/p")" "$5"
}
default "$top/stages/pages/braggpipe-physics.7" '^.It fluence by default Ta 1e25 1/m^2' bragg-geometry fluence 1e25
check 'bragg-run(1) has a complete file' sh -c 'sed -n "/^stages:/,/^\.Ed/p" "$1" | sed "/^\.Ed/d" >"$2" && bragg-run --dry-run "$2"' sh \
	"$top/stages/run/bragg-run.1" "$tap_scratch/page.yaml"

# The columns of ground-truth tables: bragg-formats(5) has those of `braggpipe columns`, in the same order, with the same units.
# columns_of SECTION LINES: names and units; u11 to u33 and the like are one row of the page
columns_of() {
	sed -n "/^\.Sh $1\$/,/^\.Ss [AD]/s/^\.It \(.*\) Ta \([^ ]*\) Ta .*/\1 \2/p" "$top/stages/pages/bragg-formats.5" |
		sed '/^Sy/d; s/ to [^ ]*//; s/\\(oA/A/; s/\\(S2/^2/'
}
braggpipe columns | awk '/^  / { print $1, $2 }' | grep -v -e '^u\(1[23]\|[23]\)' -e '^[abc]s_[yz]' -e '^[bc]s_' -e 'star_[yz]' -e '^[bc]star' >columns
is 'bragg-formats(5): columns and units' "$({
	columns_of 'TABLE OF LATTICES'
	columns_of 'REFLECTION TABLES'
} | diff columns - || true)" ''
is 'bragg-formats(5): the table has all 63 columns' "$(wc -l <columns)" 63
# printed PAGE: the first example of a page prints what the page shows, apart from spaces
printed() {
	sed -n '/^\.Bd -literal/,/^\.Ed/p; /^\.Ed/q' "$top/$1" | sed '/^\./d; /^\\&/d; s/\\e/\\/g' >example
	awk '/^\$ / { run = 1 } run { sub(/^\$ /, ""); print >"commands"; run = /[\\|]$/; next } /^ / { printf "%s", $0; next } { printf "%s%s", n++ ? "\n" : "", $0 } END { print "" }' example |
		tr -s ' ' >shown
	(mkdir "${1##*/}.d" && cd "${1##*/}.d" && sh ../commands 2>&1 | tr -s ' ') >output
	is "$1: the example prints what the page shows" "$(grep -vxF -f output shown || true)" ''
	check "$1: the example of the page shows output" [ -s shown ]
}
cd "$tap_scratch"
printed stages/nanobragg/bragg-nanobragg.1
printed stages/nanobragg/bragg-nonbragg.1
printed stages/fisher/bragg-fisher.1

# As HTML: each page, and no link to a page or a heading that does not exist.
check 'make html makes all pages' "$top/scripts/make-html" "$tap_scratch/html"
is 'one file for each page, and an index' "$(ls "$tap_scratch"/html/*.html | wc -l)" \
	"$(($(ls "$top"/stages/*/*.[157] "$top"/common/wire/*.[157] | wc -l) + 1))"
is 'links to our pages are links to files' "$(grep -oh 'https://manpages.debian.org/bragg[^"]*' "$tap_scratch"/html/*.html | sort -u)" ''
is 'files that links name exist' "$(cd "$tap_scratch/html" && grep -oh 'href="[a-z0-9.-]*\.html' ./*.html | sed 's/href="//' | sort -u |
	while read -r file; do [ -s "$file" ] || echo "$file"; done)" ''

# two_examples PROGRAM: its help ends with them
two_examples() {
	is "$1 --help ends with two examples" \
		"$("$1" --help | tail -n 3 | sed -n "1p; 2,3s/.*\\b$1\\b.*/with it/p" | paste -sd,)" 'Examples:,with it,with it'
}

# help_options PROGRAM: its own options and, behind a #, their headings without brackets, in the order of --help
help_options() {
	"$1" --help | sed -n '/^ Common options/q; /^Examples/q; /^ [^ ]/ { s/ ([^()]*\(([0-9a-z, ]*)[^()]*\)*)//; s/^ \(.*\):$/# \1/p; }; s/^      \(--[a-zA-Z0-9-]*\).*/\1/p' |
		grep -vx -e --help -e --version
}

# common_options PROGRAM: the same of the options that all stages have
common_options() {
	"$1" --help | sed -n '/^ Common options/,/^      --help/ { s/^ Common options: \(.\)/# \u\1/p; s/^      \(--[a-zA-Z0-9-]*\).*/\1/p; }' | grep -vx -e --help
}

# page_options PAGE SECTION LIST: what a section documents of the options of a list, with the headings, in the order of the page
page_options() {
	awk -v section="$2" -v list="$3" '
		BEGIN { for (n = split(list, names); n; n--) wanted[names[n]] = 1 }
		/^\.Sh/ { inside = $0 == ".Sh " section }
		inside && /^\.Ss/ { heading = "# " substr($0, 5) }
		inside && /^\.It Fl/ {
			for (i = 2; i < NF; i++) {
				name = $(i + 1); sub(/^\\/, "", name)
				if ($i != "Fl" || !(("-" name) in wanted))
					continue
				if (heading != "")
					print heading
				heading = ""
				print "-" name
			}
		}' "$1"
}

# needy PROGRAM: options whose text is understood only with the text of another option
needy() {
	"$1" --help | sed '1,/^$/d; /^      --help/,$d' | tr '\n' ' ' | sed 's/  *--/\n--/g; s/  */ /g' |
		grep -wE -e 'them|these|those|they|Of it|one such|such [a-z]* as' -e 'this (fraction|limit|list|motion|number|recording)' || true
}

two_examples braggpipe
for source in "$top"/stages/*/bragg-*.c; do
	name=$(basename "$source" .c)
	check "$name has a manual page" test -f "${source%.c}.1"
	two_examples "$name"
	case $name in
	bragg-skeleton*) ;;
	*)
		check "$name is in the list of braggpipe(7)" grep -q "^\.It.* Xr $name 1" "$top/stages/pages/braggpipe.7"
		check "$name is in braggpipe list" sh -c "braggpipe list | grep -q '^  ${name#bragg-} '"
		;;
	esac
	check "$name has --version" sh -c "$name --version | grep -q '^$name'"
	# one table: groups and order of the page are those of --help
	help_options "$name" >options
	is "$name.1: the groups of --help, in their order" "$(page_options "${source%.c}.1" OPTIONS "$(cat options)" | diff options - || true)" ''
	common_options "$name" >common
	is "braggpipe(7): the common options of $name" "$(page_options "$top/stages/pages/braggpipe.7" 'COMMON OPTIONS' "$(cat common)" | diff common - || true)" ''
	is "$name --help: each option has a heading" "$(sed -n '1{/^--/p;}' options)" ''
	[ "$(grep -c '^--' options)" -le 12 ] ||
		check "$name --help begins with 5 to 12 options that are used most" awk '/^#/ { if (n++) exit } NR == 1 && $0 != "# Most used options" { exit bad = 1 } /^--/ { k++ }
			END { exit bad || k < 5 || k > 12 }' options
	is "$name --help has lines of 79 columns" "$("$name" --help | sed '/^Examples:/,$d' | grep -E '.{80}' || true)" ''
	is "$name --help: an option is explained without another one's text" "$(needy "$name")" ''
	# ... and the other way round
	unknown=$(sed -n 's/^\.It //p' "${source%.c}.1" | grep -o 'Fl \\-[a-z][a-zA-Z-]*' | sed 's/Fl ./-/' | sort -u |
		while read -r option; do
			"$name" --help | grep -q -e "^ *$option\>" || echo "$option"
		done)
	is "$name.1 describes what there is" "$unknown" ''
	# GNU long options of --help must stand in the manual page of the program or of all programs
	for option in $("$name" --help | grep -o -- '--[a-z][a-z-]*' | sort -u); do
		case $option in --help | --version | --usage) continue ;; esac
		text=$(cat "${source%.c}.1" "$top/stages/pages/braggpipe.7")
		case $text in
		*"${option#--}"*) ;;
		*) is "$name.1 describes $option" missing described ;;
		esac
	done
done
if has man groff; then
	is 'tables of pages fit into 80 columns' "$(for page in "$top"/stages/*/*.1 "$top"/stages/pages/*.[57] "$top"/common/wire/*.5; do
		MANWIDTH=80 man -l "$page" 2>&1 >page.out | sed -n "s,.*can't break line.*,${page##*/},p"; done | sort -u)" ''
else
	skip 'tables of pages fit into 80 columns' "$lack is missing"
fi
finish
