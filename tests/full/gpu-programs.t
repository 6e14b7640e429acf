#!/bin/sh
# The CUDA engine in its program, over a stand-in for the CUDA runtime (see
# tests/standin/cuda_runtime.c): frames, pinned slots of the pool, cards, memory, counts, and
# what a user reads where something is missing.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'programs of a GPU' /usr/bin/python3
intensity=$(dirname "$(command -v bragg-intensity)")/../tests/standin/bragg-intensity
scratch
if ! [ -x "$intensity" ]; then
	skip 'the CUDA engine over a stand-in' 'built without nvcc'
	finish
	exit
fi

# Four frames of 0.26 MB.
recipes() {
	bragg-geometry --detpixels=256 --pixel=0.4 --distance=120 --ncells=8 ${geometry-} |
		bragg-orient --quiet --frames="${number-4}" --random
}
# frames PREFIX OPTION...: by the stand-in, with ./stats and ./report
frames() {
	prefix=$1
	shift
	rm -f stats report
	recipes | STANDIN_REPORT=$PWD/report "$intensity" --engine=cuda --threads=2 --stats=stats "$@" |
		bragg-write --quiet "${prefix}_%d.raw"
}
same() {
	for i in 0 1 2 3; do cmp "$1_$i.raw" "$2_$i.raw" || return 1; done
}
count() {
	sed -n "s/.*\"gpu_$1\":\([0-9]*\).*/\1/p" stats
}
nothing_left() {
	grep -q 'blocks 0, events 0, streams 0, places 0 left; most [0-9]*, pinned [0-9]*, opened 0, block [0-9]*, unmapped 0$' report
}

# --- frames, and what is kept on the card
recipes | bragg-intensity --engine=reference --threads=2 | bragg-write --quiet 'reference_%d.raw'
pass_the_gate() {
	for i in 0 1 2 3; do
		bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 "plain_$i.raw" "reference_$i.raw" >/dev/null || return 1
	done
}
check 'frames' frames plain
check 'frames are those of the reference' pass_the_gate
check 'nothing is left on the card, and places are unpinned while they are mapped' nothing_left
note "$(cat report)"
is 'structure factors and detector are copied once, and found by each frame' \
	"$(count tables_made) $(count tables_found)" '1 4'
is 'buffers of recipe and pixels, likewise' "$(count buffers_made) $(count buffers_found)" '2 6'
check 'slots of the pool are pinned' [ "$(count places_pinned)" -ge 1 ]
is 'all slots of the pool are pinned once' "$(sed 's/.*pinned \([0-9]*\),.*/\1/' report)" "$(count places_pinned)"
recipes | "$intensity" --engine=cuda --threads=2 | bragg-background --water=1 | bragg-noise --quiet |
	bragg-write --quiet 'counts_%d.img'
frames_after() {
	rm -f report stats
	recipes | STANDIN_REPORT=$PWD/report "$intensity" --engine=cuda --stats=stats \
		--fuse='background --water=1' --fuse=noise |
		bragg-write --quiet 'card_%d.img'
}
pixels() {
	tail -c $((2 * 256 * 256)) "$1"
}
same_counts() {
	for i in 0 1 2 3; do
		pixels counts_$i.img >one && pixels card_$i.img >other && cmp one other || return 1
	done
}
check 'counts' frames_after
check 'counts are those of three programs' same_counts
check 'no file of them is left either' nothing_left
is 'the background is made once' "$(count backgrounds_made) $(count backgrounds_found)" '1 3'

# --- with arrays apart, of frames and of all that follows: whoever reads beyond one ends the program
together=$(sed 's/.*most \([0-9]*\),.*/\1/' report)
export BRAGG_GPU_APART=1 STANDIN_EDGE=1
check 'arrays apart' frames_after
check 'counts with arrays apart are those of three programs' same_counts
is 'counts with arrays apart leave nothing on the GPU' \
	"$(nothing_left && test "$(sed 's/.*most \([0-9]*\),.*/\1/' report)" -gt $((together + 9)) && echo yes)" yes

