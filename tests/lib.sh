# TAP for shell tests.  Source it, call the checks, end with `finish`.
#
#   check NAME COMMAND...            passes when the command succeeds
#   check_status NAME STATUS COMMAND...   passes on that exit status
#   is NAME GOT EXPECTED             passes when both texts are equal
#   skip NAME REASON                 counted and printed by prove
#   has THING...                     whether all of these are installed: programs, or python:MODULE of
#                                    Debian's Python; otherwise $lack names the first that is not
#   needs NAME THING...              skips the whole script unless it has all of them
#   place_inputs FOLDER LIST         copies the inputs NAME=STORED of a reference case here
#   soon COMMAND...                  waits up to a minute until the command succeeds
#   scratch                          enters a new folder, removed at exit
#   pids NAME, running NAME          the processes bragg-NAME (or teststage NAME) of this test, whether
#                                    there are any

# The folder `tests`, for scripts that are run by themselves as well.
BRAGG_TESTS=${BRAGG_TESTS:-$(cd "$(dirname "$0")/.." && pwd)}
export BRAGG_TESTS
# bragg-run chooses a GPU if the host has one.  Tests need the same bytes on every host.
export CUDA_VISIBLE_DEVICES=''

tap_count=0
tap_failed=0

tap_result() {
	tap_count=$((tap_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_count - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count - $2"
	fi
}

note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# A note about a check that failed, which prove shows.
complain() {
	printf '%s\n' "$tap_count $*" | sed 's/^/# /' >&2
}

check() {
	tap_name=$1
	shift
	if tap_output=$("$@" 2>&1); then
		tap_result 0 "$tap_name"
	else
		tap_result 1 "$tap_name"
		complain "$tap_name: $* failed: $tap_output"
	fi
}

check_status() {
	tap_name=$1
	tap_want=$2
	shift 2
	tap_status=0
	tap_output=$("$@" 2>&1) || tap_status=$?
	if [ "$tap_status" = "$tap_want" ]; then
		tap_result 0 "$tap_name"
	else
		tap_result 1 "$tap_name"
		complain "$tap_name: $*: status $tap_status, expected $tap_want: $tap_output"
	fi
}

is() {
	if [ "$2" = "$3" ]; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1"
		complain "$1: got $2, expected $3"
	fi
}

soon() {
	for soon_try in $(seq 1200); do
		"$@" && return 0
		sleep 0.05
	done
	return 1
}

pids() {
	for one in $(grep -laF "$tap_scratch/" /proc/[0-9]*/cmdline 2>/dev/null); do
		{ tr '\0' ' ' <"$one"; } 2>/dev/null | grep -q "^[^ ]*\(bragg-\|teststage \)$1 " && basename "${one%/cmdline}"
	done
}

running() {
	[ -n "$(pids "$1")" ]
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

has() {
	for lack; do
		case $lack in
		python:*) /usr/bin/python3 -c "import ${lack#python:}" 2>/dev/null || return 1 ;;
		*) command -v "$lack" >/dev/null || return 1 ;;
		esac
	done
}

needs() {
	needs_name=$1
	shift
	has "$@" || {
		skip "$needs_name" "$lack is missing"
		finish
		exit
	}
}

# same_series FOLDER FOLDER: they have the same files except indexes. Data files of NXmx have the same content,
# which may have other places in the file, and all others the same bytes.
same_series() {
	same_files=$(cd "$1" && find . -type f ! -name '*.index' | sort)
	[ "$same_files" = "$(cd "$2" && find . -type f ! -name '*.index' | sort)" ] || return 1
	for same_file in $same_files; do
		case $same_file in
		*_data_[0-9]*.h5) nxmx --same "$1/$same_file" "$2/$same_file" || return 1 ;;
		*) cmp "$1/$same_file" "$2/$same_file" || return 1 ;;
		esac
	done
}

scratch() {
	tap_scratch=$(mktemp -d)
	trap 'rm -rf "$tap_scratch"' EXIT
	trap 'exit 1' HUP INT TERM
	cd "$tap_scratch" || exit 1
}

place_inputs() {
	[ "$2" = - ] && return
	for pair in $2; do
		case $pair in
		*.gz) gzip -dc "$1/${pair#*=}" >"${pair%%=*}" ;;
		*) cp "$1/${pair#*=}" "${pair%%=*}" ;;
		esac
	done
}

finish() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
}
