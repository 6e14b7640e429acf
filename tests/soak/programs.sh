# Parts of scripts/soak: the real programs, and their parsers.

# hit NAME: kills that process while the stream is under way; false when that is over
hit() {
	until [ -e source.status ]; do
		kill -9 "$(cat "$1.pid")" 2>/dev/null && return
		sleep 0.05
	done
	return 1
}

# real WORKERS THREADS TRANSPORT ISA FAULTS: the real programs; leaves the sum over their images,
# and what went wrong.  Frames are few in flight and pass slowly, so that a kill finds work.
real() {
	fresh
	at="ipc://$d/" s=s w=w x=x inline=--transport=inline wrong='' keys=
	case $3 in
	tcp)
		set -- "$@" $(free_ports 3)
		at=tcp://127.0.0.1: s=$6 w=$7 x=$8 keys=--keys=$PWD/keys
		[ -e keys ] || bragg-run --make-keys=keys
		;;
	shared) inline= ;;
	esac
	stage geometry bragg-geometry --detpixels=64 --ncells=10 --oversample=2 --out="@ipc://$d/g" &
	stage source bragg-orient --frames="$frames" --random --window=8 --in="ipc://$d/g" --out="@$at$s" $keys $limits &
	for i in $(seq "$1"); do
		keep make$i bragg-intensity --threads="$2" --isa="$4" --in="$at$s" --out="$at$w" $inline $keys &
	done
	stage noise bragg-noise --threads="$2" --in="@$at$w" --out="@$at$x" $inline $keys &
	stage slow pass --sleep=5 --in="$at$x" --out="@ipc://$d/y" $inline $keys &
	stage sink bragg-write 'out/f_%04d.img' --in="ipc://$d/y" $inline $keys &
	if [ "$5" = kill ]; then
		flowing
		hit make1 || wrong='the kill missed'
	fi
	settle
	[ "$(find out -name '*.img' | wc -l)" = "$frames" ] || wrong='frames are missing'
	[ "$(statuses geometry source noise slow sink)" = '0 0 0 0 0' ] ||
		wrong="ended with $(statuses geometry source noise slow sink)"
	rm -f out/*.index
	real_digest=$(digest out)
}

# combinations: a line for each; of a short run so few that each value of each still comes
combinations() {
	isas=avx2
	! grep -q avx512dq /proc/cpuinfo || isas='avx2 avx512'
	for workers in 1 2 3 8; do
		for threads in 1 2; do
			for transport in ipc tcp shared; do
				for isa in $isas; do
					for harm in none kill; do
						echo $workers $threads $transport $isa $harm
					done
				done
			done
		done
	done | awk -v every="$([ "$(scaled 10)" -ge 10 ] || echo 11)" 'NR % every == 1 || every < 2'
}

part_same() {
	frames=$(scaled 200 40) row_start=$(date +%s) first_sum='' row_result=pass hits=0
	combinations >combinations
	while read -r workers threads transport isa harm; do
		real $workers $threads $transport $isa $harm </dev/null
		: "${first_sum:=$real_digest}"
		[ "$real_digest" = "$first_sum" ] || wrong="another sum${wrong:+, $wrong}"
		[ $harm = none ] || hits=$((hits + 1))
		[ -z "$wrong" ] ||
			row_result="FAIL: $workers workers, $threads threads, $transport, $isa, $harm: $wrong"
	done <combinations
	print_row "one sum, $(wc -l <combinations) combinations" "$hits" "$row_result"
}

# checked PROGRAM ARGUMENT...: under valgrind, which finds nothing or ends with 9.  It lets one
# thread run at a time: fairly, so that heartbeats come, if late.
checked() {
	stage "${1#bragg-}" valgrind -q --fair-sched=yes --read-inline-info=no --error-exitcode=9 --leak-check=full \
		--errors-for-leak-kinds=definite --show-leak-kinds=definite "$@"
}

# A pipeline, recorded in the middle, and what the recording gives; written in all formats.
part_valgrind() {
	frames=$(scaled 40 2) row_start=$(date +%s) row_result=pass
	fresh
	checked bragg-geometry --detpixels=32 --pixel=3.2 --distance=120 --ncells=5 --dmin=6 |
		checked bragg-orient --frames="$frames" --random --dead-after=100 |
		checked bragg-intensity --isa=avx2 --threads=2 |
		checked bragg-background --water=100 --air=10 --threads=2 | checked bragg-tap --record=out/recording
	checked bragg-replay out/recording --dead-after=100 | checked bragg-noise --threads=2 |
		checked bragg-write out/%d.img out/%d.cbf out/images.nxs --preview=out/%d.png
	cat >p.yaml <<-END
		stages:
		  - {name: replay, args: [$PWD/out/recording, --dead-after=100]}
		  - {name: noise, count: 2}
		  - {name: write, args: [$PWD/out/again_%d.img], order: true}
	END
	checked bragg-run p.yaml
	[ "$(find out -name '*[0-9].img' | wc -l)" = $((2 * frames)) ] || row_result='FAIL: frames are missing'
	for program in geometry orient intensity background tap replay noise write run; do
		[ "$(statuses $program)" = 0 ] || row_result="FAIL: bragg-$program ended with $(statuses $program)"
	done
	print_row 'under valgrind' 0 "$row_result"
	[ "$row_result" = pass ] || cat errors.*
}

# fuzzed ROW TEST: runs tests/full/TEST.t on `frames` inputs
fuzzed() {
	row_start=$(date +%s) row_result=pass
	BRAGG_TESTS=$tests BRAGG_SEED=$seed BRAGG_FUZZ_DECODER=$(scaled 100000000 1000) BRAGG_FUZZ_OTHERS=$(scaled 10000000 1000) \
		"$tests/full/$2.t" >fuzz.log || row_result="FAIL: $(grep -m 1 '^not ok' fuzz.log)"
	print_row "$1" 0 "$row_result" "$(grep -c '^ok' fuzz.log) passed"
}

part_fuzz() {
	frames=$(scaled 10000000 1000)
	fuzzed 'a peer of bytes' rawpeer
	fuzzed 'parsers on made inputs, each' fuzz
}

# tested FILE [VARIABLE=VALUE...]: a row for a test that is too long for make check-full, and its skips
# with their reasons.
tested() {
	frames=- row_start=$(date +%s) row_result=pass
	tested_file=$1
	shift
	env BRAGG_TESTS="$tests" "$@" "$tested_file" >long.log 2>&1 || row_result="FAIL: $(grep -m 1 '^not ok' long.log)"
	print_row "$(basename "$tested_file")" 0 "$row_result" "$(grep '^ok' long.log | grep -vc '# SKIP') passed, $(grep -c '^ok.*# SKIP' long.log) skipped"
	if [ "$row_result" = pass ]; then
		sed -n 's/^ok [0-9]* - \(.*\) # SKIP /  skipped: \1: /p' long.log
	else
		cat long.log
	fi
}

part_long() {
	for file in "$tests"/long/*.t; do tested "$file"; done
	tested "$tests/full/simulate.t" SEEDS="$(scaled 500000 1000)" PAST="$(scaled 1000 100)"
	tested "$tests/full/cuda.t" CUDA_ARCHS=all
}

# Runs tests/full/mutate.t, which damages files at random.  make check-full has less than a second for each kind of file,
# and this part has a minute.  The same --seed gives the same damage.
part_mutate() {
	row_start=$(date +%s) row_result=pass
	BRAGG_TESTS=$tests MUTATE_SEED=$seed MUTATE_SECONDS=$(scaled 60 2) "$tests/full/mutate.t" >mutate.log 2>&1 ||
		row_result="FAIL: $(grep -m 1 '^not ok' mutate.log)"
	frames=$(sed -n 's/^ok .*: \([0-9]*\) runs, .*/\1/p' mutate.log | awk '{n += $1} END {print n + 0}')
	print_row 'damaged files' "$frames" "$row_result" "$(grep -c '^ok' mutate.log) kinds passed"
	[ "$row_result" = pass ] || cat mutate.log
}
