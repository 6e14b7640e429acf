#!/bin/sh
# bragg-write: formats, names, the index, and what it refuses.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# photons FRAMES SEED, counts FRAMES SEED: small images on a pipe.
photons() {
	bragg-geometry --detpixels=64 --pixel=1.6 --distance=120 --wavelength=1.0 --ncells=5 2>>upstream |
		bragg-orient --frames="$1" --random --seed="$2" 2>>upstream |
		bragg-intensity --threads=1 2>>upstream
}
counts() {
	photons "$1" "$2" | bragg-noise --seed=9 ${offset-} 2>>upstream
}
# none: for what is refused before the stream begins.
none() {
	:
}
# write STREAM FRAMES SEED ARGUMENT...: status and messages of bragg-write alone.
write() {
	stream=$1 frames=$2 seed=$3
	shift 3
	$stream "$frames" "$seed" | bragg-write "$@" 2>message
}
# refused NAME STATUS PATTERN STREAM FRAMES SEED ARGUMENT...
refused() {
	name=$1 want=$2 pattern=$3
	shift 3
	status=0
	write "$@" || status=$?
	is "$name: status" "$status" "$want"
	is "$name: one line" "$(wc -l <message)" 1
	check "$name: message" grep -q "^bragg-write: .*$pattern" message
}
files() {
	(cd "$1" && ls -A | tr '\n' ' ')
}

mkdir one
check "three files a frame" write counts 2 7 'one/a_%04d.img' 'one/a_%04d.raw' --preview='one/a_%04d.png' --preview-size=16
is "nothing else is left" "$(files one)" \
	"a.img.index a_0000.img a_0000.png a_0000.raw a_0001.img a_0001.png a_0001.raw "
