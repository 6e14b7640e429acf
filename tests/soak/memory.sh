# Parts of scripts/soak: long and slow streams, whose memory is watched.

# watch_memory: KiB of the largest stage, five lines a second until the source is gone
watch_memory() {
	while [ ! -e source.status ]; do
		ps -o rss= -p "$(cat ./*.pid 2>/dev/null | paste -sd,)" 2>/dev/null | sort -n | tail -n 1
		sleep 0.2
	done >memory
}

# grown MOST: sets kib to what the largest stage grew by in the second half of the stream; a row
# with more than that fails, and one too short to tell
grown() {
	kib=$(awk 'NF {kib[++n] = $1} END {print (n > 3 ? kib[n - 1] - kib[int((n + 1) / 2)] : "unknown")}' memory)
	[ "$kib" != unknown ] || row_result='FAIL: too short to tell growth'
	[ "$kib" = unknown ] || [ "$kib" -le "$1" ] || row_result="FAIL: a stage grew by $kib KiB"
}

# counted FRAMES SLEEP-MS: two makers, two workers and a sink that only counts; leaves out/total
counted() {
	frames=$1
	fresh
	row_start=$(date +%s)
	stage first first --pixels=32 --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames="$frames" --window=64 &
	for i in 1 2; do
		stage make$i make --in="ipc://$d/s" --out="@ipc://$d/$i" &
		stage work$i work --in="ipc://$d/1" --in="ipc://$d/2" --out="@ipc://$d/x$i" &
	done
	stage sink count out --in="ipc://$d/x1" --in="ipc://$d/x2" --sleep="$2" &
	watch_memory
	settle
	# frame n: 1024 pixels n + i + 1
	row_result=pass
	[ "$(statuses first source make1 make2 work1 work2 sink)" = '0 0 0 0 0 0 0' ] ||
		row_result="FAIL: ended with $(statuses first source make1 make2 work1 work2 sink)"
	[ "$(cut -d' ' -f1 out/total)" = "$frames" ] || row_result="FAIL: $(cat out/total) frames"
	# pixels are float32, so that sums of large numbers are not exact
	[ "$frames" -gt 4000000 ] || [ "$(cut -d' ' -f2 out/total)" = $((1024 * frames * (frames - 1) / 2 + frames * 1024 * 1025 / 2)) ] ||
		row_result='FAIL: other pixels'
}

part_rate() {
	counted "$(scaled 5750000 2000)" 0
	# 1 MiB for each million frames of the second half, and 1 MiB that needs no reason
	grown $((1024 + frames * 1024 / 2000000))
	row_seconds=$(($(date +%s) - row_start))
	print_row '4 KiB, four stages, two workers' 0 "$row_result" \
		"$((frames / (row_seconds ? row_seconds : 1))) frames/s, second half $kib KiB, largest $(sort -n memory | tail -n 1) KiB"
}

part_slow() {
	counted "$(scaled 12000 300)" 10
	grown 1024
	print_row 'a sink of 100 frames/s' 0 "$row_result" \
		"second half $kib KiB, largest $(sort -n memory | tail -n 1) KiB"
}

# large TRANSPORT NAME: images of 64 MiB, each written and copied, two on their way at a time; no
# stage may ever hold more than six, counting the pages that it shares
large() {
	frames=$(scaled 2000 20) row_start=$(date +%s) row_result=pass
	fresh
	stage first bench-hop first --pixels=4096 | stage source bench-hop source --frames="$frames" --window=2 |
		stage make bench-hop make --touch --transport="$1" --report=report |
		stage null bench-hop null --touch --transport="$1" --report=report |
		stage sink bench-hop sink --transport="$1" --report=report
	[ "$(statuses first source make null sink)" = '0 0 0 0 0' ] ||
		row_result="FAIL: ended with $(statuses first source make null sink)"
	largest=$(sort -n -k 4 report | tail -n 1)
	[ "${largest##* }" -le $((6 * 65536 + 16384)) ] || row_result='FAIL: too much memory'
	print_row "64 MiB, $2" 0 "$row_result" \
		"$(sort report | awk '{printf "%s%s %d MiB %.0f ms", (NR > 1 ? ", " : ""), $1, $4 / 1024, $2 / 1e6}') of CPU a frame"
	rm report
}

part_large() {
	large auto 'shared memory'
	large inline 'in messages'
}
