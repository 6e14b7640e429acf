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
check 'which is not what the other says' sh -c '! cmp -s silent_1.raw file_1.raw'
geometry=--expt=one.expt
rows only --scan=one.expt --only=1
check 'one of them alone' cmp only_1.raw options_1.raw
rows other --scan=one.expt --phi0=25.5 --frames=1
check 'options go before the scan' cmp other_0.raw options_1.raw

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
bragg-geometry --quiet --expt=one.expt --default-F=9 | bragg-orient --quiet --scan=one.expt | bragg-intensity --quiet --threads=1 |
	bragg-noise --quiet --adc-offset=0 | bragg-write --quiet images/i_%02d.cbf images/i_%02d.img images/i.nxs
plates='"template": "images/i_##.cbf"' stills='"images": ["images/i_01.img", "images/i_02.img"]' nexus='"template": "images/i.nxs", "single_file_indices": [0, 1]'
for images in "$plates" "$stills" "$nexus"; do
	name=$(echo "$images" | sed 's/.*images.\(i[^"]*\)".*/\1/')
	with fits.expt '' "$images"
	check "$name: a list that fits" sh -c 'bragg-geometry --expt=fits.expt 2>err | bragg-tap --print >/dev/null && ! grep -v "first of" err'
	with turned.expt 's/\[80, 64\]/[64, 80]/' "$images"
	check "$name: a list of another size" told turned.expt 3 '--expt=turned.expt: image_size is 64 x 80, but the image .* has 80 x 64 pixels'
	with fine.expt 's/\[0.5, 0.5\]/[0.25, 0.25]/' "$images"
	check "$name: of other pixels" told fine.expt 3 '--expt=fine.expt: pixel_size is 0.25 mm, but the image .* has pixels of 0.5 mm'
	with wave.expt 's/: 1.25/: 1.5/' "$images"
	check "$name: of another wavelength" told wave.expt 0 'warning: --expt=wave.expt: the wavelength is 1.5 A, but the image .* has 1.25 A'
done
with halves.expt 's/"panels": \[\(.*\)\]}\]/"panels": [\1, \1]}]/' "$nexus"
check 'a list of two panels for an image of one' told halves.expt 3 'halves.expt has 2 panels, but its image .*i.nxs has 1'
with long.expt 's/"image_range": .1, 2/"image_range": [1, 3/' "$nexus"
check 'a list of more images than its set' told long.expt 3 'single_file_indices: has 2 items, but image_range of the scan has 3 images'
bragg-geometry --expt=one.expt --write-geom=one.geom | bragg-tap --print >/dev/null
bragg-geometry --geom=one.geom --ncells=6 | bragg-orient | bragg-intensity | bragg-noise | bragg-write g_0.img
check 'and so are those of a geometry file' bragg-replay --recompute g_0.img
finish
