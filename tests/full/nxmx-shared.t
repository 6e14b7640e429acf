#!/bin/sh
# bragg-write: several writers of one series of NXmx files, whose files they share.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'h5py' python:numpy python:h5py
scratch
mkdir run whole
export XDG_RUNTIME_DIR="$tap_scratch/run"
locks= # environment of writers
d=$tap_scratch/run

recipes() { bragg-geometry --quiet --detpixels=32 --pixel=3.2 --distance=120 --wavelength=1 --ncells=5 | bragg-orient --quiet --random "$@"; }
photons() { bragg-intensity --quiet --threads=1 "$@"; }
counts() { bragg-noise --quiet --seed=9 --threads=1 "$@"; }
write() { env $locks bragg-write --quiet --frames-per-file=4 --compression=gzip "$@"; }
same() { # NAME WHOLE MASTER
	check "$1" /usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_shared.py" same "$2" "$3" ${4-4}
}
# replayed MASTER OUTPUT...: a sum over what bragg-replay gives, written so
replayed() {
	master=$1
	shift
	rm -rf replayed
	mkdir replayed
	bragg-replay --quiet "$master" 2>&1 | bragg-write --quiet "$@" 2>&1
	cat replayed/[0-9]* | cksum
}
# writers N FOLDER OPTION...: so many at once; what they say is in `message`
writers() {
	n=$1 folder=$2
	shift 2
	mkdir -p "$folder"
	for i in $(seq "$n"); do
		write "$folder/s.nxs" --in="ipc://$d/n" "$@" 2>>message &
	done
	wait
}
frames() { # N OPTION...
	n=$1
	shift
	recipes --frames="$n" "$@" | photons | counts --out="@ipc://$d/n" &
}

recipes --frames=40 | photons | counts | write whole/s.nxs
same 'the series of one writer' whole/s.nxs whole/s.nxs
: >message
frames 40
writers 2 two
same 'two writers: the same images in the same order' whole/s.nxs two/s.nxs
content() { # NAME FOLDER
	check "$1: the content is that of one writer" same_series whole "$2"
}
content 'two writers' two
is 'images of two writers are replayed' "$(replayed two/s.nxs 'replayed/%02d.raw')" "$(replayed whole/s.nxs 'replayed/%02d.raw')"
is 'images of two writers are recomputed' "$(for i in 7 18 39; do bragg-replay --recompute two/s.nxs:$i 2>&1; done)" "$(for i in 7 18 39; do bragg-replay --recompute whole/s.nxs:$i 2>&1; done | sed 's/whole/two/g')"
# so slowly that who looks on sees it grow
recipes --frames=40 | photons | teststage pass --sleep=50 | counts --out="@ipc://$d/n" &
/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_shared.py" watch whole/s.nxs slow/s.nxs >watched 2>&1 &
writers 2 slow
is 'a reader during the write sees only complete frames' "$(cat watched)" ''
frames 40
writers 4 four
same 'four writers' whole/s.nxs four/s.nxs
content 'four writers' four
frames 40 --window=3
writers 2 small
same 'a window smaller than a file' whole/s.nxs small/s.nxs
content 'a window smaller than a file' small
frames 9
writers 3 more
frames 40
writers 1 more --resume
content 'three writers, resumed by one' more
same 'two writers after one write the same index' whole/s.nxs more/s.nxs
cp -r whole grown
sed -i '/^[1-3][0-9]\t/d' grown/s.nxs.index
frames 40
writers 2 grown --resume
same 'one writer, resumed by two' whole/s.nxs grown/s.nxs
content 'one writer, resumed by two' grown
mv message quiet
cp -r two lost
rm lost/s_data_000003.h5
frames 40
writers 1 lost --resume
same 'two writers, a file lost, resumed by one' whole/s.nxs lost/s.nxs
for how in lost torn; do
	cp -r whole "one-$how"
	[ $how = lost ] && rm one-lost/s_data_000003.h5 || truncate -s 2000 one-torn/s_data_000003.h5
	frames 40
	writers 2 "one-$how" --resume
	same "one writer, a file $how, resumed by two" whole/s.nxs "one-$how/s.nxs"
done
is 'no message says that others changed the index' "$(grep -c 'changed by another program' message)" 0
mv quiet message
frames 40
locks="LD_PRELOAD=$(command -v faults.so) FAULT_LOCKS=none"
writers 2 locks
locks=
content 'without locks on bytes' locks
same 'writers without locks write the same index' whole/s.nxs locks/s.nxs
grep -v 'this file system has no locks' message >others
mv others message
# Killed between a data file and the master: the file has frames that the master does not know.
cp -r whole torn
mkdir before
recipes --frames=38 | photons | counts | write before/s.nxs
cp before/s.nxs torn/
sed -i '/^3[89]\t/d' torn/s.nxs.index
frames 40
writers 2 torn --resume
same 'a master that is older than a file' whole/s.nxs torn/s.nxs
is 'only a process that came too late reports an error' "$(grep -v 'no stage is connected to the input of this program' message)" ''

