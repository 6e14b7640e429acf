#!/bin/sh
# What who sits at a terminal is told: what is made, how far it is, what it takes of the disk,
# where it is in the end, and how to go on after Ctrl-C.  Scripts are told nothing of it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a terminal' /usr/bin/python3
scratch
mkdir run
export XDG_RUNTIME_DIR="$tap_scratch/run"
script -qec true /dev/null </dev/null >/dev/null 2>&1 || {
	skip 'on a terminal' 'no pseudo-terminal to be had'
	finish
	exit
}

# lines: of what a terminal got, as they stand there in the end: what was drawn over is gone
lines() {
	tr -d '\r' <said | sed "s/.*$(printf '\033')\[[0-9]*[KJ]//; s/^\^C//"
}

# terminal FILE: runs it with a terminal, until it ends
terminal() {
	script -qec "sh ./$1" /dev/null </dev/null >said 2>&1
}

# interrupt FILE COUNT NAME: likewise, and Ctrl-C is typed as often, once there are files NAME*
interrupt() {
	rm -f keys
	mkfifo keys
	env --default-signal=INT,QUIT script -qec "trap : INT; sh ./$1; echo status \$?" /dev/null <keys >said 2>&1 &
	exec 3>keys
	soon there "$3"
	for interrupt_i in $(seq "$2"); do
		printf '\003' >&3
		soon says 'finishing'
	done
	wait
	exec 3>&-
}

there() {
	[ -n "$(find "${1%/*}" -name "${1##*/}*" 2>/dev/null)" ]
}

says() {
	lines | grep -q "$1"
}

# --- a shell pipe
make='bragg-geometry --detpixels=64 --pixel=1.6 --distance=120 --energy=12400 --ncells=8 --fluence=1e27'
chain="$make | bragg-orient --frames=12 --osc=0.5 --phi-steps=4 | bragg-intensity --threads=1 | bragg-noise --threads=1"
mkdir pipe
echo "$chain | bragg-write --preview='pipe/a_%d.png' 'pipe/a_%02d.img'" >plain
terminal plain
is 'six lines' "$(lines | sed 's/, [0-9.]*\/s,/, R,/; s/[0-9.]* [a-zA-Z]* free/F free/; s/spots .* deg/spots S deg/;
	s/about .*,/about B,/; s/pixel [0-9]* ADU/pixel P ADU/; s/[0-9.e+]* photons/N photons/; s/^bragg-write: [0-9.]* MB/bragg-write: B/')" \
	"bragg-geometry: 64 x 64 pixels of 1.6 mm at 120 mm, 12.4 keV (0.9999 A), 2.46 A at the edge, 1.84 A in the corner
bragg-geometry: crystal lysozyme (orthorhombic, P 21 21 21), cell 59.062 68.451 30.517 A, 90 90 90 deg
bragg-orient: 12 frames of 0.5 deg, spots S deg wide
bragg-write: 12 frames need about B, F free
bragg-write: 12 frames, R, brightest pixel P ADU, N photons a frame
bragg-write: B in pipe/a_00.img ... a_11.img, pipe/a_0.png ... a_11.png"
is 'how large the files are' "$(lines | sed -n 's/^bragg-write: \([0-9.]*\) MB in.*/\1/p')" \
	"$(stat -c %s pipe/*.img pipe/*.png | awk '{s += $1} END {printf "%.3g\n", s / 1e6}')"
