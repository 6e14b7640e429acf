#!/bin/sh
# Detectors of several panels: cuts that change no bit through whole pipes, presets,
# geometry files, assembled images.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
mkdir whole slabs cut2,2 cut4,3

# pipe 'GEOMETRY OPTIONS' STAGE...: two random stills with background, into that stage
geometry='--detpixels=300,200 --pixel=0.3 --distance=120 --ncells=10 --fluence=1e26 --thickness=300 --rotate=0,10,5'
pipe() {
	more=$1
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry $geometry $more | bragg-orient --frames=2 --random --seed=7 | bragg-intensity --threads=2 |
		bragg-background --water=0.1 --threads=2 | "$@"
}
# plain FILE: without lineage and recipe, which tell of the cut
plain() {
	grep -avi -e lineage -e --cut= -e 'bragg-geometry' "$1"
}
same() {
	plain "$1" >one && plain "$2" | cmp one -
}
pipe '' bragg-write 'whole/%d.raw'
for cut in 2,2 4,3; do
	pipe "--cut=$cut" bragg-write --scale=100 "cut$cut/%d.cbf" "cut$cut/%d.png"
done
pipe '' bragg-write --scale=100 'whole/%d.cbf' 'whole/%d.png'
for cut in 2,2 4,3; do
	for file in 0.cbf 1.cbf 0.png 1.png; do
		check "cut into $cut, assembled $file: as if in one piece" same "whole/$file" "cut$cut/$file"
	done
done

# slabs of the full width keep the order of the pixels, and so their random numbers
pipe '' bragg-noise --seed=3 --threads=2 | bragg-write 'whole/noisy_%d.img'
pipe --cut=1,7 bragg-noise --seed=3 --threads=2 | bragg-write 'slabs/noisy_%d.img'
pipe --cut=1,7 bragg-write 'slabs/%d.raw'
check 'cut into slabs: the same photons' cmp whole/1.raw slabs/1.raw
tail -c 120000 whole/noisy_1.img >one
tail -c 120000 slabs/noisy_1.img >two
check 'cut into slabs: the same noise' cmp one two

pipe --cut=4,3 bragg-noise --psf=gauss --psf-fwhm=500 | bragg-write 'cut4,3/psf_%d.img'
check 'a point spread stops at the borders of panels, the image is written' test -s cut4,3/psf_1.img

# header LINES: of the experiment that these options make
described() {
	bragg-geometry "$@" --ncells=5 | bragg-tap --print | sed -n 's/.*\(panels=[0-9]*\) \(pixels=[0-9]*\).*/\1 \2/p'
}
is 'Pilatus 6M: one image' "$(described --detector=pilatus-6m --distance=300)" 'panels=1 pixels=6224001'
is 'Pilatus 6M: modules' "$(described --detector=pilatus-6m --distance=300 --panels=modules)" 'panels=60 pixels=5697900'
for size in pilatus-300k:301453 pilatus-1m:1023183 pilatus-2m:2476525 pilatus3-300k:301453 pilatus3-1m:1023183 \
	pilatus3-2m:2476525 pilatus3-6m:6224001 eiger2-500k:526336 eiger-1m:1096950 eiger-4m:4485690 eiger-9m:10166590 \
	eiger2-1m:1091736 eiger2-4m:4471016 eiger2-9m:10138296 eiger2-16m:18093576; do
	is "${size%:*}" "$(described --detector="${size%:*}" --distance=300)" "panels=1 pixels=${size#*:}"
done
is 'Jungfrau 1M' "$(described --detector=jungfrau-1m --distance=300)" 'panels=2 pixels=1058840'
is 'Eiger 16M' "$(described --detector=eiger-16m --distance=300)" 'panels=1 pixels=18139650'
is 'Jungfrau 4M' "$(described --detector=jungfrau-4m --distance=300)" 'panels=8 pixels=4235360'
is 'Jungfrau 16M' "$(described --detector=jungfrau-16m --distance=300)" 'panels=32 pixels=16941440'
is 'CSPAD' "$(described --detector=cspad --distance=300)" 'panels=64 pixels=2296960'
is 'ePix10k 2M' "$(described --detector=epix10k-2m --distance=300)" 'panels=64 pixels=2162688'
is 'names of detectors may be written as elsewhere' "$(described --detector='EIGER2 4M')" 'panels=1 pixels=4471016'
bragg-geometry --detector=list >list
is 'the list has a line for each' "$(wc -l <list)" 27
is 'the list of detectors fits into 80 columns' "$(awk 'length > 79' list | wc -l)" 0
is 'each listed name of a detector is accepted' "$(awk 'NR > 1 { print $1 }' list | while read -r name; do
	bragg-geometry --detector="$name" --ncells=5 --oversample=1 --distance=300 | bragg-tap --print | grep -c panels=
