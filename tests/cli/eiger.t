#!/bin/sh
# bragg-eiger: keys over HTTP, hostile requests, series in both Streams with the images of bragg-write, and their ends.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'Stream' python:zmq
. "$BRAGG_TESTS/eiger.sh"
scratch
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp

client() {
	timeout 120 /usr/bin/python3 "$BRAGG_TESTS/cli/eiger_client.py" "$1" "$(cat address)" "$v1" "$v2" "${2-files}" >taken 2>&1 || {
		cat taken message >&2
		return 1
	}
}
ended() {
	kill "$server"
	status=0
	wait "$server" || status=$?
	is "$1" "$status $(sed '/images le[fa].* late/d; /images did not leave/d' message) $(ls tmp)" '0  '
}

# For tests that look at no pixels: few of them are computed.
sed 's/--ncells=15/&, "--roi=400,599,200,299"/' "$BRAGG_TESTS/../pipelines/eiger.yaml" >part.yaml
eiger --pipeline=part.yaml
check 'keys, ranges, types, changed lists' client keys
check 'hostile requests' client hostile
check 'abort, cancel and disarm' client ends
ended 'the end by a signal leaves nothing'

mkdir files
# files NAME OPTION...: images of a rotation, as bragg-write has them
files() {
	name=$1
	shift
	bragg-geometry --detector=eiger2-500k --energy=13000 --distance=120 --convention=xds --orgx=400.5 --orgy=200.5 --flux=2e11 \
		--exposure=0.2 --ncells=15 --crystal-size=50um --beam-size=100um |
		bragg-orient --seed=7 --misset=12,34,56 --phi0=10 --osc=0.5 "$@" | bragg-intensity | bragg-background --water=0.1 |
		bragg-noise --bits=32 --adc-offset=0 --saturation=2302000 | bragg-write "files/$name"
}
files a_%d.raw --frames=4 --exposed=0.666666666667
printf '4\n0.5\n' >gate
files e_%d.raw --frames=2 --gate=gate
eiger --initialized
check 'a series of two triggers has the images of bragg-write' client series
ended 'a series without a client ends without a message'
eiger --initialized
check 'trigger modes' client triggers
ended 'trigger modes: the end'
eiger --initialized
check 'files of the filewriter' client files
ended 'files: the end leaves nothing'
for name in data_000001 data_000002 master; do mv "files/got_scan_1_$name.h5" "files/scan_1_$name.h5"; done
files run.nxs --frames=4 --exposed=0.666666666667
check 'the files have the images of bragg-write' bragg-compare --max-error=0 files/scan_1_master.h5 files/run.nxs
eiger --initialized
check 'Stream V2 with two channels' client cbor
ended 'a series without a client ends without a message'
eiger --initialized --pipeline=part.yaml
check 'no client: images are dropped' client nobody
ended 'a series without a client ends without a message'

eiger --initialized
check 'a pixel mask that a client sets' client masks
ended 'a pixel mask leaves no file'
eiger --initialized
check 'the monitor has the pixels of the stream' client monitor
ended 'monitor: the end'
eiger --initialized
check 'the monitor has images of all thresholds' client monitor_cbor
ended 'monitor, V2: the end'
eiger --initialized --detector=eiger2-1m
check 'the pixel mask of a detector with gaps' client gaps
ended 'gaps: the end'

eiger --initialized --detector=eiger2-9m
check 'the middle of a detector' client roi
mv taken middle
ended 'the middle of a detector: the end'
eiger --initialized --detector=eiger2-4m
check 'a detector that reads all pixels' client roi
check 'the middle has the same image' cmp middle taken
ended 'a detector that reads all pixels: the end'

port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed "s/name: serve/name: view\n    input: noise\n    args: [--linger=3600, '--bind=127.0.0.1:$port']\n  - &\n    input: noise/" \
	part.yaml >view.yaml
