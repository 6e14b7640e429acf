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
	behind_folder=$1
	shift
	salloc --quiet --no-kill --nodes=3 --ntasks-per-node=4 \
		bragg-run --launcher=slurm --workdir="$behind_folder" "$@" p.yaml >said 2>&1 &
	runner=$!
	soon grown "$behind_folder" 5
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
ended 'a run in an allocation ends without restart' two 'started again' 0
is 'eight workers' "$(salloc --quiet --nodes=3 --ntasks-per-node=4 bragg-run --quiet --launcher=slurm --count=intensity=8 --workdir=eight p.yaml 2>&1
	digest eight)" "$expected"
behind three
kill -9 $(pgrep -x bragg-intensity | head -n 1)
ended 'a worker is killed' three 'was killed by signal 9: started again' 1
behind cancelled
for step in $(squeue -s -h -w n2 -o %i); do scancel "$step"; done
ended 'the step of a worker is cancelled' cancelled '^bragg-run: warning: intensity.2 lost the connection to its host: started again' 1
behind dead --set=slow.sleep=80
kill -9 "$(cat cluster/slurmd.n3.pid)"
ended 'the slurmd of a node is killed' dead '^bragg-run: stage' 0
slurmd -N n3
soon idle_nodes
behind down --set=slow.sleep=80
scontrol update nodename=n3 state=down reason=test
ended 'a node is set down: its worker goes to the next' down '^bragg-run: warning: intensity.3 lost the connection to its host: started again' 1
scontrol update nodename=n3 state=resume 2>/dev/null
soon idle_nodes
behind lost
scancel "$(squeue -h -o %i)"
wait $runner && status=0 || status=$?
is 'scancel ends a run, with a line' "$status $(tail -n 1 said | grep -c '^bragg-run: ')" '1 1'
nothing_left() {
	[ -z "$(find . -maxdepth 2 -name 'bragg-run-*'; pgrep bragg-)" ] && idle_nodes
}
check 'scancel leaves no process' soon nothing_left
salloc --quiet --nodes=3 --ntasks-per-node=4 bragg-run --quiet --launcher=slurm --resume --workdir=lost p.yaml
is 'the run goes on later after scancel' "$? $(digest lost)" "0 $expected"
for folder in left right; do
	salloc --quiet --nodes=3 --ntasks-per-node=2 bragg-run --quiet --launcher=slurm --workdir=$folder p.yaml &
done
wait
is 'two jobs at once' "$(digest left) $(digest right)" "$expected $expected"
mkdir full
mount -t tmpfs -o size=400k none full
salloc --quiet --nodes=3 --ntasks-per-node=4 bragg-run --launcher=slurm --workdir=full p.yaml >said 2>&1
is 'a full workdir is named' "$? $(grep -c 'No space left on device' said)" '1 1'
grep -q 'No space left on device' said || complain "$(cat said)"
mount -o remount,size=40m full
salloc --quiet --nodes=3 --ntasks-per-node=4 bragg-run --quiet --launcher=slurm --resume --workdir=full p.yaml
is 'the full workdir is filled once there is room' "$? $(digest full)" "0 $expected"
umount full
sed 's/name: intensity,/&cpus: 2,/' p.yaml >cpus.yaml
salloc --quiet --nodes=3 --ntasks-per-node=4 bragg-run --quiet --launcher=slurm --workdir=cpus cpus.yaml &
soon grown cpus 5
is 'srun gets the number of CPUs of a worker' "$(for pid in $(pgrep -x bragg-intensity); do tr '\0' '\n' <"/proc/$pid/environ" | grep -e SLURM_CPUS_PER_TASK -e OMP_NUM; done | sort | uniq -c | tr -s ' \n' ' ')" \
	' 3 OMP_NUM_THREADS=2 3 SLURM_CPUS_PER_TASK=2 '
bragg-run --add=intensity=1 cpus >said 2>&1
wait
is 'one more worker joins the job' "$(cat said) $(digest cpus)" "intensity: 4 processes $expected"

# --- as a job
bragg-run --launcher=slurm --slurm='--nodes=3 --time=5' --workdir=five --dry-run p.yaml >script
check 'the script is one for sh' sh -n script
is 'the script of sbatch is short' "$(grep -c -e '^#SBATCH --time=5$' -e '^exec .*bragg-run .*--launcher=slurm --workdir=five p.yaml$' script) $(($(wc -l <script) < 12)) $(ls -d five 2>/dev/null)" '2 1 '
bragg-run --launcher=slurm --slurm='--nodes=3 --ntasks-per-node=4 --time=5' --workdir=five p.yaml >said 2>&1
is 'bragg-run gives the script to sbatch' "$? $(grep -c '^Submitted batch job [0-9]*$' said)" '0 1'
job=$(grep -o '[0-9]*$' said)
soon grown five 20
scontrol requeue "$job"
over() {
	[ -z "$(squeue -h)" ]
}
soon over
is 'a job that is requeued in the middle goes on' "$(digest five)" "$expected"
is 'nothing is left' "$(find . -maxdepth 2 -name 'bragg-run-*'; pgrep bragg- | wc -l)" 0

# on a terminal
job="bragg-run --launcher=slurm --slurm='--nodes=3 --ntasks-per-node=4 --time=5' --workdir"
script -qec "$job=followed p.yaml" /dev/null </dev/null >said 2>&1
is 'on a terminal it shows how far the job is, until that ends' \
	"$? $(digest followed) $(grep -c '\[#[#.]*\] [0-9]* of 100' said | sed 's/[1-9][0-9]*/some/') $(grep -c 'is COMPLETED' said)" "0 $expected some 1"
mkfifo keys
env --default-signal=INT script -qec "trap : INT; $job=asked p.yaml" /dev/null <keys >said 2>&1 &
exec 3>keys
soon grown asked 5
printf '\003' >&3
soon grep -q 'cancel job' said
echo y >&3
wait
exec 3>&-
soon over
is 'Ctrl-C and yes end the job' "$(tr -d '\r' <said | grep -c 'cancel job [0-9]*?') $(digest asked | grep -c "$expected")" '1 0'

bragg-run --launcher=slurm --slurm='--nodes=3 --ntasks-per-node=4' --workdir=untimed p.yaml >said 2>&1
is 'a job without a time has that of its partition' "$? $(grep -c '^Submitted' said) $(squeue -h -o %l)" '0 1 1:00:00'
soon over
is 'the job without a time does its work' "$(digest untimed)" "$expected"

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
