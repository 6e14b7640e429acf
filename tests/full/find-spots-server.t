#!/bin/sh
# A camera that never stops, and DIALS' server for quick feedback beside it: asked over HTTP for
# each file as it appears, it finds as many spots as dials.find_spots does later.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
full=$BRAGG_TESTS/full
frames=8 asked=12
scratch

if ! has dials.find_spots_server; then
	skip 'dials.find_spots_server' 'dials is not installed'
	finish
	exit
fi
bragg-geometry --detpixels=512 --pixel=0.172 --distance=100 --ncells=15 --oversample=3 --fluence=1e26 --beam-size=0.001 |
	bragg-orient --frames=$frames --random --seed=3 --hit-rate=0.6 --truth=truth.tsv |
	bragg-intensity | bragg-background --water=0.0015 | bragg-noise --adc-offset=0 |
	bragg-tap --record=noisy.rec 2>recorder.log

/usr/bin/python3 "$full/find_spots_server.py" >server.port 2>server.log &
server=$!
{ sh -c 'echo $$ >camera.pid; exec env --default-signal=INT bragg-replay --loop=forever --rate=4 noisy.rec' | bragg-write 'live_%04d.cbf' 2>writer.log; } &
camera=$!
trap 'kill "$server" "$(cat camera.pid)" 2>/dev/null; rm -rf "$tap_scratch"' EXIT
soon test -s server.port
check 'the server answers for every file' sh -c "timeout 300 /usr/bin/python3 '$full/find_spots_client.py' \
	$(head -n 1 server.port) $asked live_%04d.cbf >answers"
check 'while the pipeline runs' kill -0 "$(cat camera.pid)"
check 'the pipeline goes on after a request' soon test -s "$(printf 'live_%04d.cbf' $((asked + 2)))"
kill -INT "$(cat camera.pid)"
status=0
wait $camera || status=$?
is 'the pipeline ends by Ctrl-C' "$status" 130
/usr/bin/python3 - "$(head -n 1 server.port)" 2>stop.log <<'END'
import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/Ctrl-C", timeout=60)
END
wait $server

# The same files, all at once, by the program for files.
check 'dials.find_spots reads them' quiet dials.find_spots $(seq -f 'live_%04g.cbf' 0 $((asked - 1))) nproc=1
/usr/bin/python3 -c "
from dials.array_family import flex
table = flex.reflection_table.from_file('strong.refl')
for frame in range($asked):
    print(frame, (table['id'] == frame).count(True))" >found
is 'the server finds as many spots as dials.find_spots in each frame' "$(cat answers)" "$(cat found)"
note "$(tr '\n' ';' <found)"

# What the beam met: over ten spots of a crystal, none of water.
awk -v frames=$frames -v asked=$asked 'FNR == NR {if (FNR > 1) lattices[$1] = $2; next}
	{hit = lattices[$1 % frames]; seen[hit]++; if (hit ? $2 <= 10 : $2 > 0) wrong++}
	END {exit !(FNR == asked && seen[0] && seen[1] && !wrong)}' truth.tsv found
is 'crystals where there are some, and none in blank frames' $? 0
finish
