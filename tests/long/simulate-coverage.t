#!/bin/sh
# How much of the runtime the simulator reaches (tests/simulate): the lines of link, control and of
# stage's turn, by gcov.  It leaves out what it cannot reach: real sockets, shared memory, keys, pipes,
# endpoints as people write them, and who only watches.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$(realpath "$BRAGG_TESTS/..")
scratch
build=$PWD/build
needs 'lines are counted' gcov
check 'simulate is built so that lines are counted' make -s -C "$top" BUILD="$build" OPTIMIZE=-O1 SANITIZE=--coverage "$build/tests/bin/simulate"
simulate=$build/tests/bin/simulate
check 'seeds' "$simulate" --seeds=1:3000
check 'plans of the past' "$simulate" --past=20
files=$(cd "$top" && ls common/control/*.c common/link/*.c common/stage/turn.c |
	grep -v -E '/(restart|watch|connect|endpoint|keys|pool|port|shared|stage_kind).c$')
for file in $files; do
	gcov -n "$build/obj/${file%.c}.gcda" 2>/dev/null | awk -v file="$file" -F "[:% ']+" '
		/^File/ { mine = $2 == file || $2 ~ "/" file "$" }
		/^Lines/ && mine { printf "%s %.0f %d\n", file, $3, $5; mine = 0 }'
done >table
note "$(cat table)"
is 'all files are counted' "$(wc -l <table)" "$(echo "$files" | wc -l)"
is 'no file is reached by less than 60 %' "$(awk '$2 < 60' table)" ''
share=$(awk '{ lines += $3; reached += $2 * $3 } END { printf "%.1f", reached / lines }' table)
note "together $share %"
check 'seven of eight lines are reached' awk "BEGIN { exit !($share > 87.5) }"
finish
