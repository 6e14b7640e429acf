#!/bin/sh
# What the stream survives: kills, freezes, hangs; and what it does when it cannot.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"

seed=${BRAGG_SEED:-1}
# a frame is not to blame for kills from outside
limits='--dead-after=3 --rejoin-timeout=20 --attempts=100'

expected=$(plain 600)
is "undisturbed" "$(find out -type f | wc -l)" "600"

# fan_out FRAMES: three makers between a source and a worker; the first one is at work
fan_out() {
	fresh
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames="$1" $limits &
	keep make1 make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=15 &
	stage work work --in="@ipc://$d/w" --out="@ipc://$d/x" &
	stage sink sink out --in="ipc://$d/x" &
	flowing
	for i in 2 3; do
		keep make$i make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=15 &
	done
}

fan_out 600
hits=$(kill_all "$seed" 12 0.1 0.4 make1 make2 make3)
settle
is 'workers killed: all others end well' "$(statuses first source work sink)" '0 0 0 0'
is 'workers killed: the same files' "$(digest out)" "$expected"
check "workers killed: often ($hits)" test "$hits" -ge 5

fan_out 600
sleep 0.3
kill -9 $(cat make1.pid make2.pid make3.pid)
settle
is 'all workers killed at once: the others end well' "$(statuses source work sink)" '0 0 0'
is 'all workers killed at once: the same files' "$(digest out)" "$expected"

fan_out 600
frozen=$(cat make1.pid)
kill -STOP "$frozen"
sleep 1.2
kill -CONT "$frozen"
settle
is 'a short freeze is no death' "$(statuses source work sink make1) $(cat errors.*)" '0 0 0 0 '
is 'a short freeze: the same files' "$(digest out)" "$expected"

fan_out 1000
frozen=$(cat make1.pid)
kill -STOP "$frozen"
sleep 4.2
kill -CONT "$frozen"
settle
rm -f out/000[6789]*
is 'a long freeze: the others end well' "$(statuses source work sink)" '0 0 0'
is 'a long freeze: the thawed process is reported' "$(cat errors.make1)" 'test-make: the source presumed this process dead and excluded it. See --dead-after and --hang of the source'
is 'a long freeze: the source says so' "$(cat errors.source)" \
	"test-source: warning: test-make (process $frozen) no longer answers; the run continues"
is 'a long freeze: the same files' "$(digest out)" "$expected"

# Two makers that bind, two workers that connect to both: every neighbour must find the new one.
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=600 $limits &
for i in 1 2; do
	keep make$i make --in="ipc://$d/s" --out="@ipc://$d/$i" --sleep=8 &
	keep work$i work --in="ipc://$d/1" --in="ipc://$d/2" --out="ipc://$d/x" --sleep=8 &
done
stage sink sink out --in="@ipc://$d/x" &
hits=$(kill_all "$seed" 8 0.1 0.6 make1 make2 work1 work2)
settle
is 'a chain, killed anywhere: the others end well' "$(statuses source sink)" '0 0'
is 'a chain, killed anywhere: the same files' "$(digest out)" "$expected"
check "a chain, killed anywhere: often ($hits)" test "$hits" -ge 4

fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=600 $limits &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" &
stage work work --in="ipc://$d/w" --out="@ipc://$d/x" &
keep sink sink out --in="ipc://$d/x" --sleep=4 &
hits=$(kill_all "$seed" 3 0.3 0.8 sink)
settle
is 'the sink killed: the others end well' "$(statuses source make work sink)" '0 0 0 0'
is 'the sink killed: the same files' "$(find out -name '*.part' -delete; digest out)" "$expected"

# The real programs
geometry="bragg-geometry --detpixels=64 --ncells=10 --oversample=$([ "${BRAGG_SANITIZED-}" ] && echo 5 || echo 16)"
orient='bragg-orient --frames=500 --random'
listed() { # what the index says, in order; then only images are left
	cut -f 1,2 out/f.img.index | sort -n | uniq
	find out -type f ! -name '*.img' -delete
}
fresh
$geometry | $orient | bragg-intensity --threads=1 | bragg-noise --threads=1 | bragg-write 'out/f_%03d.img'
plain_index=$(listed)
plain_images=$(digest out)
fresh
stage geometry $geometry --out="@ipc://$d/g" &
stage source $orient --in="ipc://$d/g" --out="@ipc://$d/s" $limits &
for i in 1 2; do
	keep make$i bragg-intensity --threads=1 --in="ipc://$d/s" --out="@ipc://$d/$i" &
