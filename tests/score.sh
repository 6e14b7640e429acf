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
