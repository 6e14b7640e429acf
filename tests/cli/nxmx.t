#!/bin/sh
# bragg-write: series of NXmx files, in order, disturbed and resumed.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"

# counts OPTION...: small images on a pipe; the options of bragg-orient.
geometry() {
	bragg-geometry --detpixels=32 --pixel=3.2 --distance=120 --wavelength=1.0 --ncells=5 "$@" 2>>upstream
}
counts() {
	geometry | bragg-orient --random "$@" 2>>upstream | bragg-intensity --threads=1 2>>upstream |
		bragg-noise --seed=9 --adc-offset=0 2>>upstream
}
files() {
	(cd "$1" && ls -A | tr '\n' ' ')
}
# images FOLDER: numbers and sums of all images of a series
images() {
	for file in "$1"/s_data_*.h5; do nxmx "$file" || echo "failed"; done
}
# complete NAME FOLDER: the folder holds the files of `whole`, with the same content
complete() {
	check "$1" same_series whole "$2"
	check "$1, and in the index" sh -c 'sort "$1/s.nxs.index" >"$1.sorted" && diff whole.sorted "$1.sorted"' sh "$2"
}

mkdir whole
counts --frames=22 | bragg-write whole/s.nxs --frames-per-file=4 2>message
is 'a master, six data files and an index' "$(files whole)" \
	's.nxs s.nxs.index s_data_000001.h5 s_data_000002.h5 s_data_000003.h5 s_data_000004.h5 s_data_000005.h5 s_data_000006.h5 '
sort whole/s.nxs.index >whole.sorted
is 'nothing is said' "$(cat message)" ''
is 'each image is what the index says, in order' "$(images whole)" "$(grep '^[0-9]' whole/s.nxs.index | sort -n | cut -f1,2)"
is 'the last file holds what is left' "$(nxmx whole/s_data_000006.h5 | cut -f1 | tr '\n' ' ')" '20 21 '
is 'the master lists all frames and files' "$(nxmx --master whole/s.nxs | tr '\t\n' '- ')" \
	"$(for i in $(seq 0 21); do printf '%d-%d ' "$i" $((i / 4 + 1)); done; for i in 1 2 3 4 5 6; do printf 's_data_00000%d.h5 ' $i; done)"

mkdir raw
counts --frames=3 | bragg-write raw/a_master.h5 'raw/a_%d.raw' --preview='raw/a_%d.png' 2>message
is 'next to other files; _master is not part of the name' "$(files raw)" \
	'a_0.png a_0.raw a_1.png a_1.raw a_2.png a_2.raw a_data_000001.h5 a_master.h5 a_master.h5.index '
is 'the index names both' "$(sed -n 's/^1\t[0-9a-f]*\t[0-9]*\thit\t//p' raw/a_master.h5.index | tr '\t' ' ')" 'a_data_000001.h5 a_1.raw a_1.png'

mkdir workers small
d="$tap_scratch/run"
geometry | bragg-orient --random --frames=22 --out="@ipc://$d/o" 2>>upstream &
for i in 1 2 3; do
	bragg-intensity --threads=1 --in="ipc://$d/o" --out="ipc://$d/i" 2>>upstream &
done
bragg-noise --seed=9 --adc-offset=0 --in="@ipc://$d/i" 2>>upstream | bragg-write workers/s.nxs --frames-per-file=4 2>>message
wait
complete 'three workers, frames in any order: the same content' workers
counts --frames=22 --window=2 | bragg-write small/s.nxs --frames-per-file=4 2>>message
complete 'a window smaller than a file: the same content' small

# The masks are compressed for the first file.  The others get a copy of the compressed bytes.
mkdir all each
masked() { # FOLDER OPTION...
	masked_folder=$1
	shift
	geometry --roi=4,20,0,31 | bragg-orient --random --frames=3 "$@" 2>>upstream |
		bragg-intensity --threads=1 2>>upstream |
		bragg-noise --seed=9 --adc-offset=0 2>>upstream |
		bragg-write "$masked_folder/s.cxi" --frames-per-file=1 --resume 2>>message
}
masked all
for i in 0 1 2; do masked each --only=$i; done
is 'masks: all files' "$(files all)" 's.cxi s.cxi.index s_data_000001.cxi s_data_000002.cxi s_data_000003.cxi '
for i in 1 2 3; do
	check "masks: data file $i has the same bytes, whatever the process wrote before" cmp all/s_data_00000$i.cxi each/s_data_00000$i.cxi