# --- derivatives
cat >near.py <<END
import array, sys
a, b = (array.array("f", open(name, "rb").read()) for name in sys.argv[1:])
sys.exit(not 0 < sum((x - y) ** 2 for x, y in zip(a, b)) < 1e-10 * sum(y * y for y in b))
END
planes() {
	recipes | "$1" "--engine=$2" --derivatives=rot,wavelength,distance | bragg-write --quiet "$2_%d.raw"
}
same_planes() {
	for plane in rot_x rot_y rot_z wavelength distance; do
		/usr/bin/python3 near.py "cuda_0.$plane.raw" "cpu_0.$plane.raw" || return 1
	done
}
rm -f report
export STANDIN_REPORT=$PWD/report
number=1
check 'planes' planes "$intensity" cuda
check 'no file of them is left' nothing_left
check 'planes of the cpu engine' planes bragg-intensity cpu
check 'derivative images are those of the CPU engine' same_planes
bars() {
	recipes | "$1" --quiet "--engine=$2" --parameters=rot,scale --background=1 >"$2.bars"
}
check 'error bars' bars "$(dirname "$intensity")/bragg-fisher" cuda
check 'error bars of the cpu engine' bars bragg-fisher cpu
check 'error bars are those of the CPU engine' awk '
	/^#/ { next }
	{ getline other <"cpu.bars"; n = split(other, value) }
	{ for (i = 1; i <= NF; i++) if ($i != value[i] && !($i / value[i] > 0.9999 && $i / value[i] < 1.0001)) exit 1 }
	END { exit NR < 2 }' cuda.bars
rm -f report
# closed form
closed() {
	bragg-geometry --detpixels=256 --pixel=0.4 --distance=120 --ncells=20 --shape=gauss --mosaic-model=gauss \
		--mosaic-rms=0.1 --strain-rms=0.1 | bragg-orient --quiet --frames=2 --spectrum=sase --bandwidth=0.3 |
		"$1" --quiet "--engine=$2" | bragg-write --quiet "closed_$2_%d.raw"
}
check 'closed form' closed "$intensity" cuda
check 'no file of it is left' nothing_left
check 'closed form of the cpu engine' closed bragg-intensity cpu
check 'the closed form of the CPU engine gives the same images' sh -c '/usr/bin/python3 near.py closed_cuda_0.raw closed_cpu_0.raw && /usr/bin/python3 near.py closed_cuda_1.raw closed_cpu_1.raw'
rm -f report
# frames with their tables, in bytes
sizes() {
	recipes | "$1" --quiet "--engine=$2" --reflections=1 | bragg-tap --print | sed -n 's/^frame id=\([0-9]*\).* bytes=\([0-9]*\) .*/\1 \2/p'
}
number=3
want=$(sizes bragg-intensity cpu)
is 'tables of reflections have the length of those of the cpu engine' "$(sizes "$intensity" cuda)" "$want"
check 'tables of reflections have some reflections' [ "$(echo "$want" | sort -k2,2 -u | wc -l)" -gt 2 ]
check 'no file of reflections is left' nothing_left
unset STANDIN_REPORT number BRAGG_GPU_APART STANDIN_EDGE

# --- memory
export STANDIN_PINS=0
check 'frames are made without pinned slots' frames unpinned 2>err
check 'without pinned slots the frames are the same' same unpinned plain
is 'frames without pinned slots pass through a ring' "$(sed 's/.*block \([0-9]*\),.*/\1/' report)" 65536
export STANDIN_EAGER=1
check 'frames are made with copies that are made at once' frames eager 2>err
check 'frames are the same if copies are made at once' same eager plain
unset STANDIN_EAGER
is 'one warning says that pixels are copied once more' "$(frames again 2>&1 | grep -c 'pinning memory: out of memory; pixels are copied once more')" 1
# one frame of two parts, which the card computes one after the other
halves() {
	bragg-geometry --detpixels=771 --pixel=0.13 --distance=120 --ncells=8 | bragg-orient --quiet --random |
		"$1" --quiet "--engine=$2" --threads=2 | bragg-write --quiet "halves_$3.raw"
}
check 'a frame in two parts' halves "$intensity" cuda unpinned 2>err
unset STANDIN_PINS
check 'a frame in two parts is copied straight to its place' halves "$intensity" cuda pinned
check 'a frame in two parts is made by the CPU engine' halves bragg-intensity cpu cpu
check 'a frame in two parts has the pixels of the CPU engine' sh -c 'cmp halves_unpinned.raw halves_pinned.raw && cmp halves_pinned.raw halves_cpu.raw'
export STANDIN_MEMORY=2245000
check 'frames are made with memory for a part of a frame' frames parts
check 'frames are the same, too' same parts plain
check 'frames are made in parts if memory is short' [ "$(count tables_found)" -gt 4 ]
note "$(count tables_found) parts"
export STANDIN_MEMORY=2500000 STANDIN_TAKEN=290000
check 'frames are made while another process takes memory' frames taken
check 'frames are the same if another process takes memory' same taken plain
unset STANDIN_MEMORY STANDIN_TAKEN

