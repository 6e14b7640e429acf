#!/bin/sh
# What would be wrong without a word: photons that are no numbers, pixels that do not fit.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# recipes FRAMES OPTION...: of a small detector, whose lattices scatter everywhere
recipes() {
	frames=$1
	shift
	bragg-geometry --detpixels=64 --pixel=1.6 --distance=120 --wavelength=1.0 --ncells=5 "$@" 2>> upstream |
		bragg-orient --frames="$frames" 2>> upstream
}
# last NAME COMMAND...: a last stage but one, its status kept and its words in NAME
last() {
	name=$1
	shift
	"$@" 2> "$name" || echo $? > "$name.status"
}

# photons that are no numbers: by every engine, alone and with other stages in it
bad='frame 0: pixel 0,0 (fast, slow) of panel 0 has inf photons; expected finite and not negative'
n=0
for how in --engine=cpu --engine=reference --precision=double '--fuse=background --water=1' '--fuse=noise' '--fuse=noise --psf=gauss'; do
	n=$((n + 1))
	recipes 2 --fluence=1e60 --default-F=1e9 --cell=78,78,38,90,90,90 | last said bragg-intensity "$how" | bragg-write "a${n}_%d.raw" 2>> downstream
	is "too many photons, $how" "$(cat said said.status; ls a${n}_* 2> /dev/null)" "bragg-intensity: $bad
3"
	rm -f said.status
done
recipes 2 --fluence=1e60 --beam-size=10 | bragg-intensity 2>> upstream | last said bragg-background --water=1e6 |
	bragg-write b_%d.raw 2>> downstream
is 'too much background' "$(cat said said.status; ls b_* 2> /dev/null)" "bragg-background: $bad
3"
rm -f said.status

# what does not fit: counted, said once
counts='3 of 3 frames: N pixels saturated (50 ADU), N pixels below 0'
noise='--adc-offset=3 --readout=3 --saturation=50'
# numbers FILE: with the numbers of pixels as N, where they are
numbers() {
	sed 's/ [1-9][0-9]* pixels/ N pixels/g' "$1"
}
recipes 3 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | last said bragg-noise $noise | bragg-write c_%d.img 2>> downstream
is 'bragg-noise says what does not fit' "$(numbers said)" "bragg-noise: $counts"
recipes 3 --fluence=5e27 --default-F=100 | last fused bragg-intensity --fuse="noise $noise" | bragg-write d_%d.img 2>> downstream
is 'the stage with --fuse counts the pixels that do not fit as bragg-noise does' "$(sed 's/.*: 3 of/3 of/' fused)" "$(sed 's/.*: 3 of/3 of/' said)"
check 'the stage with --fuse writes the same pixels as bragg-noise' cmp c_2.img d_2.img
saturated=0 zero=0
for i in 0 1 2; do
	saturated=$((saturated + $(od -An -v -w2 -tu2 -j512 c_$i.img | grep -c ' 50$')))
	zero=$((zero + $(od -An -v -w2 -tu2 -j512 c_$i.img | grep -c ' 0$')))
done
is 'saturated pixels are those that read the most' "$(sed 's/.*: \([0-9]*\) pixels.*/\1/' said)" $saturated
check 'some of those that read 0 were below' test "$(sed 's/.* \([0-9]*\) pixels below.*/\1/' said)" -lt $zero
recipes 3 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | BRAGG_AGAIN=1 last said bragg-noise $noise | bragg-write i_%d.img 2>> downstream
is 'a process in the place of another one counts its own' "$(numbers said)" "bragg-noise: $(echo "$counts" | sed 's/frames:/frames of this process:/')"
recipes 3 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | last said bragg-noise $noise --quiet | bragg-write e_%d.img 2>> downstream
is '--quiet prints no counts' "$(cat said)" ''
recipes 3 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | last said bragg-noise | bragg-write f_%d.img 2>> downstream
is 'no count is printed if all pixels fit' "$(cat said)" ''
recipes 2 --physics=faithful --fluence=5e27 --default-F=100 | bragg-intensity --engine=reference 2>> upstream |
	last said bragg-noise --generator=nanobragg --gain=2000 --adc-offset=3 --readout=3 | bragg-write g_%d.img 2>> downstream
is '--generator=nanobragg counts the pixels that do not fit' "$(numbers said)" 'bragg-noise: 2 of 2 frames: N pixels saturated (65535 ADU), N pixels below 0'
recipes 2 --fluence=5e27 --default-F=100 | bragg-intensity 2>> upstream | bragg-write --scale=1e4 h_%d.img h_%d.cbf 2> said
is 'bragg-write --scale says it for each file' "$(numbers said | grep -v 'cannot store the gain')" 'bragg-write: h_%d.img: 2 of 2 frames: N pixels saturated (65535 ADU)'
cat > run.yaml << 'END'
stages:
  - {name: g, program: bragg-geometry, args: [--detpixels=16, --pixel=6, --ncells=5]}
  - {name: o, program: bragg-orient, args: [--frames=3]}
  - {name: i, program: bragg-intensity, args: [--threads=1]}
  - {name: n, program: bragg-noise, args: [--threads=1, --gain=1e5]}
  - {name: w, program: bragg-write, args: [r_%d.img]}
