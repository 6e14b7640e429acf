#!/bin/sh
# bragg-replay of a series of image files: files that cannot be one stream are refused before the
# first frame, and files that contradict each other are named in one line.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

smv() { # FILE START WIDTH [KEY=VALUE...]: an image of 6 x 4 pixels, 100 mm away
	file=$1
	{
		printf '{\nHEADER_BYTES= 512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nSIZE1=6;\nSIZE2=4;\n'
		printf 'PIXEL_SIZE=0.1;\nBEAM_CENTER_X=0.2;\nBEAM_CENTER_Y=0.3;\nOSC_START=%s;\nOSC_RANGE=%s;\n' "$2" "$3"
		shift 3
		[ $# = 0 ] || printf '%s;\n' "$@"
		printf '}\n'
	} >"$file"
	truncate -s 512 "$file"
	head -c 48 /dev/zero >>"$file"
}
setup='DISTANCE=100 WAVELENGTH=1'
warned() { # NAME TEXT FILE...: the warnings, one a line, are TEXT, and all files are played
	name=$1 text=$2
	shift 2
	bragg-replay "$@" 2>err | bragg-tap --count >count 2>/dev/null
	is "$name" "$(sed 's/.*warning: //' err)" "$text"
	is "$name: all files are played" "$(sed 's/ .*//' count)" "frames=${frames:-$#}"
}

# --- rotation: each image begins where the one before it ends
for i in 0 1 2 3 4 5 6; do
	smv good_$i.img $((10 + i)) 1 $setup
	smv back_$i.img $((10 - i)) -1 $setup
	smv still_$i.img 0 0 $setup
done
warned 'a scan is not named' '' good_?.img
warned 'a scan that turns backwards is not named' '' back_?.img
warned 'stills are not named' '' still_?.img
smv turn_0.img 359.5 0.5 $setup
smv turn_1.img 0 0.5 $setup
warned 'a full turn is not named' '' turn_?.img
for i in 0 1 2 3 4 5 6 7 8; do # thirds and eighths of a degree, rounded to two decimals
	smv third_$i.img "$(awk "BEGIN { printf \"%.2f\", $i / 3 }")" 0.33 $setup
	smv eighth_$i.img "$(awk "BEGIN { printf \"%.2f\", $i / 8 }")" 0.13 $setup
done
warned 'rounded angles are not named' '' third_?.img
warned 'rounded angles of fine slices are not named' '' eighth_?.img
smv late_0.img 10 0.1 $setup
smv late_1.img 10.1 0.1 $setup
smv late_2.img 10.25 0.1 $setup
smv late_3.img 10.35 0.1 $setup
smv late_4.img 10.5 0.1 $setup
warned 'a gap of half an image is named once, with the number of gaps' \
	'late_2.img: the rotation starts at 10.25 deg; expected 10.2 deg after late_1.img, which starts at 10.1 deg and rotates by 0.1 deg (and 1 more image)' late_?.img
for i in 0 1 2; do smv same_$i.img 5 1 $setup; done
warned 'images that begin at the same angle are named' \
	'same_1.img: the rotation starts at 5 deg; expected 6 deg after same_0.img, which starts at 5 deg and rotates by 1 deg (and 1 more image)' same_?.img
smv wide_0.img 0 1 $setup
smv wide_1.img 1 1 $setup
smv wide_2.img 2 2 $setup
smv wide_3.img 4 2 $setup
warned 'another width is named, where it changes' 'wide_2.img: an image rotates by 2 deg, but an image of wide_1.img rotates by 1 deg' wide_?.img
warned 'a still in a scan is named' 'still_0.img: an image rotates by 0 deg, but an image of good_0.img rotates by 1 deg' good_0.img still_0.img

# --- numbers of files
warned 'missing files are named once: the angles agree with the numbers' 'good_3.img: follows good_1.img: images between them are missing (and 1 more image)' \
	good_0.img good_1.img good_3.img good_6.img
warned 'files in another order are named' "good_2.img: follows good_3.img, which has a higher number. Frames have the order of the files on the command line ('ls -v' sorts by number)" \
	good_3.img good_2.img
for i in 8 9 10 11; do smv "sort_$i.img" $i 1 $setup; done
warned 'files in the order of letters are named' "sort_8.img: follows sort_11.img, which has a higher number. Frames have the order of the files on the command line ('ls -v' sorts by number)" sort_*.img
frames=2 warned 'a gap that --frames makes is not named' '' --frames=0,3 good_?.img
cp good_0.img other.7.img
warned 'another series is not compared by number' 'good_3.img: the rotation starts at 13 deg; expected 11 deg after other.7.img, which starts at 10 deg and rotates by 1 deg' other.7.img good_3.img
mkdir run_1 run_9
cp good_0.img run_1/a.img
cp good_1.img run_9/a.img
warned 'numbers of folders do not matter' '' run_1/a.img run_9/a.img
for i in 1 3; do cp good_$i.img mar.000$i; done
warned 'a suffix can be the number' 'mar.0003: follows mar.0001: images between them are missing' mar.000?

# --- the same file twice
warned 'a file that is listed twice is named' 'still_1.img: the file is listed twice, and is played twice' still_1.img still_1.img
ln -s still_2.img link.img
ln still_0.img hard.img
warned 'a link to the same file is named' 'link.img: is the same file as still_2.img, and is played twice' still_2.img link.img
warned 'a second name of the same file is named' 'hard.img: is the same file as still_0.img, and is played twice (and 1 more image)' still_0.img still_1.img hard.img still_0.img
cp still_0.img copy.img
warned 'a copy is another file' '' still_0.img copy.img

# --- detector and beam
smv jitter_0.img 0 0 DISTANCE=100 WAVELENGTH=0.97950
smv jitter_1.img 0 0 DISTANCE=100.04 WAVELENGTH=0.9795
smv jitter_2.img 0 0 DISTANCE=99.96 WAVELENGTH=0.979
warned 'rounded values are not named' '' jitter_?.img
smv moved_0.img 0 0 $setup
smv moved_1.img 0 0 $setup
smv moved_2.img 0 0 DISTANCE=200 WAVELENGTH=1
smv moved_3.img 0 0 DISTANCE=100 WAVELENGTH=1.2
warned 'the first of several images at another distance is named, with their number' \
	'moved_2.img: the header has 1 A and 200 mm, but all frames are sent with 1 A and 100 mm of moved_0.img (and 1 more image)' moved_?.img
smv base_0.img 0 0 $setup ADC_OFFSET=10
smv base_1.img 0 0 $setup ADC_OFFSET=10.0
smv base_2.img 0 0 $setup ADC_OFFSET=40
warned 'another offset is named' 'base_2.img: the header has 40 for pixels without photons, but all frames are sent with 10 of base_0.img' base_?.img
warned 'each kind of contradiction is named' 'moved_2.img: the header has 1 A and 200 mm, but all frames are sent with 1 A and 100 mm of base_0.img
base_2.img: the header has 40 for pixels without photons, but all frames are sent with 10 of base_0.img' base_0.img moved_2.img base_2.img
frames=2 warned 'an image that is not played is not compared' '' --frames=0-1 moved_?.img

# --- what cannot be one stream is refused before the first frame
sed 's/SIZE1=6/SIZE1=4/; s/SIZE2=4/SIZE2=6/' still_1.img >still_7.img
status=0
{ bragg-replay still_?.img 2>err || echo $? >status; } | bragg-write --quiet out_%d.img 2>/dev/null
is 'the last image has another shape' "$(cat err)" 'bragg-replay: still_7.img: 4 x 6 pixels; expected 6 x 4 as in still_0.img'
is 'another shape is bad input' "$(cat status)" 3
check 'no image is written' [ ! -e out_0.img ]
check 'an image of another shape that is not played does not matter' sh -c 'bragg-replay --frames=0-6 still_?.img | bragg-tap --quiet --count'

# --- NXmx
series() { # FILE PHI0 FRAMES...
	file=$1 phi0=$2
	shift 2
	bragg-geometry --detpixels=20 --pixel=1 --ncells=5 | bragg-orient --quiet --phi0="$phi0" --osc=0.5 --seed=7 "$@" |
		bragg-intensity --quiet --threads=1 | bragg-noise --quiet | bragg-write --quiet "$file"
}
series whole.nxs 0 --frames=4
series next.nxs 2 --frames=2
series far.nxs 9 --frames=2
series holes.nxs 0 --frames=9 --only=0,1,4-5,8
frames=4 warned 'a scan in NXmx is not named' '' whole.nxs
frames=6 warned 'a scan in two NXmx files is not named' '' whole.nxs next.nxs
frames=6 warned 'a gap between NXmx files is named' \
	'far.nxs: the rotation starts at 9 deg; expected 2 deg after whole.nxs, which starts at 1.5 deg and rotates by 0.5 deg' whole.nxs far.nxs
frames=5 warned 'images that are missing in NXmx are named' 'holes.nxs: image 4 follows image 1: images between them are missing (and 1 more image)' holes.nxs
frames=8 warned 'NXmx that is listed twice is named' 'whole.nxs: the file is listed twice, and is played twice
whole.nxs: the rotation starts at 0 deg; expected 2 deg after whole.nxs, which starts at 1.5 deg and rotates by 0.5 deg' whole.nxs whole.nxs
finish
