#!/bin/sh
# Whose files: two runs in one folder, an index that somebody removes, files of the user in the
# way, and where bragg-run looks for what it reads and puts what it writes.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"

photons() { # FRAMES SEED
	bragg-geometry --detpixels=32 --pixel=3.2 --ncells=5 2>>upstream | bragg-orient --frames="$1" --random --seed="$2" 2>>upstream |
		bragg-intensity --threads=1 2>>upstream
}
counts() { # FRAMES SEED
	photons "$1" "$2" | bragg-noise --seed=9 --threads=1 2>>upstream
}
# write STREAM FRAMES SEED ARGUMENT...: prints the status and what bragg-write alone says
write() {
	stream=$1 frames=$2 seed=$3 status=0
	shift 3
	$stream "$frames" "$seed" | bragg-write --quiet "$@" 2>message || status=$?
	echo "$status $(cat message)"
}
foreign='exists and was not written by this run. Use --overwrite to replace it, or another name'

# --- two runs in one folder
cat >h.yaml <<'END'
stages:
  - {name: geometry, args: [--detpixels=32, --pixel=3.2, --ncells=5]}
  - {name: orient, args: [--frames=12, --random, --dead-after=60, --hang=60]}
  - {name: intensity, threads: 1}
  - {name: noise, threads: 1, args: [--seed=9]}
  - {name: slow, program: teststage, args: [pass, --sleep=40]}
  - {name: write, args: [h_%02d.img]}
END
grown() { # FOLDER
	[ "$(cat "$1/h.img.index" 2>/dev/null | grep -c '^[0-9]')" -ge 3 ]
}
# begin FOLDER OPTION...: a run that waits when it has written some frames; on a busy machine it may
# have come to its end before it was stopped, then another one
begin() {
	for _ in 1 2 3 4 5; do
		bragg-run --workdir="$@" h.yaml 2>first &
		first=$!
		soon grown "$1"
		slow=$(pgrep -f 'teststage pass --sleep=40' | head -n 1)
		kill -STOP "$slow" && [ "$(grep -c '^[0-9]' "$1/h.img.index")" -lt 11 ] && return
		kill -CONT "$slow"
		wait $first
		rm -r "$1"
	done
}
# go_on FOLDER: the run to its end; `result` is status, what it says and how many frames are in the index
go_on() {
	kill -CONT "$slow"
	status=0
	wait $first || status=$?
	result="$status $(sed -n 's/; [0-9]* missing frames/; N missing frames/; s/ ([^)]*)//; s/^write| //p' first) $(grep -c '^[0-9]' "$1/h.img.index")"
}
# second FOLDER OPTION...: status and message of another run meanwhile
second() {
	second_status=0
	second_folder=$1
	shift
	bragg-run --quiet --frames=3 --workdir="$second_folder" --set=slow.sleep=1 "$@" h.yaml 2>said || second_status=$?
	echo "$second_status $(sed -n 's/process [0-9]*/process N/; s/^write| //p' said)"
}
bragg-run --quiet --workdir=plain h.yaml
# whole FOLDER: it holds what a run alone makes
whole() {
	diff -r -x '*.index' plain "$1" && [ "$(sort "$1/h.img.index")" = "$(sort plain/h.img.index)" ]
}
refused='1 bragg-write: h.img.index: process N of another run is writing these frames. Wait for it to end, or write to another folder'
begin wa
is 'another lineage in the folder of a run is refused' "$(second wa --set=orient.seed=77)" "$refused"
other=/proc/$(sed -n 's/.*process \([0-9]*\) of.*/\1/p' said)
is 'the message names the other process' "$(cat "$other/comm") in $(readlink "$other/cwd")" "bragg-write in $PWD/wa"
is 'another lineage is refused with --overwrite' "$(second wa --set=orient.seed=77 --set=write.overwrite)" "$refused"
is 'a second run with the same lineage is refused' "$(second wa)" "$refused"
rm wa/h.img.index
is 'another lineage is refused if the index is missing' "$(second wa --set=orient.seed=77)" "1 bragg-write: h_00.img $foreign"
again='0 bragg-write: warning: h.img.index was changed by another program during the run; N missing frames are listed again 12'
go_on wa
is 'the first run writes it again' "$result" "$again"
check 'the first run makes all of its files' whole wa

