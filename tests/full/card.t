#!/bin/sh
# Background and noise on a GPU, over a stand-in for the CUDA runtime (tests/standin/cuda_runtime.c):
# the same bytes wherever each stage computes, and wherever images lie.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
standin=$(dirname "$(command -v bragg-intensity)")/../tests/standin
scratch
if ! [ -x "$standin/bragg-noise" ]; then
	skip 'stages on a GPU over a stand-in' 'built without nvcc'
	finish
	exit
fi
export STANDIN_REPORT="$tap_scratch/report"

# Three frames of 0.26 MB.  One subpixel is enough: every engine gets the same, and the stand-in is slow.
recipes() {
	# shellcheck disable=SC2086 # options are words
	bragg-geometry --detpixels=256 --pixel=0.4 --distance=120 --ncells=8 --oversample=1 ${geometry-} |
		bragg-orient --quiet --frames=3 --random ${orient-}
}
# chain PREFIX BACKGROUND NOISE: the engines of both behind intensity on the card; with .stats of each
chain() {
	rm -f "$1".*.stats
	# shellcheck disable=SC2086 # options are words
	recipes | "$standin/bragg-intensity" --quiet --engine=cuda --stats="$1.intensity.stats" ${intensity-} |
		"$standin/bragg-background" ${loud---quiet} --engine=$2 --stats="$1.background.stats" ${background---water=1} |
		"$standin/bragg-noise" ${loud---quiet} --engine=$3 --stats="$1.noise.stats" ${noise-} |
		bragg-write --quiet "$1_%d.${suffix-img}" ${tables+"--reflections=$1_%d.tsv"}
}
# the same on this processor alone
plain() {
	# shellcheck disable=SC2086 # options are words
	recipes | bragg-intensity --quiet ${intensity-} | bragg-background --quiet ${background---water=1} |
		bragg-noise --quiet ${noise-} | bragg-write --quiet "$1_%d.${suffix-img}" ${tables+"--reflections=$1_%d.tsv"}
}
# count PREFIX STAGE NAME
count() {
	sed -n "s/.*\"gpu_$3\":\([0-9]*\).*/\1/p" "$1.$2.stats"
}
body() { # of an SMV file
	tail -c +$(($(head -c 40 "$1" | sed -n 's/^HEADER_BYTES= *\([0-9]*\);.*/\1/p') + 1)) "$1"
}
same_pixels() {
	for i in 0 1 2; do
		body "$1_$i.img" >one && body "$2_$i.img" >other && [ -s one ] && cmp one other || return 1
	done
}
same_files() {
	for i in 0 1 2; do cmp "$1_$i.img" "$2_$i.img" || return 1; done
}
nothing_left() {
	[ -s report ] && ! grep -v 'blocks 0, events 0, streams 0, places 0 left; most [0-9]*, pinned [0-9]*, opened [0-9]*, block [0-9]*, unmapped 0$' report
}
# stayed PREFIX: what one stage gave on the card the next one took there
stayed() {
	given=$(count "$1" intensity images_given) sums=$(count "$1" background images_given)
	note "$given of 3 images of photons stayed on the card, $sums of 3 sums"
	[ "$given" -ge "${2-1}" ] && [ "$sums" -ge "${2-1}" ] &&
		[ "$given $sums" = "$(count "$1" background images_taken) $(count "$1" noise images_taken)" ]
}
# left_it PREFIX: nothing did
left_it() {
	[ "$(count "$1" intensity images_given) $(count "$1" background images_given)" = '0 0' ]
}
# alike NAME: every mixture of engines gives the bytes of this processor, and the same lineage
alike() {
	rm -f ./*.img ./*.index report
	check "$1: on this processor" plain plain
	check "$1: intensity and noise both run on the GPU" chain both cuda cuda
	check "$1: the GPU gives the same pixels" same_pixels plain both
	check "$1: nothing is left on the card" nothing_left
	check "$1: background here" chain second cpu cuda
	check "$1: noise here" chain first cuda cpu
	check "$1: intensity and noise both run on the CPU" chain none cpu cpu
	check "$1: the GPU and the CPU write the same files" sh -c "$(cat <<-'END'
		for i in 0 1 2; do for other in both first second; do cmp none_$i.img ${other}_$i.img || exit 1; done; done
	END
	)"
}

alike '16 bits'
check '16 bits: images stay on the card' stayed both
is '16 bits: counts leave it' "$(count both noise images_given) $(count both noise images_fetched)" '0 0'
is '16 bits: the background is made once' "$(count both background backgrounds_made) $(count both background backgrounds_found)" '1 2'
noise='--bits=32 --readout=3 --flicker=0.02 --calibration=0.03 --gain=1.7'
background='--water=1 --air=10'
alike '32 bits, all that counts'
check '32 bits: images stay on the card' stayed both
unset background
noise='--no-poisson --readout=9'
orient='--shift-jitter=200 --coffset-jitter=100 --spectrum=sase --bandwidth=0.3'
alike 'a detector that moves, and spectra'
check 'a detector that moves: images stay on the card' stayed both
noise='' orient='' intensity=--reflections tables=
alike 'images with tables of reflections are the same'
is 'tables of reflections' "$(cat both_?.tsv | cksum)" "$(cat none_?.tsv | cksum)"
check 'tables of reflections have a background' [ "$(cat both_?.tsv | wc -l)" -gt 9 ]
unset tables
check 'images with tables of reflections leave the GPU' left_it both
intensity=--derivatives=rot,scale suffix=raw noise=--calibration=0.2
check 'with derivative images the chain runs on the GPU' chain both cuda cuda
check 'with derivative images the chain runs on the CPU' chain none cpu cpu
is 'planes are counted alike' "$(cat both_?.*raw | cksum)" "$(cat none_?.*raw | cksum)"
is 'planes' "$(echo both_?.*.raw | wc -w)" 12
is 'planes: photons leave the card, and the sum is fetched' "$(count both intensity images_given) $([ "$(count both noise images_fetched)" -ge 1 ] && echo some)" '0 some'
unset suffix
intensity='' noise='' geometry=--roi=20,200,3,250
alike 'a part of the detector'
geometry='--sensor=smear --thickness=450 --twotheta=30'
alike 'a smeared sensor'
check 'a smeared sensor: images stay on the card' stayed both
check 'a smeared sensor: a frame is begun before the one before is complete' [ "$(count both intensity frames_begun_early)" -ge 1 ]

# --- what a GPU does not do: one line says so
# left NAME STAGE WHAT
left() {
	alike "$1"
	rm -f ./*.img ./*.index
	said=$(loud='' && chain both cuda cuda 2>&1)
	is "$1: one warning says that the stage uses the CPU" "$(echo "$said" | grep -c "^bragg-$2: warning: --engine=cuda: this stage uses the CPU, because the GPU engine does not support $3")" 1
}
geometry=--curved
left 'a curved detector' background 'curved detectors, '
geometry='--third-harmonic=1'
left 'a third harmonic' background 'curved detectors, harmonics,'
geometry='' background='--water=1 --jitter=20 --streak=1e4'
left 'what varies' background 'curved .* varies between frames'
unset background
noise='--psf=gauss --psf-fwhm=500'
left 'point spread' noise 'point spread, '
noise='--hot=0.01'
left 'bad pixels' noise '.*bad pixels'
noise=''

# --- cards and memory
cards() {
	sed 's/^card \([0-9]*\).*/\1/' report | sort | tr '\n' ' '
}
rm -f report ./*.img ./*.index
export STANDIN_CARDS=2
check 'the last stage can use another GPU' chain both cuda 'cuda --device=1'
is 'the second GPU is taken' "$(cards)" '0 0 1 '
is 'images stay on the first alone' "$([ "$(count both intensity images_given)" -ge 1 ] && count both background images_given)" 0
unset STANDIN_CARDS
check 'another GPU: the chain runs on the CPU' chain none cpu cpu
check 'another GPU: the files are those of the CPU' same_files both none
export STANDIN_PINS=0
check 'the chain runs without pinned memory' chain unpinned cuda cuda 2>err
check 'without pinned memory the files are the same' same_files unpinned none
check 'images stay on the card' stayed unpinned
unset STANDIN_PINS
# without PREFIX NAME=VALUE: images leave the card, and are the same
without() {
	rm -f report
	export "${2?}"
	said=$(loud='' && chain "$1" cuda cuda 2>&1)
	unset "${2%%=*}"
	check "$2: the files are the same" same_files "$1" none
	check "$2: nothing is left on the card" nothing_left
}
without unnamed STANDIN_UNNAMED=1
check 'memory without a name: images leave the card' left_it unnamed
without unopened STANDIN_UNOPENED=1
is 'warnings say that memory of the GPU cannot be opened' "$(echo "$said" | grep -c 'images of bragg-[a-z]* cannot be read on the GPU (.*); they are copied')" 2
without little STANDIN_MEMORY=3000000
is 'little memory: photons leave the card' "$(count little intensity images_given)" 0
# refused NAME STATUS PATTERN OPTION...: of bragg-noise's and bragg-background's one line
refused() {
	name=$1 want=$2 text=$3
	shift 3
	for stage in background noise; do
		rm -f status x_0.img
		water=--water=1
		[ $stage = background ] || water=
		recipes 2>others | bragg-intensity --quiet 2>>others |
			{ timeout 20 "$standin/bragg-$stage" --quiet --engine=cuda $water "$@" 2>err || echo $? >status; } |
			bragg-write --quiet 'x_%d.img' 2>>others
		check "$name: $stage" reads "$(cat status) $(cat err)" "$want bragg-$stage: $text"
		check "$name: $stage: no file" [ ! -e x_0.img ]
	done
}
reads() {
	# shellcheck disable=SC2254 # a pattern is meant
	case $1 in $2) ;; *) echo "'$1', expected '$2'" && return 1 ;; esac
}
STANDIN_DRIVER=0 STANDIN_CARDS=0 refused 'no driver' 2 '--engine=cuda: no NVIDIA driver found on this machine. Use --engine=cpu'
STANDIN_CARDS=0 refused 'no GPU' 2 '--engine=cuda: no GPU is visible'
STANDIN_CAPABILITY=61 refused 'an old GPU' 2 '--engine=cuda: a stand-in has compute capability 6.1; expected 7.5 or more'
STANDIN_CARDS=2 refused 'a GPU that is not there' 2 '--device: this machine has no GPU 2; expected 0 to 1' --device=2
STANDIN_MEMORY=1000 refused 'no memory' 1 '* MB do not fit into the memory of the GPU, 0 MB free'

# --- the shipped pipeline, of a small detector.  Eight frames with one subpixel are enough: the stand-in is slow.
sed "s|--detector=eiger-4m|--detpixels=300, --pixel=0.3, --oversample=1|; s|--frames=100|--frames=8|; s|lyso.nxs|$tap_scratch/run_%d.img|
	s#^  - name: \(intensity\|background\|noise\)\$#&\n    program: $standin/bragg-\1#" "$BRAGG_TESTS/../pipelines/gpu.yaml" >gpu.yaml
rm -f report
check 'the shipped pipeline' bragg-run --quiet --workdir=run --stats gpu.yaml
is 'images stay on the card there' "$(grep -c 'opened [1-9]' report)" 2
sed 's/--engine=cuda, //; s/--engine=cuda//; /program:/d; s|run_%d|cpu_%d|' gpu.yaml >cpu.yaml
check 'the shipped pipeline runs on the CPU' bragg-run --quiet --workdir=cpu cpu.yaml
same_run() {
	for i in $(seq 0 7); do body run_$i.img >one && body cpu_$i.img >other && cmp one other || return 1; done
}
check 'pixels of the shipped pipeline are those of the CPU' same_run
# --- bragg-run chooses the GPU by itself.  The stand-in has the place of bragg-intensity in a folder of programs.
bin=$(dirname "$(command -v bragg-run)")
mkdir kit
for program in "$bin"/bragg-*; do ln -s "$program" kit/; done
rm kit/bragg-run kit/bragg-replay kit/bragg-intensity
cp "$bin/bragg-run" "$bin/bragg-replay" kit/  # both look for programs in the folder of their file
ln -s "$standin/bragg-intensity" kit/
sed "s|--detector=eiger-4m|--detpixels=64, --pixel=1.6, --oversample=1|; s|--frames=100|--frames=4|; s/--engine=cuda, //; s/--engine=cuda//" \
	"$BRAGG_TESTS/../pipelines/gpu.yaml" >plain.yaml
export CUDA_VISIBLE_DEVICES=0
is 'bragg-run chooses a GPU that bragg-intensity finds' "$(kit/bragg-run --dry-run plain.yaml | grep -c '^# intensity: engine cuda, because this host has a GPU, a stand-in\. ')" 1
is 'bragg-run does not choose an old GPU' "$(STANDIN_CAPABILITY=61 kit/bragg-run --dry-run plain.yaml | grep '^# intensity: engine')" \
	'# intensity: engine cpu, because a stand-in has compute capability 6.1; expected 7.5 or more'
rm -f report
check 'a run with the chosen GPU' kit/bragg-run --quiet --workdir=chosen --count=write=4 plain.yaml
check 'the GPU computes its images, background and noise' [ "$(wc -l <report)" = 1 ]
for i in 0 1 2 3; do
	check "image $i of four writers is computed again by the engine in its file" kit/bragg-replay --recompute chosen/lyso.nxs:$i
done
check_status 'a frame of a GPU is not recomputed without one' 3 bragg-replay --recompute chosen/lyso.nxs:0
is 'one line says why' "$(echo "$tap_output" | grep -c 'cannot be recomputed: bragg-intensity: --engine=cuda: ')" 1
check_status 'a run of a GPU is not resumed on the CPU' 3 kit/bragg-run --quiet --workdir=chosen --frames=6 --resume --as-written plain.yaml
is 'the error names the engine' "$(echo "$tap_output" | grep -c 'bragg-intensity: --engine was cuda, is cpu')" 1
check 'a run of a GPU is resumed' kit/bragg-run --quiet --workdir=chosen --frames=6 --resume plain.yaml
export CUDA_VISIBLE_DEVICES=''
# Options with which bragg-run keeps the CPU are refused by the engine (gpu/refused.h).
for option in --faint=0.01 '--diffuse-sigma=0.4 --diffuse-gamma=40'; do
	case $option in --faint*) light=$option shape= ;; *) light='' shape=$option ;; esac
	# shellcheck disable=SC2086 # options are words
	geometry=$shape recipes 2>others | "$standin/bragg-intensity" --quiet --engine=cuda $light 2>err | bragg-write --quiet 'refused_%d.raw' 2>>others
	is "the engine refuses ${option%%=*}" "$(cat err)" "bragg-intensity: the cuda engine does not support ${option%%=*}. Give --engine=cpu"
done
# --- what is run where there is a card
PATH=$standin:$PATH SIZE=256 FRAMES=20 ROUNDS=1 RESULTS=$tap_scratch/stages "$BRAGG_TESTS/../scripts/gpu-stages" >out
is 'gpu-stages: images stay on the card' "$(grep -c 'at least [1-9][0-9]* of 20 images stayed' out)" 2
is 'three programs compared with one' "$(grep -c '^{"part": "stages", "size": 256, "three_ms": [0-9.]*, "one_ms": [0-9.]*}$' stages)" 1

for stage in background noise; do
	check_status "a GPU for the processor: $stage" 2 bragg-$stage --device=1
	is "$stage: --device is refused on the CPU" "$tap_output" "bragg-$stage: --device has an effect only with --engine=cuda"
	check_status "an engine in a fused $stage" 2 bragg-intensity --fuse="$stage --engine=cuda --water=1" 2>err
done
finish
