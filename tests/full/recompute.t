#!/bin/sh
# bragg-replay --recompute: a frame from what it says of itself, the same bytes or the first
# difference; and --loop: a recording that begins again.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir run tmp
export XDG_RUNTIME_DIR="$tap_scratch/run" TMPDIR="$tap_scratch/tmp"

# again TARGET: status and what is said of it
again() {
	bragg-replay --recompute "$1" >out 2>err
	echo "$? $(cat out err)"
}

# flip FILE BYTE: another value there
flip() { printf Z | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }

# --- a chain with all that can be said: files, several crystals, jitter, blanks
cp "$BRAGG_TESTS/data/P1.hkl" 'my refl;s.hkl' 2>/dev/null || printf '0 0 1 10\n1 0 0 20\n1 1 1 30\n' >'my refl;s.hkl'
bragg-geometry --detpixels 64 --pixel=1 --ncells=5 --cell=50,60,70,90,90,90 --hkl 'my refl;s.hkl' \
	--crystal='name=one ncells=4' --crystal='name=two default-F=5' --dispersion=1 |
	bragg-orient --frames=6 --random --seed=5 --hit-rate=0.5 --fluence-jitter=10 --mosaic=0.1 |
	bragg-intensity --threads=1 | bragg-background --water=1 | bragg-tap --record=photons.rec
bragg-replay photons.rec | bragg-noise --seed=3 | bragg-write 'x_%04d.img' 'x_%04d.cbf' 'x_%04d.raw' --preview='x_%04d.png'
bragg-replay photons.rec | bragg-noise --seed=3 | bragg-tap --record=counts.rec
bragg-replay photons.rec | bragg-write --scale=0.3 's_%04d.cbf'
bragg-geometry --detpixels=64 --pixel=1 --ncells=5 --physics=faithful | bragg-orient --frames=2 --osc=1 |
	bragg-tap --record=recipes.rec
bragg-replay recipes.rec | bragg-intensity --engine=reference | bragg-noise | bragg-write 'f_%04d.img'
bragg-replay photons.rec | bragg-noise --seed=3 | bragg-write n.nxs --frames-per-file=4
for c in lz4 gzip none; do
	bragg-replay --frames=4 photons.rec | bragg-noise --seed=3 | bragg-write $c.nxs --compression=$c
done
bragg-replay photons.rec | bragg-write float_master.h5
bragg-replay photons.rec | bragg-write scaled.nxs --scale=0.3
is 'an SMV image, by its header' "$(again x_0003.img)" '0 x_0003.img: the same bytes'
is 'a CBF image, by its header' "$(again x_0000.cbf:0)" '0 x_0000.cbf: the same bytes'
is 'photons as whole numbers' "$(again s_0002.cbf)" '0 s_0002.cbf: the same bytes'
bragg-geometry --detpixels=487,195 --pixel=0.172 --ncells=5 | bragg-orient --frames=2 | bragg-intensity --threads=1 |
	bragg-noise --seed=3 | bragg-write --cbf-header=pilatus 'p_%04d.cbf'
is 'a CBF image with the header of a maker, by its own and by the index' "$(again p_0001.cbf; again p.cbf.index:0)" \
	'0 p_0001.cbf: the same bytes
0 p_0000.cbf: the same bytes'
is 'all files of a frame, by the index' "$(again x.img.index:5)" '0 x_0005.img: the same bytes
x_0005.cbf: the same bytes
x_0005.raw: the same bytes'
is 'a scaled frame is recomputed by its index' "$(again s.cbf.index:4)" '0 s_0004.cbf: the same bytes'
is 'a frame with a header of nanoBragg is recomputed by its index' "$(again f.img.index:1)" '0 f_0001.img: the same bytes'
is 'a frame of recorded photons' "$(again photons.rec:4)" '0 photons.rec: frame 4: the same bytes'
is 'a frame of recorded counts' "$(again counts.rec:1)" '0 counts.rec: frame 1: the same bytes'
is 'a recorded recipe' "$(again recipes.rec:1)" '0 recipes.rec: frame 1: the same bytes'
is 'hits and blanks were among them' \
	"$(for k in 0 1 2 3 4 5; do strings x_000$k.img | sed -n 's/^BRAGG_LATTICES=\([0-9]*\);/\1/p'; done | sort -u | tr '\n' ' ')" '0 2 '