eiger --initialized --pipeline=view.yaml
check 'bragg-view shows one series after another' client viewed "$port"
ended 'two series with a view: the end'
if has prlimit; then
	rm -f address
	env --ignore-signal=XFSZ bragg-eiger --bind=127.0.0.1:0 --legacy-port="$v1" --cbor-port="$v2" --initialized --pipeline=part.yaml >address 2>message &
	server=$!
	soon test -s address
	check 'a full disk: a trigger that cannot be stored fails' client full $server
	kill $server
	wait $server
else
	skip 'a full disk' "$lack is missing"
fi

# A stage that waits makes the images late on any machine.
sed 's/^  - name: noise/  - {name: wait, program: teststage, args: [pass, --sleep=50]}\n&/' part.yaml >slow.yaml
eiger --initialized --pipeline=slow.yaml
check 'late images' client late
is 'one line says how many images were late' "$(sed '/images leave late/d; s/by up to .* s (.* of 500 images/by up to S s (R of 500 images/' message)" \
	"bragg-eiger: warning: series 1: $(cat taken) of 30 images left late, by up to S s (R of 500 images/s). Set a longer frame_time, or a faster pipeline (--pipeline)"
ended 'late images leave nothing'

# Faults of the pipeline, the same in both Streams.
sed 's/--ncells=15,/&, --shape=gauss, --mosaic-model=gauss, --layers=1,/; s/,,/,/; s/protocol=dectris1/&, --order, "--inject=drop:0.1,duplicate:0.1,swap:0.1,empty:0.1,truncate:0.1"/' part.yaml >faulty.yaml
eiger --initialized --pipeline=faulty.yaml
check 'a pipeline with faults on purpose ends its series' client faults
is 'images are lost, come twice and change places' "$(sort -u taken | tr ' ' '\n' | awk '
	$1 < 0 { empty++ }
	$1 >= 0 { n[$1]++; if ($1 < last) swapped++; last = $1 }
	END { for (i = 0; i < 40; i++) { lost += !(i in n); twice += n[i] > 1 } print (empty > 0), (lost > empty), (twice > 0), (swapped > 0), (last > 35) }')" '1 1 1 1 1'
is 'both Streams have the same faults' "$(sort -u taken | wc -l)" 1
ended 'faults on purpose: the end'

sed 's/inject=.*"/inject=drop:0.3,swap:0.2"/' faulty.yaml >losing.yaml
eiger --initialized --pipeline=losing.yaml
check 'lost images, where triggers define exposures' client lost
is 'both Streams lose the same images' "$(sort -u taken | wc -l)" 1
is 'a line at the end of a series counts them' "$(sort -u message)" \
	"$(awk '{ printf "bragg-eiger: warning: series %d: %d of 16 images did not leave after their triggers, because the pipeline file has bragg-serve --inject\n", NR, $2 }' taken)"
check 'most images leave' awk '$1 + $2 < 16 || $1 < 8 || $2 < 2 { exit 1 }' taken
ended 'lost images leave nothing'
sed 's/inject=.*"/inject=swap:1"/' faulty.yaml >holding.yaml
eiger --initialized --pipeline=holding.yaml
check 'an image that comes after the end of its series' client held
ended 'an image after the end: the end'
eiger --initialized --pipeline=part.yaml
check 'a stage that dies between triggers' client killed
is 'the state error has its line' "$(cat taken)" 'bragg-run: warning: serve was killed by signal 9: started again'
kill "$server"
wait "$server"

echo '200 -30' >sites
sed "s|--seed=7|&, --crystals-at=$PWD/sites|; /background/,/water/d" "$BRAGG_TESTS/../pipelines/eiger.yaml" >sites.yaml
eiger --initialized --pipeline=sites.yaml
check 'motors of the sample holder' client sample
is 'the crystal is at one of two places' "$(tr '\n' ' ' <taken)" 'False True '
ended 'motors: the end'