# changed NAME COMMAND: in the folder of a run, when it has written some frames
changed() {
	rm -rf wb
	begin wb
	(cd wb && eval "$2")
	go_on wb
	is "$1" "${result% *}" "${3% *}"
}
changed 'an index cut in a line is written again' 'truncate -s -9 h.img.index' "$again"
check 'the index that was cut in a line has all frames again' whole wb
changed 'an index cut to nothing is written again' ': >h.img.index' "$again"
check 'the index that was cut to nothing has all frames again' whole wb
changed 'an index put back to an older state is written again' 'head -n -2 h.img.index >x && mv x h.img.index' "$again"
check 'the index that was put back has all frames again' whole wb
changed 'an index overwritten without getting shorter is written again' 'cp h.img.index x; { grep "^[b#]" x; for i in 1 2 3 4 5 6; do tail -n 1 x; done; } >y; cat y >h.img.index; rm x y' \
	"$(echo "$again" | sed 's/12$/NN/')"
check 'the index that was overwritten has all frames in the end' test "$(grep '^[0-9]' wb/h.img.index | sort -u)" = "$(grep '^[0-9]' plain/h.img.index | sort)"
rm -rf wb
begin wb
sed '1s/.$/x/' wb/h.img.index >x && mv x wb/h.img.index
go_on wb
is 'an index of another lineage is refused' "${result% *}" \
	'1 bragg-write: h.img.index lists frames that were made with other options. Use --overwrite to replace them, or another name'

# --- several writers of one run, and a file system without locks
for folder in both other; do
	[ $folder = both ] || bragg-run --quiet --frames=5 --workdir=$folder --set=orient.seed=3 --set=slow.sleep=0 h.yaml
	bragg-run --quiet --count=write=2 --workdir=$folder --set=slow.sleep=5 $([ $folder = both ] || echo --set=write.overwrite) h.yaml
	is "two writers of one run, $folder" "$?" 0
	check "two writers of one run, $folder: all is there" whole $folder
done
counts 2 1 | LD_PRELOAD=$(command -v faults.so) FAULT_LOCKS=none bragg-write 'l_%d.img' 2>message
is 'without locks: is said once, and all is written' "$? $(cat message) $(ls l_*.img l.img.index | wc -l)" \
	'0 bragg-write: warning: l.img.index: this file system has no locks. Make sure that no two runs write the same frames 3'

# --- what --resume takes for a frame that is there: not another file of the same size
faithful() { # FRAMES SEED
	bragg-geometry --physics=faithful --detpixels=32 --pixel=3.2 --ncells=5 2>>upstream |
		bragg-orient --frames="$1" --osc=1 --phi0="$2" 2>>upstream | bragg-intensity --threads=1 2>>upstream |
		bragg-noise --threads=1 2>>upstream
}
mkdir was
for seed in 1 2; do
	counts 3 $seed | bragg-write "was/${seed}_%d.img" "was/${seed}_%d.raw"
	photons 3 $seed | bragg-write "was/p${seed}_%d.raw"
	counts 4 $seed | bragg-write was/$seed.nxs --frames-per-file=2
	faithful 3 $seed | bragg-write "was/f${seed}_%d.img"
