#!/bin/sh
# Previews: rings, truth, masked and saturated pixels, panels in any places.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'previews' /usr/bin/python3
scratch
look() {
	/usr/bin/python3 "$BRAGG_TESTS/cli/preview_marks.py" "$@"
}
# made NAME DETECTOR... : one still of a crystal as NAME.png with truth and NAME.raw
made() {
	name=$1
	shift
	bragg-geometry --ncells=20 --fluence=1e28 --default-F=100 --cell=60,70,80,90,90,90 "$@" 2>>upstream |
		bragg-orient --misset=10,20,30 $turned 2>>upstream | bragg-intensity --threads="${threads:-1}" 2>>upstream |
		bragg-write --preview="$name.png" --preview-truth --preview-size="${size:-512}" "$name.raw" 2>>upstream
}
turned=
cat >two.geom <<'END'
photon_energy = 12398.42
adu_per_photon = 1
clen = 0.12
res = 5000
p0/min_fs = 0
p0/max_fs = 255
p0/min_ss = 0
p0/max_ss = 255
p0/corner_x = -260
p0/corner_y = -128
p0/fs = 1x +0y
p0/ss = 0x +1y
p1/min_fs = 0
p1/max_fs = 255
p1/min_ss = 256
p1/max_ss = 511
p1/corner_x = 4
p1/corner_y = -128
p1/fs = 0.98480775x +0y +0.17364818z
p1/ss = 0x +1y
p1/coffset = 0.02
END
# wavelength 1 A, 120 mm, pixels of 0.2 mm
made still --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1 &
size=200 made small --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1 &
size=512 made tiny --detpixels=64 --pixel=1.6 --distance=120 --wavelength=1 &
made swung --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1 --twotheta=25 --beam-center=30,40 &
turned='--osc=1 --phi-steps=30' made sweep --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1 &
threads=2 size=512 made again --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1 &
made panels --geom=two.geom &
wait

is 'rings are where the law of Bragg says' "$(look rings still.png 0.2 120 1 1 10 5 3 2.2)" 'stray 0, every ring is there: True'
is 'circles are about the brightest spots' "$(look truth still.png still.raw 512 1 0)" 12
is 'the brightest spots have one circle each' "$(look truth still.png still.raw 512 1 13 | grep -c '^[0-3]$')" 1

is 'a small picture has rings and circles' "$(look rings small.png 0.2 120 1 0.3333 10 5 3 2.2 | cut -d, -f1) $(look truth small.png small.raw 512 3 0)" \
	'stray 0 12'
is 'a small detector has resolution rings in its enlarged picture' "$(look rings tiny.png 1.6 120 1 8 10 5 3 2.2)" 'stray 0, every ring is there: True'
is 'on a detector that is swung out' "$(look truth swung.png swung.raw 512 1 0)" 12
is 'a rotation has circles about its brightest spots' "$(look truth sweep.png sweep.raw 512 1 0)" 12

bragg-geometry --ncells=20 --fluence=1e28 --default-F=100 --cell=60,70,80,90,90,90 --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1 \
	2>>upstream | bragg-orient --misset=10,20,30 2>>upstream | bragg-intensity --threads=1 --reflections=1000 2>>upstream |
	bragg-write --preview=table_%d.png --preview-truth --preview-size=512 --reflections=table_%d.tsv table_%d.raw 2>>upstream
is 'circles are those of the table that the frame carries, and no predicted ones' "$(look table table_0.png table_0.tsv)" 'True True True'

bragg-geometry --ncells=20 --fluence=1e28 --default-F=100 --cell=60,70,80,90,90,90 --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1 \
	2>>upstream | bragg-orient --random --lattices=3 2>>upstream | bragg-intensity --threads=1 --reflections=1000 2>>upstream |
	bragg-write --preview=several_%d.png --preview-truth --preview-size=512 --reflections=several_%d.tsv several_%d.raw 2>>upstream
is 'each of three lattices has circles of its own colour and size' "$(look lattices several_0.png several_0.tsv)" '3 3 3'

check 'threads change no byte' cmp still.png again.png

is 'panels that stand apart have circles' "$(look panels panels.png panels.raw | tr '\n' ' ')" '8 8 '
bragg-geometry --detector=agipd-1m --distance=200 --ncells=10 --fluence=1e29 2>>upstream | bragg-orient --misset=10,20,30 2>>upstream |
	bragg-intensity --threads=1 2>>upstream | bragg-noise --adc-offset=10 --saturation=1000 2>>upstream |
	bragg-write --preview=agipd.png agipd.raw
is 'panels that stand apart are seen, with what is between them and what is saturated' \
	"$(look ink agipd.png | awk '{ print ($1 > 50000 && $1 < 300000), ($2 > 20), ($3 > 1000), ($4 > 100), $5 }')" '1 1 1 1 0'

# rings that the user chose; 1.9 A is in the corners, 0.6 A is off, 0.4 A is below half the wavelength
bragg-geometry --detpixels=512 --pixel=0.2 --distance=120 --wavelength=1 --ncells=5 2>>upstream | bragg-orient 2>>upstream |
	bragg-intensity --threads=1 2>>upstream |
	bragg-write --rings=3.25,2.4A,0.2nm,1.9,0.6,0.4 --preview-size=512 --preview=chosen.png chosen.raw 2>rings.log
is 'rings are where the user asks for them' "$(look rings chosen.png 0.2 120 1 1 3.25 2.4 2 1.9)" 'stray 0, every ring is there: True'
is 'a ring that cannot be shown is named' "$(sed 's/^bragg-write: //' rings.log)" 'warning: --rings: the ring of 0.6 A is not on the detector
warning: --rings: there is no ring of 0.4 A: at a wavelength of 1 A the smallest d spacing is 0.5 A'

# refused PATTERN ARGUMENT...
refused() {
	pattern=$1 status=0
	shift
	bragg-write "$@" </dev/null 2>message || status=$?
	is "refused: $*" "$status $(wc -l <message) $(grep -c "^bragg-write: .*$pattern" message)" '2 1 1'
}
refused '--preview-truth needs --preview' --preview-truth 'x_%d.raw'
refused '--preview-colors needs --preview' --preview-colors=heat 'x_%d.raw'
refused '--rings needs --preview' --rings=3 'x_%d.raw'
refused "--rings: '0' is out of range; expected a value of at least 0.1" --rings=3,0 --preview='x_%d.png' 'x_%d.raw'
refused "--rings: '3deg' has an unknown unit; expected one of A" --rings=3deg --preview='x_%d.png' 'x_%d.raw'
refused '--rings: 17 numbers; expected at most 16' --rings=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 --preview='x_%d.png' 'x_%d.raw'
refused '--preview-colors.*inverted' --preview-colors=blue --preview='x_%d.png' 'x_%d.raw'
for colors in inverted gray heat; do
	bragg-geometry --detpixels=64 2>>upstream | bragg-orient 2>>upstream | bragg-intensity --threads=1 2>>upstream |
		bragg-write --preview="$colors.png" --preview-colors="$colors" "$colors.raw" 2>>upstream
done
is 'three ways to colour' "$(sha256sum inverted.png gray.png heat.png | cut -c 1-64 | sort -u | wc -l)" 3
finish
