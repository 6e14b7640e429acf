# shellcheck shell=sh
# An engine against the reference by the gate of tests/unit/engine_gate.h: every nanoBragg
# command line of the reference cases, and cases drawn by chance.  Source it after lib.sh, in an
# empty folder.

# hold_against_reference RANDOM OPTION...: options of enginecheck; RANDOM says how many cases are
# drawn; GOLDEN_CASES, a pattern of names, limits the others.
hold_against_reference() {
	drawn=$1
	shift
	golden=$BRAGG_TESTS/golden
	tab=$(printf '\t')
	grep "${tab}bragg-nanobragg${tab}" "$golden/manifest.tsv" >manifest
	while IFS=$tab read -r case program width inputs float int noise pgm dump pixels arguments; do
		# shellcheck disable=SC2254 # a pattern is meant
		case $case in ${GOLDEN_CASES:-*}) ;; *) continue ;; esac
		mkdir "$case"
		cd "$case" || exit 1
		place_inputs "$golden/inputs" "$inputs"
		# shellcheck disable=SC2086 # arguments are words
		check "$case" enginecheck "$@" --label="$case" golden $arguments </dev/null
		note "$(printf '%s\n' "$tap_output" | grep ,)"
		cd ..
		rm -rf "$case"
	done <manifest
	check "$drawn cases drawn by chance" enginecheck "$@" random "$drawn" 1
	note "$(printf '%s\n' "$tap_output" | tail -1)"
}
