#!/bin/sh
# bragg-run: which stage is blamed for a failure and what is shown last, where that takes its time:
# stages that end late, users who want the end, hosts, Slurm and stages in Python that fail.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/blame.sh"
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch
mkdir run bin
export XDG_RUNTIME_DIR="$tap_scratch/run"
unset SLURM_JOB_ID

# --- stages that end late, and users who want the end
late="{name: late, input: noise, program: sh, args: [-c, 'trap \"\" TERM; sleep 1; echo bragg-x: the cause >&2; exit 1']}"
pipe 6 "{name: write, program: sh, args: [-c, 'exit 1']}" "$(echo "$late" | sed 's/trap "" TERM; //')" >silent.yaml
run silent.yaml
blamed 'a stage that fails without a word waits for the one that knows why' 1 'late| bragg-x: the cause' 'late ended with status 1'
pipe 6 "{name: write, program: sh, args: [-c, 'exit 1']}" \
	"{name: stays, input: noise, program: sh, args: [-c, 'echo bragg-x: the cause >&2; exec sleep 50']}" >stays.yaml
run stays.yaml
blamed 'one that says why and does not end' 1 'stays| bragg-x: the cause' 'stays failed, and did not end by itself'
# asked SIGNAL...: the user wants the end after the failure, while another stage takes its time
asked() {
	rm -f failed
	env --default-signal=INT bragg-run asked.yaml 2>message &
	runner=$!
	soon test -e failed
	sleep 0.3 # until bragg-run has seen that
	for number; do kill -"$number" $runner && sleep 0.1; done
	status=0
	wait $runner || status=$?
}
pipe 6 "{name: write, program: sh, args: [-c, 'echo bragg-x: the cause >&2; touch $tap_scratch/failed; exit 3']}" \
	"{name: late, input: noise, program: sh, args: [-c, 'trap \"\" TERM INT; sleep 3']}" >asked.yaml
for numbers in TERM HUP INT 'INT INT'; do
	# shellcheck disable=SC2086 # these are words
	asked $numbers
	blamed "SIG$numbers after the failure" 3 'write| bragg-x: the cause' 'write ended with status 3'
done


# --- hosts: the cause is the last line before the verdict, or in it
cat >bin/ssh <<'END'
#!/bin/sh
while :; do case $1 in -*) shift ;; *) break ;; esac; done
host=$1
shift
echo >>"$FAR/$host"
calls=$(wc -l <"$FAR/$host")
case $host in
unknown) echo "ssh: Could not resolve hostname unknown: Name or service not known" >&2 && exit 255 ;;
key) # it greets, and refuses
	echo "Warning: Permanently added 'key' (ED25519) to the list of known hosts." >&2
	echo "me@key: Permission denied (publickey,password)." >&2
	exit 255
	;;
changed) printf '@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@@\nHost key verification failed.\r\n' >&2 && exit 255 ;;
killed) kill -9 $$ ;;
silent) exit 255 ;;
hangs) exec sleep 141.5 ;;
down) [ "$calls" = 1 ] || { echo "ssh: connect to host down port 22: No route to host" >&2 && exit 255; } ;;
denied) [ "$calls" = 1 ] || { echo "me@denied: Permission denied (publickey)." >&2 && exit 255; } ;;
esac
exec env -i PATH="$PATH" HOME="$HOME" sh -c "$*"
END
chmod +x bin/ssh
export FAR="$tap_scratch/far" PATH="$tap_scratch/bin:$PATH"
pipe 200 '{name: write, args: [x_%d.img]}' >far.yaml
# far HOSTS: status, the last line, what is left
far() {
	rm -rf far w
	mkdir far
	run --launcher=ssh --hosts="$1" --workdir=w far.yaml
	is "$1: $2" "$status $(tail -n 1 message) $(ls w 2>/dev/null)" "1 bragg-run: host '${1#.,}' does not answer: $3 "
}
far .,unknown 'no such host' 'ssh: Could not resolve hostname unknown: Name or service not known'
far .,key 'a key is refused' 'me@key: Permission denied (publickey,password).'
far .,changed 'another key of the host' 'Host key verification failed.'
far .,killed 'ssh is killed' 'no message was received'
far .,silent 'it ends without a word' 'no message was received'
# Many processes, so that one of them is told something after its ssh has ended.
for host in down denied; do
	rm -rf far w
	mkdir far
	run --launcher=ssh --hosts="$host,." --workdir=w far.yaml
	is "$host: no connection after the first" "$status $(tail -n 2 message | sed 's/^[a-z]*| //; s/stage [a-z]* lost/stage X lost/')" \
		"1 $(case $host in down) echo 'ssh: connect to host down port 22: No route to host' ;; *) echo 'me@denied: Permission denied (publickey).' ;; esac)
bragg-run: stage X lost the connection to its host, ten times in a row without a finished frame"
done
rm -rf far w
mkdir far
bragg-run --launcher=ssh --hosts=.,hangs --workdir=w far.yaml 2>message &
runner=$!
soon test -e far/hangs
kill -TERM $runner
wait $runner
ended() { ! pgrep -f 'sleep 141.5' >/dev/null; }
check 'bragg-run is killed while a host does not answer: no ssh stays' soon ended

