#!/bin/sh
# scripts/frame-rates: rates of three destinations, as a table and as JSON, and errors in one line.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'frames per second of a user' python:zmq
scratch
export TMPDIR="$PWD"

# rates VALUES...: runs the script with these variables; leaves ./out, ./err and ./results
rates() {
	rm -f results
	env DETECTORS=64 FRAMES=30 RESULTS="$PWD/results" "$@" "$BRAGG_TESTS/../scripts/frame-rates" >out 2>err
}
rows() { # paths of the table that have a positive rate and CPU time
	awk -F ' *[|] *' '$2 == "64" && $4 > 0 && $5 == "-" && $6 > 0 { printf "%s ", $3 }' out
}
check 'three programs' rates ENGINE=cpu
is 'a row for each destination' "$(rows)" 'sink written served '
check 'results are lines of JSON' /usr/bin/python3 -m json.tool --json-lines results /dev/null
is 'JSON names detector, path and engine' "$(grep -c '^{"part": "rates", "detector": "64", "path": "[a-z]*", "engine": "cpu",' results)" 3
is 'no file is left' "$(ls | tr '\n' ' ')" 'err out results '

# One program with --fuse, which needs a GPU: a shell script that runs two programs instead.
cat >fused <<'END'
#!/bin/sh
for word; do
	case $word in --stats=*) stats=$word ;; --engine=cuda) cuda=yes ;; --fuse=noise) fuse=yes ;; esac
done
[ "${cuda-}${fuse-}" = yesyes ] || exit 1
bragg-intensity --quiet "$stats" | bragg-noise --quiet
END
chmod +x fused
check 'one program for all stages of a GPU' rates ENGINE=cuda INTENSITY="$PWD/fused"
is 'a row for each destination of a GPU' "$(rows)" 'sink written served '

check_status 'an unknown engine' 2 rates ENGINE=gpu
is 'the error names the allowed engines' "$(cat err)" "frame-rates: ENGINE: unknown engine (got 'gpu'); expected cpu or cuda"
check_status 'a number of frames that is not one' 2 rates FRAMES=0
printf '#!/bin/sh\nexit 7\n' >dead
chmod +x dead
check 'frames that do not arrive are an error' sh -c '! "$@"' sh env DETECTORS=64 FRAMES=2 INTENSITY="$PWD/dead" \
	"$BRAGG_TESTS/../scripts/frame-rates"
finish
