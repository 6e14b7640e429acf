#!/bin/sh
# Keys, what takes longer: other server keys, a source that is started again, strangers in numbers.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
at=tcp://127.0.0.1
bragg-run --make-keys=keys
bragg-run --make-keys=other
guard=--keys=keys

# begin FRAMES SLEEP: a run whose every endpoint is tcp
begin() {
	fresh
	set -- "$1" "$2" $(free_ports 4)
	first=$3 source=$4 control=$5 work=$6
	stage first first --out="@$at:$first" $guard &
	stage source source --in="$at:$first" --out="@$at:$source" --control="$at:$control" --frames="$1" $guard \
		--rejoin-timeout=60 &
	stage make make --in="$at:$source" --out="@$at:$work" --sleep="$2" --source-timeout=60 $guard &
	stage sink sink out --in="$at:$work" --source-timeout=60 $guard &
}

fresh
teststage first | teststage source --frames=1000 | teststage make | teststage sink out --quiet
expected=$(digest out)
begin 1000 20
flowing
check_status 'a stage with other server keys ends' 1 timeout 25 teststage make --in="$at:$source" --out="@ipc://$d/o" --keys=other
check 'the message asks whether the keys are those of this run' sh -c 'echo "$1" | grep -q "Are the keys those of this run?$"' - "$tap_output"
# who died and comes back has the keys, too
for round in 1 2; do
	kill -9 "$(cat source.pid)"
	stage first first --out="@$at:$first" $guard &
	stage source source --in="$at:$first" --out="@$at:$source" --control="$at:$control" --frames=1000 $guard &
	sleep 3
done
rm -f source.status
settle
is 'a source that was started again: all end well' "$(statuses first source make sink)" '0 0 0 0'
is 'a source that was started again: the run has all frames' "$(digest out)" "$expected"

# hostile bytes, and connections without keys as fast as they come
begin 300 20
flowing
perl -MIO::Socket::INET -e '$SIG{PIPE} = "IGNORE"; for (1 .. 300) { for (@ARGV) {
	my $s = IO::Socket::INET->new("127.0.0.1:$_") or next;
	print $s join "", map { chr rand 256 } 1 .. rand 300;
	select undef, undef, undef, 0.01;
} }' "$control" "$source" "$work" &
bytes=$!
for i in 1 2 3 4 5; do
	timeout 5 teststage make --in="$at:$source" --out="@ipc://$d/n$i" --insecure 2>/dev/null &
	timeout 5 teststage sink out2 --in="$at:$work" --keys=other 2>/dev/null &
done
settle
kill $bytes 2>/dev/null
is 'strangers in numbers: all end well' "$(statuses first source make sink)" '0 0 0 0'
is 'strangers in numbers: all frames arrive and none is stolen' "$(find out -type f | wc -l) $(find out2 -type f | wc -l)" '300 0'
check 'refused connections are counted' grep -q 'refused [1-9][0-9]* connections' errors.source
note "$(grep -h refused errors.*)"
finish