# the largest pixel, and the mean sum less 40 a pixel
header=$(sed -n 's/^HEADER_BYTES= *\([0-9]*\);.*/\1/p;3q' pipe/a_00.img)
brightest=$(for i in pipe/*.img; do od -An -v -w2 -tu2 -j"$header" "$i"; done |
	awk '{s += $1 - 40; if ($1 > m) m = $1} END {printf "%.5g ADU, %.3g", m, s / 12}')
check 'the brightest pixel, and photons' grep -a "brightest pixel $brightest photons a frame" said
check 'progress is drawn in place' grep -q "$(printf '\r')bragg-write: frame [0-9]* of 12 $(printf '\033')\[K" said
check 'the room on the disk' sh -c 'lines=$(df --output=avail -B1 pipe | tail -n 1)
	sed -n "s/.*need about .*, \([0-9.]*\) \([A-Z]B\) free.*/\1 \2/p" said | awk -v room="$lines" "
	{scale[\"MB\"] = 1e6; scale[\"GB\"] = 1e9; scale[\"TB\"] = 1e12; r = \$1 * scale[\$2] / room; exit !(r > 0.8 && r < 1.25)}"'

rm -r pipe
mkdir pipe
sh ./plain 2>errors >out
is 'a script gets no messages' "$(cat out errors)" ''
rm -r pipe
mkdir pipe
sed 's/ |/ --quiet |/g; s/bragg-write/bragg-write --quiet/' plain >quiet
terminal quiet
is '--quiet prints no message either' "$(cat said)" ''

# what is a recording, and what is no image
echo "$make | bragg-orient --frames=3 | bragg-tap --record=r.rec" >record
terminal record
is 'a recording of recipes' "$(lines | tail -n 2 | sed 's/, [0-9.]*\/s//; s/[0-9.]* [kM]B/B/')" 'bragg-tap: 3 frames
bragg-tap: B in r.rec'
check 'identical frames: the message suggests --random' says '^bragg-orient: 3 frames of one orientation (for many: --random or --osc), spots'
echo "bragg-replay --first=2 r.rec | bragg-tap --record=s.rec" >replay
terminal replay
is 'a recording that is played' "$(lines | sed 's/, [0-9.]*\/s//; s/[0-9.]* [kM]B/B/; /need about/d')" 'bragg-replay: 2 frames of r.rec
bragg-tap: 2 frames
bragg-tap: B in s.rec'
# photons, before noise
echo "$make | bragg-orient | bragg-intensity --threads=1 | bragg-write one.raw" >one
terminal one
is 'one frame, of photons' "$(lines | tail -n 2 | sed 's/pixel [0-9.]*,/pixel P,/; s/[0-9.e+]* photons/N photons/')" \
	'bragg-write: 1 frame, brightest pixel P, N photons a frame
bragg-write: 16.4 kB in one.raw'
echo "$make --detector=pilatus-300k --distance=100 | bragg-orient --frames=3 | bragg-intensity --threads=1 |
	bragg-write --frames-per-file=2 series.nxs" | sed 's/--detpixels=64 --pixel=1.6 --distance=120//' >series
terminal series
is 'a series: all its files' "$(lines | sed -n 's/^bragg-write: \([0-9.]*\) [kM]B in \(series.nxs\)$/\1 \2/p')" \
	"$(stat -c %s series*.nxs series*.h5 | awk '{s += $1} END {s /= 1000; printf "%.3g series.nxs\n", s < 1000 ? s : s / 1000}')"

# Under sanitizers 1000 channels take 15 minutes.
channels=1000
[ ! "${BRAGG_SANITIZED-}" ] || channels=100
for frames in 3 12 "12 --random --spectrum=sase --channels=$channels"; do
	rm -f series*.nxs* series*.h5
	sed "s/--frames=3/--frames=$frames/; s/--ncells=8/& --oversample=1/" series >longer
	terminal longer
	lines | sed -n 's/^.*need about \([0-9.]*\) [kM]B.*/\1/p; s/^bragg-write: \([0-9.]*\) [kM]B in.*/\1/p' >sizes
	check "$frames frames of it: as much as was said" awk '{x[NR] = $1} END {exit !(NR == 2 && x[1] / x[2] > 0.95 && x[1] / x[2] < 1.05)}' sizes
done

for name in nxs cxi; do
	rm -f series*
	echo "$make --detector=pilatus-300k --distance=100 | bragg-orient --frames=12 --random | bragg-intensity --threads=1 --reflections |
		bragg-write --frames-per-file=5 series.$name" | sed 's/--detpixels=64 --pixel=1.6 --distance=120//; s/--ncells=8/& --oversample=1/' >longer
	terminal longer
	lines | sed -n 's/^.*need about \([0-9.]*\) [kM]B.*/\1/p; s/^bragg-write: \([0-9.]*\) [kM]B in.*/\1/p' >sizes
	check "reflections in $name: as much as was said" awk '{x[NR] = $1} END {exit !(NR == 2 && x[1] / x[2] > 0.95 && x[1] / x[2] < 1.05)}' sizes
done

# --- what does not fit
echo "$make | bragg-orient --frames=1e9 | bragg-intensity --threads=1 | bragg-write 'full_%d.raw'" >full
setsid env --default-signal=INT,QUIT sh ./full 2>errors &
group=$!
soon grep -q . errors
kill -INT -$group
wait
is 'more than the disk holds: a warning, to scripts too' "$(sed 's/[0-9.]* [A-Z]*B free/F free/' errors)" \
	'bragg-write: warning: 1000000000 frames need about 16.4 TB, only F free'

# --- Ctrl-C
echo "$chain" | sed 's/frames=12/frames=100000/; s/$/ | bragg-write ".\/int_%d.img"/' >long
interrupt long 1 ./int_99. # at most 32 of them are not acknowledged
left=$(lines | sed -n 's/^bragg-orient: finishing \([0-9]*\) frames*\(, about [0-9:]*\)*; Ctrl-C again aborts$/\1/p')
check 'Ctrl-C: how many frames are being finished' test "${left:-0}" -ge 1 -a "${left:-0}" -le 32
check 'Ctrl-C: those that are done are not among them' test "$left" -lt "$(find . -name 'int_*.img' | wc -l)"
frames=$(find . -name 'int_*.img' | wc -l)
is 'Ctrl-C: how many there are, and how to go on' "$(lines | sed -n 's/^bragg-write: \([0-9]* frames\), .*/\1/p
	s/^bragg-write: [0-9.]* [kM]B in \(.*\)/\1/p')" "$frames frames
./int_0.img ... int_$((frames - 1)).img; --resume continues"
is 'Ctrl-C: status 130' "$(lines | tail -n 1)" 'status 130'

# --- bragg-run: what stages tell is shown above its bar, and below it in the end
cat >p.yaml <<END
stages:
  - {name: geometry, args: [--detpixels=64, --pixel=1.6, --distance=120, --ncells=8, --oversample=1]}
  - {name: orient, args: [--frames=12, --random, --mosaic=1, --mosaic-domains=10]}
  - {name: intensity, threads: 1}
  - {name: noise, threads: 1}
  - {name: write, args: [a_%02d.img]}
END
echo "exec bragg-run --workdir=stills $tap_scratch/p.yaml" >run.sh
terminal run.sh
check 'bragg-run: the results are named' says '^bragg-geometry: 64 x 64 pixels of 1.6 mm'
is 'bragg-run: files as one names them here' "$(lines | sed -n 's/[0-9.]* kB/B/; /^bragg-write: B in/p')" \
	'bragg-write: B in stills/a_00.img ... a_11.img'
is 'bragg-run: no marks' "$(tr -d '\001' <said | cmp - said 2>&1)" ''
bragg-run --workdir=silent p.yaml >out 2>&1
is 'bragg-run in a script: silent' "$(grep -a -v warning out)" ''
sed 's/64/65/' p.yaml >long.yaml
echo "exec bragg-run --frames=100000 --workdir=stop $tap_scratch/long.yaml" >run.sh
interrupt run.sh 1 stop/a_
check 'bragg-run: Ctrl-C' says '^bragg-orient: finishing [0-9]* frames*; Ctrl-C again aborts'
check 'bragg-run: how to go on' says '^bragg-write: .* in stop/a_00.img ... a_[0-9]*.img; --resume continues'
is 'bragg-run: status 130' "$(lines | tail -n 1)" 'status 130'

# --- a page that has seen frames stays for who sits there, and goes with Ctrl-C
rm keys
mkfifo keys
env --default-signal=INT,QUIT script -qec "trap : INT; bragg-run --view=127.0.0.1:0 --set=geometry.detpixels=512 --frames=40 --workdir=seen p.yaml; echo status \$?" /dev/null <keys >said 2>&1 &
exec 3>keys
soon says 'The page stays at .* until Ctrl-C$'
is 'bragg-run --view: all is there' "$(ls seen/*.img | wc -l)" 40
page=$(lines | sed -n 's/^bragg-view: the stream has ended. The page stays at \(.*\) until Ctrl-C$/\1/p')
check 'the page stays' /usr/bin/python3 -c '
import sys, urllib.request
assert b"<html" in urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1], timeout=10).read()' "$page"
printf '\003' >&3
wait
exec 3>&-
check 'the page stays until Ctrl-C, and no run is interrupted' says '^status 0$'
finish
