#!/bin/sh
# Real Slurm, three nodes on this host: bragg-run inside an allocation and as a job, with the sums of
# one host.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/launched.sh"
PATH=$PATH:/usr/sbin
needs 'a cluster' slurmctld slurmd munged srun unshare ip
[ -n "$IN_CLUSTER" ] || {
	unshare --net --uts --pid --fork --mount --mount-proc ip link add probe type bridge 2>/dev/null || {
		skip 'a cluster' 'namespaces or bridges are not allowed here'
		finish
		exit
	}
	exec unshare --net --uts --pid --fork --kill-child --mount-proc env IN_CLUSTER=1 sh "$0"
}
scratch
. "$BRAGG_TESTS/slurm.sh"
check 'the cluster is up' soon idle_nodes

cat >p.yaml <<-'END'
	stages:
	  - {name: geometry, args: [--detpixels=48, --pixel=2, --distance=120, --ncells=5]}
	  - {name: orient, args: [--random, --frames=100, --dead-after=2]}
	  - {name: intensity, count: 3}
	  - {name: noise}
	  - {name: slow, program: teststage, args: [pass, --sleep=40]}
	  - {name: write, args: ['x_%04d.img']}
END
bragg-run --quiet --workdir=one p.yaml
expected=$(digest one)
# behind FOLDER: inside an allocation, in the background, until frames arrive
behind() {
	salloc --quiet --nodes=3 --ntasks-per-node=4 bragg-run --launcher=slurm --workdir="$1" p.yaml >said 2>&1 &
	runner=$!
	soon grown "$1" 5
}
ended() {
	ended_status=0
	wait $runner || ended_status=$?
	is "$1" "$ended_status $(digest "$2") $(grep -c -e "$3" said)" "0 $expected $4"
	[ $ended_status = 0 ] || complain "$(cat said)"
}

# --- inside
behind two
is 'workers are spread' "$(for pid in $(pgrep -x bragg-intensity); do tr '\0' '\n' <"/proc/$pid/environ" | grep SLURMD_NODENAME; done | sort | tr '\n' ' ')" \
	'SLURMD_NODENAME=n1 SLURMD_NODENAME=n2 SLURMD_NODENAME=n3 '
ended 'in an allocation' two 'started again' 0
behind three
kill -9 $(pgrep -x bragg-intensity | head -n 1)
ended 'a worker is killed' three 'was killed by signal 9: started again' 1

# --- as a job
bragg-run --launcher=slurm --slurm='--nodes=3 --time=5' --workdir=five --dry-run p.yaml >script
check 'the script is one for sh' sh -n script
is 'and is short' "$(grep -c -e '^#SBATCH --time=5$' -e '^exec .*bragg-run .*--launcher=slurm --workdir=five p.yaml$' script) $(($(wc -l <script) < 12)) $(ls -d five 2>/dev/null)" '2 1 '
bragg-run --launcher=slurm --slurm='--nodes=3 --ntasks-per-node=4 --time=5' --workdir=five p.yaml >said 2>&1
is 'it is given to sbatch' "$? $(grep -c '^Submitted batch job [0-9]*$' said)" '0 1'
job=$(grep -o '[0-9]*$' said)
soon grown five 20
scontrol requeue "$job"
over() {
	[ -z "$(squeue -h)" ]
}
soon over
is 'a job that is requeued in the middle goes on' "$(digest five)" "$expected"
is 'nothing is left' "$(find . -maxdepth 2 -name 'bragg-run-*'; pgrep bragg- | wc -l)" 0

# --- bad input
sed '/name: noise/d' p.yaml >q.yaml
salloc --quiet --nodes=3 bragg-run --launcher=slurm --workdir=bad q.yaml >said 2>&1
is 'a stage that fails is named, not one that follows it' "$? $(tail -n 1 said)" '3 bragg-run: stage write ended with status 3'
rm -rf bad
bragg-run --launcher=slurm --slurm='--partition=gpu' --workdir=bad p.yaml >said 2>&1
is 'an unknown partition is a line' "$? $(cat said) $(ls -d bad 2>/dev/null)" \
	'1 bragg-run: --launcher=slurm: sbatch: error: Batch job submission failed: Invalid partition name specified '
run=$(command -v bragg-run)
is 'no Slurm, too' "$(PATH=/nowhere "$run" --launcher=slurm p.yaml 2>&1 | grep -c '^bragg-run: --launcher')" 1
finish
