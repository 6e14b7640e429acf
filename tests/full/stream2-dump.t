#!/bin/sh
# bragg-replay plays a recorded series of Stream V2, a file for each message: pixels, mask, detector, beam and rotation.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'messages of Stream V2' python:cbor2 python:zmq python:bitshuffle python:numpy
scratch
bragg-geometry --quiet --detpixels=61x40 --pixel=1.6 --distance=120 --beam-center=31,52 --wavelength=1.1 --ncells=15 --roi=4,60,0,38 |
	bragg-orient --quiet --frames=4 --phi0=10 --osc=0.5 --phi-steps=2 --misset=10,20,30 | bragg-intensity --threads=1 |
	bragg-background --quiet --flat=1 | bragg-noise --quiet --adc-offset=0 | bragg-tap --record=a.rec
bragg-replay --quiet a.rec | bragg-write --quiet 'a_%d.cbf'
dump="/usr/bin/python3 $BRAGG_TESTS/full/stream2_dump.py"
bragg-replay --quiet a.rec | timeout 60 bragg-serve --quiet --protocol=dectris2 --bind=tcp://127.0.0.1:* >endpoint &
soon test -s endpoint
check 'a client records the messages' $dump "$(cat endpoint)"
wait
keys() { strings "$1" | grep -E '^# (Pixel_size|Wavelength|Detector_distance|Beam_xy|Start_angle|Angle_increment|Detector_2theta)'; }
is_series() { # NAME FILE...: all pixels and values of the images that were sent, in CBF, where masked pixels are -2
	name=$1
	shift
	bragg-replay --quiet "$@" 2>said | bragg-write --quiet --overwrite 'b_%d.cbf'
	check "$name: pixels" sh -c 'for i in 0 1 2 3; do bragg-compare --max-error=0 a_$i.cbf b_$i.cbf || exit; done'
	is "$name: detector, beam and rotation" "$(keys b_2.cbf)" "$(keys a_2.cbf)"
	is "$name: not a word" "$(cat said)" ''
	rm -f b_*
}
is_series 'all messages, in the order of names' *.cbor
is_series 'without the end' start.cbor image_*.cbor
for kind in long plain big; do
	$dump --again $kind
	is_series "$kind" ${kind}_start.cbor ${kind}_image_*.cbor
done
is_series 'a geometry of another file' --geometry-from=a_0.cbf start.cbor image_*.cbor
bragg-geometry --quiet --detector=start.cbor --ncells=3 --write-geom=start.geom >none 2>&1
bragg-geometry --quiet --detector=a_0.cbf --ncells=3 --write-geom=cbf.geom >none 2>&1
is 'bragg-geometry takes the detector and the mask of the start message' "$(grep -v '^;' start.geom) $(grep -c '^bad' start.geom)" \
	"$(grep -v '^;' cbf.geom) $(grep -c '^bad' cbf.geom)"
check 'and there is a mask' grep -q '^bad' start.geom
is 'bragg-view shows them' "$(timeout 20 bragg-view --bind=127.0.0.1:0 --linger=0 start.cbor image_*.cbor 2>&1 | grep -c '^http')" 1
refused() { # TEXT FILE...
	refused_text=$1
	shift
	bragg-replay --quiet "$@" 2>said >none
	is "refused: $refused_text" "$? $(grep -c -e "$refused_text" said) $(wc -l <said)" '3 1 1'
}
refused 'image_00000.cbor: the file has no geometry of its detector' image_*.cbor
cp start.cbor other.cbor
refused 'is a second start message' start.cbor other.cbor image_*.cbor
$dump --again zstd
refused 'compressed with zstd, which cannot be read' zstd_start.cbor zstd_image_*.cbor
head -c 700 image_00001.cbor >cut.cbor
refused 'cut.cbor: is not a complete message of Stream V2' start.cbor cut.cbor
refused 'contains no frames' start.cbor end.cbor
finish