done
photons 3 1 | bragg-write 'was/s1_%d.img' --scale=3
photons 3 1 | bragg-write 'was/s2_%d.img' --scale=4
computed() {
	tail -n 1 stats | sed 's/.*"frames":\([0-9]*\),.*/\1/'
}
# mended NAME FROM TO STREAM ARGUMENT...: FROM in the place of TO is noticed and made again
mended() {
	mended_name=$1 from=was/$2 to=was/$3 stream=$4
	shift 4
	is "$mended_name: the corrupt file has the same size" "$(wc -c <"$from")" "$(wc -c <"$to")"
	mv "$to" kept && cp "$from" "$to"
	is "$mended_name: the file is made again" "$(write "$stream" 3 1 --resume --stats=stats "$@") $(computed)" '0  1'
	check "$mended_name: the new file has the bytes of the old one" cmp "$to" kept
}
mended 'SMV of another lineage' 2_1.img 1_1.img counts 'was/1_%d.img' 'was/1_%d.raw'
mended 'SMV of another frame' 1_2.img 1_1.img counts 'was/1_%d.img' 'was/1_%d.raw'
mended 'SMV of another scale' s2_1.img s1_1.img photons 'was/s1_%d.img' --scale=3
mended 'raw counts of another lineage' 2_1.raw 1_1.raw counts 'was/1_%d.img' 'was/1_%d.raw'
mended 'raw photons of another frame' p1_0.raw p1_1.raw photons 'was/p1_%d.raw'
mended "nanoBragg's SMV of another lineage" f2_1.img f1_1.img faithful 'was/f1_%d.img'
cp was/1_data_000001.h5 kept
cp was/2_data_000001.h5 was/1_data_000001.h5
is 'a file of a series, of another lineage: is made again' \
	"$(write counts 4 1 --resume --stats=stats was/1.nxs --frames-per-file=2) $(computed)" '0  2'
check 'a file of a series: as it was' cmp kept was/1_data_000001.h5
is 'nothing is lacking then' "$(write counts 4 1 --resume --stats=stats was/1.nxs --frames-per-file=2) $(computed)" '0  0'

