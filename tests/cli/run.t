#!/bin/sh
# bragg-run: pipelines from files, with small stages (tests/programs/teststage.c) and real ones.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"
file=$tap_scratch/p.yaml

# small FRAMES SOURCE-ARGS MAKE-ARGS SINK-ARGS: a pipeline of four stages with two makers
small() {
	rm -rf out
	mkdir out
	cat >"$file" <<-END
		stages:
		  - {name: first, program: teststage, args: [first]}
		  - {name: source, program: teststage, args: [source, --frames=$1, $2]}
		  - {name: make, program: teststage, args: [make, $3], count: 2}
		  - {name: sink, program: teststage, args: [sink, $tap_scratch/out, $4]}
	END
}

files() {
	find out -type f | wc -l
}

# ours: the processes with the scratch folder in their command line
echo "$tap_scratch/" >mine # grep has it not in its own
ours() {
	grep -laF -f mine /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3
}

# what is left of a run: processes, and sockets
left() {
	for one in $(ours); do
		tr '\0' ' ' <"/proc/$one/cmdline" 2>/dev/null || true
	done
	find run -mindepth 1
}

nothing_left() {
	[ -z "$(left)" ]
}

# stage_pid NAME: of the process that bragg-run started as this stage
stage_pid() {
	for one in $(ours); do
		{ tr '\0' ' ' <"/proc/$one/cmdline"; } 2>/dev/null | grep -q "^teststage $1 .*$tap_scratch/" && echo "$one" && return
	done
}

started() {
	[ "$(files)" -gt 2 ] && [ -n "$(stage_pid sink)" ]
}

# hit NAME: kills a process of that stage
hit() {
	hit_pid=$(stage_pid "$1") && kill -9 "$hit_pid" 2>/dev/null
}

# told NUMBER: so many restarts are said
told() {
	[ "$(grep -c 'started again' said)" = "$1" ]
}

grown() { # NUMBER of files
	[ "$(files)" -ge "$1" ]
}

# behind OPTION...: starts bragg-run in the background as a terminal would, until frames flow
behind() {
	setsid env --default-signal=INT bragg-run "$@" "$file" >said 2>&1 &
	runner=$!
	soon started
}

# --- good runs
for frames in 0 1 50; do
	small $frames '' '' ''
	status=0
	bragg-run "$file" >said 2>&1 || status=$?
	is "$frames frames: all there, nothing said, nothing left" "$status $(files) $(cat said) $(left)" "0 $frames  "
done
small 50 '' '' ''
check_status '--frames and --count' 0 bragg-run --frames=7 --count=make=3 "$file"
is '--frames sets the number on the source' "$(files)" 7
small 50 '' '' ''
bragg-run --set=source.frames=4 --stats "$file" >table
is '--set changes an option' "$(files)" 4
is '--stats has a row for each process' "$(sed 1d table | cut -d' ' -f1 | tr '\n' ' ')" 'first source make.1 make.2 sink '
for slow in source make sink; do
	small 50 '' '' ''
	bragg-run --count=make=1 --set=source.frames=100 --set=$slow.sleep=20 --stats "$file" 2>said >table
	check "the end of a run says that $slow limits it" grep -q "^bragg-run: '$slow' limits the speed: it computes for [1-9][0-9]* % of its time$" said
done
bragg-run --set=source.frames=4 --set=sink.sleep=10 --stats --quiet "$file" >table 2>said
is '--quiet hides which stage limits the run' "$(cat said)" ''
check 'the table has the shares in per cent' grep -q '^sink  *4 .*%.*%.*%' table
small 20 '' '' ''
bragg-run --trace=trace.json "$file"
is '--trace merges all stages into one array' \
	"$(perl -MJSON::PP -0777 -ne 'print scalar grep { $_->{name} eq "compute" } @{decode_json($_)}' trace.json)" 60