# scan NAME OPTION...: images of a raster scan, as bragg-write has them
scan() {
	name=$1
	shift
	bragg-geometry --detector=eiger2-500k --energy=12400 --distance=150 --convention=xds --orgx=514.5 --orgy=256.5 --flux=2e11 \
		--exposure=0.0999999 --ncells=15 --crystal-size=50um --beam-size=100um |
		bragg-orient --seed=7 --misset=12,34,56 --crystals-at=sites "$@" | bragg-intensity |
		bragg-noise --bits=32 --adc-offset=0 --saturation=1150998 | bragg-write "files/$name"
}
printf '%s\n' '0 0' '-100 100' '200 -100' >sites
scan m_%d.raw --mesh=5,3 --truth=truth.tsv
hits=$(awk -F'\t' 'NR == 1 { next } { hit[$1] = $2 > 0 } END { for (i = 0; i < 15; i++) printf "%s%d", i ? " " : "", hit[i] }' truth.tsv)
printf '1 -100 100 %s\n' '10 2000' '10.5 2000' '20 1000' '20.5 1000' >gate
scan r_%d.raw --frames=4 --phi0=5 --osc=0.5 --gate=gate --gate-z
eiger --initialized --pipeline=sites.yaml
check 'motors that move between triggers' client raster
is "a raster scan has the hits of the ground truth: $hits" "$(cat taken)" "$hits"
ended 'motors between triggers: the end'
sed "s|--crystals-at|'--mesh=5,3', &|" sites.yaml >mesh.yaml
eiger --initialized --pipeline=mesh.yaml
check 'a mesh with a trigger for each row' client rows
is 'a mesh has the hits of the ground truth' "$(cat taken)" "$hits"
ended 'rows of a mesh: the end'
is 'the lineage is the command of the series' "$(cut -d' ' -f1-4 lineage) $(sed 's/.* //' lineage)" \
	'bragg-run --frames=15 --set=geometry.detector=eiger2-500k --set=geometry.energy=12400 mesh.yaml'
sed 's|name: serve|name: write|; s|args: .--protocol=dectris1.|args: ["files/l_%d.raw"]|' mesh.yaml >written.yaml
check 'the lineage runs with another sink' sh -c "$(sed 's/mesh.yaml/written.yaml/; s/bragg-run/& --quiet/' lineage)"
check 'the lineage gives the same images' cmp files/l_11.raw files/m_11.raw

# An absorption edge of selenium; the file `flat` has none
printf 'Se %s\n' '12600 -3 0.5' '12650 -9 0.5' '12660 -9 4' '12700 -3 4' >edge
printf 'Se %s\n' '12600 -3 0.5' '12650 -9 0.5' '12700 -9 0.5' >flat
echo 'Se 0.55253801 0.29197528 0.07323787 1 17.81' >atoms
# energy NAME EV FPRIME: an image, as bragg-write has it
energy() {
	bragg-geometry --detector=eiger2-500k --energy="$2" --distance=150 --convention=xds --orgx=514.5 --orgy=256.5 --flux=2e11 --exposure=0.0999999 \
		--ncells=15 --crystal-size=50um --beam-size=100um --mtz="$BRAGG_TESTS/golden/lysozyme_6A.mtz" --sites=atoms --fprime="$3" |
		bragg-orient --seed=7 --misset=12,34,56 | bragg-intensity | bragg-noise --bits=32 --adc-offset=0 --saturation=1150998 | bragg-write "files/$1.raw"
}
energy 12640 12640 edge
energy 12665 12665 edge
energy flat 12665 flat
check 'an edge changes the image' sh -c '! cmp -s files/12665.raw files/flat.raw'
sed "s|--ncells=15|&, --mtz=$BRAGG_TESTS/golden/lysozyme_6A.mtz, --sites=$PWD/atoms, --fprime=$PWD/edge|; /background/,/water/d" \
	"$BRAGG_TESTS/../pipelines/eiger.yaml" >edge.yaml
eiger --initialized --pipeline=edge.yaml
check 'a scan of the energy over an edge' client edge
ended 'an edge: the end'

