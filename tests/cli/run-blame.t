#!/bin/sh
# bragg-run: which stage is blamed for a failure and what is shown last, when a run is done, and what
# does not get into reports and scripts.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/blame.sh"
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"
unset SLURM_JOB_ID

# --- the first error is last on the screen
foreign='n.nxs exists and was not written by this run. Use --overwrite to replace it, or another name'
pipe 6 '{name: write, args: [x_%d.img, n.nxs]}' >foreign.yaml
mkdir f v
echo mine >f/n.nxs
echo mine >v/n.nxs
run --workdir=f foreign.yaml
blamed "a foreign file in the way, before another stage's summary" 1 "write| bragg-write: $foreign" 'write ended with status 1'
run --workdir=v --verbose foreign.yaml
blamed 'a foreign file in the way, with --verbose' 1 "write| bragg-write: $foreign" 'write ended with status 1'
for fault in 'write 4 ENOSPC:No space left on device' 'write 4 EIO:Input/output error' 'rename 3 EDQUOT:Disk quota exceeded'; do
	pipe 40 "{name: write, program: env, args: ['LD_PRELOAD=$(command -v faults.so)', 'FAULT=${fault%:*}', bragg-write, 'x_%d.img']}" \
		"{name: serve, input: noise, args: ['--bind=ipc://$PWD/s', --policy=drop-old, --queue=1]}" >disk.yaml
	rm -rf d
	run --workdir=d disk.yaml
	is "${fault#*:}: the cause, not a client count" "$status $(tail -n 2 message | sed 's/x_[0-9]*/x_N/; s/cannot .*: /: /')" \
		"1 write| bragg-write: x_N.img: : ${fault#*:}
bragg-run: stage write ended with status 1"
done
pipe 6 '{name: write, args: [x_%d.img, --nonsense]}' >option.yaml
run option.yaml
blamed 'a wrong option' 2 "write| bragg-write: unknown option '--nonsense'; --help lists the options" 'write ended with status 2'
pipe 6 '{name: write, args: [x_%d.img, n.nxs]}' \
	"{name: late, input: noise, program: sh, args: [-c, 'sleep 0.3; exec bragg-write y_%d.img --nonsense']}" >two.yaml
rm -rf f
mkdir f
echo mine >f/n.nxs
run --workdir=f two.yaml
is 'two stages fail: a status, one verdict' "$((status != 0)) $(grep -c '^bragg-run: stage' message)" '1 1'
pipe 6 "{name: write, args: [x_%d.img]}" >killed.yaml
sed -i 's/{name: noise, threads: 1}/{name: noise, program: sh, restart: 0, args: [-c, "echo last words; kill -9 $$"]}/' killed.yaml
run killed.yaml
blamed 'a stage that is killed' 1 'noise| last words' 'noise was killed by signal 9 (Killed)'
printf '#!/no/such/shell\n' >text
chmod +x text
pipe 6 "{name: write, program: $tap_scratch/text, args: [x_%d.img]}" >start.yaml
run start.yaml
blamed 'a stage that cannot start' 1 "write| bragg-run: cannot run $tap_scratch/text: No such file or directory" 'write ended with status 1'
pipe 6 "{name: write, program: sh, args: [-c, 'echo \"write: warning: odd\" >&2; exec bragg-write x_%d.img \"\$@\"', sh]}" >warns.yaml
sed -i 's/--random, /--random, --orientations=nowhere, /' warns.yaml
run warns.yaml
is 'a warning is no cause' "$status $(tail -n 2 message | grep -c -e '^orient| bragg-orient: ' -e '^bragg-run: stage orient ended')" "$status 2"

# of a program of others the last line counts
pipe 6 "{name: write, program: sh, args: [-c, 'echo Traceback, 2 calls >&2; echo ValueError: seven >&2; exit 1']}" >foreign.yaml
run --verbose foreign.yaml
blamed 'a program of others, with --verbose' 1 'write| ValueError: seven' 'write ended with status 1'
run foreign.yaml
blamed 'a program of others, without --verbose' 1 'write| ValueError: seven' 'write ended with status 1'

# --- on another host
pipe 6 '{name: write, args: [x_%d.img, n.nxs]}' >far.yaml
mkdir bin h
printf '#!/bin/sh\necho "Warning: a banner of the host" >&2\nfor last; do :; done\nexec sh -c "$last"\n' >bin/ssh
chmod +x bin/ssh
echo mine >h/n.nxs
status=0
PATH="$PWD/bin:$PATH" timeout 30 bragg-run --launcher=ssh --hosts=.,b --workdir=h far.yaml 2>message || status=$?
if [ "$(tail -n 1 message | grep -c '^bragg-run: stage')" = 1 ]; then
	blamed 'through a launcher that says something itself' 1 "write| bragg-write: $foreign" 'write ended with status 1'
else
	skip 'through a launcher that says something itself' "$(tail -n 1 message)"
