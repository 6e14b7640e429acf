#!/bin/sh
# The runtime, with small stages (tests/programs/teststage.c): streams through
# pipes and named endpoints, and how they end when something goes wrong.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"

# stage NAME ARGUMENT...: runs a test stage, leaving its process id and exit status.
stage() {
	stage_name=$1
	shift
	sh -c 'echo $$ >"$0.pid"; exec teststage "$@"' "$stage_name" "$@" 2>>errors
	echo $? >"$stage_name.status"
}

fresh() {
	rm -rf out errors ./*.pid ./*.status
	mkdir out
}

# json PERL: runs it for each JSON text of stdin in $_
json() {
	perl -MJSON::PP -0777 -e 'my $p = JSON::PP->new; my $code = eval "sub { $ARGV[0] }" or die $@;
		$p->incr_parse(scalar <STDIN>); while (my $j = $p->incr_parse) { $code->() for $j }' "$1"
}

statuses() {
	for name; do cat "$name.status"; done | tr '\n' ' ' | sed 's/ $//'
}

chain() { # FRAMES: first, source, make, work, sink
	fresh
	stage first first | stage source source --frames="$1" | stage make make | stage work work | stage sink sink out
}

files() {
	find out -type f | wc -l
}

flows() {
	[ "$(files)" -gt 3 ]
}

empty() {
	[ -z "$(find run -mindepth 1)" ]
}

for count in 0 1 100; do
	chain $count
	is "$count frames through five stages: all end well" "$(statuses first source make work sink)" '0 0 0 0 0'
	is "$count frames through five stages: as many files" "$(files)" "$count"
	is "$count frames through five stages: nothing is said" "$(cat errors)" ''
done
# pixel i of frame 99 is 99 + i + 1, and there are 64
is 'the pixels of the last frame arrive' "$(cat out/000099)" '99 297 8416'
is 'no socket and no folder is left' "$(find run -mindepth 1)" ''

fresh
stage first first --pixels=1000 | stage source source --frames=12 --window=3 | stage make make | stage sink sink out
is 'large frames arrive too' "$(statuses first source make sink) $(files)" '0 0 0 0 12'

fresh
teststage first | teststage source --frames=5 --trace=t1 | teststage make --trace=t2 |
	bragg-skeleton --factor=0.5 --stats=stats --trace=t3 | teststage sink out --stats=stats
is 'the skeleton is a stage' "$(cat out/000000)" '0 0 1008'
is 'statistics are lines of JSON' "$(json 'print "$_->{stage} $_->{frames}\n"' <stats | sort | tr '\n' ' ')" \
	'bragg-skeleton 5 test-sink 5 '
is 'statistics separate work from waiting' \
	"$(json 'print $_->{wall_s} >= $_->{wait_in_s} + $_->{compute_s} + $_->{wait_out_s} - 0.01 ? 1 : 0' <stats)" '11'
is 'traces are arrays of events' \
	"$(cat t1 t2 t3 | json 'print scalar grep({ $_->{name} eq "compute" and $_->{dur} >= 0 } @$_), " "')" '5 5 5 '

fresh
(stage first first | stage source source --frames=20 --step=3 --window=2 | stage make make | stage sink sink out) 2>errors
is 'numbers may have gaps' "$(statuses first source make sink) $(files)" '0 0 0 0 20'
is 'numbers are those of the list' "$(find out -type f | sort | tail -n 1)" 'out/000057'

# Two makers share the frames of one source and feed one worker
fresh
d="$tap_scratch/run"
stage first first --out="@ipc://$d/g" &
stage source source --frames=200 --in="ipc://$d/g" --out="@ipc://$d/s" &
stage make1 make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=1 --stats=m1 &
stage make2 make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=1 --stats=m2 &
stage work work --in="@ipc://$d/w" --out="@ipc://$d/x" &
stage sink1 sink out --in="ipc://$d/x" &
stage sink2 sink out --in="ipc://$d/x" &
wait
is 'fan-out and fan-in by named endpoints' "$(statuses first source make1 make2 work sink1 sink2) $(files)" '0 0 0 0 0 0 0 200'
is 'both workers get frames' "$(cat m1 m2 | json 'print $_->{frames} > 10 ? 1 : 0')" '11'
is 'each frame went one way' "$(cat m1 m2 | json 'our $n += $_->{frames}; END { print $n }')" '200'
is 'named sockets are removed' "$(find run -mindepth 1)" ''

fresh
port=$((20000 + $$ % 1000 * 10))
bragg-run --make-keys=keys
stage first first --out=@tcp://127.0.0.1:$((port + 0)) --keys=keys &
stage source source --in=tcp://127.0.0.1:$((port + 0)) --out=@tcp://127.0.0.1:$((port + 1)) --keys=keys &
stage make make --in=tcp://127.0.0.1:$((port + 1)) --out=@tcp://127.0.0.1:$((port + 2)) --keys=keys &
stage sink sink out --in=tcp://127.0.0.1:$((port + 2)) --keys=keys &
wait
is 'tcp on this host' "$(statuses first source make sink) $(files)" '0 0 0 0 10'

# what other hosts would do: bind all interfaces, and report to the source there
fresh
stage first first --out=@tcp://127.0.0.1:$((port + 4)) --insecure &
stage source source --in=tcp://127.0.0.1:$((port + 4)) --out=@tcp://0.0.0.0:$((port + 5)) --insecure &
stage make make --in=tcp://127.0.0.1:$((port + 5)) --out=@tcp://0.0.0.0:$((port + 6)) --insecure &
stage sink sink out --in=tcp://127.0.0.1:$((port + 6)) --insecure &
wait
is 'tcp on all interfaces' "$(statuses first source make sink) $(files)" '0 0 0 0 10'

# two makers whose upstreams differ: one line, no mixture
fresh
for i in 1 2; do
	stage first$i first --pixels=$((i * 8)) --out="@ipc://$d/g$i" &
	stage source$i source --in="ipc://$d/g$i" --out="@ipc://$d/s$i" --frames=300 --start-timeout=3 &
	stage make$i make --in="ipc://$d/s$i" --out="ipc://$d/w" --sleep=5 &
done
stage sink sink out --in="@ipc://$d/w" &
wait
is 'two runs are not mixed' "$(cat sink.status) $(grep -c 'test-sink: .* belongs to another run' errors)" '1 1'

fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=100 &
stage make1 make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=5 &
stage make2 make --in="ipc://$d/s" --out="ipc://$d/w" --frames=3 --sleep=5 &
stage sink sink out --in="@ipc://$d/w" &
wait
is 'stages with different options are not mixed' \
	"$(cat sink.status) $(grep -c 'test-sink: test-make was started with other options' errors)" '1 1'

# Something dies or fails.  A busy machine may take seconds to see that, but no process may wait for --dead-after.
late=--dead-after=60
for victim in source make work sink; do
	fresh
	stage first first | stage source source --frames=1000 $late | stage make make --sleep=2 |
		stage work work | stage sink sink out --sleep=10 &
	soon flows
	start=$(date +%s)
	kill -9 "$(cat $victim.pid)"
	wait
	took=$(($(date +%s) - start))
	others=$(for name in source make work sink; do [ $name = $victim ] || cat $name.status; done | tr -d '\n')
	is "kill -9 of $victim: the others end with 1" "$others" '111'
	is "kill -9 of $victim: soon" "$([ $took -le 20 ] && echo yes)" 'yes'
	is "kill -9 of $victim: each says at most one line" "$(grep '^test-' errors | cut -d: -f1 | sort | uniq -d)" ''
	is "kill -9 of $victim: a message names the dead process" "$(grep -c "test-$victim (the stage .* this one) died" errors | sed 's/[12]/yes/')" 'yes'
	is "kill -9 of $victim: complete files only" "$(find out -size 0 ! -name '*.part' | wc -l) $(find out -name '*.part' | grep -vc "$([ $victim = sink ] && echo part || echo none)")" '0 0'
done

# A process that is only frozen has not died for certain.
fresh
stage first first | stage source source --frames=1000 --dead-after=1 | stage make make --sleep=2 |
	stage sink sink out --sleep=10 &
soon flows
kill -STOP "$(cat sink.pid)"
check 'a frozen process: a message says which options decide' soon grep -q \
	'^test-make: test-sink (the stage after this one) died, hangs or does not answer. See --dead-after' errors
kill -CONT "$(cat sink.pid)"
wait
fresh
stage first first --out="@ipc://$d/g" &
stage source source --frames=10000 $late --in="ipc://$d/g" --out="@ipc://$d/s" &
stage make1 make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=5 --source-timeout=3 &
stage make2 make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=5 --source-timeout=3 &
stage sink sink out --in="@ipc://$d/w" --source-timeout=3 &
soon flows
start=$(date +%s)
kill -9 "$(cat source.pid)"
wait
took=$(($(date +%s) - start))
is 'kill -9 of source, endpoints by hand: the others end with 1' "$(statuses make1 make2 sink)" '1 1 1'
is 'kill -9 of source, endpoints by hand: soon' "$([ $took -le 20 ] && echo yes)" 'yes'
rm -f run/?  # named sockets of a killed process stay, as files would
check 'kill -9 leaves no socket and no folder' soon empty

fresh
stage first first | stage source source | stage make make --fail-at=5 | stage work work | stage sink sink out
is 'a failing stage keeps its status' "$(statuses first source make work sink)" '0 1 3 1 1'
is 'only the culprit speaks' "$(cat errors)" 'test-make: frame 5: failing as asked'

# The shells of the group get the signal too, and wait for their stages.
cat >interrupted <<'END'
trap : INT
part() {
	trap : INT
	name=$1
	shift
	teststage "$@"
	echo $? >"$name.status"
}
teststage first | part source source --frames=1000 | part make make --sleep=2 | part sink sink out --sleep=5
END
fresh
setsid env --default-signal=INT sh ./interrupted 2>errors &
group=$!
soon flows
kill -INT -$group
wait
is 'Ctrl-C: all end with 130' "$(statuses source make sink)" '130 130 130'
is 'Ctrl-C: nothing is said' "$(cat errors)" ''
is 'Ctrl-C: frames without a gap' "$(find out -type f | sort | tail -n 1 | sed 's|out/0*||')" "$(($(files) - 1))"
check 'Ctrl-C: fewer than all' test "$(files)" -lt 1000

fresh
stage first first | stage source source --frames=1000 | stage make make --sleep=2 | stage sink sink out --sleep=5 &
soon flows
kill -TERM "$(cat make.pid)"
wait
is 'SIGTERM ends the run with 1' "$(statuses source make sink)" '1 1 1'
is 'SIGTERM is said once' "$(cat errors)" 'test-make: stopped by signal 15 (SIGTERM)'

# Wrong pipelines.
fresh
stage first first | stage source source | stage work work | stage sink sink out
is 'kinds are checked' "$(cat errors)" 'test-work: expected images, but test-source sends recipes. Put bragg-intensity between the two'
is 'kinds are checked: usage' "$(cat work.status)" '2'
fresh
stage first first | stage source source --start-timeout=0.5 | stage make make | sleep 2
is 'a missing stage is named' "$(cat errors)" 'test-source: test-make has no stage after it'
fresh
stage first first | stage source source --start-timeout=0.5 | sleep 2
is 'a missing reader is said' "$(cat errors)" 'test-source: no stage is connected to the output of this program'
fresh
stage first first | stage source source --unknown | stage make make | stage sink sink out
is 'a bad option stops all' "$(statuses first source make sink)" '1 2 1 1'
is 'a bad option: one line' "$(cat errors)" "test-source: unknown option '--unknown'; --help lists the options"
fresh
echo hello | stage sink sink out
is 'a foreign pipe' "$(cat sink.status) $(cat errors)" "2 test-sink: stdin is not a pipe from a stage (it begins with 'hello'); expected the output of another program of braggpipe"
fresh
stage sink sink out </dev/null
is 'no pipe at stdin' "$(cat sink.status) $(grep -c -e --in=ENDPOINT errors)" '2 1'
stage first first >file
is 'a file as stdout' "$(cat first.status) $(grep -c -e --out=ENDPOINT errors) $(wc -c <file)" '2 1 0'

# Endpoints.
fresh
echo precious >data
stage first first --out="@ipc://$tap_scratch/data"
is 'a data file named as endpoint survives' "$(cat data) $(cat first.status)" 'precious 2'
stage first first --out="@ipc://$d/busy" --start-timeout=60 &
soon test -S run/busy
stage again first --out="@ipc://$d/busy"
is 'an endpoint in use is not stolen' "$(cat again.status) $(grep -c 'in use' errors)" '2 1'
kill "$(cat first.pid)"
wait
teststage first --out="@ipc://$d/stale" &
soon test -S run/stale
kill -9 $!
wait
check_status 'a dead socket is taken over' 1 teststage first --out="@ipc://$d/stale" --start-timeout=0.1
check_status 'tcp needs keys' 2 teststage first --out=@tcp://127.0.0.1:$((port + 3))

# Two hosts: the second one must reach the source, and one end of each link binds.
# one_line NAME STATUS LINE COMMAND...: it ends with that status, and one line that ends so, but
# for the warning about --insecure
one_line() {
	line=$3
	status=0
	timeout 20 sh -c "$4" 2>said || status=$?
	is "$1" "$status $(grep -c "$line\$" said) $(grep -vc 'has no keys' said)" "$2 1 1"
}
for control in ipc://$d/c tcp://127.0.0.1:$((port + 3)); do
	one_line "a source at $control for another host" 2 "cannot reach the source at $control. .* --control=tcp://HOST:PORT" \
		"teststage first | teststage source --out=@tcp://0.0.0.0:$((port + 7)) --insecure --control=$control"
done
one_line 'a source in this folder, and a stage after it for another host' 2 'Start the source with --control=tcp://HOST:PORT' \
	"teststage first | teststage source | teststage make --out=@tcp://0.0.0.0:$((port + 7)) --insecure"
one_line 'a source that is reached by tcp alone, and a stage without keys' 2 "endpoint 'tcp://127.0.0.1:$((port + 3))' needs keys. .*" \
	"{ teststage first | teststage source --frames=2 --insecure --control=tcp://127.0.0.1:$((port + 3)) 2>/dev/null; } | teststage file out"
one_line 'both ends connect: the lower one says so' 1 "no process binds tcp://127.0.0.1:$((port + 8)). Give one side @, as in --in=@tcp://127.0.0.1:$((port + 8))" \
	"teststage make --in=tcp://127.0.0.1:$((port + 8)) --out=@ipc://$d/x --start-timeout=0.5 --insecure"
one_line 'both ends connect: the source says so' 1 "no process binds tcp://127.0.0.1:$((port + 8)). Give one side @, as in --out=@tcp.*" \
	"teststage first | teststage source --out=tcp://127.0.0.1:$((port + 8)) --start-timeout=0.5 --insecure"
one_line 'both ends connect: a first stage says so' 1 "no process binds ipc://$d/nobody. Give one side @, as in --out=@ipc.*" \
	"teststage first --out=ipc://$d/nobody --start-timeout=0.5"
one_line 'both ends bind: one line' 1 'Address already in use' \
	"teststage first --out=@tcp://127.0.0.1:$((port + 9)) --start-timeout=3 --insecure 2>/dev/null & sleep 0.3
	teststage source --in=@tcp://127.0.0.1:$((port + 9)) --out=@ipc://$d/x --insecure"
wait
check_status 'unknown transport' 2 teststage first --out=@udp://1.2.3.4:5
check_status 'path too long' 2 teststage first --out="@ipc:///$(printf '%0120d' 0)"

is 'no process is left' "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -c "bragg-watch[^/]*$d")" '0'
finish
