# What tests of bragg-score share; they source it behind lib.sh.

# refused NAME STATUS TEXT ARGUMENT...: one line on stderr, nothing on stdout
refused() {
	refused_name=$1 refused_want=$2 refused_text=$3
	shift 3
	refused_status=0
	timeout 20 bragg-score "$@" >refused.out 2>refused.err || refused_status=$?
	is "$refused_name" "$refused_status $(wc -l <refused.err) $(wc -c <refused.out) $(grep -c -F -e "$refused_text" refused.err)" \
		"$refused_want 1 0 1"
	[ "$(grep -c -F -e "$refused_text" refused.err)" = 1 ] || note "$(cat refused.err)"
}

# known NAME TRUTH RESULTS OPTIONS METRIC=VALUE...: these are the metrics; leaves ./table and ./score.json
known() {
	known_name=$1 known_truth=$2 known_results=$3 known_options=$4
	shift 4
	# shellcheck disable=SC2086 # lists
	check "$known_name" sh -c 'bragg-score --json=score.json '"$known_options $known_truth $known_results"' >table && /usr/bin/python3 "$@"' sh \
		"$BRAGG_TESTS/cli/score_figures.py" score.json "$@"
}

# known_merged NAME FILE METRIC=VALUE...: the same of a merged set, with the ground truth truth.nxs
known_merged() {
	known_name=$1 known_file=$2
	shift 2
	known "$known_name" truth.nxs "$known_file" '' "$@"
}
