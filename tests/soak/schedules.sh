# The part `schedules` of scripts/soak: short streams whose shape, options and harm all follow
# from a seed.

# restarted OPTION...: a source with the stage before it, which is started again with it, unless
# it died when the last stages had ended well (./late); where it reports to is fixed
restarted() {
	while
		stage first first $first_options --out="@ipc://$d/g" &
		! stage number source --in="ipc://$d/g" --out="@ipc://$d/s" --control="ipc://$d/c" "$@" && [ ! -e over ]
	do
		kill "$(cat first.pid)"
		wait
		[ "$(statuses sink)" = 0 ] && { [ ! -e other.pid ] || [ "$(statuses other)" = 0 ]; } && echo 0 >number.status && touch late && break
	done 2>/dev/null
	cp number.status source.status
}

# draw SEED: what the stream is, as variables of the shell; and who is hit when, as lines of
# "# PAUSE kill|freeze SECONDS NAME..."
draw() {
	awk -v seed="$1" '
	function below(n) { return int(rand() * n) }
	function one(list, items) { return items[1 + below(split(list, items, " "))] }
	BEGIN {
		srand(seed); rand()
		shape = one("fan fan fan fan chain chain chain network"); restarts = one("yes no")
		# with less, a bad network may keep a stage from the stream until it is over
		frames = one((shape == "network" ? "" : "1 2 ") "97 120 151 200"); workers = shape == "chain" ? 2 : 1 + below(4)
		groups = shape == "fan" ? one("1 1 2") : 1
		print "seed=" seed " shape=" shape " restarts=" restarts " frames=" frames " workers=" workers " groups=" groups
		print "pixels=" one("8 150") " window=" one("1 2 8 32 200") " sink=" one("sink sink file")
		# about a second of work
		print "sleep=" int(1000 * workers / (frames < 97 ? 4 : frames))
		print "transport=" one("auto auto inline") " order=" one("no no yes") " dead_after=" (shape == "network" ? 5 : one("0.5 1 3"))
		print "victim=" one("none none make1 work1 sink") " fault=" one("frame frame heartbeat experiment") "," one("lost cut") " nth=" 1 + below(9) * below(2)
		print "network=" one("ct d f ctdf") " mean_ms=" 80 + below(80)
		for (i = 1; i <= workers; i++)
			makes = makes " make" i
		all = "work1" (shape == "chain" ? " work2" : "") " sink" (groups == 2 ? " other" : "") makes (restarts == "yes" ? " number" : "")
		for (i = 1 + below(5); i > 0; i--) {
			action = one("one one one two all makes freeze freeze")
			names = action == "all" ? all : action == "makes" ? makes : one(all) (action == "two" ? " " one(all) : "")
			printf "# %.3f %s %.3f %s\n", 0.05 + 1.2 * rand() ^ 2, action == "freeze" ? action : "kill", 2 * rand() ^ 2, names
		}
	}'
}

# kept NAME ARGUMENT...: the victim loses a message or its connections, once
kept() {
	(
		if [ "$1" = "$victim" ]; then
			LD_PRELOAD=$(command -v faults.so) FAULT="${fault%%,*} $nth ${fault#*,}" FAULT_ONCE=$PWD/lost
			export LD_PRELOAD FAULT FAULT_ONCE
		fi
		keep "$@" $waits
	) &
}

# raise: starts the stream that the variables describe
raise() {
	first_options=--pixels=$pixels
	limits="--dead-after=$dead_after --rejoin-timeout=30 --attempts=1000"
	if [ "$shape" = network ]; then
		network "$frames" "$seed" "$network" "$mean_ms"
		return
	fi
	raise_source="--frames=$frames --window=$window --groups=$groups $limits" work=--transport=$transport last=$work waits=''
	[ "$order" = no ] || last="$work --order"
	if [ "$restarts" = yes ]; then
		waits=--source-timeout=30
		[ "$sink" = file ] || last="$last --resume"
		restarted $raise_source &
	else
		stage first first $first_options --out="@ipc://$d/g" &
		stage source source --in="ipc://$d/g" --out="@ipc://$d/s" $raise_source &
	fi
	if [ "$shape" = chain ]; then
		for i in 1 2; do
			kept make$i make --in="ipc://$d/s" --out="@ipc://$d/$i" --sleep="$sleep"
			kept work$i work --in="ipc://$d/1" --in="ipc://$d/2" --out="ipc://$d/x" --sleep="$sleep" $work
		done
		kept sink "$sink" out --in="@ipc://$d/x" $last
	else
		for i in $(seq "$workers"); do
			kept make$i make --in="ipc://$d/s" --out="ipc://$d/w" --sleep="$sleep"
		done
		kept work1 work --in="@ipc://$d/w" --out="@ipc://$d/x" $work
		kept sink "$sink" out --in="ipc://$d/x" $last
		[ "$groups" = 1 ] || kept other "$sink" out2 --in="ipc://$d/x" --group=other $last
	fi
}

