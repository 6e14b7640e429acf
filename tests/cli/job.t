#!/bin/sh
# A job of Slurm that was submitted from a terminal is followed until it ends; Ctrl-C asks what is
# to become of it.  Stand-ins for Slurm's programs say what the test wants; tests/full/slurm.t has
# a cluster.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
script -qec true /dev/null </dev/null >/dev/null 2>&1 || {
	skip 'on a terminal' 'no pseudo-terminal to be had'
	finish
	exit
}
mkdir bin job run
export JOB="$tap_scratch" PATH="$tap_scratch/bin:$PATH" XDG_RUNTIME_DIR="$tap_scratch/run"
cat >bin/sbatch <<'END'
#!/bin/sh
echo 'Submitted batch job 12'
END
cat >bin/scontrol <<'END'
#!/bin/sh
echo "JobId=12 JobName=p.yaml JobState=$(cat "$JOB/state") Reason=None"
END
cat >bin/scancel <<'END'
#!/bin/sh
echo "$@" >>"$JOB/cancelled"
END
chmod +x bin/*
cat >p.yaml <<'END'
stages:
  - {name: first, program: teststage, args: [first]}
  - {name: source, program: teststage, args: [source, --frames=40]}
  - {name: make, program: teststage, args: [make, --sleep=100]}
  - {name: sink, program: teststage, args: [sink, .]}
END
submit='bragg-run --launcher=slurm --workdir=job p.yaml'

# followed ANSWER: on a terminal, with Ctrl-C and that typed, if it is not empty, once the job runs
followed() {
	rm -f keys
	mkfifo keys
	env --default-signal=INT script -qec "trap : INT; $submit; echo status \$?" /dev/null <keys >said 2>&1 &
	exec 3>keys
	soon grep -q "job 12 is $(cat state)" said
	if [ "$1" ]; then
		printf '\003' >&3
		soon grep -q 'cancel job 12?' said
		printf '%s\n' "$1" >&3
	fi
	wait
	exec 3>&-
	tr -d '\r' <said | sed "s/^$(printf '\033')\[K//" >lines
}

echo COMPLETED >state
followed ''
is 'one that ends well' "$(grep -c 'Submitted batch job 12' lines) $(tail -n 1 lines)" '1 status 0'
echo FAILED >state
printf 'bragg-run: one\nbragg-run: stage noise ended with status 3\n' >job/bragg-run.log
followed ''
is 'one that fails, with the last words of its log' "$(tail -n 2 lines)" \
	"bragg-run: job 12 failed; $tap_scratch/job/bragg-run.log ends with: bragg-run: stage noise ended with status 3
status 1"
echo RUNNING >state
followed n
is 'Ctrl-C, and it goes on' "$(tail -n 2 lines) $(ls cancelled 2>/dev/null)" \
	"bragg-run: the job continues. 'bragg-top $tap_scratch/job' shows its progress, 'scancel 12' ends it
status 0 "
followed y
is 'Ctrl-C, and it ends' "$(tail -n 1 lines) $(cat cancelled)" 'status 130 12'
echo RUNNING >state
(bragg-run --quiet --workdir=job p.yaml && echo COMPLETED >state) &
script -qec "$submit" /dev/null </dev/null >said 2>&1
wait
check 'progress lines show how far the run is' grep -q '\[##*\.*\] [0-9]* of 40' said
is 'without a terminal it is only submitted' "$(echo RUNNING >state; $submit 2>&1)" 'Submitted batch job 12'
is '--quiet submits without progress lines' "$(script -qec "$submit --quiet" /dev/null </dev/null | tr -d '\r')" 'Submitted batch job 12'
finish
