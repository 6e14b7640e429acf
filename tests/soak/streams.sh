# Parts of scripts/soak: small streams whose stages and connections are hit.

# begin FRAMES: first and source of a new stream
begin() {
	frames=$1
	expected=$(plain "$frames")
	fresh
	row_start=$(date +%s)
	stage first first --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames="$frames" $limits &
}

# fan_out FRAMES MS: three makers that take so long for a frame
fan_out() {
	begin "$1"
	for i in 1 2 3; do
		keep make$i make --in="ipc://$d/s" --out="ipc://$d/w" --sleep="$2" &
	done
	stage work work --in="@ipc://$d/w" --out="@ipc://$d/x" &
	keep sink sink out --in="ipc://$d/x" &
}

part_kill() {
	fan_out "$(scaled 9000 200)" 20
	hits=$(kill_all "$seed" "$(scaled 200)" 0.05 0.45 make1 make2 make3)
	row 'workers killed' "$expected" "$hits" first source work sink
}

part_all() {
	fan_out "$(scaled 3000 300)" 15
	hits=0
	for i in $(seq "$(scaled 5)"); do
		sleep 1.5
		kill -9 $(cat make1.pid make2.pid make3.pid) 2>/dev/null && hits=$((hits + 3))
	done
	row 'all workers killed at once' "$expected" $hits first source work sink
}

part_freeze() {
	fan_out "$(scaled 4000 200)" 15
	hits=$(schedule "$seed" "$(scaled 12)" 0.3 5 make1 make2 make3 | while read -r name pause; do
		pid=$(cat "$name.pid")
		sleep 0.3
		kill -STOP "$pid" 2>/dev/null && echo hit
		sleep "$pause"
		kill -CONT "$pid" 2>/dev/null
	done | wc -l)
	row 'workers frozen for 0.3 to 5 s' "$expected" "$hits" first source work sink
}

part_sink() {
	fan_out "$(scaled 2500 250)" 10
	hits=$(kill_all "$seed" "$(scaled 12)" 0.3 1 sink)
	row 'sink killed' "$expected" "$hits" first source work sink
}

part_chain() {
	begin "$(scaled 6000 300)"
	for i in 1 2; do
		keep make$i make --in="ipc://$d/s" --out="@ipc://$d/$i" --sleep=8 &
		keep work$i work --in="ipc://$d/1" --in="ipc://$d/2" --out="ipc://$d/x" --sleep=8 &
	done
	stage sink sink out --in="@ipc://$d/x" &
	hits=$(kill_all "$seed" "$(scaled 60)" 0.2 0.8 make1 make2 work1 work2)
	row 'a chain, killed anywhere' "$expected" "$hits" first source sink
}

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

begin_again() {
	frames=$1
	expected=$(plain "$frames")
	fresh
	row_start=$(date +%s)
	restarted --frames="$frames" $limits &
	for i in 1 2 3; do
		keep make$i make --in="ipc://$d/s" --out="ipc://$d/w" --sleep="$2" --source-timeout=30 &
	done
	keep work work --in="@ipc://$d/w" --out="@ipc://$d/x" --source-timeout=30 &
	keep sink sink out --in="ipc://$d/x" --source-timeout=30 --resume &
}

part_source() {
	begin_again "$(scaled 3000 300)" 15
	hits=$(kill_all "$seed" "$(scaled 8 2)" 0.8 2.5 number)
	row 'source killed' "$expected" "$hits" source work sink
}

part_any() {
	begin_again "$(scaled 3000 300)" 15
	hits=$(kill_all "$seed" "$(scaled 30 3)" 0.3 1 number sink sink work make1 make2 make3)
	row 'any stage killed' "$expected" "$hits" source sink
}

part_network() {
	for kinds in c t d f ctdf; do
		frames=$(scaled 5000 300) first_options=--pixels=32
		expected=$(plain "$frames")
		fresh
		row_start=$(date +%s)
		network "$frames" "$seed" $kinds 80
		row "a bad network ($kinds)" "$expected" 0 first source make1 make2 work sink
		first_options=
	done
}