fi

# Ctrl-C while a host does not answer: folders that were made are removed, others stay
printf '#!/bin/sh\n: >"$ASKED"\nexec sleep 30\n' >bin/ssh
# ended SIGNAL STATUS WORKDIR MESSAGE: of a run that is still asking
ended() {
	rm -f asked
	ASKED=$PWD/asked PATH="$PWD/bin:$PATH" setsid env --default-signal=INT,TERM bragg-run --launcher=ssh --hosts=a,b --workdir="$3" far.yaml 2>message &
	asking=$!
	soon test -e asked
	kill -"$1" "$asking"
	status=0
	wait "$asking" || status=$?
	is "SIG$1 while hosts are asked" "$status $(cat message)" "$2"
}
ended INT '130 ' new/deep
check 'the folders that it made are removed' test ! -e new
ended TERM '1 bragg-run: stopped by signal 15 (SIGTERM)' new
check 'the folders that it made are removed after SIGTERM' test ! -e new
mkdir old
ended INT '130 ' old
is 'an older folder stays, empty' "$(ls -A old; ls -d old)" old

# --- done is what the source says
true=$(command -v true)
pipe 3 "{name: write, program: $true, args: ['x_%d.raw']}" >short.yaml
run short.yaml
is 'a sink that ends with status 0 at once' "$status $(cat message)" '1 bragg-run: stage write ended after 0 of 3 frames, with status 0'
pipe 3 "{name: write, program: sh, args: [-c, 'sleep 0.3; exit 0']}" >late.yaml
run late.yaml
is 'a sink that ends with status 0 before the last frame is named' "$status $(tail -n 1 message)" '1 bragg-run: stage write ended after 0 of 3 frames, with status 0'
pipe 3 '{name: write, args: [x_%d.raw]}' >whole.yaml
sed "s|{name: orient,|{name: orient, program: $true,|" whole.yaml >source.yaml
run --workdir=o source.yaml
is 'the source' "$status $(tail -n 1 message) $(ls o 2>/dev/null)" '1 bragg-run: stage orient ended after 0 of 3 frames, with status 0 '
cat >one.sh <<'END2'
mkdir one 2>/dev/null && exit 0
exec bragg-write "$@"
END2
pipe 12 "{name: write, program: sh, count: 2, args: [$tap_scratch/one.sh, 'x_%d.raw']}" >one.yaml
run one.yaml
is 'one of two processes: the other has all frames' "$status $(ls x_*.raw | wc -l)" '0 12'
rm -rf x_*
run --workdir=again whole.yaml
run --workdir=again --resume whole.yaml
is 'nothing to do is done' "$status $(ls again/x_*.raw | wc -l)" '0 3'
bragg-run --workdir=piped whole.yaml </dev/null 2>&1 | cat >/dev/null
is 'behind a shell pipe, too' "$(ls piped/x_*.raw | wc -l)" 3

# --- a process that was started again counts its own frames
pipe 40 '{name: write, args: [x_%02d.raw]}' >again.yaml
sed 's/{name: noise, threads: 1}/{name: noise, count: 2, threads: 1}/' again.yaml >parts.yaml
run --workdir=parts parts.yaml
is 'a count of one of two processes says so' "$(grep -c 'noise.*frames of this process: ' message) $(grep -c 'noise.* frames: ' message)" \
	"$(grep -c 'noise.*saturated' message) 0"
rm -f x_*
sed 's/--frames=40/--frames=400/' again.yaml >more.yaml
printf '[ -e died ] || (until [ -e x_03.raw ]; do sleep 0.01; done; : >died; kill -9 $$) &\nexec "$@"\n' >once
run --wrap="noise=sh $PWD/once" more.yaml
is 'the count of a process that was started again says so' "$status $(ls x_*.raw | wc -l) $(grep -c 'noise.* started again' message) $(sed -n 's/.*noise.* frames\(.*\): .*/\1/p' message)" \
	'0 400 1  of this process'
rm -f x_*

# --- names that are no files
run nosuch
is 'no shipped pipeline has this name' "$status $(cat message)" \
	"1 bragg-run: nosuch: no such file, and no shipped pipeline has this name. 'braggpipe list' shows all shipped pipelines"
run lysozyme.yml
is 'one that resembles a shipped one' "$status $(cat message)" \
	"1 bragg-run: lysozyme.yml: no such file. Did you mean the pipeline 'lysozyme'? 'braggpipe list' shows all shipped pipelines"
mkdir lysozyme
is 'a folder of its name, such as that of an earlier run, is no pipeline' "$(bragg-run --dry-run lysozyme 2>&1 | grep -c bragg-write)" 1
rmdir lysozyme