done
stage noise bragg-noise --threads=1 --in="ipc://$d/1" --in="ipc://$d/2" --out="@ipc://$d/x" &
keep sink bragg-write 'out/f_%03d.img' --in="ipc://$d/x" &
flowing
hits=$(kill_all "$seed" 12 0.05 0.3 make1 make2 make1 make2 sink)
settle
is 'real programs killed: the others end well' "$(statuses geometry source noise sink)" '0 0 0 0'
is 'real programs killed: the same index' "$(listed)" "$plain_index"
is 'real programs killed: the same images' "$(digest out)" "$plain_images"
check "real programs killed: often ($hits)" test "$hits" -ge 3

# What cannot be survived
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=600 --rejoin-timeout=1 &
stage make make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=5 &
stage sink sink out --in="@ipc://$d/w" &
flowing
victim=$(cat make.pid)
kill -9 "$victim"
settle
is 'nothing takes the place of the dead: all end with 1' "$(statuses source sink)" '1 1'
is 'nothing takes the place of the dead: the last line names the dead stage' "$(tail -n 1 errors.source)" \
	"test-source: test-make (process $victim) died, and no process replaced it"
is 'nothing takes the place of the dead: complete files only' "$(find out -size 0 -o -name '*.part')" ''

fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=60 --dead-after=3 &
for i in 1 2; do
	keep make$i make --in="ipc://$d/s" --out="ipc://$d/w" --die-at=7 &
done
stage sink sink out --in="@ipc://$d/w" &
settle
is 'a frame that kills is given up' "$(grep -c 'frame 7 was abandoned: 3 processes died while processing it' errors.source)" '1'
is 'a frame that kills: status 1 in the end' "$(statuses source sink)" '1 1'
is 'a frame that kills: all others are there' "$(find out -type f | wc -l) $(find out -name 000007 | wc -l)" '59 0'

# those before it wait long for the last stage
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=12 --dead-after=3 &
keep make make --in="ipc://$d/s" --out="ipc://$d/w" --die-at=7 &
stage sink sink out --in="@ipc://$d/w" --sleep=5000 --slow-every=100 &
settle
is 'a frame that kills: no other is blamed' "$(grep -o 'frame .* was abandoned' errors.source)" 'frame 7 was abandoned'
is 'a frame that kills: those before it are there' "$(find out -type f | wc -l)" '11'

fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=600 $limits --hang=2 &
stage make1 make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=2 --stall-from=100 &
stage work work --in="@ipc://$d/w" --out="@ipc://$d/x" &
stage sink sink out --in="ipc://$d/x" &
flowing
stage make2 make --in="ipc://$d/s" --out="ipc://$d/w" --sleep=2 &
settle
is 'a process that hangs is left behind' "$(statuses source make1 make2 work sink)" '0 1 0 0 0'
is 'a process that hangs: the same files' "$(digest out)" "$expected"
is 'a process that hangs is named' "$(grep -c 'hangs; the run continues' errors.source)" '1'

# What vanishes on a link that lives: nobody dies of it, and no later frame tells.
# lossy FAULT FRAMES OUT IN: the maker loses what FAULT says; @ in OUT or IN tells who binds
lossy() {
	fresh
	rm -f lost
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames="$2" &
	LD_PRELOAD=$(command -v faults.so) FAULT_ONCE=lost FAULT="$1" stage make make --in="ipc://$d/s" --out="$3ipc://$d/w" &
	stage sink sink out --in="$4ipc://$d/w" &
	settle
	is "$1, $3ipc: is sent again" "$(statuses source make sink) $(find out -type f | wc -l) $(ls lost)" "0 0 0 $2 lost"
}
lossy 'frame 20 lost' 20 '' @
lossy 'frame 20 lost' 20 @ ''
lossy 'frame 7 lost' 100 @ ''
lossy 'experiment 1 lost' 20 @ ''

# Who takes the experiment dies before it has it: the next one gets it.
fresh
rm -f lost
LD_PRELOAD=$(command -v faults.so) FAULT_ONCE=lost FAULT='experiment 1 lost' stage first first --out="@ipc://$d/g" &
LD_PRELOAD=$(command -v faults.so) FAULT='heartbeat 1 mute' stage dead source --in="ipc://$d/g" --out="@ipc://$d/n" &
soon test -e lost
kill -9 "$(cat dead.pid)"
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=20 &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" &
stage sink sink out --in="ipc://$d/w" &
settle
is 'the receiver of the experiment dies: the next process gets it' "$(statuses first source make sink) $(find out -type f | wc -l)" '0 0 0 0 20'