done | sort | uniq -c | tr -s ' ')" ' 26 1'
check_status 'a list that cannot be written' 1 sh -c 'bragg-geometry --detector=list >/dev/full'
is 'AGIPD 1M: tiles' "$(described --detector=agipd-1m --distance=300)" 'panels=128 pixels=1048576'
is 'Rayonix' "$(described --detector=rayonix-mx340hs --distance=300)" 'panels=1 pixels=14745600'
is 'a thousand panels with masks pass' "$(described --detpixels=1000 --cut=25,40)" 'panels=1000 pixels=1000000'

# sensor OPTION...: what headers tell of it, with two digits of mu
sensor() {
	bragg-geometry --detector=pilatus-6m --roi=0,1,0,1 --ncells=5 --oversample=1 "$@" | bragg-orient | bragg-intensity |
		bragg-write --overwrite --scale=1 --cbf-header=pilatus sensor_0.cbf 2>err
	head -c 4096 sensor_0.cbf | sed -n 's/\(\.[0-9][0-9]\)[0-9]* \([0-9]*\)\r$/\1 \2/; s/^# \(Silicon.* m\|BRAGG_SENSOR.*[0-9]\)\r*$/\1/p' | paste -sd';'
}
thick='Silicon sensor, thickness 0.000320000 m'
is 'a Pilatus has its sensor, smeared' "$(sensor --distance=300)" "$thick;BRAGG_SENSOR Si 0.32 4.20 0"
is 'in as many layers as it needs' "$(sensor --distance=300 --sensor=layers)" "$thick;BRAGG_SENSOR Si 0.32 4.20 2"
is 'nearer in more of them' "$(sensor --distance=150 --sensor=layers)" "$thick;BRAGG_SENSOR Si 0.32 4.20 4"
is 'the number of sensor layers has a limit' "$(sensor --distance=10 --sensor=layers)" "$thick;BRAGG_SENSOR Si 0.32 4.20 16"
is 'sensor of silicon at the wavelength, in one layer with --layers=1' \
	"$(sensor --distance=300 --layers=1 --energy=8000)" "$thick;BRAGG_SENSOR Si 0.32 15.07 1"
is 'the sensor can have another thickness' "$(sensor --distance=300 --thickness=1000 --sensor=layers)" \
	'Silicon sensor, thickness 0.001000000 m;BRAGG_SENSOR Si 1 4.20 6'

# more photons than a pixel can count: the detector's own limit above the offset
bragg-geometry --detector=agipd-1m --distance=200 --ncells=5 --fluence=1e31 | bragg-orient --frames=1 --random --seed=1 |
	bragg-intensity | bragg-noise --adc-offset=10 | bragg-write a.raw
is 'tiles that stand apart go into a raw file, up to the saturation of the detector' \
	"$(wc -c <a.raw) $(od -An -v -w4 -tf4 a.raw | awk '$1 > most { most = $1 } END { print most }')" '4194304 10010'
bragg-geometry --detector=agipd-1m --distance=200 --ncells=5 | bragg-orient --frames=1 | bragg-intensity --threads=1 |
	bragg-write --log a.png 2>err || true
check 'tiles that stand apart do not go into a picture' grep -q 'panels 0 and 8 of 128 are not on one pixel grid' err

sensor() { bragg-geometry --ncells=5 --oversample=1 "$@" | bragg-orient --misset=10,20,30 | bragg-intensity --threads=1; }
sensor --detector=pilatus-300k --distance=100 --thickness=0 --write-geom=bare.geom | bragg-write bare.raw
sensor --geom=bare.geom --wavelength=1 | bragg-write again.raw
check '--thickness=0 takes away the sensor of a named detector' bragg-compare bare.raw again.raw --max-error=1e-3
is 'a geometry file without a sensor does not name one' "$(grep -c sensor bare.geom)" 0