# strike: does to the stream what ./plan says; notes in ./hits what it did
strike() {
	[ "$shape" != network ] && grep '^#' plan | while read -r _ pause action seconds names; do
		sleep "$pause"
		[ ! -e source.status ] || break
		pids=$(for name in $names; do cat "$name.pid" && echo "$action $name" >>hits; done)
		case $action in
		kill) kill -9 $pids ;;
		freeze) kill -STOP $pids && sleep "$seconds" && kill -CONT $pids ;;
		esac
	done 2>/dev/null
}

# judge: what is wrong with the stream that has settled, if anything.  When the source died late
# nobody is left to tell the stages in the middle, which bragg-run would end.
judge() {
	[ "$(statuses source)" = 0 ] || echo "the source ended with $(statuses source)"
	for process in *.pid; do
		process=${process%.pid}
		case $process in
		first) continue ;;
		sink | other) ;;
		*) [ ! -e late ] || continue ;;
		esac
		grep -q -w "$process" hits || [ "$(statuses "$process")" = 0 ] ||
			echo "$process ended with $(statuses "$process")"
	done
	find out out2 -name '*.part' -delete
	for folder in out $([ "$groups" = 1 ] || echo out2); do
		[ "$(digest $folder)" = "$(cat "../expected.$pixels.$frames")" ] || echo "other files in $folder"
	done
}

# scheduled SEED: one stream; says what is wrong with it
scheduled() {
	fresh
	rm -f hits lost harm
	draw "$1" >plan
	. ./plan
	: >hits
	raise
	strike
	for scheduled_try in $(seq 600); do
		[ ! -e source.status ] || break
		sleep 0.1
	done
	[ -e source.status ] || { touch over && echo 'no end' && kill -9 $(cat ./*.pid); }
	settle
	judge
}

# lane NUMBER FIRST LAST: every fourth of these seeds, in a folder of its own; a line for each
# in ./results
lane() {
	mkdir -p "lane$1"
	cd "lane$1" || exit
	. "$tests/faults.sh"
	for lane_seed in $(seq $(($2 + $1)) 4 "$3"); do
		wrong=$(scheduled "$lane_seed" 2>/dev/null | paste -sd';')
		echo "$(cat hits harm 2>/dev/null | wc -l) $lane_seed${wrong:+ $wrong}" >>../results
		[ -z "$wrong" ] || {
			echo "seed $lane_seed: $wrong; again: $0 --part=schedules --scale=0.001 --seed=$lane_seed"
			cat plan
			tail -n 3 errors.*
		} >>../failures
		[ ! -t 2 ] || printf '\r%s of %s' "$(wc -l <../results)" $(($3 - $2 + 1)) >&2
	done
}

part_schedules() {
	frames=$(scaled 1000) row_start=$(date +%s) row_result=pass
	for pixels in 8 150; do
		for count in 1 2 97 120 151 200; do
			first_options=--pixels=$pixels
			plain $count >"expected.$pixels.$count"
		done
	done
	first_options=
	: >results
	: >failures
	for lane in 0 1 2 3; do
		lane $lane "$seed" $((seed + frames - 1)) &
	done
	wait
	[ ! -t 2 ] || printf '\r%20s\r' '' >&2
	[ ! -s failures ] || row_result="FAIL: $(grep -c '^seed ' failures)"
	print_row 'schedules' "$(awk '{n += $1} END {print n + 0}' results)" "$row_result"
	cat failures
}