# Who is to give the experiment dies before it has; @ in OUT or IN tells who binds.
# unfed OUT IN
unfed() {
	fresh
	rm -f lost
	LD_PRELOAD=$(command -v faults.so) FAULT_ONCE=lost FAULT='experiment 1 mute' stage first first --out="$1ipc://$d/g" &
	stage source source --in="$2ipc://$d/g" --out="@ipc://$d/s" --start-timeout=2 &
	soon test -e lost
	kill -9 "$(cat first.pid)"
	wait
	is "the process that sends the experiment to $2ipc dies: the run ends" "$(cat errors.source) $(statuses source)" \
		'test-source: no stage is connected to the input of this program 1'
}
unfed @ ''
unfed '' @

# A source that was started again waits for its experiment: the others wait with it.
fresh
late_source() {
	stage "$1" source --in="@ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" --frames=100 --dead-after=1
}
stage first first --out="ipc://$d/g" &
late_source killed &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --sleep=10 &
stage sink sink out --in="ipc://$d/w" &
flowing
kill -9 "$(cat killed.pid)"
late_source source &
sleep 4 # longer than others wait for a source that is silent
stage first first --out="ipc://$d/g" &
settle
is 'a source without experiment is waited for' "$(statuses source make sink) $(find out -type f | wc -l)" '0 0 0 100'

# A source that was started again finds all frames there: it does not end before those are back who
# began anew for it.
fresh
rm -f lost slow
done_source() {
	stage "$1" source --in="@ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" --frames=20 --dead-after=2
}
stage first first --out="ipc://$d/g" &
LD_PRELOAD=$(command -v faults.so) FAULT_ONCE=lost FAULT='free 1 kill' done_source killed &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --source-timeout=5 &
stage work1 work --in="ipc://$d/w" --out="ipc://$d/x" --source-timeout=5 &
LD_PRELOAD=$(command -v faults.so) FAULT_ONCE=slow FAULT='exec 1 slow' stage work2 work --in="ipc://$d/w" --out="ipc://$d/x" --source-timeout=5 &
stage sink sink out --in="@ipc://$d/x" --source-timeout=5 &
soon test -e lost
stage first first --out="ipc://$d/g" &
done_source source &
settle
is 'all frames are done before a worker starts again' "$(statuses source make work1 work2 sink) $(find out -type f | wc -l) $(ls slow)" \
	'0 0 0 0 0 20 slow'

# Connections of this host that break under processes that live, whoever connects; images are in
# shared memory, and wait there.
# broken WHO FAULT OUT IN: @ in OUT or IN tells who binds between maker and worker
broken() {
	fresh
	rm -f lost
	for name in source make work sink; do
		case $name in
		source) set -- "$1" "$2" "$3" "$4" source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=60 ;;
		make) set -- "$1" "$2" "$3" "$4" make --in="ipc://$d/s" --out="$3ipc://$d/w" ;;
		work) set -- "$1" "$2" "$3" "$4" work --in="$4ipc://$d/w" --out="@ipc://$d/x" --sleep=10 ;;
		sink) set -- "$1" "$2" "$3" "$4" sink out --in="ipc://$d/x" ;;
		esac
		(
			who=$1 FAULT=$2 FAULT_ONCE=lost
			shift 4
			if [ "$who" = "$name" ]; then
				LD_PRELOAD=$(command -v faults.so)
				export LD_PRELOAD FAULT FAULT_ONCE
			fi
			stage "$name" "$@"
		) &
	done
	stage first first --out="@ipc://$d/g" --pixels=200 &
	settle
	is "$1: $2, $3ipc: all end well, without a death" \
		"$(statuses source make work sink) $(ls lost)$(grep -h warning errors.*)" '0 0 0 0 lost'
	is "$1: $2, $3ipc: the same files" "$(digest out)" "$whole"
}
whole=$(first_options=--pixels=200 && plain 60)
broken make 'frame 20 cut' @ ''
broken make 'frame 20 cut' '' @
broken work 'frame 7 cut' @ ''
broken work 'frame 7 cut' '' @
broken sink 'heartbeat 2 cut' @ ''

# Groups
fresh
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=600 $limits --groups=2 &
stage make make --in="ipc://$d/s" --out="@ipc://$d/w" --sleep=2 &
stage work work --in="ipc://$d/w" --out="@ipc://$d/x" &
stage sink sink out --in="ipc://$d/x" &
keep other sink out2 --in="ipc://$d/x" --group=other &
stage tap tap . --in="ipc://$d/x" &
flowing
kill -9 "$(cat tap.pid)"
hits=$(kill_all "$seed" 2 0.2 0.5 other)
settle
is 'two groups: all end well' "$(statuses source make work sink other)" '0 0 0 0 0'
is 'two groups: each gets all' "$(digest out)" "$expected"
is 'two groups: the one that died too' "$(find out2 -name '*.part' -delete; digest out2)" "$expected"

is 'no socket is left but of the killed' "$(rm -f run/?; sleep 0.3; find run -mindepth 1)" ''
finish