done

# Killed while it writes, and interrupted: what is there is complete, and the rest is added.
mkdir killed stopped
# disturb FOLDER SIGNAL PROGRAM: sends it once two files are there
disturb() {
	counts --frames=22 --window=5 |
		sh -c 'echo $$ >write.pid; exec bragg-write "$0/s.nxs" --frames-per-file=4 2>>message' "$1" &
	for try in $(seq 1000); do
		[ ! -e "$1/s_data_000002.h5" ] || break
		sleep 0.01
	done
	kill "-$2" "$(cat write.pid)"
	wait
}
for name in killed stopped; do
	disturb $name $([ $name = killed ] && echo KILL || echo TERM)
	check "$name: the data files can be read" sh -c 'for file; do nxmx "$file" || exit 1; done' sh $name/s_data_*.h5
	check "$name: the master can, too" nxmx --master $name/s.nxs
	counts --frames=22 | bragg-write $name/s.nxs --frames-per-file=4 --resume 2>>message
	complete "$name and resumed: the same bytes" $name
done

cp -r whole again
counts --frames=9 | bragg-write again/s.nxs --frames-per-file=4 2>>message
complete 'some frames again: they are there' again
counts --frames=9 --seed=5 | bragg-write again/s.nxs --frames-per-file=4 2>message
check 'the message for another lineage names the cause' grep -q 'made with other options' message
complete 'a refused lineage leaves all files as they were' again
counts --frames=9 --seed=5 | bragg-write again/s.nxs --frames-per-file=4 --overwrite
is '--overwrite replaces it' "$(nxmx --master again/s.nxs | cut -f1 | tr '\n' ' ')" \
	'0 1 2 3 4 5 6 7 8 s_data_000001.h5 s_data_000002.h5 s_data_000003.h5 '
rm again/s.nxs.index
status=0
counts --frames=9 --seed=6 | bragg-write again/s.nxs --frames-per-file=4 2>message || status=$?
is 'files of another run without an index: status' $status 1
check 'files of another run without an index' grep -q 's_data_000001.h5 exists and was not written by this run' message

mkdir once
bragg-geometry --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1.0 --ncells=5 2>>upstream |
	bragg-orient --random --frames=3 2>>upstream | bragg-intensity --threads=1 2>>upstream |
	bragg-noise --adc-offset=0 2>>upstream | bragg-write once/s.nxs --compression=none 2>message
bytes=$(wc -c <once/s_data_000001.h5)
check "3 images of 512 kB are once in their file ($bytes bytes)" test "$bytes" -gt 1572864 -a "$bytes" -lt 1900000

# refused NAME STATUS PATTERN ARGUMENT...
mkdir bad
refused() {
	refused_name=$1 want=$2 pattern=$3 status=0
	shift 3
	: | bragg-write "$@" 2>message || status=$?
	is "$refused_name: status" "$status" "$want"
	check "$refused_name: message" grep -q "^bragg-write: .*$pattern" message
}
refused 'a number in the name' 2 'NXmx stores all frames in one series' 'bad/s_%d.nxs'
refused 'two series' 2 'second NXmx series' bad/a.nxs bad/b.nxs
refused 'no frames in a file' 2 'frames-per-file' bad/a.nxs --frames-per-file=0
refused 'an unknown compression' 2 'compression' bad/a.nxs --compression=zip
refused 'a missing folder' 1 'cannot write into this folder' nowhere/a.nxs
is 'nothing is left' "$(files bad)" ''
status=0
limited() {
	trap '' XFSZ
	ulimit -f 16
	exec bragg-write bad/s.nxs --frames-per-file=4 --compression=none 2>message
}
counts --frames=4 | (limited) || status=$?
is 'disk full: status' $status 1
check 'disk full: message' grep -q '^bragg-write: bad/s_data_000001.h5.part: cannot write: File too large' message
is 'disk full: one line' "$(wc -l <message)" 1
is 'disk full: what was kept is left' "$(files bad)" 's_data_000001.h5.part '
finish
