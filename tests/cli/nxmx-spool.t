#!/bin/sh
# bragg-write: frames of NXmx are kept in spools: killed, cut, of others, removed, and resumed.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run whole
export XDG_RUNTIME_DIR="$tap_scratch/run"

# record NAME FRAMES OPTION...: small images; the options of bragg-orient
record() {
	record_name=$1 record_frames=$2
	shift 2
	bragg-geometry --quiet --detpixels=32 --pixel=3.2 --distance=120 --wavelength=1.0 --ncells=5 |
		bragg-orient --quiet --random --frames="$record_frames" "$@" | bragg-intensity --threads=1 --quiet 2>>upstream |
		bragg-noise --quiet --adc-offset=0 --seed=9 --threads=1 | bragg-tap --quiet --record="$record_name"
}
record all.rec 22
record others.rec 7 --seed=5
frames() { # RECORDING OPTION...
	bragg-replay --quiet "$@" 2>>upstream
}
# complete NAME FOLDER: the folder holds the files of `whole`, with the same content
complete() {
	check "$1" same_series whole "$2"
	check "$1, and in the index" sh -c 'sort "$1/s.nxs.index" >"$1.sorted" && diff whole.sorted "$1.sorted"' sh "$2"
}
frames all.rec | bragg-write --quiet whole/s.nxs --frames-per-file=4
sort whole/s.nxs.index >whole.sorted