# All that frames may bring along.
mkdir rich
rich() { recipes --frames=12 --hit-rate=0.7 | photons --reflections=2 --labels --derivatives=scale "$@"; }
rich | write rich/s.nxs
rich --out="@ipc://$d/n" &
writers 2 richer
same 'reflections, labels and derivatives' rich/s.nxs richer/s.nxs
is 'reflections, labels and derivatives are replayed' "$(replayed richer/s.nxs --reflections=replayed/0.tsv 'replayed/%02d.raw')" "$(replayed rich/s.nxs --reflections=replayed/0.tsv 'replayed/%02d.raw')"

# Frames of others are replaced by those of both writers.
recipes --frames=14 --seed=5 | photons | counts | write two/s.nxs --overwrite
recipes --frames=14 --seed=6 | photons | counts | (mkdir fresh && write fresh/s.nxs)
frames 14 --seed=6
writers 2 two --overwrite
/usr/bin/python3 - <<'P' >said 2>&1
import h5py
a, b = (h5py.File(name)["entry"] for name in ("fresh/s.nxs", "two/s.nxs"))
assert (a["braggpipe/frames"]["number"] == b["braggpipe/frames"]["number"]).all(), b["braggpipe/frames"]["number"]
assert (a["data/data"][()] == b["data/data"][()]).all()
P
is '--overwrite with two writers: all frames are there' "$(cat said)" ''
is '--overwrite with two writers: the index has all frames' "$(grep -c '^[0-9]' two/s.nxs.index)" 14
frames 14 --seed=6
writers 2 two --overwrite
check 'frames of the same lineage are written again' sh -c 'test "$(grep -c "^[0-9]" two/s.nxs.index)" = 14 && nxmx --master two/s.nxs | grep -c "^[0-9]" | grep -qx 14'

# What is acknowledged stays when one of two is killed, also when frames of others are replaced.
for how in new --overwrite; do
	mkdir "bereft$how"
	[ $how = new ] || recipes --frames=40 --seed=5 | photons | counts | write "bereft$how/s.nxs"
	rm -f write1.pid
	recipes --frames=40 --dead-after=1 | photons | counts --out="@ipc://$d/b" 2>>bereaved &
	for i in 1 2; do
		sh -c 'echo $$ >"write$1.pid"; shift; exec bragg-write --quiet --frames-per-file=4 --compression=gzip "$@"' sh $i \
			"bereft$how/s.nxs" --in="ipc://$d/b" $([ $how = new ] || echo "$how") 2>>bereaved &
	done
	soon grep -qs "^[0-9]" "bereft$how/s.nxs.index"
	soon test -s write1.pid
	kill -9 "$(cat write1.pid)"
	wait
	[ $how = new ] || rm -f $(/usr/bin/python3 -c 'import h5py, glob
named = set(h5py.File("bereft--overwrite/s.nxs")["entry/braggpipe/frames"]["file"])
print(*(n for n in glob.glob("bereft--overwrite/s_data_*.h5") if int(n[-9:-3]) not in named))')
	same "one of two writers is killed ($how)" whole/s.nxs "bereft$how/s.nxs"
	is "nothing else is left ($how)" "$(ls -A "bereft$how" | grep -c part)" 0
done

# A full disk: whoever finds it says so, and what is in the index can be read and resumed.  By chance
# the writer without room may get no frame.
is_said() { grep -q '^bragg-write: full/s_data_00000[0-9].h5.part: cannot write: File too large' full.said; }
for _ in 1 2 3 4 5 6; do
	rm -rf full
	mkdir full
	frames 40
	(
		trap '' XFSZ
		ulimit -f 12
		exec bragg-write --quiet --frames-per-file=8 --compression=none full/s.nxs --in="ipc://$d/n" 2>full.said
	) &
	bragg-write --quiet --frames-per-file=4 --compression=none full/s.nxs --in="ipc://$d/n" 2>full.other
	wait
	! is_said || break
done
check 'disk full: a message says so' is_said
frames 40
bragg-write --quiet --frames-per-file=4 --compression=none full/s.nxs --in="ipc://$d/n" --resume
same 'resumed then' whole/s.nxs full/s.nxs 8
finish
