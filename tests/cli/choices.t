#!/bin/sh
# bragg-run chooses where background and noise are computed, the threads, and the words about a GPU.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
unset OMP_NUM_THREADS SLURM_CPUS_ON_NODE
export CUDA_VISIBLE_DEVICES=''
# pipeline GEOMETRY INTENSITY NOISE: stages with these args
pipeline() {
	cat >p.yaml <<-END
		stages:
		  - {name: geometry, args: [$1, --distance=150, --ncells=5]}
		  - {name: orient, args: [--frames=2, --random, --seed=3]}
		  - {name: light, program: bragg-intensity${2:+, $2}}
		  - {name: water, program: bragg-background, args: [--water=0.1]}
		  - {name: noise${3:+, $3}}
		  - {name: write, args: ['a_%d.img']}
	END
}
# processes OPTION...: how many processes the run has
processes() {
	bragg-run --dry-run "$@" p.yaml | grep -c ' &\( source=.*\)\?$'
}
large=--detpixels=2000

# --- large images
pipeline $large
is 'background and noise of large images are computed by bragg-intensity' "$(processes)" 4
is 'they get their options' "$(bragg-run --dry-run p.yaml | grep -c "bragg-intensity '--fuse=background --water=0.1' --fuse=noise ")" 1
is '--dry-run gives the reason' "$(bragg-run --dry-run p.yaml | grep '^# .*moved')" \
	"# 'water' and 'noise' moved into the processes of 'light', so that large images stay in the cache of the CPU; --as-written keeps them apart"
is '--as-written keeps the stages of the file' "$(processes --as-written)" 6
is 'several processes per stage stay' "$(processes --count=noise=2)" 7
is 'a stage under another command stays' "$(processes --wrap=noise=env)" 6
for option in crystal-size=50um mosaic-model=gauss; do
	is "--$option needs the whole image, so nothing moves" "$(processes --set=geometry.$option)" 6
done
is '--reflections needs the whole image, so nothing moves' "$(processes --set=light.reflections)" 6
is 'a point spread needs the whole image, so nothing moves' "$(processes --set=noise.psf=gauss)" 6
is 'the reference engine computes whole images, so nothing moves' "$(processes --set=light.engine=reference)" 6
for kept in 'count: 2' 'hosts: first' 'cpus: 1' 'restart: 3'; do
	pipeline $large '' "$kept"
	[ "$kept" = 'count: 2' ] && want=7 || want=6
	is "noise with '$kept' stays, and the background with it" "$(processes)" $want
done
for case in --detpixels=1999=6 --detpixels=4000,1000=4 --detpixels=3999,1000=6 --detector=eiger-4m=4 --detector=eiger-1m=6 --detector=jungfrau-4m=4 \
	--detector=agipd-1m=6 --detector=jungfrau-16m=4 --pixel=0.1=6 --detsize=400=6; do
	pipeline "--sensor=layers, '${case%=*}'"
	is "${case%=*}: processes" "$(processes)" "${case##*=}"
done
# apart OPTION...: why background and noise are processes of their own
apart() {
	bragg-run --dry-run "$@" p.yaml | sed -n 's/^# light: background and noise are other processes, because //p'
}
for case in --detector=eiger-4m=4 '--detpixels=2000, --thickness=450=4'; do
	pipeline "${case%=*}"
	is "${case%=*}: processes, with the usual way to compute a sensor" "$(processes)" "${case##*=}"
done
pipeline --detpixels=64
is 'the reason: small images' "$(apart)" 'small images stay in the cache of the CPU anyway'
is 'the reason: a size that is not known' "$(apart --set=geometry.roi=0,9,0,9)" 'the size of images is not known before the run'
is 'the reason: an option' "$(apart --set=noise.psf=gauss)" 'an option needs the whole image at once'
is 'the reason: a key' "$(apart --count=noise=2)" 'the stages have keys or options that need this'
pipeline $large
is 'no reason where stages moved' "$(apart)" ''
# run OPTION...: the files of a run, which must end with status 0
run() {
	rm -rf out
	bragg-run --workdir=out "$@" p.yaml 2>said || complain "bragg-run $*: $(cat said)"
	(cd out && sha256sum a_*)
}
pipeline $large
want=$(run --as-written --quiet)
is 'the files are the same' "$(run)" "$want"
is 'a run says that stages moved' "$(grep -c "^bragg-run: 'water' and 'noise' moved into the processes of 'light'" said)" 1
run --as-written >files
is '--as-written says nothing of it' "$(grep -c moved said)" 0
is 'two processes write the same files' "$(run --quiet --count=light=2)" "$want"

# --- cores
# threads CORES OPTION...: --threads of the stages, with so many cores in an allocation of Slurm
threads() {
	cores=$1
	shift
	SLURM_CPUS_ON_NODE=$cores taskset -c "$two" bragg-run --dry-run "$@" p.yaml >commands
	grep -o ' bragg-[a-z]* .*--threads=[0-9]*\|^bragg-[a-z]* .*--threads=[0-9]*' commands | sed 's/^ *bragg-\([a-z]*\).*--threads=/\1 /' | tr '\n' ',' | sed 's/,$//'
}
two=$(taskset -pc $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done | head -n 2 | tr '\n' , | sed 's/,$//')
pipeline --detpixels=64
case $two in
*,*)
	is 'an allocation of one core limits the threads of all stages' "$(threads 1)" 'intensity 1,background 1,noise 1,write 1'
	is '--dry-run says which cores count' "$(grep -c '^# this host: CPU cores 1 of 2, because of the allocation of Slurm, GPUs 0$' commands)" 1
	is 'threads of the user stay' "$(threads 1 --set=light.threads=2)" 'intensity 2,background 1,noise 1,write 1'
	is 'a larger allocation limits nothing' "$(threads 3)$(grep -c 'CPU cores 2, GPUs' commands)" 1
	is '--as-written chooses no threads' "$(threads 1 --as-written)" ''
	export OMP_NUM_THREADS=2
	is 'OMP_NUM_THREADS of the user has precedence' "$(threads 1)" ''
	unset OMP_NUM_THREADS
	;;