# --- what is missing: one line each, no file
# refused NAME STATUS PATTERN OPTION...: of the line, behind the program's name
refused() {
	name=$1 want="$2 bragg-intensity: $3"
	shift 3
	rm -f status
	recipes 2>others | { timeout 20 "$intensity" --engine=cuda "$@" 2>err || echo $? >status; } |
		bragg-write --quiet 'x_%d.raw' 2>>others
	check "$name" reads "$(cat status) $(cat err)" "$want"
	check "$name: no file" [ ! -e x_0.raw ]
}
reads() {
	# shellcheck disable=SC2254 # a pattern is meant
	case $1 in $2) ;; *) echo "'$1', expected '$2'" && return 1 ;; esac
}
STANDIN_DRIVER=0 STANDIN_CARDS=0 refused 'no driver' 2 '--engine=cuda: no NVIDIA driver found on this machine. Use --engine=cpu'
STANDIN_DRIVER=11020 refused 'an old driver' 2 \
	'--engine=cuda: the NVIDIA driver is for CUDA 11.2; expected [0-9]*.[0-9] or newer'
STANDIN_CARDS=0 refused 'no GPU' 2 '--engine=cuda: no GPU is visible'
STANDIN_CAPABILITY=61 refused 'an old GPU' 2 '--engine=cuda: a stand-in has compute capability 6.1; expected 7.5 or more'
STANDIN_MEMORY=100000 refused 'little memory' 1 '2 MB do not fit into the memory of the GPU, 0 MB free'
geometry=--curved
refused 'planes on a curved detector' 3 \
	'--derivatives: frame 0: the cuda engine has no derivatives for a curved detector: take --engine=cpu' \
	--derivatives=rot
geometry='--shape=gauss --mosaic-model=gauss --mosaic-rms=0.1'
refused 'planes of very many domains' 3 \
	'--derivatives: frame 0: the cuda engine has no derivatives with --mosaic-model=gauss. Use --engine=cpu' --derivatives=rot
geometry=
STANDIN_CARDS=2 refused 'a GPU that is not there' 2 '--device: this machine has no GPU 2; expected 0 to 1' --device=2
BRAGG_WORKER=some refused 'a worker without a number' 2 "BRAGG_WORKER: 'some' is not a whole number"
check_status 'a GPU for the cpu engine' 2 bragg-intensity --device=1
is 'a run that is not possible is refused' "$tap_output" 'bragg-intensity: --device has an effect only with --engine=cuda'

# --- several cards
cards() {
	sed 's/^card \([0-9]*\).*/\1/' report | sort | tr '\n' ' '
}
STANDIN_CARDS=4 frames chosen --device=3
is '--device' "$(cards)" '3 '
cat >many.yaml <<END
stages:
  - name: geometry
    args: [--detpixels=256, --pixel=0.4, --distance=120, --ncells=8]
  - name: orient
    args: [--frames=16, --random]
  - name: intensity
    program: $intensity
    args: [--engine=cuda]
    threads: 1
    count: 4
  - name: write
    args: ['many_%d.raw']
END
for cards in 4 3; do
	rm -f report many_*
	STANDIN_REPORT=$PWD/report STANDIN_CARDS=$cards bragg-run --quiet many.yaml
	is "four processes, $cards cards" "$(cards)" "$(case $cards in 4) echo '0 1 2 3 ' ;; 3) echo '0 0 1 2 ' ;; esac)"
done
for i in 0 1 2 3; do check "frame $i by several" cmp many_$i.raw plain_$i.raw; done
is '--dry-run shows which is which' "$(bragg-run --dry-run many.yaml | grep -o 'BRAGG_WORKER=[0-9]' | tr '\n' ' ')" \
	'BRAGG_WORKER=0 BRAGG_WORKER=1 BRAGG_WORKER=2 BRAGG_WORKER=3 '
finish
