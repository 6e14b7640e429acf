#!/bin/sh
# bragg-top, the bar and the trace: what a running pipeline shows.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
file=$tap_scratch/p.yaml

# json PERL: runs it for each line of JSON of stdin in $_
json() {
	perl -MJSON::PP -ne 'BEGIN { $code = eval "sub { $ARGV[0] }" or die $@; shift }
		$_ = decode_json($_); $code->()' "$1"
}

# chain FRAMES MS: a shell pipe in the background, whose maker takes so long for a frame
chain() {
	fresh
	{
		teststage first | stage source source --frames="$1" --verbose | stage make make --sleep="$2" |
			stage work work | stage sink sink out
	} &
	flowing
}

# busy: waits until all stages have told what they do
busy() {
	for busy_try in $(seq 100); do
		bragg-top --once --json >now
		[ "$(json 'print scalar grep { $_->{frames} > 5 } @{$_->{processes}}' <now)" = 4 ] && break
		sleep 0.1
	done
}

# a maker of 20 ms a frame is what all others wait for
chain 300 20
busy
is 'the stages in the order of the stream' "$(json 'print join " ", map { $_->{stage} } @{$_->{processes}}' <now)" \
	'test-source test-make test-work test-sink'
is 'hops from the source' "$(json 'print join " ", map { $_->{hops} } @{$_->{processes}}' <now)" '0 1 2 3'
is 'process ids' "$(json 'print join " ", map { $_->{pid} } @{$_->{processes}}' <now)" \
	"$(cat source.pid make.pid work.pid sink.pid | tr '\n' ' ' | sed 's/ $//')"
is 'JSON has the durable sinks' "$(json 'print join " ", grep { $_ } map { $_->{durable} && $_->{stage} } @{$_->{processes}}' <now)" 'test-sink'
is 'numbers that fit' "$(json 'print $_->{total} == 300 && $_->{window} == 32 && $_->{issued} >= $_->{acknowledged}
	&& $_->{issued} - $_->{acknowledged} <= 32 && $_->{frames_s} > 0 && $_->{left_s} > 0 && $_->{elapsed_s} > 0 ? 1 : 0' <now)" 1