*) skip 'cores of an allocation: this process may use one core only' ;;
esac

# --- a GPU, and a bragg-intensity that stands for one built with CUDA
export CUDA_VISIBLE_DEVICES=0
mkdir gpu
cat >gpu/bragg-intensity <<-'END'
	#!/bin/sh
	# SAID: the answer to --gpus; STATUS: its exit status
	if [ "$*" = --gpus ]; then
		echo asked >>"$ASKED"
		[ -z "$SAID" ] || echo "$SAID"
		exit $STATUS
	fi
	for word; do
		shift
		[ "$word" = --engine=cuda ] && word=--engine=cpu
		set -- "$@" "$word"
	done
	exec bragg-intensity "$@"
END
chmod +x gpu/bragg-intensity
export ASKED="$tap_scratch/asked" SAID='NVIDIA H100, GPU 0 of 1, compute capability 9.0' STATUS=0
on_gpu() {
	pipeline "$@"
	sed -i "s|program: bragg-intensity|program: $tap_scratch/gpu/bragg-intensity|" p.yaml
}
# engine OPTION...: the comment of --dry-run about the engine
engine() {
	bragg-run --dry-run "$@" p.yaml | sed -n 's/^# light: engine //p'
}
on_gpu --detpixels=64
reason="because this host has a GPU, NVIDIA H100. Last digits can differ from those of the CPU; --as-written or --set=light.engine=cpu keeps the CPU"
is 'the GPU computes the images, and --dry-run gives the reason' "$(engine)" "cuda, $reason"
bragg-run --dry-run p.yaml >commands
is 'the program of the pipeline has the option, and the next stages' "$(grep -c "gpu/bragg-intensity'\? --engine=cuda '--fuse=background --water=0.1' --fuse=noise " commands)" 1
is '--dry-run says why stages moved' "$(grep -c "^# 'water' and 'noise' moved .* so that images stay on the GPU;" commands)" 1
is '--as-written keeps the CPU' "$(engine --as-written)" 'cpu, because of --as-written'
is '--wrap keeps the CPU' "$(engine --wrap=noise=env)" 'cpu, because of --wrap'
is 'an engine on the command line stays' "$(engine --set=light.engine=cpu)" 'cpu, as given'
is 'an option that the GPU does not support keeps the CPU' "$(engine --set=light.faint=0.01)" 'cpu, because the GPU engine does not support --faint'
is 'the GPU that the user asked for stays' "$(engine --set=light.engine=cuda)" 'cuda, as given'
: >"$ASKED"
run --frames=1 --quiet --set=light.engine=cpu >files
run --frames=1 --quiet --as-written >files
CUDA_VISIBLE_DEVICES='' run --frames=1 --quiet >files
is 'no program is asked for a GPU if none is needed' "$(wc -l <"$ASKED")" 0
want=$(run --quiet --as-written)
is 'a run with the chosen engine writes all files' "$(run | wc -l)" "$(echo "$want" | wc -l)"
is 'a run names the engine and the reason' "$(grep GPU, said)" "bragg-run: 'light' computes with --engine=cuda, $reason"
run --frames=1 --quiet >files
is '--quiet says nothing of it' "$(cat said)" ''
STATUS=2
# unusable SAID REASON
unusable() {
	SAID=$1
	is "a GPU that cannot be used: $2" "$(engine)" "cpu, because $2"
}
unusable 'bragg-intensity: --engine=cuda: no NVIDIA driver found on this machine. Use --engine=cpu' 'no NVIDIA driver found on this machine'
unusable "bragg-intensity: unknown option '--gpus'" "bragg-intensity: unknown option '--gpus'"
unusable "NVIDIA H100, GPU 0 of 2
bragg-intensity: --engine=cuda: NVIDIA K80 has compute capability 3.7; expected 7.5 or more" 'NVIDIA K80 has compute capability 3.7; expected 7.5 or more'
SAID=''
is 'a GPU about which a program says nothing' "$(engine | sed "s|'.*/|'|")" "cpu, because 'bragg-intensity --gpus' gives no answer"
SAID='bragg-intensity: --engine=cuda: the driver is old'
is 'a GPU that cannot be used does not change the files' "$(run)" "$want"
is 'a run says why it does not use the GPU' "$(grep GPU said)" "bragg-run: 'light' does not use the GPU of this host, because the driver is old"
for option in --quiet --as-written --set=light.engine=cpu; do
	run --frames=1 $option >files
	is "$option: no words about the GPU" "$(grep -c GPU said)" 0
done
export CUDA_VISIBLE_DEVICES=''
run --frames=1 >files
is 'without a GPU there are no words about it' "$(grep -c GPU said)" 0
check_status 'the list of GPUs takes no other option' 2 bragg-intensity --gpus --engine=cuda
finish
