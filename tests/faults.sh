# Streams of small stages (tests/programs/teststage.c) that are killed and frozen,
# for tests/full/faults.t and scripts/soak.  Runs in an empty folder; sockets are in ./run.

d="$PWD/run"
mkdir -p run
helper=
first_options= # of all first stages
guard=--insecure # of tcp endpoints between test stages
compress= # of makers there
export XDG_RUNTIME_DIR="$d"

# stage NAME ARGUMENT...: runs a test stage, or bragg-*, bench-*, valgrind, leaving its process
# id and exit status.  A test stage takes SIGINT also in the background.
stage() {
	stage_name=$1
	shift
	sh -c 'echo $$ >"$0.pid"; case $1 in bragg-* | bench-* | valgrind) exec "$@" ;; esac
		exec env --default-signal=INT teststage "$@"' "$stage_name" "$@" 2>>"errors.$stage_name"
	stage_status=$?
	echo $stage_status >"$stage_name.status"
	return $stage_status
}

# keep NAME ARGUMENT...: runs it, and starts it again when it dies before all is over.
keep() {
	until stage "$@" || [ -e over ]; do
		:
	done 2>/dev/null
}

# fresh: begins a new stream.
fresh() {
	rm -rf out out2 over late errors* ./*.pid ./*.status run/?
	mkdir out out2
}

# flowing: waits until frames arrive in out
flowing() {
	for flowing_try in $(seq 300); do
		[ "$(find out -type f | wc -l)" -lt 5 ] || break
		sleep 0.1
	done
}

# settle_relay: waits for the sink, ends the relay that $helper is, and settles; its status is relay_status.
settle_relay() {
	while [ ! -e sink.status ]; do sleep 0.1; done
	relay_status=0
	kill "$helper"
	wait "$helper" || relay_status=$?
	helper=
	settle
}

# settle: waits for the source, then for all; who was started too late is ended, and $helper.
settle() {
	while [ ! -e source.status ]; do sleep 0.1; done
	touch over
	for settle_try in $(seq 30); do
		settle_alive=$(for pid in $(cat ./*.pid); do kill -0 "$pid" && echo "$pid"; done 2>/dev/null)
		[ -n "$settle_alive" ] || break
		sleep 0.1
	done
	# a stage that has just been started waits for a source that is no more
	[ -z "$settle_alive" ] || kill $settle_alive 2>/dev/null
	[ -z "$helper" ] || kill "$helper"
	helper=
	wait
}

# statuses NAME...: their exit statuses
statuses() {
	for name; do cat "$name.status"; done | tr '\n' ' ' | sed 's/ $//'
}

# digest FOLDER: one sum over the names and bytes of its files
digest() {
	(cd "$1" && find . -type f | sort | xargs -r sha256sum) | sha256sum
}

# plain FRAMES [OPTION...]: the digest of a stream that nobody disturbs
plain() {
	fresh
	plain_frames=$1
	shift
	teststage first $first_options | teststage source --frames="$plain_frames" | teststage make "$@" |
		teststage work | teststage sink out --quiet
	digest out
}

# schedule SEED COUNT MIN MAX NAME...: lines of "NAME PAUSE", pauses in seconds
schedule() {
	awk -v seed="$1" -v count="$2" -v min="$3" -v max="$4" -v names="$(shift 4; echo "$*")" 'BEGIN {
		srand(seed); n = split(names, name, " ")
		for (i = 0; i < count; i++)
			printf "%s %.3f\n", name[1 + int(rand() * n)], min + (max - min) * rand()
	}'
}

# kill_all SEED COUNT MIN MAX NAME...: kills as scheduled; prints how many were hit.
kill_all() {
	schedule "$@" | while read -r name pause; do
		sleep "$pause"
		[ -e source.status ] && break
		kill -9 "$(cat "$name.pid")" 2>/dev/null && echo hit
	done | wc -l
}

# free_ports COUNT: so many ports of this host that nobody uses, one a line
free_ports() {
	perl -MIO::Socket::INET -e 'my @s = map { IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 1) } 1 .. shift;
		print $_->sockport, "\n" for @s' "$1"
}

# network FRAMES SEED KINDS MEAN-MS: a source, two makers, a worker and a sink whose
# connections to each other and to the source go through a proxy that does such harm
# (tests/programs/proxy.c); what it did is in ./harm when the stream is settled.
network() {
	network_frames=$1 network_seed=$2 network_kinds=$3 network_mean=$4
	set -- $(free_ports 8)
	at=tcp://127.0.0.1
	proxy "$network_seed" "$network_kinds" "$network_mean" "$5:$1" "$6:$2" "$7:$3" "$8:$4" >harm &
	helper=$!
	(
		LD_PRELOAD=$(command -v faults.so)
		FAULT_PORTS=$4:$8 # the source tells where it really listens
		export LD_PRELOAD FAULT_PORTS
		stage first first --out="@$at:$1" $guard $first_options &
		stage source source --in="$at:$5" --out="@$at:$2" --control="$at:$4" --frames="$network_frames" --verbose $guard $limits &
		for i in 1 2; do
			stage make$i make --in="$at:$6" --out="$at:$7" --sleep=4 --verbose $compress $guard &
		done
		stage work work --in="@$at:$3" --out="@ipc://$d/x" --verbose $guard &
		stage sink sink out --in="ipc://$d/x" $guard &
		wait
	) &
}