# The axes of a goniometer, by their definition: the rotation of the crystal, and the direction of the axis that rotates
/usr/bin/python3 - <<'EOF'
import math

def product(a, b):
    return [sum(a[i // 3 * 3 + k] * b[3 * k + i % 3] for k in range(3)) for i in range(9)]

def apply(m, v):
    return [sum(m[3 * i + k] * v[k] for k in range(3)) for i in range(3)]

def about(v, deg):
    c, s = math.cos(math.radians(deg)), math.sin(math.radians(deg))
    x, y, z = v
    cross = [0, -z, y, z, 0, -x, -y, x, 0]
    return [c * (i % 4 == 0) + (1 - c) * v[i // 3] * v[i % 3] + s * cross[i] for i in range(9)]

tilt = math.radians(50)
omega, kappa, chi, phi = ([-x, -y, z] for x, y, z in ((-1, 0, 0), (-math.cos(tilt), -math.sin(tilt), 0), (0, 1, 0), (-1, 0, 0)))
a, b, c, d = (about(axis, deg) for axis, deg in ((omega, 20), (kappa, 40), (chi, -25), (phi, 70)))
misset = product(about((0, 0, 1), 56), product(about((0, 1, 0), 34), about((1, 0, 0), 12)))
print(*product(a, product(b, product(c, product(d, misset)))), file=open("turned", "w"))
print(*apply(product(a, product(b, c)), phi), sep=",", file=open("phi", "w"))
print(*apply(a, kappa), sep=",", file=open("kappa", "w"))
EOF
# turn NAME SPINDLE OPTION...: an image of the crystal on the goniometer
turn() {
	name=$1 spindle=$2
	shift 2
	bragg-geometry --detector=eiger2-500k --energy=12400 --distance=150 --orgx=514.5 --orgy=256.5 --flux=2e11 --exposure=0.0999999 \
		--ncells=15 --roi=400,599,200,299 --crystal-size=50um --beam-size=100um --beam-vector=0,0,1 --polarization-vector=1,0,0 \
		--fast-axis=1,0,0 --slow-axis=0,1,0 --pivot=sample --spindle="$spindle" |
		bragg-orient --seed=7 --orientations=turned "$@" | bragg-intensity | bragg-background --water=0.1 |
		bragg-noise --bits=32 --adc-offset=0 --saturation=1150998 | bragg-write "files/$name.raw"
}
turn still 1,0,0
turn phi "$(cat phi)" --osc=2
turn kappa "$(cat kappa)" --osc=-1
eiger --initialized --pipeline=part.yaml
check 'axes of a goniometer' client axes
kill "$server"
wait "$server"

cat >bad.yaml <<'EOF'
stages:
  - name: geometry
    args: [--model=missing.pdb]
  - name: orient
  - name: intensity
  - name: noise
  - name: serve
EOF
eiger --initialized --pipeline=bad.yaml
check 'a pipeline that fails' client fails
check 'the answer to arm names the file that is missing' grep -q missing.pdb taken
check_status 'a Stream port that another program uses is refused' 1 sh -c "bragg-eiger --bind=127.0.0.1:0 --legacy-port=$v1 >second 2>refused"
check 'the message names the option of the Stream port' grep -q "^bragg-eiger: --legacy-port=$v1: cannot listen at tcp://127.0.0.1:$v1: Address already in use. Give another port\$" refused
check_status 'a port for requests that another program uses is refused' 1 sh -c "bragg-eiger --bind=127.0.0.1:$(sed 's/.*://;q' address) 2>refused >second"
check 'the message gives the next step' grep -q ': Address already in use. Give another port, or port 0 for a free one$' refused
kill "$server"
wait "$server"
is 'after a failed series the end leaves no folder' "$(ls tmp)" ''
check_status 'other hosts need --insecure' 2 bragg-eiger --bind=0.0.0.0:0
check_status 'a model that does not exist' 2 bragg-eiger --detector=eiger3
finish