# --- calls on files that signals interrupt
mkdir calm stormy
for folder in calm stormy; do
	(
		cd $folder || exit
		[ $folder = calm ] || export FAULT_INTERRUPTS=yes LD_PRELOAD="$(command -v faults.so)"
		bragg-geometry --detpixels=32 --ncells=5 | bragg-orient --frames=4 --random | bragg-intensity --threads=1 --reflections |
			bragg-noise | bragg-write x_%d.img n.nxs --reflections=run.refl --fsync
		echo $? >status
	) 2>>message
done
is 'EINTR changes no byte' "$(cat stormy/status) $(diff -rq calm stormy)" '0 '

# signals interrupt the reading of a pipe
printf '0 0 1 100\n1 0 0 200\n1 1 1 300\n' >whole.hkl
mkfifo slow.hkl
timeout 10 sh -c 'head -n 1 whole.hkl && sleep 0.2 && tail -n 2 whole.hkl' >slow.hkl &
timeout 10 env FAULT_STORM=yes LD_PRELOAD="$(command -v faults.so)" bragg-geometry --detpixels=32 --ncells=5 \
	--cell=50,60,70,90,90,90 --hkl=slow.hkl 2>message | bragg-tap --count >count
is 'a storm of signals while a file comes' "$(cat message) $(cut -d' ' -f1 count)" ' frames=0'

# --- secrets
pipe 3 '{name: write, args: [x_%d.raw]}' '{name: look, input: noise, program: sh, args: [-c, "echo view: http://h:1/?token=abcdef0123456789\\&x=1; exec bragg-tap --hold=yes --count \"$@\"", sh]}' >token.yaml
run --verbose --workdir=t --report=report.html token.yaml
is 'a token gets neither into a report nor into a log' "$status $(cat message report.html | grep -v 'args:' | grep -c abcdef0123456789) $(grep -c '?token=\.\.\.&x=1' message) $(grep -c 'token=\.\.\.' report.html)" '0 0 1 1'

# --- the script for sbatch
bad="p
touch pwned
#.yaml"
cp whole.yaml "$bad"
run --launcher=slurm --dry-run "$bad"
is 'a line break in the name of the pipeline' "$status $(wc -l <message) $(grep -c 'line break' message)" '2 1 1'
run --launcher=slurm --dry-run --workdir="w
touch pwned" whole.yaml
is 'a line break in --workdir is refused in one line' "$status $(wc -l <message) $(grep -c 'line break' message)" '2 1 1'
run --launcher=slurm --dry-run --set="write.preview=a
#SBATCH --x" whole.yaml
is 'a line break in an option is refused in one line' "$status $(wc -l <message) $(grep -c 'line break' message)" '2 1 1'
cp whole.yaml 'a "b".yaml'
bragg-run --launcher=slurm --dry-run --workdir='w d/100%x' 'a "b".yaml' >script
is 'blanks and quotes are quoted, signs doubled' "$(sed -n '2,3s/^#SBATCH //p' script | sed "s|$PWD|DIR|")" '--job-name="a \"b\".yaml"
--output="DIR/w d/100%%x/bragg-run.log"'
printf '#!/bin/sh\necho Submitted batch job 12\n' >bin/sbatch
chmod +x bin/sbatch
mkdir linked
echo precious >precious
ln -s ../precious linked/bragg-run.sbatch
PATH="$PWD/bin:$PATH" bragg-run --launcher=slurm --workdir=linked whole.yaml >said 2>&1
is 'a symbolic link instead of the script is not followed' "$? $(cat precious) $(head -n 1 linked/bragg-run.sbatch)" '0 precious #!/bin/sh'
ln -s ../precious linked/bragg-run.log
PATH="$PWD/bin:$PATH" bragg-run --launcher=slurm --workdir=linked whole.yaml >said 2>&1
is 'a symbolic link instead of the log is not followed' "$? $(grep -c 'bragg-run.log: not an ordinary file' said)" '1 1'

# --- the keeper
pipe 1000000 '{name: write, args: [x_%d.raw]}' >long.yaml
# begin FOLDER: a long run in the background, until it has files
begin() {
	bragg-run --quiet --workdir="$1" long.yaml 2>message &
	runner=$!
	soon test -e "$1/x_3.raw"
	keeper=$(pgrep -P $runner -x bragg-keeper)
}
begin k1
kill -STOP "$keeper"
kill -TERM $runner
status=0
wait $runner || status=$?
is 'a keeper that is stopped: the run ends' "$status $(ls run)" '1 '
begin k2
kill -9 $runner "$keeper"
wait $runner 2>/dev/null
is 'a keeper and a run that are killed leave a folder' "$(ls run | grep -c bragg-run-)" 1
begin k3
is 'the next run removes it, and keeps its own' "$(ls run | grep -c bragg-run-)" 1
run --workdir=k4 whole.yaml
is 'a run removes no folder of a run beside it' "$status $(ls run | grep -c bragg-run-)" '0 1'
kill -TERM $runner
wait $runner 2>/dev/null
is 'nothing is left' "$(ls run)" ''
finish
