#!/bin/sh
# Processes have processors and graphics cards of their own, where the pipeline file says so.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir bin far
cp "$BRAGG_TESTS/standin/ssh.sh" bin/ssh
chmod +x bin/ssh
export FAR="$tap_scratch/far" PATH="$tap_scratch/bin:$PATH"
all=$(taskset -pc $$ | sed 's/.*: //')
# The numbers that taskset lists, one a line.
numbers=$(echo "$all" | tr , '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done)
first=$(echo "$numbers" | head -n 1)
second=$(echo "$numbers" | sed -n 2p)
[ -n "$second" ] || second=$first

cat >tell.sh <<-'END'
	#!/bin/sh
	echo "$1 $BRAGG_WORKER has $(taskset -pc $$ | sed 's/.*: //'), $OMP_NUM_THREADS threads, cards $CUDA_VISIBLE_DEVICES"
END
chmod +x tell.sh
# pipeline KEYS [KEYS]: tell.sh with these keys, and once more
pipeline() {
	cat >p.yaml <<-END
		stages:
		  - {name: first, program: teststage, args: [first]}
		  - {name: source, program: teststage, args: [source, --frames=3]}
		  - {name: make, program: teststage, args: [make]}
		  - {name: sink, program: teststage, args: [sink, $tap_scratch]}
		  - {name: tell, program: ./tell.sh, after: sink, args: [one], $1}
	END
	[ -z "$2" ] || echo "  - {name: more, program: ./tell.sh, after: sink, args: [two], $2}" >>p.yaml
}

# told OPTION...: what they say, sorted
told() {
	rm -f 0* ./*.out .index
	mkdir -p work
	bragg-run --verbose --workdir=work "$@" p.yaml 2>&1 | sed -n 's/^[a-z.0-9]*| \(.* has \)/\1/p' | sort
	rm -rf work
}

unset OMP_NUM_THREADS
export CUDA_VISIBLE_DEVICES=3,GPU-8a,5
pipeline 'count: 2, cpus: 1, gpus: 1' 'gpus: 2'
is 'each has its own' "$(told)" "one 0 has $first, 1 threads, cards 3
one 1 has $second, 1 threads, cards GPU-8a
two  has $all,  threads, cards 5,3"
is 'a launcher gives each process threads and GPUs of its own' "$(told --launcher=ssh --hosts=.)" "one 0 has $first, 1 threads, cards 3
one 1 has $second, 1 threads, cards GPU-8a
two  has $all,  threads, cards 5,3"
pipeline 'count: 3, cpus: 1, hosts: "c,d"'
is 'each host has its threads' "$(told --launcher=ssh --hosts=. | sed 's/, cards.*//')" "one 0 has $first, 1 threads
one 1 has $first, 1 threads
one 2 has $second, 1 threads"
pipeline 'count: 1'
is 'without the keys all have all' "$(told)" "one  has $all,  threads, cards 3,GPU-8a,5"

# refused STATUS TEXT
refused() {
	bragg-run --quiet --workdir=bad p.yaml >said 2>&1
	is "$2" "$? $(grep -c -e "$2" said)" "$1 1"
	rm -rf bad
}
pipeline 'cpus: 1000'
refused 1 'cpus: this host does not have 1000; expected at most'
pipeline 'gpus: 4'
refused 1 'gpus: this host does not have 4; expected at most 3'
pipeline 'cpus: 0'
refused 3 "p.yaml:6: cpus '0' is out of range; expected a value from 1 to 1024\|p.yaml:6: cpus: '0' is out of range"
pipeline 'gpus: many'
refused 3 "p.yaml:6: gpus.*'many'"
printf 'share 1 x 2\0' | bragg-run --remote >said 2>&1
is 'an invalid weight' "$? $(cat said)" "2 bragg-run: --remote: malformed share '1 x 2'; expected 4 numbers"

# Threads without work sleep, so that other stages have the processors; whoever sets OpenMP decides.
policy() { # PROGRAM [NAME=VALUE]: what its threads were told
	case $1 in
	bragg-background) policy_options="--water=1 --out=ipc://$tap_scratch/none" ;;
	bragg-tap) policy_options=--count ;;
	*) policy_options=--out=ipc://$tap_scratch/none ;;
	esac
	# shellcheck disable=SC2086 # options
	env -u OMP_WAIT_POLICY ${2:+"$2"} "$1" $policy_options --in=ipc://"$tap_scratch"/nobody --start-timeout=20 >/dev/null 2>&1 &
	policy_pid=$!
	soon sh -c '[ "$(ls /proc/$0/task | wc -l)" -gt 2 ]' $policy_pid # it has sockets, and so has begun anew
	policy_told=$(tr '\0' '\n' </proc/$policy_pid/environ | sed -n 's/^OMP_WAIT_POLICY=//p')
	kill $policy_pid
	wait $policy_pid
	echo "$policy_told"
}
for program in bragg-intensity bragg-background bragg-noise bragg-tap; do
	is "threads of $program sleep" "$(policy $program)" passive
done
is 'the user can set the wait policy of bragg-intensity' "$(policy bragg-intensity OMP_WAIT_POLICY=active) $(policy bragg-intensity GOMP_SPINCOUNT=1000)" 'active '
finish