bragg-geometry --detector=agipd-1m --distance=200 --write-geom=one.geom | bragg-tap --print >/dev/null
is 'the geometry file says how NXmx holds the panels' "$(sed -n 's/^p127.d[ai][mt]//p' one.geom | tr '\n' ' ')" 'a = /entry/data/data 0 = % 1 = ss 2 = fs '
bragg-geometry --geom=one.geom --write-geom=two.geom | bragg-tap --print >/dev/null
check 'a geometry file that is read and written again is the same, but for the sensor in a comment' \
	sh -c 'grep -v "^; sensor: Si, 0.5 mm, mu 4.20" one.geom | cmp - two.geom'
is '--distance replaces the distance of the geometry file' "$(bragg-geometry --geom=one.geom --distance=333 --write-geom=three.geom |
	bragg-tap --print >/dev/null; grep clen three.geom)" 'clen = 0.333000000'

# the same detector by options and by its geometry file: equal but for the digits of the file
plain='--detpixels=128 --pixel=0.8 --distance=120 --beam-center=50,60'
# shellcheck disable=SC2086
bragg-geometry $plain --ncells=5 --write-geom=plain.geom | bragg-orient --misset=10,20,30 | bragg-intensity | bragg-write direct.raw
bragg-geometry --geom=plain.geom --ncells=5 | bragg-orient --misset=10,20,30 | bragg-intensity | bragg-write file.raw
check 'a geometry file gives the image of the options that made it' bragg-compare direct.raw file.raw --max-error=1e-3
note "$tap_output"
printf 'flag_equal = 100\nmax_adu = 99\nbad1/min_fs = 0\nbad1/max_fs = 63\nbad1/min_ss = 0\nbad1/max_ss = 127\n' >bad.geom
sed 's/adu_per_photon = 1/adu_per_photon = 4/' plain.geom >>bad.geom
bragg-geometry --geom=bad.geom --ncells=5 --fluence=1e30 --write-geom=again.geom 2>err | bragg-orient --misset=10,20,30 |
	bragg-intensity | bragg-tap --record=bad.rec
is 'one line names the settings of a file that have no effect' "$(cat err)" 'bragg-geometry: warning: bad.geom: these settings have no effect: flag_equal'
bragg-replay bad.rec | bragg-write bad.raw
is 'bad regions stay dark' "$(od -An -v -tx4 -w512 -N512 bad.raw | cut -d ' ' -f 2-65 | tr -d ' 0')" ''
is 'a geometry file that was read is written with its bad regions' "$(grep bad again.geom | tr '\n' ' ')" \
	'bad0/panel = p0 bad0/min_fs = 0 bad0/max_fs = 63 bad0/min_ss = 0 bad0/max_ss = 127 '
bragg-replay bad.rec | bragg-noise --quiet --gain=4 --adc-offset=7 | bragg-write noisy.raw
is 'saturated pixels are one above max_adu, on the offset' \
	"$(od -An -v -w4 -tf4 noisy.raw | awk '$1 > most { most = $1 } END { print most }')" 107
bragg-geometry --detector=pilatus-6m --distance=300 --write-geom=gaps.geom | bragg-tap --print >/dev/null
is 'the gaps of a Pilatus 6M are bad regions' "$(grep -c /panel gaps.geom) $(awk -F ' = ' '
	/min_fs/ { f = $2 } /max_fs/ { f = $2 - f + 1 } /min_ss/ { s = $2 } /bad.*max_ss/ { sum += f * ($2 - s + 1) } END { print sum }
' gaps.geom)" "59 $((2463 * 2527 - 60 * 487 * 195))"
is 'the geometry file has the largest count below saturation' "$(grep max_adu gaps.geom)" 'max_adu = 1048574'
bragg-geometry --geom=gaps.geom --thickness=320 --write-geom=gaps2.geom | bragg-tap --print >/dev/null
check 'geometry files are the same after reading and writing, except for the sensor' cmp gaps.geom gaps2.geom
finish
