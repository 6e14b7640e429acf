#!/bin/sh
# The real karabo-bridge client and its glimpse program take the frames that the pipeline
# writes with bragg-write in a second group; a rate holds over a minute's worth of frames.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/gateways.sh"
needs 'the real karabo-bridge client' karabo-bridge-glimpse python:karabo_bridge python:numpy
scratch

# pipeline FRAMES NAME OPTION...: a writer and a gateway behind the same stages
pipeline() {
	count=$1 name=$2
	shift 2
	bragg-geometry --detpixels=100 --pixel=1 --distance=120 --ncells=5 |
		bragg-orient --frames="$count" --random --seed=7 --groups=2 | bragg-intensity --threads=1 |
		bragg-noise --seed=9 --out=@ipc://"$PWD/$name.images" &
	serve_beside "$name" img --bind=tcp://127.0.0.1:* --stats="$name.stats" "$@"
}
# client NAME SOCKET FRAMES: the frames come in order and are as written, or with
# SOCKET SUB some of them
cat >client.py <<'END'
import sys, numpy
from karabo_bridge import Client
name, socket, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
lossy = name == 'lossy'
client = Client(open('endpoint').read().strip(), sock=socket, timeout=10 if lossy else 30)
images, last = {}, -1
while last < count - 1:
    try:
        data, meta = client.next()
    except TimeoutError:
        if lossy and images:
            break  # the last one may be in a gap
        raise
    (source, values), = data.items()
    train = meta[source]['timestamp.tid'] - 10000000000
    assert train > last, f'{train} after {last}'
    assert values['image_id'] == train and values['image_dtype'] == 'uint16'
    assert abs(float(meta[source]['timestamp.sec'] + '.' + meta[source]['timestamp.frac']) - meta[source]['timestamp']) < 1e-6
    images[train], last = values['image.data'].copy(), train
assert socket == 'SUB' or sorted(images) == list(range(count)), 'some are missing'
client._context.destroy(linger=0)
open('taken', 'w').write(f'{len(images)}\n')
while True:  # the writer may be a little behind
    try:
        for train, image in images.items():
            pixels = numpy.fromfile(f'{name}/a_{train}.img', '<u2')[-image.size:].reshape(100, 100)
            assert image.dtype == 'uint16' and (image == pixels).all(), f'frame {train} differs'
        break
    except FileNotFoundError:
        import time
        time.sleep(0.2)
END
client() {
	timeout 60 /usr/bin/python3 client.py "$@"
}
counts() {
	sed -n 's/.*"taken":\([0-9]*\),.*"dropped":\([0-9]*\).*/\1 \2/p' "$1.stats"
}

pipeline 200 req
check 'karabo_bridge.Client, REQ: 200 frames as written' client req REQ 200
wait
is 'REQ: all were taken' "$(counts req)" '200 0'
pipeline 200 one --protocol-version=1.0
check 'version 1.0: 200 frames as written' client one REQ 200
wait
pipeline 200 pull --socket=push
check 'karabo_bridge.Client, PULL: 200 frames as written' client pull PULL 200
wait
pipeline 200 sub --socket=pub
check 'karabo_bridge.Client, SUB, without loss when the policy is to wait' client sub SUB 200
is 'SUB: all frames arrive' "$(cat taken)" 200
wait
pipeline 200 lossy --socket=pub --policy=drop-old --queue=200 --rate=200
check 'SUB, dropping: gaps, but what comes is as written' client lossy SUB 200
wait

pipeline 3 glimpse
check 'karabo-bridge-glimpse' sh -c 'karabo-bridge-glimpse -v "$(cat endpoint)" >seen'
check 'glimpse shows the image' grep -q 'image.data, uint16, (100, 100)' seen
check 'glimpse shows the train' grep -q 'Train ID: 10000000000' seen
check 'the rest' testclient req "$(cat endpoint)" 2
wait

# Steady to 1 % over 10 s, by the time stamps; asked for again when other work held the machine
cat >rate.py <<'END'
from karabo_bridge import Client
client = Client(open('endpoint').read().strip(), timeout=30)
times = [next(iter(client.next()[1].values()))['timestamp'] for i in range(301)]
rate = 300 / (times[-1] - times[0])
assert abs(rate / 30 - 1) < 0.01, f'{rate} Hz'
END
rate() {
	for try in 1 2 3; do
		pipeline 301 "rate$try" --rate=30 --policy=drop-new --queue=300
		timeout 60 /usr/bin/python3 rate.py && return
		wait
	done
	return 1
}
check 'a rate is steady to 1 %' rate
wait

# The pipeline file, with the client that README.md shows beside it
live=ipc://$PWD/live
live karabo.yaml karabo-bridge-glimpse "$live"
finish
