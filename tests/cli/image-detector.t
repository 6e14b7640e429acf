#!/bin/sh
# bragg-geometry --detector=IMAGE: detector, position, mask and wavelength are those of a CBF or SMV image.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'images of other programs' /usr/bin/python3
scratch

# frames DETECTOR-OPTION...: two frames of a rotation on this detector
frames() {
	bragg-geometry --quiet --ncells=8 --fluence=1e27 "$@" | bragg-orient --quiet --frames=2 --phi0=3 --osc=0.2 --phi-steps=2 --misset=10,20,30 |
		bragg-intensity --quiet --threads=1 | bragg-noise --quiet --adc-offset=0 --bits=32
}
is_same() { # NAME IMAGE
	check "$1: the detector of its image gives the same images" sh -c 'bragg-compare --max-error=0 "$1" "again$1"' sh "$2"
	is "$1: the headers are the same" "$(strings "again$2" | grep -v 'BRAGG_\|^[^#A-Z]')" "$(strings "$2" | grep -v 'BRAGG_\|^[^#A-Z]')"
}
frames --detector=pilatus-300k --distance=90 --wavelength=1.03 --beam-center=60.2,34.4 |
	bragg-write --quiet --cbf-header=pilatus p_%d.cbf
frames --detector=p_1.cbf | bragg-write --quiet --cbf-header=pilatus againp_%d.cbf
is_same 'a Pilatus with gaps and a thick sensor' p_1.cbf
frames --detpixels=200,150 --pixel=0.4 --distance=110 --wavelength=1.1 --beam-center=24,32 |
	bragg-write --quiet s_%d.img
frames --detector=s_0.img | bragg-write --quiet agains_%d.img
is_same 'SMV' s_0.img
is '--verbose prints the rotation of the image as options of bragg-orient' "$(bragg-geometry --verbose --detector=p_1.cbf --ncells=3 2>&1 >none | grep -o 'p_1.cbf: the rotation is .*')" \
	'p_1.cbf: the rotation is that of bragg-orient --phi0=3.2 --osc=0.2'

# Images that other programs could have written: a small one, with a mask in its pixels, and one of an ADSC.
/usr/bin/python3 "$BRAGG_TESTS/cli/foreign_images.py"
geom() { # IMAGE OPTION...: the detector as a geometry file of CrystFEL
	image=$1
	shift
	bragg-geometry --quiet --detector="$image" --ncells=3 --write-geom=out.geom --overwrite "$@" >none 2>&1
	cat out.geom
}
value() {
	geom "$1" | sed -n "s/^[a-z0-9]*[/]*$2 = \([-0-9]*[.][0-9]\{2\}\).*/\1/p" | head -n 1
}
is 'a Pilatus: where the beam is' "$(value small.cbf corner_x) $(value small.cbf corner_y)" '-12.50 -6.25'
is 'a Pilatus: distance and wavelength' "$(geom small.cbf | grep -oE '^(clen|photon_energy) = [0-9]+[.]?[0-9]{0,2}' | sort | xargs)" 'clen = 0.15 photon_energy = 12657.90'
is 'an ADSC: X of the beam is along slow' "$(value adsc.img corner_x) $(value adsc.img corner_y)" '-25.00 -15.00'
frames --detector=small.cbf 2>said | bragg-write --quiet masked_%d.cbf
is 'nothing is said of a detector that is all in the header' "$(cat said)" ''
cat >masked.py <<'END'
import sys
bytes_ = open(sys.argv[1], "rb").read().split(b"\x0c\x1a\x04\xd5")[1]
pixels, last, at = [], 0, 0
while len(pixels) < 600:
    size = 1
    if bytes_[at] == 0x80:
        at, size = at + 1, 2
        if bytes_[at:at + 2] == b"\0\x80":
            at, size = at + 2, 4
    last += int.from_bytes(bytes_[at:at + size], "little", signed=True)
    at += size
    pixels.append(last)
print(sum(p == -2 for p in pixels), all((p == -2) == (i % 30 == 7 or i == 100) for i, p in enumerate(pixels)))
END
is 'gaps and bad pixels are masked' "$(/usr/bin/python3 masked.py masked_0.cbf)" '21 True'
is 'an image without them masks nothing' "$(geom whole.cbf | grep -c '^bad')" 0
is 'the sensor is taken' "$(strings masked_0.cbf | grep sensor)" '# Silicon sensor, thickness 0.000320000 m'
is 'another material: one line' "$(bragg-geometry --detector=cdte.cbf --ncells=3 2>&1 >none | grep -o "a sensor of .* is not known")" "a sensor of 'CdTe' is not known"
is 'a material of two words: one line' "$(bragg-geometry --detector=words.cbf --ncells=3 2>&1 >none | grep -o "a sensor of .* is not known")" "a sensor of 'Cadmium' is not known"
is 'an option replaces the wavelength' "$(geom small.cbf --energy=9000 | grep -o '^photon_energy = 9000')" 'photon_energy = 9000'

refused() { # WHAT OPTION...
	wanted=$1
	shift
	bragg-geometry --quiet --ncells=3 "$@" >none 2>refused
	is "refused: $*" "$? $(wc -l <refused) $(grep -c -e "$wanted" refused)" "$status 1 1"
}
status=3
refused 'twice.cbf: header: sensor, thickness .*contradicts another value' --detector=twice.cbf
refused 'turned.cbf: the detector arm is turned by 5 deg' --detector=turned.cbf
refused 'blind.cbf: the header does not have the beam position' --detector=blind.cbf
refused 'odd.cbf: header: sensor, thickness thin: is not a number with a known unit' --detector=odd.cbf
refused 'small.cbf: --panels=modules: no built-in detector has 30 x 20 pixels' --detector=small.cbf --panels=modules
head -c 1400 small.cbf >cut.cbf
refused 'cut.cbf' --detector=cut.cbf
status=2
refused '.--detector=FILE and --distance cannot be used together' --detector=small.cbf --distance=100
refused 'detpixels' --detector=small.cbf --detpixels=20
finish