is "first line of the index" "$(sed -n '1s/[0-9a-f]\{16\}$/LINEAGE/p' one/a.img.index)" "bragg-index 3 LINEAGE"
is "frames in the index" "$(grep -v "^[b#]" one/a.img.index | cut -f1,4- | sort | tr '\t\n' ' ;')" \
	"0 hit a_0000.img a_0000.raw a_0000.png;1 hit a_0001.img a_0001.raw a_0001.png;"
is "SMV holds 16 bits a pixel" "$(($(wc -c <one/a_0000.img) % 512 + 8192))" 8192
check_status "SMV and raw hold the same numbers" 0 bragg-compare one/a_0001.img one/a_0001.raw
check_status "frames differ" 1 bragg-compare one/a_0000.img one/a_0001.img
is "the preview is 16 x 16" "$(od -An -tu1 -j16 -N8 one/a_0000.png | tr -d ' ')" "0001600016"

cp -r one same
check "a run into the same folder can be repeated" write counts 2 7 'same/a_%04d.img' 'same/a_%04d.raw' --preview='same/a_%04d.png' --preview-size=16
check_status "leaves the index as it was" 0 cmp one/a.img.index same/a.img.index
check_status "a repeated run gives the same bytes" 0 cmp one/a_0001.img same/a_0001.img
refused "another lineage in the same folder is refused" 1 "other options" counts 2 8 'same/a_%04d.img'
check_status "leaves the files as they were" 0 cmp one/a_0001.img same/a_0001.img
check "--overwrite replaces them" write counts 1 8 'same/a_%04d.img' --overwrite
is "--overwrite starts a new index" "$(grep -vc '^[b#]' same/a.img.index)" 1

# older FILE: an index as version 2 had it, without the column of hits
older() {
	sed 's/^bragg-index 3/bragg-index 2/; s/\t\(hit\|blank\)\t/\t/' "$1"
}
cp -r one old
older one/a.img.index >old/a.img.index
sed -i '$d' old/a.img.index
check "an index without hits is resumed" write counts 2 7 'old/a_%04d.img' 'old/a_%04d.raw' --preview='old/a_%04d.png' --preview-size=16 --resume
is "a resumed index without hits stays as it is" "$(sort old/a.img.index)" "$(older one/a.img.index | sort)"

mkdir float
refused "photons into SMV" 3 "give --scale" photons 1 7 'float/a_%d.img'
is "leave no file" "$(files float)" ""
check "photons into raw" write photons 1 7 'float/a_%d.raw'
check "photons into SMV with --scale" write photons 1 7 'float/a_%d.img' --scale=3
check "--scale multiplies and rounds" perl -e '
	open F, "<:raw", "float/a_0.raw"; read F, $f, 1 << 20;
	open G, "<:raw", "float/a_0.img"; read G, $g, 1 << 20;
	@f = unpack "f<*", $f; @g = unpack "v*", substr $g, -8192; $sum = 0;
	for (0 .. 4095) { $v = 3 * $f[$_]; $v = 65535 if $v > 65535; $sum += $g[$_];
		die "$_: $f[$_] $g[$_]" if abs($v - $g[$_]) > 0.5001 }
	die "empty" unless $sum > 0'
check "photons into CBF with --scale" write photons 1 7 'float/c_%d.cbf' --scale=3
check_status "CBF holds the numbers of SMV" 0 bragg-compare float/c_0.cbf float/a_0.img
refused "photons into CBF" 3 "CBF stores integers.*give --scale" photons 1 7 'float/d_%d.cbf'
refused "--scale for counts" 3 "the pixels are integers" counts 1 7 'float/b_%d.img' --scale=3

mkdir cbf
check "CBF beside SMV" write counts 2 7 'cbf/a_%04d.cbf' 'cbf/a_%04d.img' --fsync
for i in 0 1; do
	check_status "CBF and SMV hold the same numbers, frame $i" 0 bragg-compare "cbf/a_000$i.cbf" "cbf/a_000$i.img"
done
is "CBF: kind" "$(sed -n 's/\r$//; /header_convention/p; /binary/q' cbf/a_0000.cbf)" \
	'_array_data.header_convention "GENERIC_MINI_1.0"'
mkdir cbf2
check "CBF again" write counts 2 7 'cbf2/a_%04d.dat' --format=cbf
check_status "gives the same bytes" 0 cmp cbf/a_0001.cbf cbf2/a_0001.dat
head -c 4000 cbf/a_0000.cbf >cbf/cut.cbf
check_status "a CBF that is cut off" 3 bragg-compare cbf/cut.cbf cbf/a_0000.img
head -c -2000 cbf/a_0000.cbf >cbf/cut.cbf
is "a CBF that is cut in its padding: one verdict" "$(bragg-compare cbf/cut.cbf cbf/a_0000.img 2>&1 | sed 's/ [0-9]* bytes/ N bytes/')" \
	"bragg-compare: cbf/cut.cbf: too short: N bytes after the pixels; expected 4095"

mkdir other
check "PGM" write counts 1 7 'other/a_%03d.pgm'
is "PGM: header and a byte a pixel" "$(head -c 13 other/a_000.pgm | tr '\n' ' ') $(wc -c <other/a_000.pgm)" "P5 64 64 255  4109"
check "--format for an unknown suffix" write counts 1 7 'other/a_%d.dat' --format=raw
is "--format: size" "$(wc -c <other/a_0.dat)" 16384
check "one frame needs no number" write counts 1 7 other/single.img --fsync
# dials NAME WARNED [FRAMES]: tests/full/cbf.t asks DIALS
dials() {
	write counts "${3-1}" 7 "other/$1"
	is "a name that DIALS cannot import is warned of once: $1" "$(grep -v 'cannot store the offset' message)" "$2"
}
no_number="the number is not directly before a dot, as in lyso_%04d.cbf"
dials still.cbf "bragg-write: warning: DIALS cannot import 'other/still.cbf': $no_number"
dials 'v2_%d_x.img' "bragg-write: warning: DIALS cannot import 'other/v2_%d_x.img': $no_number" 3
dials 'n%d.smv' ''
dials still_1.img ''
dials v3.raw ''
check "--index names the index" write counts 1 7 'other/b_%d.img' --index=other/list
is "--index writes the index under its name" "$(grep -vc '^[b#]' other/list)" 1

mkdir bad
refused "two frames, no number" 2 "more than one frame" counts 2 7 bad/single.img
is "nothing is written" "$(files bad)" ""
refused "missing folder" 1 "nowhere: cannot write into this folder: No such file" none 1 7 'nowhere/a_%d.img'
refused "unknown suffix" 2 "unknown format" none 1 7 'bad/a_%d.xyz'
refused "two numbers" 2 "expected one number" none 1 7 'bad/a_%d_%d.img'
refused "%s" 2 "expected one number" none 1 7 'bad/a_%s.img'
refused "two outputs of the same name are refused" 2 "name the same files" none 1 7 'bad/a_%d.img' 'bad/a_%d.img'
refused "two spellings of the same name are refused" 2 "name the same files" none 1 7 'bad/a_%d.raw' 'bad/../bad/a_%d.raw'
refused "names of each other's frames" 2 "'bad/a_1%d.raw' name the same files" none 1 7 'bad/a_%d.raw' 'bad/a_1%d.raw' --overwrite
refused "pictures and their previews" 2 "name the same files" none 1 7 'bad/a_%d.png' --preview=bad/./a_%d.png
check "two folders can hold files of the same name" write counts 1 7 'other/two_%d.raw' 'one/two_%d.raw'
refused "no template" 2 "" none 1 7
refused "--scale=0" 2 "scale" none 1 7 'bad/a_%d.img' --scale=0
mkdir bad/a.raw.index
refused "the index is a folder" 1 "a.raw.index" counts 1 7 'bad/a_%d.raw'
rmdir bad/a.raw.index
echo text >bad/a.raw.index
refused "the index is something else" 1 "exists and is not an index of frames" counts 1 7 'bad/a_%d.raw'
is "a file with the name of the index stays" "$(cat bad/a.raw.index)" text
rm bad/a.raw.index
for folder in a_1.raw s_data_000001.h5; do
	mkdir "bad/$folder"
	for option in --fsync --overwrite --resume; do
		case $folder in a_1.raw) template=bad/a_%d.raw ;; *) template=bad/s.nxs offset=--adc-offset=0 ;; esac
		refused "a folder in the way of $name, $option" 1 "$folder:\? .*[iI]s a \(folder; expected a file\|directory\)" counts 2 7 "$template" $option
		check "a folder in the way is not offered --overwrite: $template, $option" sh -c '! grep -q overwrite message'
	done
	check "a folder with the name of an output file stays: $folder" test -d "bad/$folder"
	rm -r bad/*
done
if [ "$(id -u)" = 0 ]; then
	skip "folder without permission" "root may write everywhere"
else
	mkdir locked && chmod 555 locked
	refused "folder without permission" 1 "cannot write into this folder" none 1 7 'locked/a_%d.img'
fi
if [ -w /dev/full ]; then
	refused "full disk, index" 1 "full: cannot write: No space" counts 1 7 'bad/a_%d.raw' --index=/dev/full --overwrite
	refused "full disk, image" 1 "full: cannot write: No space" counts 1 7 /dev/full --format=raw --index=bad/index
	rm -f bad/index bad/a_0.raw
	refused "a device, NXmx" 1 "full: not an ordinary file; expected a name for an NXmx file" none 1 7 /dev/full --format=nxmx
	is "no data file next to the master" "$(ls /dev/full_* 2>/dev/null)" ""
else
	skip "full disk" "no /dev/full"
fi
# A limit on the size of files stands for a disk that fills up: 8 blocks of 512 bytes.
limited() {
	trap '' XFSZ
	ulimit -f 8
	exec bragg-write 'bad/a_%d.raw' 2>message
}
status=0
counts 1 7 | (limited) || status=$?
is "disk full on the way: status" "$status" 1
check "disk full on the way: message" grep -q "^bragg-write: bad/a_0.raw: cannot write" message
is "disk full on the way: no file" "$(files bad)" ""

# --- what a format cannot store is warned of, once a run
# unsaid NAME LINES PATTERN GEOMETRY ORIENT NOISE FILE...: options as one word each; the warnings of the writer
unsaid() {
	unsaid_name=$1 unsaid_lines=$2 unsaid_pattern=$3 geometry=$4 orient=$5 noise=$6
	shift 6
	# shellcheck disable=SC2086 # lists
	bragg-geometry --quiet --detpixels=32 --pixel=3.2 --distance=120 --ncells=5 --fluence=$fluence $geometry |
		bragg-orient --quiet --frames=$frames $orient | bragg-intensity --quiet --threads=1 $intensity |
		{ if [ "$noise" ]; then bragg-noise --quiet $noise; else cat; fi; } |
		bragg-write --overwrite "$@" 2>message
	is "$unsaid_name" "$(grep -c -e "$unsaid_pattern" message) of $(grep -c . message)" "1 of $unsaid_lines"
	grep -q -e "$unsaid_pattern" message || note "$(cat message)"
}
all='u_%02d.img u_%02d.cbf u.nxs'
none=--adc-offset=0
intensity= frames=2 fluence=1e26
# shellcheck disable=SC2086 # $all is a list
{
	unsaid 'negative rotation' 1 'SMV and CBF cannot store a negative rotation (--osc=-0.5): .*NXmx' '' --osc=-0.5 $none $all
	unsaid 'tilt' 1 'SMV stores the tilt of the detector as a Saturn does (by 5 degrees: --rotate' --rotate=0,5,0 '' $none $all
	unsaid 'two theta' 1 'SMV stores the tilt of the detector .*(by 10 degrees: .*--twotheta' --twotheta=10 '' $none $all
	unsaid 'a beam aslant' 1 'SMV stores the tilt of the detector .*(by 5' '--convention=custom --beam-vector=0.9962,0.0872,0' '' $none $all
	unsaid 'a tilt of a mirrored image with a spindle and an E field of its own' 1 'SMV stores the tilt' \
		'--convention=custom --spindle=0,1,0 --slow-axis=0,1,0 --polarization-vector=0,1,1 --twotheta=10' --osc=1 $none $all
	unsaid 'a mirrored image' 1 'mirrored (--convention' --convention=adxv '' $none $all
	unsaid 'a spindle along slow' 1 'axis other than the fast axis (--convention' --convention=dials --osc=1 $none $all
	unsaid 'a curved detector' 1 'SMV, CBF and NXmx cannot store that the detector is curved (--curved)' --curved '' $none $all
	unsaid 'wavelengths' 1 'SMV and CBF can store only the mean of several wavelengths (0.985 to 1.015 A)' --dispersion=3 '' $none $all
	unsaid 'a spectrum of each frame' 1 'only the mean of several wavelengths' '' '--spectrum=gauss --bandwidth=0.5' $none $all
	unsaid 'divergence' 1 'SMV, CBF and NXmx cannot store the divergence' --divergence=2 '' $none $all
	unsaid 'a beam that wanders' 1 'SMV, CBF and NXmx cannot store a varying direction of the beam (--beam-jitter' '' '--random --beam-jitter=500' $none $all
	unsaid 'third harmonic' 1 'cannot store the third harmonic (--third-harmonic=1)' --third-harmonic=1 '' $none $all
	unsaid 'an E field aslant' 1 'CBF cannot store an E field oblique' '--convention=custom --polarization-vector=0,1,1' '' $none $all
	unsaid 'offset' 1 'CBF and NXmx cannot store the offset of the pixels (40 ADU): .*--adc-offset=0' '' '' --gain=1 $all
	unsaid 'the offset of a sample named like an option' 1 'CBF and NXmx cannot store the offset of the pixels (40 ADU)' \
		--name=x--gain-switching '' --gain=1 $all
	unsaid 'gain' 1 'SMV, CBF and NXmx cannot store the gain (--gain=3)' '' '' "$none --gain=3" $all
	unsaid '--scale' 1 'cannot store the gain (--scale=3)' '' '' '' --scale=3 $all
	unsaid '32 bits in SMV' 1 'SMV has 32-bit pixels, which DIALS reads as 16 bits (--bits=32)' '' '' "$none --bits=32" $all
	fluence=1e34
	unsaid 'whole numbers in float32' 1 'raw cannot store integers above 16777216 exactly (pixel' '' '' "$none --bits=32" 'u_%02d.raw'
	fluence=1e26
	unsaid 'the sensor of a tilted detector' 1 'CBF cannot store the thickness of the sensor of a tilted' '--thickness=320 --twotheta=9' '' $none u_%02d.cbf
	unsaid 'sensor' 1 'SMV cannot store the thickness of the sensor (320 um)' --thickness=320 '' $none $all
	unsaid 'lattices' 1 'CBF cannot store the ground truth of all lattices (1[0-9] of 30 in frame [01])' '' '--random --lattices=30' $none $all
	frames=11
	unsaid 'longer numbers' 1 "'u_%01d.cbf': the number 10 has more digits" '' '' $none 'u_%01d.cbf'
	frames=2
	intensity=--reflections
	unsaid 'reflections' 1 'reflections are not stored: .*Add --reflections' '' '' $none 'u_%02d.cbf'
	unsaid 'a rotation in a stream' 1 'a .stream cannot store the rotation of the crystal (--osc=1)' '' --osc=1 $none u.nxs --reflections=u.stream
	unsaid 'a detector that moves in a stream' 1 'a .stream cannot store that the detector moves across' '' \
		'--random --shift-jitter=100' $none u.nxs --reflections=u.stream
	unsaid 'wavelengths in an experiment list' 1 '^bragg-write: warning: an .expt can store only the mean' --dispersion=3 '' $none u.nxs --reflections=u.refl
	intensity='--reflections --labels'
	unsaid 'labels' 1 'pixel labels are not stored: .*NXmx' '' '' $none 'u_%02d.cbf' --reflections=u.tsv
}
intensity=
# shellcheck disable=SC2086 # a list
bragg-geometry --quiet --detpixels=32 --pixel=3.2 --ncells=5 | bragg-orient --quiet --osc=0.5 | bragg-intensity --quiet | bragg-noise --quiet $none |
	bragg-write --overwrite $all 2>message
is 'a plain rotation needs no warning' "$(cat message)" ''
bragg-geometry --quiet --detpixels=32 --pixel=3.2 --ncells=5 --rotate=0,5,0 | bragg-orient --quiet --osc=-0.5 | bragg-intensity --quiet |
	bragg-noise --quiet | bragg-write --format=cbf --index=null.index /dev/null 2>message
is 'a device as output needs no warning' "$(cat message)" ''
bragg-geometry --quiet --detpixels=32 --ncells=5 | bragg-orient --quiet | bragg-intensity --quiet | bragg-noise --quiet --gain-switching |
	bragg-write --overwrite u_%02d.img u_%02d.cbf u.nxs 2>message
is 'raw words, whose offset and gain calibration files say' "$(cat message)" ''
printf '{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nSIZE1=2;\nSIZE2=2;\nPIXEL_SIZE=1;\n}' |
	dd bs=512 conv=sync of=mask.img 2>/dev/null
printf '\001\000\000\000\001\000\001\000' >>mask.img
bragg-geometry --quiet --detpixels=2 --pixel=1 --ncells=5 --mask=mask.img --fluence=1e30 | bragg-orient --quiet | bragg-intensity --quiet |
	bragg-noise --quiet $none | bragg-write --overwrite 'u_%02d.img' 2>message
is 'a mask in SMV' "$(grep -c 'SMV cannot store which pixels are masked (gaps, --mask, --roi)' message)" 1

# large images, which several threads compress
large() {
	bragg-geometry --quiet --detpixels=900 --ncells=5 | bragg-orient --quiet --random | bragg-intensity --quiet --threads=1 |
		bragg-noise --quiet --threads=1 | bragg-write --quiet --threads="$1" large.nxs --compression="$2" --overwrite &&
		mv large_data_000001.h5 "$1.h5"
}
for compression in bslz4 lz4; do
	check "$compression, 1 thread" large 1 $compression
	check "$compression, 3 threads" large 3 $compression
	check "$compression: 1 and 3 threads give the same bytes" cmp 1.h5 3.h5
done
threads_of() { # OPTION...: threads of a writer on 40 cores that waits for frames
	OMP_NUM_THREADS=40 bragg-write --quiet "$@" --in="@ipc://$PWD/waits" waits.nxs &
	soon test -S waits
	sed -n 's/^Threads:[^0-9]*//p' "/proc/$!/status"
	kill $!
	wait $! 2>/dev/null || :
}
is 'many cores: 16 threads by default' "$(threads_of)" "$(threads_of --threads=16)"
is 'many cores: as many threads as are given' "$(threads_of --threads=18)" "$(($(threads_of) + 2))"
finish