is 'shares of at most one' "$(json 'print join " ", map { $_->{compute} + $_->{wait_in} + $_->{wait_out} <= 1.001 ? 1 : 0 } @{$_->{processes}}' <now)" '1 1 1 1'
is 'frames travel as bytes' "$(json 'print $_->{processes}[1]{bytes_out} > 5 * 64 * 4 ? 1 : 0' <now)" 1
is 'the bottleneck is marked' "$(json 'print join " ", grep { $_ } map { $_->{bottleneck} && $_->{stage} } @{$_->{processes}}' <now)" 'test-make'
bragg-top --once >table
is 'text has a heading and a row for each process' "$(wc -l <table) $(grep -c '^test-' table) $(grep -c '^test-make .* <$' table)" '6 4 1'
check 'text has the progress of the run' grep -q '^[0-9]* of 300 frames, [0-9.]*/s, 0:[0-9][0-9] left$' table
endpoint=$(sed -n 's/^.*bragg-top \(ipc:[^ ]*\) shows.*/\1/p' errors.source)
check_status 'the source says where to look' 0 bragg-top --once "$endpoint"
check_status 'bragg-top finds a run by its private folder' 0 bragg-top --once "$(dirname "${endpoint#ipc://}")"
bragg-top --json --interval=0.2 >ended &
watcher=$!
bragg-top --interval=0.1 >/dev/null &
killed=$!
sleep 0.5
kill -9 $killed
wait $killed 2>/dev/null
check_status 'a word that is no run is refused' 2 bragg-top --once here
settle
status=0
wait $watcher || status=$?
is 'a watcher ends with the run' "$status $(tail -n 1 ended | json 'print "$_->{acknowledged} of $_->{total}, $_->{ended}"')" \
	'0 300 of 300, 0'
is 'nobody waits for watchers' "$(statuses source make work sink) $(find out -type f | wc -l)" '0 0 0 0 300'

# a slow last stage: who waits for a place in shared memory waits for output
fresh
{
	teststage first --pixels=256 | stage source source --frames=120 | stage make make | stage work work |
		stage sink sink out --sleep=50
} &
flowing
busy
is 'a slow last stage is the bottleneck' "$(json 'print join " ", grep { $_ } map { $_->{bottleneck} && $_->{stage} } @{$_->{processes}}' <now)" 'test-sink'
is 'the stages before it wait for output' "$(json 'print join " ", map { $_->{wait_out} > 0.5 ? 1 : 0 } @{$_->{processes}}[0 .. 2]' <now)" '1 1 1'
settle

# more than one run, none, and one that fails
fresh
for i in 1 2; do
	{
		teststage first | stage source$i source --frames=300 | teststage make --sleep=20 $([ $i = 1 ] && echo --fail-at=250) |
			teststage sink $([ $i = 1 ] && echo out || echo out2)
	} 2>/dev/null &
done
for try in $(seq 100); do
	[ "$(find "$d" -name control | wc -l)" = 2 ] && break
	sleep 0.1
done
bragg-top --once >said 2>&1
check 'two runs: name one' grep -q "^bragg-top: 2 pipelines are running; give one of these: $d/bragg-.*, $d/bragg-" said
one=$(sed 's/.* of these: \([^,]*\), .*/\1/' said) other=$(sed 's/.*, //' said)
bragg-top --json "$one" >one &
bragg-top --json "$other" >other
status=$?
wait
is 'the end of each is reported' "$status $(cat one other | json 'print "$_->{ended} " if exists $_->{ended}' | tr ' ' '\n' | sort | tr '\n' ' ')" '0 0 1 '
check_status 'nothing runs there: status 1' 1 bragg-top --once "$tap_scratch"
is 'nothing runs there: one line' "$(bragg-top "ipc://$d/none" 2>&1)" "bragg-top: no pipeline listens at ipc://$d/none"

# Asked where frames flow, by mistake: the stream goes on
fresh
teststage first | stage source source --frames=150 --out="@ipc://$d/s" &
stage make make --sleep=20 --in="ipc://$d/s" --out="@ipc://$d/m" &
stage sink sink out --in="ipc://$d/m" &
flowing
for edge in s m; do
	timeout 1.2 bragg-top --once "ipc://$d/$edge" >answer 2>&1
	[ ! -s answer ] || echo "answered at $edge" >>wrong
done
settle
is 'asked for frames: no answer, and nobody minds' "$(cat wrong 2>/dev/null) $(statuses source make sink) $(find out -type f | wc -l)" ' 0 0 0 150'
is 'asked for frames: one line' "$(cat errors.*)" "test-make: warning: bragg-top sent its request to the data endpoint ipc://$d/m; expected the control endpoint
test-source: warning: bragg-top sent its request to the data endpoint ipc://$d/s; expected the control endpoint"

# bragg-run: by the work folder, also where the source listens at a port
fresh
port=$(free_ports 1)
cat >"$file" <<-END
	stages:
	  - {name: first, program: teststage, args: [first]}
	  - {name: source, program: teststage, args: [source, --frames=300, --insecure, "--control=tcp://127.0.0.1:$port"]}
	  - {name: make, program: teststage, args: [make, --sleep=20, --insecure]}
	  - {name: sink, program: teststage, args: [sink, $tap_scratch/out, --insecure]}
END
bragg-run --quiet --workdir=port "$file" 2>/dev/null &
runner=$!
flowing
is 'a run at a port by its work folder' "$(bragg-top --once --json --insecure port | json 'print $_->{total}')" 300
is 'bragg-top finds the only run without a name' "$(bragg-top --once --json --insecure | json 'print $_->{total}')" 300
kill -INT "$runner"
wait "$runner"
check_status 'bragg-top refuses a run that is over' 1 bragg-top --once port

# bragg-run: by the file
fresh
sed "s/ --insecure, \"--control[^]]*//; s/, --insecure//; s/--frames=300,*/--frames=5000/" "$file" >named.yaml
sed "s|$tap_scratch/out|&2|" named.yaml >other.yaml
bragg-run --quiet named.yaml &
runner=$!
flowing
for name in "$tap_scratch/named.yaml" named.yaml named; do
	bragg-top --once "$name" >now 2>&1
	check "a run by its file, as $(basename "$name")" grep -q '^named.yaml: [0-9]* of 5000 frames' now
done
check_status 'a file that does not run: status 1' 1 bragg-top --once other.yaml
is 'a file that does not run: one line' "$(bragg-top --once other.yaml 2>&1)" 'bragg-top: the pipeline other.yaml is not running'
bragg-run --quiet other.yaml &
other=$!
soon bragg-top --once other >/dev/null 2>&1
bragg-top --once >said 2>&1
is 'two runs are named by their files' "$(sed 's/.*one of these: //; s|'"$d"'/bragg-run-[0-9a-f]*|F|g; s/, /\n/g' said | sort | tr '\n' ' ')" \
	'named.yaml (F) other.yaml (F) '
bragg-top --once "$(sed 's/.*other.yaml (\([^)]*\)).*/\1/' said)" >now 2>&1
check 'a screen of two runs names the second by its folder' grep -q '^other.yaml: ' now
kill "$runner" "$other"
wait

# bragg-run: by the work folder; restarts are seen, and are in the trace
fresh
cat >"$file" <<-END
	stages:
	  - {name: first, program: teststage, args: [first]}
	  - {name: source, program: teststage, args: [source, --frames=300]}
	  - {name: make, program: teststage, args: [make, --sleep=20], count: 2, restart: 2}
	  - {name: sink, program: teststage, args: [sink, $tap_scratch/out], order: true}
END
bragg-run --workdir=here --trace=trace.json --verbose "$file" 2>said &
runner=$!
flowing
for try in $(seq 100); do
	bragg-top --once --json here >now 2>/dev/null &&
		[ "$(json 'print scalar grep { $_->{frames} } @{$_->{processes}}' <now)" = 4 ] && break
	sleep 0.1
done
is 'a run by its work folder' "$(json 'print join " ", map { $_->{stage} } @{$_->{processes}}' <now)" \
	'test-source test-make test-make test-sink'
kill -9 "$(json 'print $_->{processes}[1]{pid}' <now)"
check 'bragg-run says where to look' grep -q "'bragg-top $d/bragg-run-[0-9a-f]*' shows the progress" said
status=0
wait $runner || status=$?
is 'a maker was killed: all is well' "$status $(find out -type f | wc -l)" '0 300'
perl -MJSON::PP -0777 -ne '
	for (@{decode_json($_)}) {
		$name{$_->{pid}} = $_->{args}{name} if $_->{name} eq "process_name";
		$label{$_->{pid}} = $_->{args}{labels} if $_->{name} eq "process_labels";
		$thread{"$_->{pid} $_->{tid}"} = 1 if $_->{name} eq "thread_name";
		$frames{$_->{pid}}{$_->{args}{frame}} = 1 if $_->{name} eq "compute";
		$bad++ if $_->{ph} eq "X" and not ($_->{dur} >= 0 and $thread{"$_->{pid} $_->{tid}"});
	}
	printf "%s %s %s\n", $label{$_}, $name{$_}, scalar keys %{$frames{$_}} for keys %name;
	print "bad $bad\n" if $bad' trace.json | sort >traced
is 'the trace names every process, the restarted one too' "$(cut -d' ' -f1,2 traced | tr '\n' ' ')" \
	'first test-first make.1 test-make make.2 test-make sink test-sink source test-source '
is 'the trace has the frames' "$(sed -n 's/^source .* //p;s/^sink .* //p' traced | tr '\n' ' ')" '300 300 '
check 'the trace has those of the restarted one' sh -c '! grep -q "^make.* 0$" traced'

# On a terminal
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
	chain 300 20
	script -qec "bragg-top --interval=0.2" /dev/null </dev/null >said 2>&1
	settle
	check 'on a terminal: drawn in place' grep -q "$(printf '\033')\[[0-9]*A" said
	is 'on a terminal: the cursor is shown again' "$(tail -c 6 said | tr -d '\033')" '[?25h'
	check 'on a terminal: the last state stays' grep -q '300 of 300 frames, .* ended with status 0' said
	chain 300 20
	mkfifo keys
	script -qec 'bragg-top; echo "status $?"; stty -a' /dev/null <keys >said 2>&1 &
	exec 3>keys
	soon grep -q '; q quits' said
	printf q >&3
	soon grep -q 'icanon' said
	exec 3>&-
	is 'q quits: status 0, before the run ends, and the keyboard is as it was' "$(grep -c 'status 0' said) $(grep -c 'ended' said) \
$(grep -o -- '-*icanon' said) $(grep -o -- '-*echo ' said)" '1 0 icanon echo '
	check 'q shows the cursor again' grep -q "$(printf '\033')\[?25h" said
	script -qec 'bragg-top & top=$!; sleep 1; kill -INT $top; wait $top; echo "status $?"' /dev/null </dev/null >said 2>&1
	settle
	is 'Ctrl-C: the cursor is shown again, status 130' "$(grep -c "$(printf '\033')\[?25h" said) $(grep -c 'status 130' said)" '1 1'
else
	for name in 'drawn in place' 'the cursor is shown again' 'the last state stays' 'Ctrl-C' 'q' 'and the cursor'; do
		skip "on a terminal: $name" 'no pseudo-terminal to be had'
	done
fi
finish
