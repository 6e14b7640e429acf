# Parts of scripts/soak: small streams whose stages and connections are hit.

# Who is killed, or frozen for long, is started again by bragg-run.
# supervised FRAMES MS MAKERS [WORKERS]: its stream; makers and workers take so long for a frame
supervised() {
	frames=$1
	expected=$(plain "$frames")
	fresh
	row_start=$(date +%s)
	cat >named <<-'END'
		name=$1
		shift
		echo $$ >"$name${BRAGG_WORKER:+$((BRAGG_WORKER + 1))}.pid"
		exec teststage "$@"
	END
	cat >p.yaml <<-END
		stages:
		  - {name: first, program: sh, args: [named, first, first]}
		  - {name: number, program: sh, args: [named, number, source, --frames=$1, --dead-after=3]}
		  - {name: make, program: sh, args: [named, make, make, --sleep=$2], count: $3}
		  - {name: work, program: sh, args: [named, work, work${4:+, --sleep=$2}], count: ${4:-1}}
		  - {name: sink, program: sh, args: [named, sink, sink, out]}
	END
	{
		stage run bragg-run p.yaml
		cp run.status source.status
	} &
	flowing
}

part_kill() {
	supervised "$(scaled 9000 200)" 20 3
	hits=$(kill_all "$seed" "$(scaled 200)" 0.05 0.45 make1 make2 make3)
	row 'workers killed' "$expected" "$hits" run
}

part_all() {
	supervised "$(scaled 3000 300)" 15 3
	hits=0
	for i in $(seq "$(scaled 5)"); do
		sleep 1.5
		kill -9 $(cat make1.pid make2.pid make3.pid) 2>/dev/null && hits=$((hits + 3))
	done
	row 'all workers killed at once' "$expected" $hits run
}

part_freeze() {
	supervised "$(scaled 4000 200)" 15 3
	hits=$(schedule "$seed" "$(scaled 12)" 0.3 5 make1 make2 make3 | while read -r name pause; do
		pid=$(cat "$name.pid")
		sleep 0.3
		kill -STOP "$pid" 2>/dev/null && echo hit
		sleep "$pause"
		kill -CONT "$pid" 2>/dev/null
	done | wc -l)
	row 'workers frozen for 0.3 to 5 s' "$expected" "$hits" run
}

part_sink() {
	supervised "$(scaled 2500 250)" 10 3
	hits=$(kill_all "$seed" "$(scaled 12)" 0.3 1 sink)
	row 'sink killed' "$expected" "$hits" run
}

part_chain() {
	supervised "$(scaled 6000 300)" 8 2 2
	hits=$(kill_all "$seed" "$(scaled 60)" 0.2 0.8 make1 make2 work1 work2)
	row 'a chain, killed anywhere' "$expected" "$hits" run
}

part_source() {
	supervised "$(scaled 3000 700)" 15 3
	hits=$(kill_all "$seed" "$(scaled 8 2)" 0.8 2.5 number)
	row 'source killed' "$expected" "$hits" run
}

part_any() {
	supervised "$(scaled 3000 300)" 15 3
	hits=$(kill_all "$seed" "$(scaled 30 3)" 0.3 1 number sink sink work make1 make2 make3)
	row 'any stage killed' "$expected" "$hits" run
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