small 200 '' '--sleep=4' '' # enough for both workers
printf 'echo wrapped\nexec "$@"\n' >wrapper
bragg-run --wrap='make=sh wrapper' "$file" 2>said
is '--wrap puts a command before a stage, and shows what it says' "$? $(files) $(sort said | tr '\n' ' ')" \
	'0 200 make.1| wrapped make.2| wrapped '
small 200 '' '--sleep=20' '' # who is stopped under a debugger for longer than the others wait lives
printf '"$@" & sleep 0.3; kill -STOP $!; sleep 6; kill -CONT $!; wait $!\n' >stopper
bragg-run --wrap='make=sh stopper' "$file" 2>said
is '--wrap: a stage may be stopped for long' "$? $(files) $(grep -v 'takes about' said)" '0 200 ' # the forecast sees slow frames

# --- the same bytes as the shell pipe, and as the commands that --dry-run prints
cat >lyso.yaml <<'END'
stages:
  - name: geometry
    args: [--detpixels=64, --pixel=1, --distance=120, --ncells=10]
  - name: orient
    args: [--frames=4, --random]
  - name: intensity
    threads: 1
    count: 2
  - name: noise
    args: ['--seed=5']
  - name: write
    args: ['a b_%d.img']
END
mkdir pipe
bragg-geometry --detpixels=64 --pixel=1 --distance=120 --ncells=10 | bragg-orient --frames=4 --random |
	bragg-intensity | bragg-noise --seed=5 | (cd pipe && exec bragg-write 'a b_%d.img')
