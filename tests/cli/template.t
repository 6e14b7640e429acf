#!/bin/sh
# bragg-orient --orientations=FILE.stream: frames, crystals and orientations are those of a CrystFEL stream;
# what a stream cannot say, or contradicts itself in, is one line.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
geometry() {
	bragg-geometry --quiet --detpixels=128 --pixel=0.8 --distance=120 --ncells=8 --fluence=1e26 "$@"
}
# the measured run: two crystals, one, a blank, one, one
geometry | bragg-orient --quiet --frames=5 --random --mean-lattices=1.2 --seed=3 --truth=run.tsv | bragg-intensity --quiet --threads=1 --reflections=5 |
	bragg-write --quiet --reflections=run.stream run.nxs
# again NAME STREAM OPTION...: the run of the stream, with its ground truth and what the program says
again() {
	name=$1 stream=$2
	shift 2
	# shellcheck disable=SC2086 # options are meant to split
	geometry $geometry | bragg-orient --orientations="$stream" --truth="$name.tsv" "$@" 2>"$name.log" |
		bragg-intensity --quiet --threads=1 --reflections=5 | bragg-write --quiet "$name.nxs"
}
# counts NAME: number of crystals of each frame
counts() {
	awk 'NR > 1 && !seen[$1]++ { printf "%s%s:%s", sep, $1, $2; sep = " " }' "$1.tsv"
}
# split_chunks FILE: the head of a stream, and its chunks as chunk.0 and so on
split_chunks() {
	awk '/^----- Begin chunk/ { n++ } !n { print >"head" } n { print >("chunk." n - 1) }' "$1"
}
says() { grep -q -- "$@"; }
geometry=
again first run.stream
is 'frames have the crystals of the chunks' "$(counts first)" '0:2 1:1 2:0 3:1 4:1'
is 'in their orientations' "$(bragg-score first.nxs run.stream | awk '$1 == "lattices" { print $3, $7, $9, $17 }')" '5 5 0 0'
check 'to 0.0001 degrees' sh -c "bragg-score first.nxs run.stream | awk '\$1 == \"angle_deg\" { exit !(\$7 < 1e-4) }'"
check 'also from the first run' sh -c 'cut -f1,9-17 run.tsv | paste - first.tsv | awk "NR > 1 && \$2 != \"-\" { d = \$2 - \$19; if (d * d > 1e-12) exit 1 }"'

# --- numbers of frames
split_chunks run.stream
cat head chunk.4 chunk.1 chunk.0 chunk.2 >shuffled.stream
again shuffled shuffled.stream
is 'any order; a frame that the stream does not have is not in the run' "$(counts shuffled)" '0:2 1:1 2:0 4:1'
is 'files have the frames of the stream' "$(bragg-replay --quiet shuffled.nxs | bragg-tap --print | sed -n 's/^frame id=\([0-9]*\) .*/\1/p' | paste -sd' ')" '0 1 2 4'
geometry | bragg-orient --quiet --orientations=run.stream | bragg-intensity --quiet --threads=1 | bragg-write --quiet 'all_%d.raw'
geometry | bragg-orient --quiet --orientations=shuffled.stream | bragg-intensity --quiet --threads=1 | bragg-write --quiet 'some_%d.raw'
check 'the same frames whatever else there is' cmp all_4.raw some_4.raw
again less run.stream --frames=2
is '--frames' "$(counts less)" '0:2 1:1'
again only run.stream --only=3-4
is '--only' "$(bragg-replay --quiet only.nxs | bragg-tap --print | grep -c '^frame id=[34] ')" 2
grep -v 'frame_id\|^Event' run.stream | awk '/^Image filename/ { $0 = sprintf("Image filename: run2/lyso_%04d.cbf", 10 + n++) } 1' >named.stream
again named named.stream
is 'numbers of the names of images' "$(counts named)" '10:2 11:1 12:0 13:1 14:1'
sed 's/^\(header.int.frame_id = \).*/\17/' shuffled.stream >same.stream
again same same.stream
is 'chunks with one number are counted' "$(counts same)" '0:1 1:1 2:2 3:0'
check 'and a warning says so' says 'frames are numbered from 0 in the order of the chunks' same.log

# --- cells
geometry='--default-F=100 --cell=59.6,68.4,30.3'
again near run.stream
is 'a cell that is 1 % off gets the nearest rotation' "$(bragg-score near.nxs run.stream | awk '$1 == "lattices" { print $7, $9, $17 }')" '5 0 0'
geometry='--default-F=100 --cell=30.517,59.062,68.451'
again renamed run.stream
is 'axes with other names' "$(bragg-score renamed.nxs run.stream | awk '$1 == "lattices" { print $3, $9 }')" '5 0'
check 'the names are changed, and a warning says so' says 'the axes of 5 of 5 crystals got the names' renamed.log
for geometry in --convention=dials '--convention=custom --fast-axis=0,0.6,0.8 --slow-axis=0,-0.8,0.6'; do
	rm -f axes*
	again axes run.stream
	is "axes of the detector: $geometry" "$(bragg-score axes.nxs run.stream | awk '$1 == "lattices" { print $7, $9 }
		$1 == "angle_deg" { print ($7 < 1e-4) }' | paste -sd' ')" '5 0 1'
done

# --- what is refused
geometry=
# refused NAME TEXT STATUS STREAM OPTION...: one line, and this status
refused() {
	name=$1 text=$2 want=$3 stream=$4
	shift 4
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet $geometry 2>/dev/null | {
		bragg-orient --quiet --orientations="$stream" "$@" 2>refused.log
		echo $? >status
	} | cat >/dev/null
	is "$name" "$(wc -l <refused.log) $(grep -c -F -e "$text" refused.log) $(cat status)" "1 1 $want"
	[ "$(grep -c -F -e "$text" refused.log)" = 1 ] || note "$(cat refused.log)"
}
geometry='--default-F=100 --cell=59,72,30.5'
refused 'another cell' 'a crystal has the cell 59.06,68.45,30.52,90,90,90; expected 59,72,30.5,90,90,90 of bragg-geometry, within 5 %' 3 run.stream
geometry=--physics=faithful
refused 'faithful mode' 'a stream needs bragg-geometry --physics=physical' 2 run.stream
geometry='--crystal=name=a --crystal=name=b'
refused 'two crystals' 'bragg-geometry has 2 crystals; expected one' 3 run.stream
geometry=
awk '/^astar/ { for (i = 3; i < 6; i++) $i = -$i } 1' run.stream >mirror.stream
refused 'mirror images' 'mirror.stream:41: the axes of a crystal are left-handed' 3 mirror.stream
sed '/^--- Begin crystal/,/^--- End crystal/d' run.stream >blank.stream
refused 'no crystal' 'blank.stream: has no crystals in 5 chunks' 3 blank.stream
head -n 200 run.stream >short.stream
refused 'a stream that ends early' 'short.stream:200: the file ends in the middle of a table' 3 short.stream
awk '/^bstar/ && !n++ { $3 = "x" } 1' run.stream >word.stream
refused 'an axis that is not a number' "is not an axis" 3 word.stream
sed '0,/^cstar/{/^cstar/d}' run.stream >without.stream
refused 'an axis that is missing' 'a crystal has no astar, bstar or cstar' 3 without.stream
refused 'a frame that the stream does not have' 'has no frame 3 of --only' 3 shuffled.stream --only=2-3
for option in --osc=1 --phi0=5 --lattices=2 --hit-rate=0.5; do
	refused "$option" "${option%%=*} cannot be used with the stream of --orientations" 2 run.stream "$option"
done
finish
