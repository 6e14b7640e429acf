#!/bin/sh
# Experiment lists of DIALS in place of options: the same bytes from a list that says the same.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# list NAME DETECTOR CRYSTAL: a beam of 1.25 A, a rotation about DIALS' x, three images
list() {
	printf '%s\n' '{"__id__": "ExperimentList", "experiment": [{"beam": 0, "detector": 0, "goniometer": 0, "scan": 0, "crystal": 0}],' \
		'"beam": [{"direction": [0, 0, 1], "wavelength": 1.25, "polarization_normal": [0, 1, 0], "polarization_fraction": 0.75}],' \
		"\"detector\": [$2]," \
		'"goniometer": [{"rotation_axis": [1, 0, 0], "fixed_rotation": [1,0,0,0,1,0,0,0,1], "setting_rotation": [1,0,0,0,1,0,0,0,1]}],' \
		'"scan": [{"image_range": [11, 13], "oscillation": [25, 0.5], "exposure_time": [1, 1, 1]}],' \
		"\"crystal\": [$3]}" >"$1"
}
# panel FAST-PIXELS SLOW-PIXELS ORIGIN MORE
panel() {
	printf '{"fast_axis": [1, 0, 0], "slow_axis": [0, -1, 0], "origin": [%s], "image_size": [%s, %s], "pixel_size": [0.5, 0.5]%s}' "$3" "$1" "$2" "$4"
}
cubic='{"real_space_a": [0, 0, -60], "real_space_b": [0, 64, 0], "real_space_c": [50, 0, 0]}'
list one.expt "{\"panels\": [$(panel 80 64 '-20, 16, -100' '')]}" "$cubic"
# rows NAME ORIENT-OPTION... after the options of bragg-geometry in $geometry
rows() {
	name=$1
	shift
	# shellcheck disable=SC2086 # the options are meant to split
	bragg-geometry $geometry --ncells=6 --oversample=2 | bragg-orient --phi-steps=9 "$@" | bragg-intensity --threads=1 |
		bragg-write "${name}_%d.raw" 2>"$name.err"
}
geometry="--detpixels=80,64 --pixel=0.5 --distance=100 --beam-center=15.75,19.75 --wavelength=1.25 --polarization=0.5"
rows options --frames=3 --phi0=25 --osc=0.5
geometry=--expt=one.expt
rows file --scan=one.expt
for i in 0 1 2; do
	check "frame $i of a list is that of the options" cmp options_$i.raw file_$i.raw
done
is 'there are as many as in its scan' "$(ls file_*.raw | wc -l)" 3
sed 's/, "polarization_fraction": 0.75//' one.expt >silent.expt
geometry=--expt=silent.expt
rows silent --scan=one.expt --only=1
geometry="--expt=one.expt --polarization=0.98"
rows default --scan=one.expt --only=1
check 'a list that does not say how the beam is polarized leaves the default' cmp silent_1.raw default_1.raw
check 'a list that does not state the polarization gives another image than one that does' sh -c '! cmp -s silent_1.raw file_1.raw'
geometry=--expt=one.expt
rows only --scan=one.expt --only=1
check 'one of them alone' cmp only_1.raw options_1.raw
rows other --scan=one.expt --phi0=25.5 --frames=1
check 'options go before the scan' cmp other_0.raw options_1.raw
# scan_warnings ORIENT-OPTION...: warnings about the scan
scan_warnings() {
	bragg-geometry --quiet --expt=one.expt 2>/dev/null | { bragg-orient --scan=one.expt "$@" 2>scan.err || :; } | bragg-tap --print >/dev/null 2>&1
	sed -n 's/^bragg-orient: warning: //p' scan.err
}
is 'an angle that replaces the scan is named' "$(scan_warnings --phi0=25.5)" '--phi0=25.5 replaces the start angle 25 deg of the scan in one.expt'
is 'so is a width' "$(scan_warnings --osc=0.25)" '--osc=0.25 replaces the rotation of 0.5 deg per image in one.expt'
is 'so are frames after the scan' "$(scan_warnings --frames=4)" '--frames=4 continues the rotation after the 3 images of one.expt'
is 'not what agrees with the scan' "$(scan_warnings --phi0=25 --osc=0.5 --frames=2)" ''

sed '1s/"experiment": \[{/&"imageset": 0, /; 1s/}\], *$/&/; s/"beam": \[/"imageset": [{"__id__": "ImageSweep", "template": "x_#.cbf", "mask": "pixels.mask", "gain": "", "pedestal": null, "dx": "dx.pickle"}], &/' one.expt >masked.expt
is 'files of an image set are not read, and named' "$(bragg-geometry --expt=masked.expt 2>&1 >/dev/null | grep 'warning: masked')" \
	'bragg-geometry: warning: masked.expt: these settings have no effect: mask, dx'