# resumed FOLDER OPTION...: the frames are continued there; `issued` says how many of 22 came again
resumed() {
	resumed_folder=$1
	shift
	frames all.rec | bragg-write "$resumed_folder/s.nxs" --frames-per-file=4 --resume --stats=stats "$@" 2>message
}
issued() { sed -n 's/.*"frames":\([0-9]*\).*/\1/p' stats | tail -n 1; }
parts() { find "$1" -name '*.part' | wc -l; }
# kept FOLDER NUMBER HOW OPERAND...: killed before that frame (from 1) is in its spool, or when half of it is
kept() {
	kept_folder=$1 kept_how="keep $2 $3"
	shift 3
	mkdir "$kept_folder"
	{
		frames all.rec --window=5 | LD_PRELOAD="$(command -v faults.so)" FAULT="$kept_how" \
			bragg-write "$kept_folder/s.nxs" --frames-per-file=4 "$@" 2>>message || true
	} 2>/dev/null
}
kept torn 11 killed
kept cut 11 kill
is 'killed in the middle of a frame: two files, and a spool' "$(find torn -name '*.h5' | wc -l) $(parts torn)" '2 1'
cp -r torn other
resumed torn
is 'frames in spools are not computed again' "$(issued)" 12
complete 'torn: all frames are there, and the half frame is removed' torn
cp -r other lost
truncate -s -100 cut/*.part
resumed cut
is 'frames before one that was cut are not computed again' "$(issued)" 13
complete 'the frame that was cut is computed again' cut
mkdir named
{
	frames all.rec | LD_PRELOAD="$(command -v faults.so)" FAULT='rename 1 killed' \
		bragg-write named/s.nxs --frames-per-file=4 2>>message || true
} 2>/dev/null
is 'killed when a file has its name: the file is the spool, too' "$(stat -c %h named/s_data_000001.h5) $(parts named)" '2 1'
cp -a named/s_data_000001.h5 first
resumed named
is 'frames of a spool that has the name of its file are not computed again' "$(issued)" 18
complete 'all files of the named spool are complete' named
check 'the file had all its images' nxmx --same first named/s_data_000001.h5
kept beside 11 kill 'beside/%02d.raw'
rm beside/08.raw
resumed beside 'beside/%02d.raw'
is 'frames whose other files exist are not computed again' "$(issued)" 13
mkdir series
cp beside/s.nxs beside/*.h5 series
check 'the files are the same' same_series whole series
is 'the index lists all frames of both kinds of files' "$(sort -u beside/s.nxs.index | grep -c '^[0-9].*raw$') $(find beside -name '*.raw' | wc -l)" '22 22'
cp other/*.part held.part
resumed other --compression=gzip
is 'packed in another way: one line' "$(grep -c 'other/s_data_00000[0-9].h5.part exists and was not written by this run' message) $(wc -l <message)" '1 1'
rm other/s.nxs.index
frames others.rec | bragg-write other/s.nxs --frames-per-file=4 2>message || true
is 'frames of another lineage: one line' "$(grep -c 'other/s_data_00000[0-9].h5.part exists and was not written by this run' message) $(wc -l <message)" '1 1'
check 'the spool of another lineage stays' cmp held.part other/*.part
frames others.rec | bragg-write other/s.nxs --frames-per-file=4 --overwrite
is '--overwrite replaces it' "$(nxmx --master other/s.nxs | cut -f1 | grep -c '^[0-9]') $(parts other)" '7 0'
frames all.rec --frames=0-9 | bragg-write lost/s.nxs --frames-per-file=4 2>message
is 'without --resume all is computed again' "$(sort lost/s.nxs.index | grep -c '^[0-9]') $(parts lost)" '10 0'
is 'the data file has the frames computed without --resume' "$(nxmx lost/s_data_000003.h5 | cut -f1 | tr '\n' ' ')" '8 9 '

# A table of the run gets its name when the index names its frames: killed before it does, and after the series has.
told() {
	bragg-geometry --quiet --detpixels=32 --pixel=3.2 --distance=120 --wavelength=1.0 --ncells=5 |
		bragg-orient --quiet --random --frames=5 | bragg-intensity --threads=1 --quiet --reflections 2>>upstream |
		bragg-noise --quiet --adc-offset=0 --seed=9 --threads=1
}
mkdir tabled
told | bragg-tap --quiet --record=told.rec
frames told.rec | bragg-write --quiet tabled/s.nxs --reflections=tabled/s.tsv
for at in 1 2 3; do
	mkdir "tabled$at"
	{
		frames told.rec | LD_PRELOAD="$(command -v faults.so)" FAULT="rename $at killed" \
			bragg-write "tabled$at/s.nxs" "--reflections=tabled$at/s.tsv" 2>>message || true
	} 2>/dev/null
	frames told.rec | bragg-write "tabled$at/s.nxs" "--reflections=tabled$at/s.tsv" --resume 2>message
	check "killed after it gave name $at at the end" diff -r -x '*.index' tabled "tabled$at"
done

frames told.rec 2>>upstream | bragg-write tabled/n.nxs --index=tabled/n_data_000001.h5.part 2>message || true
is 'an index by the name of a spool is refused' "$(grep -c 'is also a name that .* makes; give the index another name' message) $(parts tabled)" '1 0'

# Somebody meddles with a spool while it is in use.
begun() { [ "$(cat meddled/*.part 2>/dev/null | wc -c)" -gt 1000 ]; }
for how in removed 'cut short'; do
	mkdir meddled
	frames all.rec --rate=10 | bragg-write meddled/s.nxs --frames-per-file=22 2>message &
	writer=$!
	soon begun
	[ "$how" = removed ] && rm meddled/*.part || truncate -s 100 meddled/*.part
	status=0
	wait $writer || status=$?
	is "$how: one line, status 1" "$(grep -c 'meddled/s_data_000001.h5.part: another program' message) $(wc -l <message) $status" '1 1 1'
	[ "$how" = removed ] || rm meddled/*.part # as it says
	frames all.rec | bragg-write meddled/s.nxs --frames-per-file=22 --resume 2>message
	is "$how: all frames are in the file after that" "$(nxmx meddled/s_data_000001.h5 | cut -f1 | wc -l) $(parts meddled)" '22 0'
	rm -r meddled
done

# Of three writers one may come when all is done: it ends, and does not wait for the others.
cat >late.yaml <<end
stages:
  - name: replay
    args: [all.rec]
  - name: write
    count: 3
    args: [--frames-per-file=4, late/s.nxs]
end
mkdir late
for try in first second third fourth fifth sixth; do
	check "a $try run with three writers" timeout 60 bragg-run --quiet --resume late.yaml
done
is "all frames of a $try run are in the file" "$(nxmx late/s_data_000001.h5 | cut -f1 | wc -l) $(parts late)" '4 0'
finish
