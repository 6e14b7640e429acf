#!/bin/sh
# Three hosts with networks, names, process numbers and clocks of their own, on one kernel; a stand-in for
# ssh enters them.  The sums are those of one host, whatever breaks.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/launched.sh"
needs 'hosts of their own' unshare nsenter ip
unshare --net --uts --time --pid --fork --mount --mount-proc ip link add probe type bridge 2>/dev/null || {
	skip 'hosts of their own' 'namespaces or bridges are not allowed here'
	finish
	exit
}
scratch
mkdir bin
export PATH="$tap_scratch/bin:$PATH" TMPDIR="$tap_scratch" FAR="$tap_scratch"

# host NAME NUMBER: 10.77.0.NUMBER, at a switch where 10.77.0.100 is this host
host() {
	unshare --net --uts --time --monotonic $(($2 * 100000)) --boottime $(($2 * 100000)) \
		--pid --fork --mount-proc --kill-child sh -c "hostname $1; echo \$\$; exec sleep 1000" >"$1.name" &
	soon [ -s "$1.name" ]
	pgrep -P $! >"$1.pid"
	ip link add "bragg-$1" type veth peer name eth0 netns "$(cat "$1.pid")"
	ip link set "bragg-$1" master bragg-switch up
	nsenter -t "$(cat "$1.pid")" --net sh -c "ip link set lo up; ip addr add 10.77.0.$2/24 dev eth0; ip link set eth0 up"
}
down() {
	for one in ./*.pid; do kill -9 "$(cat "$one")" 2>/dev/null; done
	ip link del bragg-switch 2>/dev/null
	rm -rf "$tap_scratch"
}
trap down EXIT
ip link add bragg-switch type bridge && ip link set bragg-switch up && ip addr add 10.77.0.100/24 dev bragg-switch
for one in 1 2 3; do host n$one $one; done
cat >bin/ssh <<-'END'
	#!/bin/sh
	while :; do case $1 in -*) shift ;; *) break ;; esac done
	echo "$1" >>"$FAR/calls"
	kill -0 "$(cat "$FAR/$1.pid")" 2>/dev/null || {
		echo "ssh: connect to host $1 port 22: No route to host" >&2
		exit 255
	}
	nsenter -t "$(cat "$FAR/$1.pid")" --net --uts --time --pid --mount env -i PATH="$PATH" HOME="$HOME" sh -c "cd / && $2"
	status=$?
	kill -0 "$(cat "$FAR/$1.pid")" 2>/dev/null || exit 255
	exit $status
END
chmod +x bin/ssh
is 'hosts reach each other' "$(bin/ssh n1 'hostname; ping -c 1 -W 2 10.77.0.3 >/dev/null 2>&1 && echo seen || getent hosts 10.77.0.3 >/dev/null; uname -n' | sort -u | head -n 1)" n1

cat >p.yaml <<-'END'
	stages:
	  - {name: geometry, args: [--detpixels=300, --pixel=0.3, --distance=120, --ncells=5]}
	  - {name: orient, args: [--random, --frames=100, --dead-after=2]}
	  - {name: intensity, count: 3}
	  - {name: noise, count: 2}
	  - {name: slow, program: teststage, args: [pass, --sleep=30]}
	  - {name: write, args: ['x_%04d.img']}
END
bragg-run --quiet --workdir=one p.yaml
expected=$(digest one)
# behind FOLDER OPTION...: on the hosts, in the background, until frames arrive
hosts=n1,n2,n3
behind() {
	behind_folder=$1
	shift
	bragg-run --launcher=ssh --hosts=$hosts --workdir="$behind_folder" "$@" p.yaml >said 2>&1 &
	runner=$!
	soon grown "$behind_folder" 5
}
# ended NAME FOLDER TEXT COUNT: with the same frames, and so many lines like that
ended() {
	ended_status=0
	wait $runner || ended_status=$?
	is "$1" "$ended_status $(digest "$2") $(grep -c -e "$3" said)" "0 $expected $4"
	[ $ended_status = 0 ] || complain "$(cat said)"
}
# processes HOST NAME: their numbers, as this host counts
processes() {
	for pid in $(pgrep -x "$2"); do
		[ "$(readlink "/proc/$pid/ns/uts")" = "$(readlink "/proc/$(cat "$1.pid")/ns/uts")" ] && echo "$pid"
	done
}

behind two
bragg-top --once --json two >top.json
is 'bragg-top prints the hosts of processes' "$(grep -o '"host":"n[123]"' top.json | sort | uniq -c | tr -s ' ' | tr '\n' ' ')" ' 5 "host":"n1"  2 "host":"n2"  1 "host":"n3" '
ended 'three hosts' two 'started again' 0
behind three --set=slow.sleep=100
kill -9 $(processes n2 bragg-intensity) $(processes n2 bragg-noise)
ended 'processes killed on one of them' three 'was killed by signal 9: started again' 2
behind four
ip link set bragg-n3 down
sleep 6
ip link set bragg-n3 up
ended 'a network that is away for six seconds' four nothing 0
behind away --set=slow.sleep=400
ip link set bragg-n3 down
sleep 30
ip link set bragg-n3 up
ended 'the run goes on after thirty seconds without a host' away nothing 0
if tc qdisc add dev bragg-n2 root netem delay 2ms 1ms loss 2% reorder 25% duplicate 1% 2>/dev/null &&
	tc qdisc add dev bragg-n3 root netem delay 5ms loss 5% 2>/dev/null; then
	behind bad-links
	ended 'links that lose, delay, reorder and double packets' bad-links nothing 0
	tc qdisc del dev bragg-n2 root
	tc qdisc del dev bragg-n3 root
else
	skip 'links that lose, delay, reorder and double packets' 'tc or netem is missing'
fi
behind five --set=slow.sleep=100
kill -STOP $(processes n3 bragg-intensity)
ended 'a frozen process' five 'no longer answers: started again' 1
behind six --set=slow.sleep=100
kill -9 "$(cat n3.pid)"
ended 'a host that dies: its worker goes to the next' six 'intensity.3 lost the connection to its host: started again' 1
bragg-run --launcher=ssh --hosts=n1,n3 --workdir=bad p.yaml >said 2>&1
is 'a missing host is named when it is needed again' "$? $(cat said)" "1 bragg-run: host 'n3' does not answer: ssh: connect to host n3 port 22: No route to host"
bragg-run --launcher=ssh --hosts=.,n1,n2 --workdir=seven --quiet p.yaml
is 'this host and two more finish the run' "$? $(digest seven)" "0 $expected"
hosts=n1,n2
behind eight --set=slow.sleep=100
check 'bragg-run is killed' kill -9 $runner
gone() {
	! pgrep -f "$tap_scratch/eight" >/dev/null && [ -z "$(find eight -name 'bragg-run-*')" ]
}
check 'nothing is left when bragg-run is killed' soon gone
finish