geometry='--expt=one.expt --matrix=one.expt --default-F=50'
rows matrix --frames=1 --osc=0.5
geometry='--expt=one.expt --cell=60,64,50,90,90,90 --default-F=50'
rows cell --frames=1 --osc=0.5
check 'the crystal of a list that lies as the cell does' bragg-compare matrix_0.raw cell_0.raw --max-error=1e-3
note "$tap_output"

list two.expt "{\"panels\": [$(panel 80 32 '-20, 16, -100' ''), $(panel 80 32 '-20, 0, -100' ', "mask": [[0, 0, 80, 4]]')]}" "$cubic"
geometry=--expt=two.expt
rows two --frames=1 --phi0=25 --osc=0.5
check 'two panels are the halves of one' sh -c 'head -c 10240 two_0.raw | cmp - options_0.raw -n 10240'
is 'masked rectangles stay dark' "$(tail -c +10241 two_0.raw | head -c 1280 | tr -d '\000' | wc -c)" 0

list real.expt "{\"panels\": [$(panel 80 64 '-20, 16, -100' ', "trusted_range": [0, 14], "gain": 2, "thickness": 0.45, "material": "Si", "mu": 2')]}" "$cubic"
sed -i 's/"wavelength"/"flux": 1e12, &/; s/"exposure_time": .1/"exposure_time": [0.1/' real.expt
geometry=--expt=real.expt
rows real --frames=1 --phi0=25 --osc=0.5
geometry="--detpixels=80,64 --pixel=0.5 --distance=100 --beam-center=15.75,19.75 --wavelength=1.25 --polarization=0.5"
geometry="$geometry --flux=1e12 --exposure=0.1 --thickness=450 --absorption=500 --layers=1"
rows sensor --frames=1 --phi0=25 --osc=0.5
check 'flux, exposure and sensor of a list' bragg-compare real_0.raw sensor_0.raw --max-error=1e-6
bragg-geometry --expt=real.expt --ncells=6 --fluence=1e29 --oversample=2 | bragg-orient | bragg-intensity |
	bragg-noise --adc-offset=0 | bragg-write counts.raw
is 'a pixel counts up to what is trusted over the gain' \
	"$(od -An -v -w4 -tf4 counts.raw | awk '$1 > most { most = $1 } END { print most }')" 7

bragg-geometry --expt=one.expt --ncells=6 --oversample=2 | bragg-orient --scan=one.expt --phi-steps=3 |
	bragg-intensity --threads=1 | bragg-noise | bragg-write 'n_%d.img' 2>>err
check 'frames of a list are computed again from their headers' bragg-replay --recompute n_2.img
# --- a list and the images that it names
# with NAME SED-COMMAND IMAGESET: the list of two images, or of one file of both, changed
with() {
	list "$1" "{\"panels\": [$(panel 80 64 '-20, 16, -100' '')]}" "$cubic"
	sed -i 's/"scan": 0/"scan": 0, "imageset": 0/; s/"image_range": .*, "osc/"image_range": [1, 2], "osc/; s/\[1, 1, 1\]/[1, 1]/; '"$2" "$1"
	sed -i "s|^\"detector|\"imageset\": [{$3}], &|" "$1"
}
# told NAME STATUS TEXT: of a list, one line
told() {
	status=0
	{ bragg-geometry --expt="$1" 2>err || echo $? >failed; } | bragg-tap --print >/dev/null 2>&1
	[ ! -e failed ] || { status=$(cat failed) && rm failed; }
	[ "$status" = "$2" ] && [ "$(wc -l <err)" = 1 ] && grep -q -e "$3" err && return
	echo "# $status $(cat err)"
	return 1
}
mkdir images
# made START OUTPUT...: images of which the first starts at this angle
made() {
	start=$1
	shift
	bragg-geometry --quiet --expt=one.expt --default-F=9 | bragg-orient --quiet --scan=one.expt --phi0="$start" |
		bragg-intensity --quiet --threads=1 | bragg-noise --quiet --adc-offset=0 | bragg-write --quiet "$@"
}
made 24.5 images/i_%02d.cbf images/i_%02d.img # image 1, the first of the list, starts at 25
made 25 images/i.nxs
plates='"template": "images/i_##.cbf"' stills='"images": ["images/i_01.img", "images/i_02.img"]' nexus='"template": "images/i.nxs", "single_file_indices": [0, 1]'
for images in "$plates" "$stills" "$nexus"; do
	name=$(echo "$images" | sed 's/.*images.\(i[^"]*\)".*/\1/')
	with fits.expt '' "$images"
	check "$name: a list that fits" sh -c 'bragg-geometry --expt=fits.expt 2>err | bragg-tap --print >/dev/null && ! grep -v "first of" err'
	with turned.expt 's/\[80, 64\]/[64, 80]/' "$images"
	check "$name: a list of another size" told turned.expt 3 '--expt=turned.expt: image_size is 64 x 80, but the image .* has 80 x 64 pixels'
	with fine.expt 's/\[0.5, 0.5\]/[0.25, 0.25]/' "$images"
	check "$name: a list whose pixels have another size than those of the image is refused" told fine.expt 3 '--expt=fine.expt: pixel_size is 0.25 mm, but the image .* has pixels of 0.5 mm'
	with early.expt 's/\[25, 0.5\]/[24.9, 0.5]/' "$images"
	check "$name: a warning says that the scan and its first image start at different angles" told early.expt 0 'warning: --expt=early.expt: the scan starts at 24.9 deg .* but its first image .* starts at 25'
	with wide.expt 's/\[25, 0.5\]/[25, 0.6]/' "$images"
	check "$name: a warning says that the scan and its first image rotate by different angles" told wide.expt 0 'rotates by 0.6 deg per image, but .* rotates by 0.5 deg'
	with wave.expt 's/: 1.25/: 1.5/' "$images"
	check "$name: a list with another wavelength" told wave.expt 0 'warning: --expt=wave.expt: the wavelength is 1.5 A, but the image .* has 1.25 A'