is 'the index distinguishes them' "$(grep '^[0-9]' x.img.index | sort -n | cut -f4 | tr '\n' ' ')" \
	"$(for k in 0 1 2 3 4 5; do strings x_000$k.cbf | sed -n 's/^# BRAGG_LATTICES 0.*/blank/p; s/^# BRAGG_LATTICES [1-9].*/hit/p'; done | tr '\n' ' ')"
older() { sed 's/^bragg-index 3/bragg-index 2/; s/\t\(hit\|blank\)\t/\t/' "$1"; }
older s.cbf.index >old.index
is 'a frame is recomputed by an index without a scale' "$(again old.index:4)" '0 s_0004.cbf: the same bytes'

is 'a frame of NXmx, by the master' "$(again n.nxs:2)" '0 n.nxs: the same bytes'
is 'a frame is recomputed by its file in another folder' "$(mkdir else && cp n_data_000002.h5 else && again else/n_data_000002.h5:5)" \
	'0 else/n_data_000002.h5: the same bytes'
is 'a frame of a series is recomputed by the index' "$(again n.nxs.index:3)" '0 n_data_000001.h5: the same bytes'
is 'the only one, however packed' "$(for c in lz4 gzip none; do again $c.nxs; done)" '0 lz4.nxs: the same bytes
0 gzip.nxs: the same bytes
0 none.nxs: the same bytes'
is 'photons in NXmx' "$(again float_master.h5:1)" '0 float_master.h5: the same bytes'
is 'counts in NXmx are recomputed' "$(again scaled.nxs:1)" '0 scaled.nxs: the same bytes'

# --- reflections in NXmx
bragg-geometry --detpixels=64 --pixel=1 --ncells=5 --cell=50,60,70,90,90,90 --default-F=100 | bragg-orient --frames=3 --random --seed=5 |
	bragg-intensity --threads=1 --reflections=0.001 | bragg-write truth.nxs