# --- files of the user in the way of frames
# guarded NAME FILE STREAM ARGUMENT...: the file stays, and nothing else is written
guarded() {
	guarded_name=$1 file=$2 stream=$3
	shift 3
	rm -rf us && mkdir us
	echo user >"us/$file"
	is "$guarded_name" "$(write "$stream" 3 1 "$@")" "1 bragg-write: us/$file $foreign"
	is "$guarded_name: the file stays, and no other appears" "$(ls -A us) $(cat "us/$file")" "$file user"
	is "$guarded_name: --overwrite" "$(write "$stream" 3 1 --overwrite "$@") $(grep -ac '^user$' "us/$file")" '0  0'
}
guarded 'an image' x_2.img counts 'us/x_%d.img'
guarded 'a picture' x_001.png photons 'us/x_%d.raw' --preview='us/x_%03d.png'
guarded 'raw pixels' 0.raw photons 'us/%d.raw'
guarded 'the master of a series' x.nxs counts us/x.nxs
guarded 'images of a series' x_data_000002.h5 counts us/x_master.h5 --frames-per-file=2
rm -r us && mkdir us
ln -s ../kept us/x_1.img
is 'a link' "$(write counts 3 1 'us/x_%d.img')" "1 bragg-write: us/x_1.img $foreign"
rm us/* && echo user >us/x_3.img && echo user >us/x_01.img && : >us/x_0.img
is 'other names and an empty file are no obstacle' "$(write counts 3 1 'us/x_%d.img') $(ls us | wc -l) $(cat us/x_3.img us/x_01.img)" '0  6 user
user'
rm us/x.img.index us/x_3.img us/x_01.img
is 'frames without their index are guarded, too' "$(write counts 3 2 'us/x_%d.img')" "1 bragg-write: us/x_0.img $foreign"
is 'nothing is left of that' "$(ls us | tr '\n' ' ')" 'x_0.img x_1.img x_2.img '
status=0
bragg-geometry --detpixels=32 | bragg-orient --only=5 | bragg-intensity | bragg-write 'us/x_%d.img' --scale=1 || status=$?
is 'files of another frame number are no obstacle' "$status" 0
rm us/*
sed -i '/noise/d; s/h_%02d.img/h_%02d.raw, --index=h.img.index/' h.yaml
begin us
echo user >us/h_11.raw
go_on us
is 'one that comes while frames are written stays, too' "$result $(cat us/h_11.raw)" "1 bragg-write: h_11.raw $foreign 11 user"
rm us/h_11.raw
sed -i '$d' us/h.img.index
check 'a frame that is not in the index may be there' bragg-run --quiet --workdir=us --set=slow.sleep=0 h.yaml
is 'the index lists the missing frame again' "$(grep -c '^[0-9]' us/h.img.index) $(ls us | wc -l)" '12 13'

# --- an index that would be in the way of a frame
mkdir -p ix/folder
ln -s folder ix/link
ln -s folder/x_7.raw ix/index
touch ix/folder/x_7.raw
# clash INDEX TEMPLATE ARGUMENT...
clash() {
	clash_index=$1
	shift
	is "--index=$(basename "$clash_index") for $1" "$(bragg-write "$@" --index="$clash_index" 2>&1 </dev/null | sed "s/ that '.*' makes/ that T makes/")" \
		"bragg-write: --index=$clash_index is also a name that T makes; give the index another name"
}
cd ix || exit 1
clash x_0.raw 'x_%d.raw'
clash ./x_0.raw 'x_%d.raw'
clash "$PWD/x_0000.png" 'x_%d.raw' --preview=x_%04d.png
clash link/x_1.raw 'folder/x_%d.raw'
clash index 'folder/x_%d.raw'
clash s.nxs ./s.nxs
clash s_data_000001.h5 s.nxs
clash one.img one.img
cd ..
is 'nothing is written' "$(find ix -type f)" ix/folder/x_7.raw
is 'a name that no frame has' "$(write photons 2 1 'ix/x_%d.raw' --index=ix/x_00.raw)" '0 '

# --- other files
stills() { # OPTION...
	bragg-geometry --detpixels=32 | bragg-orient --random --truth=truth.tsv "$@" 2>message | bragg-tap --count >count 2>&1
	cat message
	wc -l <truth.tsv
}
echo user >truth.tsv
is '--truth' "$(stills)" "bragg-orient: truth.tsv $foreign
1"
is '--truth --overwrite' "$(stills --overwrite)" 2
is '--truth: the same again' "$(stills)" 2
is '--truth: a run with more frames extends the table' "$(stills --frames=4)" 5
is '--truth: the table of another run is refused' "$(stills --frames=3 --seed=9)" "bragg-orient: truth.tsv $foreign
5"
is '--truth: a run with fewer frames is refused' "$(stills --frames=3)" "bragg-orient: --truth=truth.tsv: the file lists more frames than this run has (--frames=3). Give as many --frames as before, --overwrite to shorten the file, or another name
5"

# --- braggpipe columns: units of these tables, and of tables of reflections
printf 'first hit_rate label\n0 1 jet\n' >jet
stills --overwrite --coffset=1 --beam-jitter=10 --facility=lcls --pump=1:1 --runs=jet >others
is 'each column of --truth has a meaning, and its place' "$(braggpipe columns truth.tsv | awk '/^ *[0-9]/ { print $2 }' | paste -s)" "$(head -n 1 truth.tsv)"
is 'all columns of --truth are known' "$(braggpipe columns truth.tsv | grep -c 'not known')" 0
is 'each column of --truth has unit and axes' "$(braggpipe columns truth.tsv | tr -s ' ' | grep -e ' as_x' -e ' astar_y' -e urad)" \
	" 18 as_x 1/A a* in laboratory axes, spindle at 0: x
 28 astar_y 1/A a* in beam axes, mid-frame: y
 42 beam_x_urad urad beam direction, from beam z towards x
 43 beam_y_urad urad beam direction, from beam z towards y"
{
	printf '# of a user\n'
	echo 'frame lattice h k l panel fast slow photons peak pixels phi s F2 background mine' | tr ' ' '\t'
} >run.tsv
is 'a table of reflections: a column of a user is not guessed' "$(braggpipe columns run.tsv | tr -s ' ' | sed -n '13,$p')" \
	" 13 s 1/A distance from the nearest Ewald sphere; inside: > 0
 14 F2 electrons^2 squared structure factor
 15 background photons of other origin, in these brightest pixels
 16 mine ? not known"
head -n 1 truth.tsv | tr '\t' '\n' >names
is 'braggpipe columns without a file names all columns' "$(braggpipe columns | awk '/^  / { print $1 }' | grep -vx -c -f names)" 38
printf 'frame\tverdict\n0\tgood\n' >fits.tsv
is 'a table of another kind is refused' "$(braggpipe columns fits.tsv 2>&1; echo $?)" "braggpipe: fits.tsv: not a ground-truth table; expected a table of bragg-orient --truth, bragg-serve --sent or bragg-write --reflections=FILE.tsv
3"
is 'two files' "$(braggpipe columns truth.tsv run.tsv 2>&1; echo $?)" "braggpipe: unexpected argument 'run.tsv'; expected braggpipe columns [FILE]
2"
is 'no file' "$(braggpipe columns none.tsv 2>&1; echo $?)" 'braggpipe: none.tsv: cannot open: No such file or directory
3'
geom() { # OPTION...
	bragg-geometry --detpixels=32 --write-geom=a.geom "$@" 2>message | bragg-tap --count >count 2>&1
	cat message
	head -n 1 a.geom
}
echo user >a.geom
is '--write-geom' "$(geom)" "bragg-geometry: a.geom $foreign
user"
is '--write-geom --overwrite' "$(geom --overwrite)" 'photon_energy = 12398.42'
is '--write-geom: the same again' "$(geom)" 'photon_energy = 12398.42'
is '--write-geom: another one' "$(geom --energy=9300)" "bragg-geometry: a.geom $foreign
photon_energy = 12398.42"
echo user >cell
is 'bragg-serve --cell' "$(photons 1 1 | bragg-serve --protocol=crystfel --bind="ipc://$tap_scratch/run/s" --cell=cell 2>&1 >announced; cat cell)" \
	"bragg-serve: cell $foreign
user"
is 'no client is called before the files exist' "$(cat announced)" ''
echo user >trace
is '--trace' "$(bragg-geometry --detpixels=32 --trace=trace 2>&1; cat trace)" 'bragg-geometry: trace exists and is not a trace. Remove it first, or give another name
user'
is '--trace of bragg-run' "$(bragg-run --trace=trace h.yaml 2>&1; cat trace)" 'bragg-run: trace exists and is not a trace. Remove it first, or give another name
user'

# What is in the way of --stats and --trace is as it was, and nothing waits.
mkdir ways ways/folder
event='[{"name":"x"}]'
prepare() {
	(cd ways && rm -f file link loose old pipe && echo user >file && echo "$event" >trace &&
		ln -s file link && ln -s nothing loose && ln -s trace old && mkfifo pipe) 2>/dev/null
}
state() { (cd ways && rm -f said && cat file trace && find . ! -name . -printf '%y %f %l\n' | sort); }
isno='exists and is not a'
alink='is a symbolic link; expected the name of a file. Remove the link, or give the name of the file itself'
prepare
before=$(state)
# kept PROGRAM COMMAND...: with each of them
kept() {
	kept_who=$1 kept_option=$2 kept_what=$3
	shift 3
	for kept_way in "file= $isno $kept_what. Remove it first, or give another name" "link=: $alink" "loose=: $alink" "old=: $alink" 'folder= is a folder; expected a file'; do
		prepare
		kept_status=0
		timeout 20 "$@" "$kept_option=ways/${kept_way%%=*}" >out 2>said </dev/null || kept_status=$?
		is "${kept_who#bragg-}: $kept_option: ${kept_way%%=*}" "$kept_status $(head -n 1 said) $(state)" \
			"1 $kept_who: ways/${kept_way%%=*}${kept_way#*=} $before"
	done
}
kept bragg-geometry --trace trace bragg-geometry --detpixels=8
kept bragg-geometry --stats 'file of --stats' bragg-geometry --detpixels=8
kept bragg-run --trace trace bragg-run h.yaml
printf '#!/bin/sh\nexec bragg-run --workdir=w3 --quiet h.yaml "$@"\n' >runs && chmod +x runs
prepare
timeout 20 ./runs --trace=ways/pipe >said 2>&1
is 'bragg-run: a pipe that nobody reads' "$? $(cat said) $(state)" "1 bragg-run: ways/pipe: no process reads this pipe $before"
timeout 20 ./runs --trace=/proc/self/fd/1 >out 2>said # as /dev/stdout, which a fault would replace
is 'a redirected stdout is written' "$? $(cat said) $(head -c 9 out)" '0  [{"name":'
# a disk that is full in the middle: no half file, and what was there
full() { # OPTION OTHER
	rm -f happened
	bragg-geometry --detpixels=8 2>>upstream | LD_PRELOAD=$(command -v faults.so) FAULT='write 1 short' FAULT_ONCE=happened \
		bragg-orient --trace="$1" 2>message | bragg-tap --count >/dev/null 2>&1
	ls happened
	cat message
}
echo "$event" >old
is 'a full disk: the trace that was there stays' "$(full old) $(cat old) $(ls old.* 2>/dev/null)" \
	"happened
bragg-orient: old: cannot write: No space left on device $event "
is 'a new one does not appear' "$(full new) $(ls new* 2>/dev/null)" \
	'happened
bragg-orient: new: cannot write: No space left on device '
# a limit of the file's size stands for the disk
line='{"stage":"x","more":"'$(printf '%0480d' 0)'"}'
echo "$line" >lines
bragg-geometry --detpixels=8 2>>upstream | (trap '' XFSZ && ulimit -f 1 && exec bragg-orient --stats=lines 2>message) |
	bragg-tap --count >/dev/null 2>&1
is 'no half line of statistics' "$(cat message lines)" "bragg-orient: lines: cannot write: File too large
$line"

# --- bragg-run --workdir: inputs from where the user stands, all outputs there
mkdir home && cd home || exit 1
printf '0 0 1 100\n1 0 0 200\n1 1 1 300\n2 1 0 90\n' >a.hkl
sed 's/00$/50/' a.hkl >b.hkl
printf '1 0 0 0 1 0 0 0 1\n0 1 0 -1 0 0 0 0 1\n' >turns
printf '0 10\n0.5 5\n' >other.stol
cat >in.yaml <<'END'
stages:
  - name: geometry
    args: [--detpixels=32, --pixel=3.2, '--cell=50,60,70,90,90,90', --hkl=a.hkl, '--crystal=name=one ncells=5',
           '--crystal=name=two ncells=4 hkl=b.hkl', --write-geom=out.geom]
  - {name: orient, args: [--orientations=turns, --lattices=2, --frames=1, --truth=truth.tsv]}
  - {name: intensity, threads: 1, count: 2}
  - {name: background, args: [--stol=other.stol, --thickness=10, --molecular-weight=18]}
  - {name: noise, threads: 1}
  - {name: write, args: [w_%d.img]}
  - {name: tap, input: noise, args: [--record=w.rec]}
END
ls >before
outputs='out.geom truth.tsv w.img.index w.rec w_0.img '
check_status 'a pipeline with inputs runs in another folder' 0 bragg-run --workdir=wd/deep in.yaml
is 'where all of its outputs are' "$(ls wd/deep | tr '\n' ' ')" "$outputs"
is 'no output is outside the work folder' "$(ls | grep -vx wd)" "$(cat before)"
is 'a frame tells what was given, and is computed again' "$(bragg-replay --recompute wd/deep/w_0.img 2>&1)" 'wd/deep/w_0.img: the same bytes'
bragg-run --dry-run --workdir=wd/dry in.yaml >commands
check 'the commands of --dry-run do the same' sh -e ./commands
check 'into files that are the same' sh -c 'for f in out.geom truth.tsv w_0.img; do cmp wd/deep/$f wd/dry/$f || exit 1; done'
bragg-run --quiet in.yaml
is 'outputs are written here without --workdir' "$(ls | grep -vx -f before -e commands -e wd | tr '\n' ' ')" "$outputs"
check 'the outputs are the same with and without a work folder' sh -c 'for f in out.geom truth.tsv w_0.img; do cmp wd/deep/$f $f || exit 1; done'
check_status 'inputs may have absolute names' 0 bragg-run --workdir=wd/full --set=orient.orientations="$PWD/turns" in.yaml
sed 's/w.rec/photons.rec/; /- {name: noise/d; /- {name: write/d; s/input: noise, //' in.yaml >record.yaml
bragg-run --quiet --workdir=wd/record record.yaml
mv wd/record/photons.rec .
check_status 'a recording as the input' 0 bragg-run --workdir=wd/played "$BRAGG_TESTS/../pipelines/renoise.yaml"
is 'a missing input: where it was looked for' "$(bragg-run --quiet --workdir=wd/none --set=geometry.hkl=none.hkl in.yaml 2>&1 | sed -n 's/^geometry| //p')" \
	"bragg-geometry: $PWD/none.hkl: cannot open: No such file or directory"
cd ..

# --- make demo, made small
mkdir -p copy/scripts copy/demo
sed 's/--detpixels=1024 --pixel=0.1/--detpixels=32 --pixel=3.2/' "$BRAGG_TESTS/../scripts/demo" >copy/scripts/demo
echo user >copy/demo/notes
check 'the demo leaves alone what is there' sh copy/scripts/demo 2
check 'the demo runs again' sh copy/scripts/demo 3
is 'the demo ends with the path of a picture' "$(echo "$tap_output" | tail -n 1)" "$PWD/copy/demo/lyso_0000.png"
mkdir -p typed/demo
echo "$tap_output" | sed -n '/^bragg-geometry .*|$/,/^$/p' >typed/pipeline
(cd typed && sh ./pipeline 2>&1)
check 'the picture of the demo exists' test -s copy/demo/lyso_0000.png
is 'the pipeline that it says can be typed' "$(cd typed && cat demo/lyso_000?.img | sha256sum)" \
	"$(cat copy/demo/lyso_000?.img | sha256sum)"
is 'make demo says what it builds' "$(make -n -C "$BRAGG_TESTS/.." BUILD="$tap_scratch/none" demo 2>/dev/null | grep '^Building' |
	sed 's/[0-9][0-9]*/N/')" "Building N programs into $tap_scratch/none/bin, the first time for some minutes ..."
is 'the demo keeps the files of the user and writes its own' "$(cat copy/demo/notes) $(ls copy/demo/*.img copy/demo/*.png | wc -l)" 'user 6'
rm copy/demo/lyso.img.index
echo user >copy/demo/lyso_0001.png
check_status 'a file in its way' 1 sh copy/scripts/demo 2
is 'a file of the user is named and stays' "$(echo "$tap_output" | grep '^demo:\|bragg-write: demo/lyso_000') $(cat copy/demo/lyso_0001.png)" \
	"bragg-write: demo/lyso_0000.img $foreign
demo: move what is in $PWD/copy/demo away first user"
finish