done
with halves.expt 's/"panels": \[\(.*\)\]}\]/"panels": [\1, \1]}]/' "$nexus"
check 'a list of two panels for an image of one' told halves.expt 3 'halves.expt has 2 panels, but its image .*i.nxs has 1'
with long.expt 's/"image_range": .1, 2/"image_range": [1, 3/' "$nexus"
check 'a list of more images than its set' told long.expt 3 'single_file_indices: has 2 items, but image_range of the scan has 3 images'
with more.expt 's/"image_range": .1, 2/"image_range": [1, 3/' "$plates"
check 'a scan of more images than there are files is named' told more.expt 0 'warning: --expt=more.expt: the last image of the scan is 3, but the file images/i_03.cbf is missing'
with more.expt 's/"image_range": .1, 2/"image_range": [1, 4/; s/\[1, 1\]/[1, 1, 1, 1]/' '"template": "images/i.nxs", "single_file_indices": [0, 1, 2, 3]'
check 'a scan of more images than NXmx has is named' told more.expt 0 'warning: --expt=more.expt: the last image of the scan is 4, but images/i.nxs has 3 images'
# --- photon-counting detectors
# read_out NAME: type of a pixel, the value of a pixel without photons, and the number of warnings
read_out() {
	bragg-geometry --expt="$1.expt" --fluence=1e-9 2>"$1.err" | bragg-orient --quiet --frames=1 |
		bragg-intensity --quiet --threads=1 2>/dev/null | bragg-noise --quiet --no-poisson | bragg-tap --print >"$1.tap" 2>&1
	echo "$(sed -n 's/^frame .* type=\([a-z0-9]*\) .* min=\([0-9]*\) .*/\1 \2/p' "$1.tap") $(grep -c 'counts photons, so' "$1.err")"
}
pad() {
	list "$1.expt" "{\"panels\": [$(panel 80 64 '-20, 16, -100' ", \"type\": \"SENSOR_$2\", \"identifier\": \"$3\"$4")]}" "$cubic"
}
while IFS='|' read -r name kind identifier more expected; do
	pad panel "$kind" "$identifier" "$more"
	is "$name" "$(read_out panel)" "$expected"
done <<'EOF'
an Eiger by its name counts, and has 16 bits|PAD|Dectris Eiger 1M, E-18-0100|, "trusted_range": [0, 65534]|uint16 0 0
a Pilatus by its name counts, and has 32 bits|PAD|PILATUS 12M S/N 120-0100|, "trusted_range": [-1, 1048575]|uint32 0 0
a counter whose largest count is not known has 32 bits|PAD|EIGER2|, "trusted_range": [0, 1e12]|uint32 0 0
a pedestal is not of a counter|PAD|EIGER2|, "pedestal": 40|uint16 40 0
a gain is not of a counter|PAD|EIGER2|, "gain": 2|uint16 40 0
a Jungfrau adds up charge|PAD|JUNGFRAU 4M||uint16 40 0
a CCD adds up charge|CCD|||uint16 40 0
a list that leaves it open says so|PAD|||uint16 40 1
a list without a name of the sensor is not talked about|UNKNOWN|||uint16 40 0
EOF
while read -r fast slow pixel expected; do
	list module.expt "{\"panels\": [$(panel "$fast" "$slow" '-20, 16, -100' ', "type": "SENSOR_PAD"')]}" "$cubic"
	sed -i "s/\[0.5, 0.5\]/[$pixel, $pixel]/" module.expt
	is "modules of $fast x $slow pixels of $pixel mm" "$(read_out module)" "$expected"
done <<'EOF'
487 195 0.172 uint32 0 0
487 195 0.171 uint16 40 1
1028 512 0.075 uint32 0 0
1030 514 0.075 uint16 40 1
EOF

bragg-geometry --expt=one.expt --write-geom=one.geom | bragg-tap --print >/dev/null
bragg-geometry --geom=one.geom --ncells=6 | bragg-orient | bragg-intensity | bragg-noise | bragg-write g_0.img
check 'a geometry file gives modules that can be recomputed' bragg-replay --recompute g_0.img
finish