check_status 'real stages run' 0 bragg-run --workdir="it's/here" lyso.yaml
sums() {
	(cd "$1" && sha256sum ./*.img)
}
is 'real stages write the same bytes as the shell pipe' "$(sums "it's/here")" "$(sums pipe)"
rm -rf "it's"
bragg-run --dry-run --workdir="it's/here" lyso.yaml >commands
check '--dry-run runs nothing' test ! -e "it's"
check 'the printed commands run in a shell' sh -e ./commands
is 'the printed commands write the same bytes as the run' "$(sums "it's/here")" "$(sums pipe)"

# --- the rate of a stream
cat >stream.yaml <<-END
	stages:
	  - {name: geometry, args: [--detpixels=64, --pixel=1.6, --distance=120, --ncells=8, --oversample=1]}
	  - {name: orient, args: [--frames=4, --random]}
	  - {name: intensity}
	  - {name: serve, args: ['--bind=ipc://$tap_scratch/stream', --socket=push]}
	  - {name: client, program: testclient, args: [pull, 'ipc://$tap_scratch/stream', 4], after: serve}
END
rate() { # RATE OPTION...: what --stats says about it
	want=$1
	shift
	bragg-run --stats --set=serve.rate=$want "$@" stream.yaml 2>&1 | grep -- '--rate='
}
is 'a run says that a stream kept its rate' "$(rate 5)" "bragg-run: 'serve' sent all frames at --rate=5"
is 'a run says that a stream was too slow for its rate' "$(rate 1000000 | sed 's/ [1-4] of/ N of/')" "bragg-run: 'serve' sent N of 4 frames later than --rate=1000000 requires"

# --- choices for this host: its GPUs are those of CUDA_VISIBLE_DEVICES, its cores those of taskset
chosen() { # GPUS OPTION...
	gpus=$1
	shift
	CUDA_VISIBLE_DEVICES=$gpus taskset -c 0 bragg-run --dry-run "$@" lyso.yaml >commands
	grep '^# ' commands
}
is '--dry-run without a GPU chooses the CPU' "$(chosen '')" "$(printf '# %s\n' 'this host: CPU cores 1, GPUs 0' \
	'intensity: engine cpu, because this host has no GPU' 'intensity: processes 2, threads of each 1' 'write: processes 1, threads of each 1, as many as CPU cores' \
	'intensity: background and noise are other processes, because small images stay in the cache of the CPU anyway')"
is '--dry-run with two GPUs and the engine of the user' "$(chosen 0,1 --set=intensity.engine=reference | sed -n 1,2p)" "$(printf '# %s\n' \
	'this host: CPU cores 1, GPUs 2' 'intensity: engine reference, as given')"
is 'no stage moves' "$(grep -c fuse commands)" 0
chosen 0 --set=intensity.engine=cuda >said
is 'noise moves to the GPU that was requested' "$(grep -c "^# 'noise' moved into the processes of 'intensity', so that images stay on the GPU" said) $(grep -c 'bragg-intensity .*--engine=cuda .*--fuse=noise' commands) $(grep -c '[^=]bragg-noise' commands)" '1 2 0'
sed 's/name: intensity.*/name: intensity/; /threads/d; /count/d' lyso.yaml >plain.yaml
CUDA_VISIBLE_DEVICES='' taskset -c 0 bragg-run --dry-run --count=intensity=3 plain.yaml >commands
is 'several processes share the cores' "$(grep -c 'bragg-intensity .*--threads=1 ' commands) $(grep -c 'processes 3, threads of each 1$' commands)" '3 1'
CUDA_VISIBLE_DEVICES='' taskset -c 0 bragg-run --dry-run --count=write=3 plain.yaml >commands
is 'several writers share the cores' "$(grep -c 'bragg-write .*--threads=1 ' commands) $(grep -c 'write: processes 3, threads of each 1$' commands)" '3 1'
sed 's/name: write/&\n    cpus: 40/' plain.yaml >many.yaml
is 'one writer has at most 16 threads' "$(bragg-run --dry-run many.yaml | grep '^# write')" \
	'# write: processes 1, threads of each 16, because more threads would save no time'

# --- a folder with a pipeline and what it reads
mkdir 'a kit'
sed 's/--ncells=10/&, --hkl=list.hkl, "--cell=50,60,70,90,90,90"/' lyso.yaml >'a kit/own.yaml'
awk 'BEGIN { for (h = -9; h <= 9; h++) for (k = -9; k <= 9; k++) for (l = -9; l <= 9; l++) print h, k, l, 100 }' >'a kit/list.hkl'
check_status 'an input file is also searched next to the pipeline file' 0 bragg-run --workdir=first 'a kit/own.yaml'
bragg-run --dry-run --workdir=second 'a kit/own.yaml' >commands
check 'printed commands of a folder run in a shell' sh -e ./commands
is 'the printed commands write the same bytes as the run of a folder' "$(sums second)" "$(sums first)"
(cd 'a kit' && bragg-run --workdir=../third own.yaml)
is 'bragg-run writes the same bytes from another folder' "$(sums third)" "$(sums first)"
sed 's/100$/50/' 'a kit/list.hkl' >list.hkl
bragg-run --workdir=fourth 'a kit/own.yaml'
is 'one that is here comes first' "$([ "$(sums fourth)" = "$(sums first)" ] || echo another)" another

for shipped in "$BRAGG_TESTS"/../pipelines/*.yaml; do
	name=$(basename "$shipped")
	quick='--set=geometry.detpixels=64 --set=geometry.pixel=1.6'
	! grep -q -e --detector= "$shipped" || quick= # a detector has its own pixels
	if [ "$name" = renoise.yaml ]; then # it begins with a recording
		quick=
		bragg-geometry --detpixels=64 --pixel=1.6 --ncells=5 | bragg-orient --frames=3 | bragg-intensity | bragg-tap --record=photons.rec
	fi
	if { [ "$name" = sad.yaml ] || [ "$name" = calibrant.yaml ] || [ "$name" = electron.yaml ]; } && ! has gemmi; then # it has a model
		skip "$name runs" "$lack is missing"
		continue
	fi
	is "$name says what it shows" "$(head -n 2 "$shipped" | grep -c '^# ')" 2
	! grep -q -e --osc "$shipped" ||
		check "$name: a rotation is one of a real crystal, without the fringes of one perfect block" grep -q -e --shape=gauss "$shipped"
	grep -q 'name: serve' "$shipped" && continue  # live: serve.t has a client for it
	[ "$name" = agipd-raw.yaml ] && continue      # 0.4 GB of constants: tests/full/agipd-raw.t
	[ "$name" = gpu.yaml ] && continue            # tests/full/card.t, over a stand-in
	grep -q 'after: write' "$shipped" && continue # an analysis of files: tests/full/loop.t has it
	# shellcheck disable=SC2086 # two options
	check_status "$name runs" 0 bragg-run --frames=2 $quick --workdir="work-$name" "$shipped"
	if [ "$name" = design.yaml ]; then # of recipes alone
		is "$name: frames have four distances" "$(sed 1d work-design.yaml/design.tsv | cut -f1 | uniq -c | tr -s ' ' | tr -d '\n')" \
			' 2 60 2 120 2 240 2 400'
		continue
	fi
	is "$name: the index lists two frames" "$(cat "work-$name"/*.index | grep -c '^[0-9]')" 2
done
is 'rotation.yaml: its steps are finer than its spots' \
	"$(bragg-run --frames=1 --set=geometry.roi=0,31,0,31 --workdir=fine "$BRAGG_TESTS/../pipelines/rotation.yaml" 2>&1 | grep -c coarse)" 0

# --- more processes than the next stage can name: these connect to it
cat >wide.yaml <<'END'
stages:
- {name: geometry, args: [--detpixels=16, --pixel=6, --ncells=4, --oversample=1]}
- {name: orient, args: [--frames=150, --random]}
- {name: intensity, count: 70, threads: 1}
- {name: write, args: ['w_%03d.raw']}
- {name: tap, input: intensity, args: [--count, --hold=yes]}
END
check 'a stage of 70 processes' bragg-run --quiet --workdir=wide wide.yaml
check 'the stage of 70 processes runs as one process as well' bragg-run --quiet --workdir=narrow --count=intensity=1 wide.yaml
check '70 processes write the same frames as one' sh -c 'cd wide && for f in w_*.raw; do cmp $f ../narrow/$f || exit 1; done; test $(ls w_*.raw | wc -l) = 150'
bragg-run --dry-run --workdir=shell wide.yaml >commands
check 'printed commands of the stage of 70 processes run in a shell' sh -e ./commands
is 'printed commands of the stage of 70 processes write all frames' "$(ls shell/w_*.raw | wc -l)" 150
check_status 'two such stages' 3 bragg-run --count=write=65 wide.yaml
is 'two stages of many processes are refused in one line' "$tap_output" "bragg-run: wide.yaml:5: stage 'write' has 65 processes and 'intensity' before it 70; expected only one of them with more than 64. bragg-intensity --fuse makes one stage of both"

# --- several last stages: each gets all frames, also one that starts late
small 60 '' '--sleep=2' ''
mkdir -p other
cat >>"$file" <<END
  - {name: late, input: make, program: sh, args: [-c, 'sleep 1; exec teststage sink $tap_scratch/other "\$@"', sh]}
  - {name: look, input: make, program: bragg-tap, args: [--count]}
END
bragg-run "$file" >said 2>&1
is 'two last stages and one that watches' "$? $(files) $(find other -type f | wc -l)" '0 60 60'
# one that only watches may come when all is over: it ends, and the frames are there
mkdir -p slow && cat >slow/bragg-tap <<-'END'
	#!/bin/sh
	sleep 3
	exec bragg-tap "$@"
END
chmod +x slow/bragg-tap
for wrap in '' --wrap=make='env X=1'; do
	small 20 '' '' ''
	echo "  - {name: look, input: make, program: $tap_scratch/slow/bragg-tap, args: [--count]}" >>"$file"
	timeout 25 bragg-run ${wrap:+"$wrap"} "$file" >said 2>&1
	is "an observer that connects too late $wrap" "$? $(files) $(cat said)" '0 20 '
done
# what bragg-tap counted is no reason
small 1000 '' '' '--fail-at=5'
echo "  - {name: look, input: make, program: bragg-tap, args: [--count]}" >>"$file"
is 'the process that failed is named, not the passive one' "$(bragg-run "$file" 2>&1 | tail -n 1)" 'bragg-run: stage sink ended with status 3'
small 60 '' '--sleep=2' ''
cat >>"$file" <<END
  - {name: late, input: make, program: sh, args: [-c, 'sleep 1; exec teststage sink $tap_scratch/other "\$@"', sh]}
  - {name: look, input: make, program: bragg-tap, args: [--count]}
END
is 'the source waits for two' "$(bragg-run --dry-run "$file" | grep -o -e '--groups\?=[a-z,]*' | tr '\n' ' ')" \
	'--groups=sink,late --group=sink --group=late --group=look '

# --- failures
small 1000 '' '--fail-at=5' ''
status=0
bragg-run "$file" 2>said || status=$?
is 'a failing stage gives its status' "$status" 3
is 'a failing stage is named with its last message' "$(sed 's/make\.[12]/make.N/' said)" \
	'make.N| test-make: frame 5: failing as asked
bragg-run: stage make.N ended with status 3'
is 'a failure leaves nothing' "$(left)" ''
bragg-run --dry-run "$file" >commands
check_status 'the commands of --dry-run fail with it' 1 sh ./commands
small 10 '' '' '--unknown'
status=0
bragg-run "$file" 2>said || status=$?
is 'an unknown option of the stage' "$status $(head -n 1 said)" "2 sink| test-sink: unknown option '--unknown'; --help lists the options"
is 'an unknown option of the stage leaves no new folder' "$(bragg-run --workdir=made/for/nothing "$file" 2>/dev/null; echo "$?"; find made 2>/dev/null)" 2
sed -i '$d' "$file" # no sink is left
status=0
timeout 20 bragg-run "$file" 2>said || status=$?
is 'a pipeline without a last stage is refused' "$status $(sed 's/make\.[12]/make.N/' said)" \
	"2 bragg-run: no stage reads the output of 'make.N'. Add one, such as bragg-write for images"
for victim in source make sink; do
	small 5000 '' '--sleep=1' '--sleep=1'
	sed -i 's/{name: [^,]*,/& restart: 0,/' "$file"
	behind
	pid=$(stage_pid $victim)
	kill -9 "$pid"
	status=0
	wait $runner || status=$?
	is "kill -9 of $victim: status 1, and it is named" "$status $(grep -c "^bragg-run: stage $victim[.12]* was killed by signal 9" said)" '1 1'
	is "kill -9 of $victim: nothing is left" "$(left)$([ $victim = sink ] || find out -name '*.part')" ''
done

# --- restarts
sums() {
	(cd out && find . -name '*[0-9]' -type f | sort | xargs sha256sum | sha256sum)
}
small 300 '' '--sleep=20' ''
check 'a run that nobody disturbs' bragg-run --quiet "$file"
undisturbed=$(sums) number=$(files)
small 300 '' '--sleep=20' ''
behind
for kill in 1 2 3; do
	soon hit make
	soon told $kill
	soon grown $(($(files) + 5))
done
status=0
wait $runner || status=$?
is 'killed workers are started again: status' "$status" 0
is 'each is reported' "$(grep -c 'make[.][12] was killed by signal 9: started again$' said)" 3
is 'the frames are those of an undisturbed run' "$(sums) $(files)" "$undisturbed $number"
is 'killed workers leave no file behind' "$(left)" ''

# Frozen ones, in one run.  Sanitized processes on a busy machine may be silent for a second without being frozen.
dead=1
[ ! "${BRAGG_SANITIZED-}" ] || dead=5
small 300 "--dead-after=$dead" '--sleep=20' ''
behind
soon grown 20
kill -STOP "$(stage_pid make)" "$(stage_pid sink)"
soon told 2
soon grown $(($(files) + 20))
kill -STOP "$(stage_pid source)"
status=0
wait $runner || status=$?
is 'a frozen worker, sink and source: status, frames' "$status $(sums)" "0 $undisturbed"
is 'a frozen worker, sink and source: each is started again, once' \
	"$(sed -n 's/make[.][12]/make/;s/.*warning: \(.*: started again\)$/\1/p' said | sort | paste -sd,)" \
	'make no longer answers: started again,sink no longer answers: started again,source no longer answers: started again'
is 'a frozen worker, sink and source: nothing is left' "$(left)" ''

# Of these processes the first stands still at a frame, and the second says nothing more to the
# source, of which it learns that it is out before bragg-run does.
cat >odd <<'END'
if mkdir "$0.still" 2>/dev/null; then
	set -- "$@" --stall-from=50
elif mkdir "$0.mute" 2>/dev/null; then
	export LD_PRELOAD="$(command -v faults.so)" FAULT='heartbeat 3 mute'
fi
exec teststage "$@"
END
small 100 '--dead-after=1, --hang=1' '--sleep=20' ''
sed -i "s|program: teststage, args: .make,|program: sh, args: [$tap_scratch/odd, make,|" "$file"
bragg-run "$file" >said 2>&1
is 'one hangs, one is presumed dead: status, frames' "$? $(files)" '0 100'
is 'one hangs, one is presumed dead: both are started again' \
	"$(sed -n 's/.*make[.][12] \(.*: started again\)$/\1/p' said | sort | paste -sd,)" \
	'hangs: started again,no longer answers: started again'

# Memory that runs out in both processes that start first: frame 50 goes to one of them, and may then
# go to the other
cat >starved <<'END'
mkdir "$0.1" 2>/dev/null || mkdir "$0.2" 2>/dev/null && set -- "$@" --starve-at=50
exec teststage "$@"
END
small 100 '' '--sleep=20' ''
sed -i "s|program: teststage, args: .make,|program: sh, args: [$tap_scratch/starved, make,|" "$file"
bragg-run "$file" >said 2>&1
is 'a process without memory: status, frames' "$? $(files)" '0 100'
is 'a process without memory is started again' "$(sed -n 's/.*make[.][12] \(.*: started again\)$/\1/p' said | sort -u)" \
	'ran out of memory: started again'

# An image of bragg-noise that finds no memory, once: see limits.t
if [ "${BRAGG_SANITIZED-}" ]; then
	skip 'an image without memory' 'sanitizers have an allocator of their own'
else
	cat >"$file" <<-END
		stages:
		  - {name: geometry, args: [--detpixels=100, --pixel=1, --ncells=5, --fluence=1e26]}
		  - {name: orient, args: [--frames=9]}
		  - {name: intensity, args: [--threads=1]}
		  - {name: noise, program: env, args: ['LD_PRELOAD=$(command -v faults.so)', 'FAULT=memory 3 ENOMEM', FAULT_BYTES=20032,
		     FAULT_ONCE=$tap_scratch/short, bragg-noise, --threads=1, --transport=inline]}
		  - {name: write, args: ['$tap_scratch/out/x_%d.img']}
	END
	rm -rf out
	mkdir out
	bragg-run "$file" >said 2>&1
	is 'an image without memory: status, frames' "$? $(ls out | grep -c 'img$')" '0 9'
	is 'an image without memory: one reason' "$(grep -c 'noise| bragg-noise: out of memory for 20000 bytes' said)" 1
	is 'an image without memory: the stage is started again' "$(sed -n 's/.*noise \(.*: started again\)$/\1/p' said)" \
		'ran out of memory: started again'
fi

# What ends the run: a frame, a stage
small 60 '--dead-after=1' '--starve-at=7' ''
status=0
bragg-run "$file" >said 2>&1 || status=$?
is 'a frame that takes all memory: status 1, all others are there' "$status $(files) $(find out -name 000007 | wc -l)" '1 59 0'
is 'a frame that takes all memory: the last line says so' "$(tail -n 1 said)" \
	'bragg-run: frame 7 was abandoned: 3 processes of stage make died while processing it'
is 'a frame that takes all memory: after the reason' "$(tail -n 2 said | grep -c 'make[.][12]| test-make: out of memory for ')" 1
small 60 '--dead-after=1' '--crash-at=7' ''
status=0
bragg-run "$file" >said 2>&1 || status=$?
is 'a frame that kills: status 1, all others are there' "$status $(files) $(find out -name 000007 | wc -l)" '1 59 0'
is 'a frame that kills: the last line says so' "$(tail -n 1 said)" \
	'bragg-run: frame 7 was abandoned: 3 processes of stage make died while processing it'
is 'a frame that kills: after the last words' "$(tail -n 2 said | grep -c 'make[.][12]| test-make: frame 7: crashing as asked')" 1
small 60 '--rejoin-timeout=3' '' ''
sed -i 's/args: .make,.*/program: sh, args: [-c, "echo no luck; kill -SEGV $$"]}/' "$file"
sed -i 's/program: teststage, program: sh/program: sh/' "$file"
status=0
timeout 20 bragg-run "$file" >said 2>&1 || status=$?
is 'a stage without luck: its last words, and the cause' "$status $(tail -n 2 said)" '1 make| no luck
bragg-run: stage make was killed by signal 11 (Segmentation fault), ten times in a row without a finished frame'
is 'a stage that always fails is started again 9 times' "$(grep -c 'started again' said)" 9

small 60 '' '' ''
cat >late <<'END'
teststage source "$@"
while ps -o comm= --ppid $PPID | grep -q teststage; do sleep 0.05; done # all others have ended
kill -9 $$
END
sed -i "s|program: teststage, args: .source,|program: sh, args: [$tap_scratch/late,|" "$file"
status=0
bragg-run "$file" 2>said || status=$?
is 'a source killed when all frames are done: the run ends well' "$status $(files) $(cat said)" '0 60 '

# --- signals
small 5000 '' '--sleep=1' '--sleep=1'
behind
kill -INT $runner
status=0
wait $runner || status=$?
is 'Ctrl-C: status 130, nothing said, nothing left' "$status $(cat said)$(left)" '130 '
is 'Ctrl-C: frames without a gap' "$(find out -type f | sort | tail -n 1 | sed 's|out/0*||')" "$(($(files) - 1))"
small 5000 '' '--sleep=1' '--sleep=1'
behind
kill -STOP $runner # it learns of both at once
hit make
kill -INT $runner
kill -CONT $runner
status=0
wait $runner || status=$?
is 'Ctrl-C while a stage is down that would be started again: 130' "$status $(cat said)$(left)" '130 '
small 5000 '' '' '--sleep=3000'
setsid env --default-signal=INT bragg-run "$file" >said 2>&1 &
runner=$!
soon grown 1
kill -INT $runner
sleep 0.2 # so that they are two
kill -INT $runner
status=0
wait $runner || status=$?
is 'a second Ctrl-C aborts' "$status $(cat said)$(left)" '130 '
for signal in TERM HUP; do
	small 5000 '' '--sleep=1' '--sleep=1'
	behind
	kill -$signal $runner
	status=0
	wait $runner || status=$?
	is "SIG$signal: status 1, said once, nothing left" "$status $(grep -c "stopped by signal .*SIG$signal" said) $(wc -l <said)$(left)" '1 1 1'
done
small 5000 '' '--sleep=1' '--sleep=1'
behind
kill -9 $runner
check 'kill -9 of bragg-run: soon nothing is left' soon nothing_left
is 'kill -9 of bragg-run: complete files only' "$(find out -name '*.part')" ''
wait $runner 2>/dev/null || true

# --- a terminal
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
	small 40 '' '' '--sleep=20'
	script -qec "bragg-run '$file'" /dev/null </dev/null >said 2>&1
	check 'on a terminal: a bar with the rate' grep -q '#] 40 of 40 frames, [0-9.]*/s' said
	small 40 '' '' '--sleep=20'
	script -qec "bragg-run --quiet '$file'" /dev/null </dev/null >said 2>&1
	is '--quiet: no bar' "$(cat said)" ''
else
	skip 'on a terminal: a bar with the rate' 'no pseudo-terminal to be had'
	skip '--quiet: no bar' 'no pseudo-terminal to be had'
fi
is 'nothing is left in the end' "$(left)" ''
finish