END
bragg-run run.yaml 2> said
is 'bragg-run shows it' "$(numbers said | grep noise)" 'n| bragg-noise: 3 of 3 frames: N pixels saturated (65535 ADU)'
is 'bragg-run --quiet does not show the counts' "$(sed 's/r_/q_/' run.yaml > quiet.yaml && bragg-run --quiet quiet.yaml 2>&1)" ''

# a pipe into which nobody writes: its name after a second, and then what comes is read
mkfifo pipe
cell=--cell=78,78,38,90,90,90 in=--in=ipc://$PWD/h out=--out=@ipc://$PWD/g
# each PROGRAM OPTION...: of a program that reads from the pipe
each() {
	"$@" bragg-geometry "$out" $cell --hkl=pipe
	"$@" bragg-geometry "$out" --mask=pipe
	"$@" bragg-geometry "$out" --default-F=1 --matrix=pipe
	"$@" bragg-geometry "$out" --geom=pipe
	"$@" bragg-geometry "$out" --expt=pipe
	"$@" bragg-orient "$in" "$out" --orientations=pipe
	"$@" bragg-background "$in" "$out" --stol=pipe --thickness=1 --molecular-weight=18
	"$@" bragg-run pipe
	"$@" bragg-view "$in" --bind=127.0.0.1:0 --token=pipe
	"$@" bragg-nanobragg -hkl pipe -cell 78 78 38 90 90 90
	"$@" bragg-noisify -floatfile pipe
}
# start COMMAND...: in the background; hears COMMAND...: what it says until it is ended
n=0
start() {
	n=$((n + 1))
	"$@" < /dev/null > stdout$n 2> waits$n &
	echo $! > pid$n
}
hears() {
	n=$((n + 1))
	soon test -s waits$n
	kill "$(cat pid$n)" 2> /dev/null
	wait "$(cat pid$n)" 2> /dev/null
	is "$*" "$(cat waits$n)" "$1: warning: pipe: no process writes into this pipe; waiting"
}
each start
is 'Ctrl-C ends that' "$(timeout -s INT --preserve-status 0.5 bragg-geometry "$out" $cell --hkl=pipe 2>&1; echo $?)" 130
n=0
each hears
for command in 'bragg-replay pipe' 'bragg-replay --recompute pipe:1' 'bragg-compare pipe pipe' "bragg-geometry $out $cell --mtz=pipe"; do
	# shellcheck disable=SC2086 # the list is meant to split
	check "$command: no pipe will do" sh -c '! timeout 10 "$@" 2> said && grep -q "ordinary file\|regular file" said' x $command
done
{ sleep 1.5; printf '1 0 0 10\n0 0 1 20\n'; } > pipe &
bragg-geometry --detpixels=8 $cell --hkl=pipe 2> said | bragg-orient --frames=1 2>> upstream | bragg-intensity 2>> upstream |
	bragg-write p_%d.raw
is 'a writer that is slow is waited for, in silence' "$(cat said; ls p_*)" p_0.raw
bragg-geometry --detpixels=8 $cell --hkl=pipe 2> said | bragg-orient --frames=1 2>> upstream | bragg-intensity 2>> upstream |
	bragg-write q_%d.raw &
soon test -s said
printf '1 0 0 10\n0 0 1 20\n' > pipe
wait
check 'one that comes late, too' cmp p_0.raw q_0.raw

# a pipe that nobody reads: no signal ended the waiting for one
# unread OPTION PROGRAM: what `unread` must hold
unread() {
	is "nobody reads $1" "$(cat unread)" "$2: pipe: no process reads this pipe
1"
	rm -f unread
}
# writing PROGRAM OPTION...: its words and its status in `unread`
writing() {
	timeout -k 1 10 "$@" 2> unread || echo $? >> unread
}
for option in --write-geom --stats --trace; do
	writing bragg-geometry --detpixels=8 $option=pipe | bragg-orient 2>> upstream | bragg-tap --count >> downstream 2>&1
	unread $option bragg-geometry
done
bragg-geometry --detpixels=8 2>> upstream | writing bragg-orient --truth=pipe | bragg-tap --count >> downstream 2>&1
unread --truth bragg-orient
bragg-geometry --detpixels=8 2>> upstream | bragg-orient 2>> upstream | writing bragg-tap --record=pipe
unread --record bragg-tap
cat pipe > copy &
bragg-geometry --detpixels=8 2>> upstream | bragg-orient 2>> upstream | bragg-tap --record=pipe 2> said
wait
is 'a recording into a pipe that is read is written' "$(cat said; head -c 6 copy | tail -c 5)" bragg
finish
