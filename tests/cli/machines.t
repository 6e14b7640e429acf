#!/bin/sh
# Several hosts: a run by ssh gives what it gives on one host, and ends as one does.  A stand-in
# for ssh runs everything here; tests/full/machines.t has hosts of their own.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir bin far
cp "$BRAGG_TESTS/standin/ssh.sh" bin/ssh
chmod +x bin/ssh
plain=$PATH
export FAR="$tap_scratch/far" PATH="$tap_scratch/bin:$PATH" TMPDIR="$tap_scratch"

# pipeline LINE...: writes p.yaml
pipeline() {
	{
		echo 'stages:'
		printf '  - {%s}\n' "$@"
	} >p.yaml
}

# usual [KEYS-OF-NOISE]
usual() {
	pipeline 'name: geometry, args: [--detpixels=48, --pixel=2, --distance=120, --ncells=5]' \
		'name: orient, args: [--random, --frames=30]' 'name: intensity, count: 3' "name: noise $1" \
		'name: write, args: ["x_%04d.img"]'
}

# far WORKDIR OPTION...: on two hosts
far() {
	rm -f far/calls far/options
	far_folder=$1
	shift
	bragg-run --launcher=ssh --hosts=a,b --workdir="$far_folder" "$@" p.yaml
}

digest() {
	(cd "$1" && sha256sum ./*.img) | sha256sum
}

# calls HOST...: how often each was called
calls() {
	for host; do grep -c "^$host\$" far/calls; done | tr '\n' ' ' | sed 's/ $//'
}

idle() {
	! running '[a-z]*' && [ -z "$(find . -maxdepth 2 -name 'bragg-run-*')" ]
}

# --- the same frames
usual
bragg-run --quiet --workdir=one p.yaml
expected=$(digest one)
check 'two hosts' far two
is 'two hosts write the same frames' "$(digest two)" "$expected"
is 'the first numbers and writes, workers are spread, with the noise, each host is asked once' "$(calls a b)" '6 2'
is 'a message says that noise moved into the processes of intensity' "$(far told 2>&1 | grep -v subpixels)" \
	"bragg-run: 'noise' moved into the processes of 'intensity', to send less over the network; --as-written keeps them apart"
usual ', hosts: first'
far first
is 'a stage with hosts: first stays on its host' "$(calls a b) $(digest first)" "7 2 $expected"
pipeline 'name: geometry, args: [--detpixels=48, --pixel=2, --distance=120, --ncells=5]' \
	'name: orient, args: [--random, --frames=30]' 'name: intensity, count: 3' \
	"name: background, args: ['--water=0.1']" "name: noise, args: ['--seed=7', '--bits=32']" \
	'name: write, args: ["x_%04d.img"]' "name: tap, input: noise, args: [--count]"
bragg-run --quiet --workdir=apart p.yaml
far folded >said 2>&1
is 'background and noise with their options and all receivers: the same files' \
	"$(calls a b) $(digest folded) $(grep -c "'background' and 'noise' moved into" said)" "7 2 $(digest apart) 1"
far wrapped --wrap=noise='env X=1'
is 'a stage with --wrap stays a stage of its own' "$(calls a b) $(digest wrapped)" "9 2 $(digest apart)"
far more --count=noise=2
is 'a stage with a count stays a stage of its own' "$(calls a b) $(digest more)" "8 3 $(digest apart)"
is 'nobody is asked for a password' "$(sort -u far/options | grep -c BatchMode)" 1
check 'nothing is left' soon idle
usual ', hosts: "b,c"'
check 'a stage says where it runs' far three
is 'there it runs' "$(calls a b c) $(digest three)" "5 3 2 $expected"
usual ', count: 1, hosts: each'
rm far/calls
check 'this host can be one of the hosts' bragg-run --launcher=ssh --hosts=a,.,loud --workdir=four --count=intensity=1 p.yaml
is 'each has its process' "$(calls a loud) $(digest four)" "6 2 $expected"
usual
sed -i 's/name: write,/& count: 2, hosts: spread,/' p.yaml
check 'writers on both hosts' far writers
is 'writers on both hosts share the frames' "$(digest writers) $(cut -f5 writers/x.img.index | grep -c '^x_') $(calls a b)" "$expected 30 6 3"
usual
check 'a page and statistics are put together' far five --report=five.html --stats
is 'the page and statistics contain all processes' "$(grep -c '^intensity\.' five.stats 2>/dev/null || grep -o 'intensity\.[123]' five.html | sort -u | wc -l)" 3

usual
check 'clocks that differ by days' bragg-run --launcher=ssh --hosts=a,late,early --workdir=clocks p.yaml
is 'clocks that differ by days change no frame' "$(digest clocks)" "$expected"

# --- what goes over
cat >tell.sh <<-'END'
	#!/bin/sh
	printf '%s|' "$@" "$BRAGG_WORKER" "$BRAGG_FROM" "$(pwd)" "$OMP_NUM_THREADS" "$SECRET"
END
chmod +x tell.sh
pipeline 'name: first, program: teststage, args: [first]' \
	'name: source, program: teststage, args: [source, --frames=3]' 'name: make, program: teststage, args: [make]' \
	"name: sink, program: teststage, args: [sink, $tap_scratch]" \
	'name: tell, program: ./tell.sh, count: 2, after: sink, args: ["a b", "it'"'"'s", "$HOME *", "x\ny"]'
mkdir six
OMP_NUM_THREADS=1 SECRET=mine far six --verbose >said 2>&1
is 'arguments, environment and folder go over, and no secrets' "$(grep -c -e "^tell.[12]| a b|it's|\$HOME \*|x$" -e "^tell.[12]| y|[01]|$tap_scratch|$tap_scratch/six|1||$" said) $(grep -c '^tell.2| y|1|' said)" '4 1'
mkdir kit eleven
cp p.yaml tell.sh kit
sed -i 's/\$SECRET/$BRAGG_BESIDE/' kit/tell.sh
bragg-run --launcher=ssh --hosts=a,b --workdir=eleven --verbose kit/p.yaml >said 2>&1
is 'stages run in the folder of the pipeline file' "$(grep -c "|$tap_scratch/kit|$" said)" 2

# --- ends
# packs: how many processes that compute have --compress
packs() {
	for pid in $(pids intensity); do tr '\0' '\n' <"/proc/$pid/cmdline"; done | grep -c -x -e --compress
}
# slow [KEYS-OF-NOISE]
slow() {
	usual "$1"
	sed -i 's/--frames=30/&, --dead-after=0.7/
		/write/s/.*/  - {name: slow, program: teststage, args: [pass, --sleep=40]}\n&/' p.yaml
}
grown() {
	[ "$(find "$1" -name '*.img' | wc -l)" -ge "$2" ]
}
# behind FOLDER OPTION...: in the background, until frames arrive
behind() {
	behind_folder=$1
	shift
	setsid env --default-signal=INT bragg-run --launcher=ssh --workdir="$tap_scratch/$behind_folder" "$@" p.yaml >said 2>&1 &
	runner=$!
	soon grown "$behind_folder" 3
}
slow
bragg-run --quiet --workdir=slow p.yaml
expected=$(digest slow)
mkdir seven eight nine ten
behind seven --hosts=a,b --set=slow.sleep=150 # so that it goes on until that is seen
is 'counts that go to another host are packed' "$(packs)" 3
kill -9 $(pids intensity)
wait $runner
is 'a process that is killed on a host is started again there' "$? $(digest seven) $(grep -c 'intensity.[123] was killed by signal 9: started again' said)" "0 $expected 3"
rm -f far/calls
behind eight --hosts=a,b,shaky --set=slow.sleep=150
at_work() { [ "$(pids intensity | wc -w)" = 3 ]; }
soon at_work
touch far/cut
wait $runner
is 'a process that lost the connection sends on the next one' "$? $(digest eight) $(grep -c 'intensity.3 lost the connection to its host: started again' said) $(calls shaky)" "0 $expected 1 2"
slow ', compress: false'
behind nine --hosts=a,b --set=slow.sleep=300
is 'compress: false sends plain pixels over a slow link' "$(packs)" 0
kill -INT $runner
wait $runner
is 'Ctrl-C goes over' "$?" 130
check 'Ctrl-C leaves no process on the hosts' soon idle
slow ', hosts: first'
behind ten --hosts=a,b --set=slow.sleep=300
is 'photons are not' "$(packs)" 0
kill -9 $runner
check 'a killed bragg-run leaves no process on the hosts' soon idle
wait $runner 2>/dev/null
pipeline 'name: first, program: teststage, args: [first]' \
	'name: source, program: teststage, args: [source, --frames=9]' \
	'name: make, program: teststage, count: 2, args: [make, --fail-at=4]' "name: sink, program: teststage, args: [sink, $tap_scratch]"
far twelve >said 2>&1
is 'a stage that fails is named, with its words' "$? $(grep -c '^make\.[12]| test-make: frame 4: failing as asked' said) $(tail -n 1 said | grep -c '^bragg-run: stage make\.[12] ended with status 3')" '3 1 1'

# --- bad input
# refused STATUS TEXT OPTION...: in one line
refused() {
	refused_status=$1 refused_text=$2
	shift 2
	rm -f far/calls
	bragg-run --workdir=bad "$@" p.yaml >said 2>&1
	is "$refused_text" "$? $(wc -l <said) $(grep -c -e "$refused_text" said) $(ls -d bad 2>/dev/null)" "$refused_status 1 1 "
}
usual
ssh="--launcher=ssh"
refused 1 "host 'refused' does not answer: ssh: connect to host refused port 22: Connection refused" $ssh --hosts=a,refused
refused 1 "host 'nobody' does not answer: bragg-run not found, neither as /nowhere/bragg-run nor in PATH" $ssh --hosts=a,nobody
refused 1 "host 'old' has braggpipe 0.0.9, physics 1; expected" $ssh --hosts=a,old
refused 1 "host 'far' does not see the folder $tap_scratch/bad/bragg-run-.*; all hosts must share the --workdir" $ssh --hosts=a,far
refused 2 'no hosts given. Use --hosts=A,B, or hosts: in p.yaml' $ssh
refused 2 "'-oProxyCommand=x' is not a list of host names" $ssh --hosts=-oProxyCommand=x
refused 2 "'a,,b' is not a list of host names" $ssh --hosts=a,,b
refused 2 "'a;reboot' is not a list of host names" $ssh '--hosts=a;reboot'
refused 2 '--hosts' --hosts=a
refused 2 '--dry-run and --launcher=ssh cannot be used together; remove one of them' $ssh --hosts=a --dry-run
usual ', hosts: each'
refused 3 "stage 'noise' has 400 processes on each of 3 hosts; expected at most 1000" $ssh --hosts=a,b,c --count=noise=400
cp "$(command -v teststage)" bin/onlyhere
usual ', program: onlyhere'
refused 1 "host 'bare' has no program 'onlyhere' in the folder of its bragg-run or in PATH" $ssh --hosts=bare
usual ', hosts: "a b"'
refused 3 "p.yaml:5: hosts: 'a b' is not a list of host names" $ssh --hosts=a
usual ', hosts: c'
refused 3 "p.yaml:5: hosts: stage 'noise' names c, but no launcher is given. Use --launcher=ssh"
usual
run=$(command -v bragg-run)
is 'no srun is a line' "$(SLURM_JOB_ID=1 PATH=/nowhere "$run" --launcher=slurm p.yaml 2>&1)" "bragg-run: --launcher: program 'srun' not found in PATH"
is 'no ssh is a line' "$(PATH=/nowhere "$run" $ssh --hosts=a p.yaml 2>&1)" "bragg-run: --launcher: program 'ssh' not found in PATH"
printf 'port\0port\0port\0check\0' | bragg-run --remote 2>&1 | tr -d '\002' | sed -n 's/^port //p' >ports
given=$(cut -f1 /proc/sys/net/ipv4/ip_local_port_range)
[ "$given" -gt 21000 ] || given=65536 # no room below: any are taken
is 'ports are not those that others are given' "$(awk -v given="$given" '$1 > 1024 && $1 < given' ports | sort -u | wc -l)" 3
printf 'nonsense\0' | bragg-run --remote >said 2>&1
is 'unknown requests of --remote' "$? $(cat said)" "2 bragg-run: --remote: unknown item 'nonsense' on stdin"
finish