# --- sbatch
# job WORDS: what sbatch does
job() {
	printf '#!/bin/sh\n%s\n' "$2" >bin/sbatch
	chmod +x bin/sbatch
	rm -rf w
	run --launcher=slurm --workdir=w far.yaml >out
	is "sbatch: $1" "$status $(cat message out) $(ls w 2>/dev/null)" "1 bragg-run: --launcher=slurm: $3 "
}
none="; expected 'Submitted batch job N'. squeue shows whether there is a job"
job 'refuses' 'echo "sbatch: error: invalid partition specified: foo"; echo "sbatch: error: Batch job submission failed: Invalid partition name specified"; exit 1' \
	'sbatch: error: Batch job submission failed: Invalid partition name specified'
job 'fails without a word' 'exit 1' 'sbatch failed without a message'
job 'says nothing' 'exit 0' "sbatch gave no job number (got '')$none"
job 'says something else' 'echo hello' "sbatch gave no job number (got 'hello')$none"
job 'is killed' 'kill -9 $$' 'Killed'
# task WHAT: srun of an allocation
printf '#!/bin/sh\necho a\necho b\n' >bin/scontrol
chmod +x bin/scontrol
task() {
	printf '#!/bin/sh\n%s\n' "$2" >bin/srun
	chmod +x bin/srun
	rm -rf w
	SLURM_JOB_ID=1 SLURM_JOB_NODELIST='[a-b]' run --launcher=slurm --workdir=w far.yaml
	is "srun: $1" "$status $(cat message) $(ls w 2>/dev/null)" "1 bragg-run: host 'a' does not answer: $3 "
}
task 'refuses' 'echo "srun: error: Unable to create step for job 1: Invalid credential" >&2; exit 1' \
	'srun: error: Unable to create step for job 1: Invalid credential'
task 'fails without a word' 'exit 1' 'no message was received'
task 'ends at once' 'exit 0' 'no message was received'

# --- Ctrl-C in each phase: status 130, no word of an innocent stage, nothing left but whole files
pipe 100000 '{name: write, args: [x_%06d.img]}' >long.yaml
for after_s in 0.02 0.05 0.1 0.2 0.5; do
	for numbers in INT 'INT INT'; do
		rm -rf w
		env --default-signal=INT bragg-run --workdir=w long.yaml 2>message &
		runner=$!
		sleep $after_s
		for number in $numbers; do kill -"$number" $runner; done
		status=0
		wait $runner || status=$?
		is "SIG$numbers after $after_s s" "$status $(grep -c -e '| bragg-.*: cannot' -e '^bragg-run: stage' message) $(ls run) $(find w -name '*.part*' 2>/dev/null)" '130 0  '
	done
done

# --- the folder is taken away
rm -rf w
bragg-run --workdir=w long.yaml 2>message &
runner=$!
soon test -e w/x_000010.img
while [ -e w ]; do rm -rf w; done 2>/dev/null
status=0
wait $runner || status=$?
is 'the folder is removed' "$status $(tail -n 2 message | sed -n '1s/^write| bragg-write: [^:]*: cannot [a-z]*: /cause: /p; 2p')" \
	'1 cause: No such file or directory
bragg-run: stage write ended with status 1'

# --- stages in Python
if has python:zmq python:msgpack python:numpy; then
	export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$top/pipelines"
	cat >fails.py <<'END'
#!/usr/bin/python3
import os, sys
import braggpipe

how = sys.argv.pop(1)
if how == "import":
    __import__("nosuchmodule")
if how == "early":
    raise ValueError("too early")


def fails(image, frame):
    if frame.number < 2:
        return image
    if how == "raise":
        raise ValueError("bad pixel 7\nin two lines")
    if how == "exit":
        sys.exit("I stop here")
    if how == "memory":
        raise MemoryError
    os._exit(7)


braggpipe.transform("fails", fails, braggpipe.parser(__doc__).parse_args())
END
	chmod +x fails.py
	# raises HOW TEXT: with and without --verbose
	raises() {
		pipe 20 '{name: write, args: [x_%d.img]}' |
			sed "s|  - {name: noise|  - {name: fails, program: $tap_scratch/fails.py, args: [$1], restart: 0}\n&|" >raises.yaml
		for option in --quiet --verbose; do
			run $option --workdir=py raises.yaml
			is "Python: $1, $option" "$status $(tail -n 2 message | sed 's/ (fails.py:[0-9]*)$//')" "1 fails| $2
bragg-run: stage fails ended with status 1"
		done
	}
	raises import "ModuleNotFoundError: No module named 'nosuchmodule'"
	raises early 'ValueError: too early'
	raises raise 'fails: frame 2: ValueError: bad pixel 7 in two lines'
	raises exit 'fails: frame 2: SystemExit: I stop here'
	raises memory 'fails: frame 2: MemoryError:'
else
	skip 'stages in Python' "$lack is missing"
fi
finish