# turn FILE: one value of its last reflections is another one
turn() { /usr/bin/python3 -c 'import h5py, sys
with h5py.File(sys.argv[1], "r+") as f: f["/entry/reflections/photons"][-1] += 1' "$1"; }
if has python:h5py; then
	is 'reflections are compared' "$(again truth.nxs:2)" '0 truth.nxs: the same bytes, and reflections'
	turn truth_data_000001.h5
	is 'one that differs' "$(again truth.nxs:2 | sed 's/of [0-9]* /of N /')" '1 truth.nxs: the same image, but 1 of N reflections differ'
	is 'a table of another frame does not count' "$(again truth_data_000001.h5:1)" '0 truth_data_000001.h5: the same bytes, and reflections'
else
	skip 'reflections that differ' "$lack is missing"
fi

# --- differences
cp x_0001.img pixel.img
flip pixel.img $(($(wc -c <pixel.img) - 2 * 64 * 64 + 2 * (3 * 64 + 7)))
is 'the first pixel that differs is named' "$(again pixel.img | sed 's/ is [0-9]*, recomputed [0-9]*;/ differs;/')" \
	'1 pixel.img: pixel 7,3 differs; 1 of 4096 pixels differ'
serial=$(grep -abo 'DETECTOR_SN=' x_0001.img | cut -d: -f1)
cp x_0001.img header.img
flip header.img "$serial"
is 'a header with one changed byte differs' "$(again header.img)" "1 header.img: the same pixels, but byte $serial differs"
cp x_0001.img type.img
flip type.img 60
is 'a corrupt pixel type is reported' "$(again type.img | sed 's/=[^ ]* c/=X c/')" \
	'3 bragg-replay: type.img: header: TYPE=X cannot be read; expected unsigned_short, unsigned_long, signed_long, long_integer or float'
for cut in 3 100 4100 4500; do
	head -c -$cut x_0001.cbf >short.cbf
	is "$cut missing bytes are reported once on stderr" "$(again short.cbf; wc -c <out)" \
		"3 bragg-replay: short.cbf: ends too early, after $(wc -c <short.cbf) bytes
0"
done
# place FILE NAME: where the bytes of NAME are in FILE.  Before the tables an NXmx file also has the
# rows of its frames as they arrived, which nobody reads: the last place counts.
place() { perl -e 'local $/; open F, $ARGV[0]; open I, $ARGV[1]; print rindex(<F>, <I>)' "$1" "$2"; }
tail -c 8192 x_0004.img >image4
flip none_data_000001.h5 $(($(place none_data_000001.h5 image4) + 2 * (3 * 64 + 7)))
is 'a missing image of NXmx is reported' "$(again none.nxs | sed 's/ is [0-9]*, recomputed [0-9]*;/ differs;/')" \
	'1 none.nxs: pixel 7,3 differs; 1 of 4096 pixels differ'
perl -e 'print pack("Q<2", 4, 5)' >row4 # number, seed; the wavelength is the sixth
flip lz4_data_000001.h5 $(($(place lz4_data_000001.h5 row4) + 5 * 8))
is 'tables of a frame that differ are reported' "$(again lz4.nxs)" '1 lz4.nxs: the same image, but its metadata differ'
is 'a lost file is named' "$(mv x_0001.raw lost && again x.img.index:1 | tail -n 1)" \
	'bragg-replay: x_0001.raw: cannot open: No such file or directory'

# --- what cannot be recomputed
mv 'my refl;s.hkl' away
is 'a missing file' "$(again x_0001.img)" \
	'3 bragg-replay: x_0001.img: cannot be recomputed: bragg-geometry: my refl;s.hkl: cannot open: No such file or directory'
sed 's/30/31/' away >'my refl;s.hkl'
is 'a changed file' "$(again x_0001.img | sed 's/ was [0-9a-f]*, is [0-9a-f]*$//')" \
	'3 bragg-replay: x_0001.img: cannot be recomputed: bragg-geometry: content of files'
is 'a changed file, by the recording' "$(again photons.rec:1 | sed 's/ was [0-9a-f]*, is [0-9a-f]*$//')" \
	'3 bragg-replay: photons.rec:1: cannot be recomputed: bragg-geometry: content of files'
mv away 'my refl;s.hkl'
# edited NAME SCRIPT: a text image header, changed
edited() {
	LC_ALL=C sed "$2" x_0001.img >"$1"
	again "$1" | sed 's/^\([0-9]\) bragg-replay: /\1 /'
}
is 'another version of physics is reported' "$(edited e.img 's/physics version~[0-9]*/physics version~1/' | sed 's/ this version has physics.*//')" \
	'3 e.img: cannot be recomputed: bragg-geometry was run with physics 1;'
is 'an unknown stage' "$(edited e.img 's/=bragg-noise/=bragg-tap/')" \
	"3 e.img: cannot be recomputed: stage 'bragg-tap' cannot be run again; expected stages from bragg-geometry to bragg-noise"
is 'an option that writes' "$(edited e.img 's/--random/--truth~T/')" \
	"3 e.img: cannot be recomputed: bragg-orient: --restrict does not allow '--truth=T', because that option does not decide what frames contain"
is 'nothing was written' "$(ls T 2>/dev/null)" ''
is 'options that are no words' "$(edited e.img 's/--random/`id`/')" \
	'3 e.img: cannot be recomputed: the stored options of bragg-orient are malformed'
is 'another option is reported' "$(edited e.img 's/--hit-rate~0.5/--hit-rate~0.6/' | sed 's/ was [0-9a-f]* and is [0-9a-f]*[.] Did.*$//')" \
	'3 e.img: cannot be recomputed: the lineage'
is 'a file without a header is refused' "$(again f_0000.img)" \
	'3 bragg-replay: f_0000.img: does not contain its options. Use its index, as in NAME.index:K'
sed 's/history/hiztory/' n_data_000001.h5 >old.h5
is 'NXmx of a version that did not say' "$(again old.h5:0)" \
	'3 bragg-replay: old.h5: does not contain its options. Use its index, as in NAME.index:K'
head -c 2000 n.nxs >torn.nxs
is 'corrupt NXmx' "$(again torn.nxs:0)" '3 bragg-replay: torn.nxs: cannot be read as HDF5: truncated or corrupt'
is 'NXmx without the frame' "$(again n.nxs:6) $(again n_data_000002.h5:3)" \
	'3 bragg-replay: n.nxs: frame 6 not found 3 bragg-replay: n_data_000002.h5: frame 3 not found'
is 'a master without its file' "$(rm n_data_000002.h5 && again n.nxs:5)" \
	'3 bragg-replay: n_data_000002.h5: cannot open: No such file or directory'
is 'NXmx without a number' "$(again n.nxs)" '2 bragg-replay: n.nxs contains 6 frames. Name one, as in n.nxs:0'
is 'a frame that is not there' "$(again photons.rec:6)" '3 bragg-replay: photons.rec: frame 6 not found'
is 'a frame that is not in the index is reported' "$(again x.img.index:6)" '3 bragg-replay: x.img.index: frame 6 not found'
is 'a file of another frame is reported' "$(again x_0001.img:2)" '3 bragg-replay: x_0001.img: contains frame 1; expected frame 2'
is 'no number' "$(again photons.rec)" '2 bragg-replay: photons.rec contains 6 frames. Name one, as in photons.rec:0'
# --- loops
bragg-replay --loop=3 --frames=1-2,5 photons.rec | bragg-tap --record=loop.rec
# sums FILE: number and checksum of the pixels of each frame
sums() { bragg-replay "$1" | bragg-tap | sed -n 's/^frame id=\([0-9]*\) .* \(min=.*\)/\1 \2/p'; }
sums photons.rec >recorded
is 'a list three times, numbered from 0' "$(sums loop.rec)" \
	"$(for k in 0 1 2 3 4 5 6 7 8; do sed -n "s/^$(echo 1 2 5 1 2 5 1 2 5 | cut -d' ' -f$((k + 1))) /$k /p" recorded; done)"
is 'a repeated list has a lineage of its own' "$(bragg-replay --loop=1 photons.rec | bragg-noise --seed=3 | bragg-write 'x_%04d.img' --resume 2>&1)" \
	'bragg-write: x.img.index lists frames that were made with other options (bragg-replay is new in the pipeline). Use --overwrite to replace them, or another name'
is 'each list has a lineage of its own' "$(bragg-replay --loop=2 photons.rec | bragg-tap --record=loop.rec --resume 2>&1 | sed 's/(bragg-replay: --frames was .*, is .*)/(list)/')" \
	'bragg-tap: loop.rec.part: has frames that were made with other options (list). Use --overwrite to replace them'
is 'the number of rounds does not change the lineage' "$(bragg-replay --loop=4 --frames=1-2,5 photons.rec | bragg-tap --record=loop.rec --resume --count | cut -d' ' -f1)" frames=3
is '--recompute reports that a list was repeated' "$(again loop.rec:7)" \
	"3 bragg-replay: loop.rec:7: cannot be recomputed: stage 'bragg-replay' cannot be run again; expected stages from bragg-geometry to bragg-noise"
setsid env --default-signal=INT bragg-replay --loop=forever --rate=50 --out=@ipc://$tap_scratch/run/r photons.rec 2>said &
pid=$!
: >counted
bragg-tap --print --hold=yes --in=ipc://$tap_scratch/run/r >counted &
for _ in $(seq 100); do
	[ "$(wc -l <counted)" -lt 20 ] || break
	sleep 0.1
done
kill -INT $pid
wait $pid
status=$?
wait
is '--loop=forever ends at Ctrl-C without a message' "$status $([ "$(grep -c '^frame' counted)" -ge 19 ] && echo yes) $(cat said)" '130 yes '
bragg-replay --speed=1000 --loop=5 photons.rec | bragg-tap --count >counted
is 'frames are recomputed at recorded times' "$(cut -d' ' -f1 counted)" frames=30
is 'nothing is left' "$(ls tmp; find run -mindepth 1)" ''
finish
