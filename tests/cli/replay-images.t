#!/bin/sh
# bragg-replay of image files: pixels, detector, beam, lattices and reflections come back from SMV,
# CBF and NXmx; headers of others; what is refused.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
says() { grep -q "$@"; }

# --- what bragg-write wrote, of an off-centre, turned detector
bragg-geometry --detpixels=61x40 --pixel=1.6 --distance=120 --beam-center=31,52 --wavelength=1.1 --ncells=15 |
	bragg-orient --quiet --frames=3 --random --seed=7 --osc=0.4 --phi0=10 |
	bragg-intensity --threads=1 --reflections | bragg-background --water=100 | bragg-noise |
	bragg-write --quiet --reflections=a_%d.tsv a_%d.img a_%d.cbf a.nxs
keys() { # of detector, beam and rotation, as the header of an SMV file has them
	strings "$1" | grep -E '^(SIZE|PIXEL_SIZE|DISTANCE|WAVELENGTH|BEAM_|DENZO|XDS|OSC|ADC_OFFSET)'
}
same_keys() { [ "$(keys "$1")" = "$(keys "$2")" ]; }
for suffix in img cbf; do
	check "$suffix is played" sh -c 'bragg-replay "$@" | bragg-write --quiet "'$suffix'_%d.img"' sh a_0.$suffix a_1.$suffix a_2.$suffix
	for i in 0 1 2; do
		check "$suffix: pixels of frame $i" bragg-compare --max-error=0 a_$i.img ${suffix}_$i.img
		check "$suffix: detector and beam" same_keys a_$i.img ${suffix}_$i.img
	done
done
check 'NXmx is played' sh -c 'bragg-replay a.nxs | bragg-write --quiet --reflections=n_%d.tsv n_%d.img'
without_angles() { keys "$1" | grep -v ADC; }
for i in 0 1 2; do
	check "NXmx: pixels of frame $i" bragg-compare --max-error=0 a_$i.img n_$i.img
	is 'NXmx: detector and beam' "$(without_angles n_$i.img)" "$(without_angles a_$i.img)"
	check 'NXmx: reflections' cmp a_$i.tsv n_$i.tsv
done
if has python:h5py; then
	bragg-replay a.nxs | bragg-write --quiet n.nxs
	check 'NXmx: lattices' /usr/bin/python3 -c '
import h5py, numpy
a, b = (h5py.File(n)["entry/braggpipe"] for n in ("a.nxs", "n.nxs"))
assert len(a["lattices"]) == 3
for column in "cell", "orientation", "a_matrix":
    worst = numpy.abs(a["lattices"][column] - b["lattices"][column]).max()
    assert worst < 1e-12 * numpy.abs(a["lattices"][column]).max() + 1e-12, (column, worst)
for column in "rotation_start", "rotation_width", "seed", "lattices":
    assert numpy.allclose(a["frames"][column], b["frames"][column], rtol=1e-12), column'
else
	skip 'NXmx: lattices' "$lack is missing"
fi
check 'some frames of several files, twice' sh -c 'bragg-replay --frames=1-2 --loop=2 a_?.img | bragg-write --quiet l_%d.img'
check 'frames of several files are played twice' bragg-compare --max-error=0 a_2.img l_3.img
is 'no image beyond those asked for is written' "$(ls l_*.img | wc -l)" 4
check 'NXmx keeps its numbers' sh -c 'bragg-replay --frames=2 a.nxs | bragg-write --quiet k_%d.img && [ -e k_2.img ]'
check 'files of different kinds' sh -c 'bragg-replay a_0.cbf a_1.img a.nxs | bragg-write --quiet m_%d.img'
check 'files of different kinds are played one after another' bragg-compare --max-error=0 a_2.img m_4.img

# --- a tilted detector
bragg-geometry --quiet --detpixels=61x40 --pixel=1.6 --distance=120 --beam-center=31,52 --twotheta=20 --rotate=1,2,3 --ncells=15 |
	bragg-orient --quiet --osc=0.4 --phi0=10 | bragg-intensity --threads=1 | bragg-noise --quiet --adc-offset=0 |
	bragg-write --quiet arm.img arm.cbf 2>none
axes() { strings "$1" | grep -E '^(A_[DS]|DISTANCE|ROTATION|OSC|SIZE|WAVELENGTH|SOURCE|SCAN)' | grep -v DISTORTION_INFO; }
for suffix in img cbf; do
	check "a tilted detector in $suffix is played" sh -c "bragg-replay arm.$suffix 2>said | bragg-write --quiet --overwrite again.img 2>none"
	is "a tilted detector in $suffix: the same axes, and not a word" "$(axes again.img | wc -l) $(cat said) $(axes again.img)" "20  $(axes arm.img)"
	check "a tilted detector in $suffix: pixels" bragg-compare --max-error=0 arm.img again.img
done

is 'a tilted detector is computed again' "$(bragg-replay --recompute arm.cbf; bragg-replay --recompute arm.img)" "$(printf 'arm.cbf: the same bytes\narm.img: the same bytes')"

# --- a sensor
bragg-geometry --quiet --detpixels=61x40 --pixel=1.6 --distance=120 --thickness=450 --ncells=15 | bragg-orient --quiet 2>none | bragg-intensity --threads=1 |
	bragg-noise --quiet --adc-offset=0 | bragg-write --quiet thick.cbf thick.nxs
for suffix in cbf nxs; do
	is "the sensor of $suffix" "$(bragg-replay thick.$suffix | bragg-write --quiet --overwrite again.cbf && strings again.cbf | grep sensor,)" '# Silicon sensor, thickness 0.000450000 m'
done

# --- panels
bragg-geometry --detpixels=64 --pixel=1.2 --distance=90 --cut=2,2 |
	bragg-orient --quiet --frames=2 --random | bragg-intensity --threads=1 | bragg-noise |
	bragg-write --quiet s.nxs s_%d.raw
check 'panels are played' sh -c 'bragg-replay s.nxs | bragg-write --quiet t_%d.raw'
check 'panel by panel' cmp s_1.raw t_1.raw

# --- headers of others
smv() { # FILE LINE...
	file=$1
	shift
	{
		printf '{\nHEADER_BYTES= 512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nSIZE1=6;\nSIZE2=4;\n'
		printf '%s;\n' "$@"
		printf '}\n'
	} >"$file"
	truncate -s 512 "$file"
	head -c 48 /dev/zero >>"$file"
}
smv adsc.img PIXEL_SIZE=0.1024 DISTANCE=170 WAVELENGTH=0.9 BEAM_CENTER_X=0.15 BEAM_CENTER_Y=0.25
bragg-replay adsc.img 2>err | bragg-write --quiet adsc_%d.img
is 'ADSC has X along slow' "$(keys adsc_0.img | grep DENZO | tr '\n' ' ')" 'DENZO_X_BEAM=0.15; DENZO_Y_BEAM=0.25; '
is 'nothing is missing there' "$(grep -c 'the header does not contain\|no wavelength' err)" 0
smv bare.img PIXEL_SIZE=0.1
bragg-replay bare.img 2>err | bragg-write --quiet bare_%d.img
check 'values that are missing in a header are reported' says 'bare.img: the header does not contain the distance, the wavelength, the beam centre, so resolutions are wrong' err
# unread WHAT FILE: it is refused, in one line
unread() {
	check_status "$2: $1" 3 bragg-replay "$2"
	is "$2 says so" "$(bragg-replay "$2" 2>&1 >/dev/null | grep -c "^bragg-replay: $2: header: .*$1")" 1
}
smv metres.img PIXEL_SIZE=0.1 'DISTANCE=0.17 m' 'WAVELENGTH=0.09 nm' BEAM_CENTER_X=0.15 BEAM_CENTER_Y=0.25
bragg-replay metres.img 2>err | bragg-write --quiet metres_%d.img
is 'units of an SMV header' "$(keys metres_0.img | grep -E '^(DIST|WAVE)' | tr '\n' ' ')" 'DISTANCE=170; WAVELENGTH=0.9; '
smv comma.img PIXEL_SIZE=0.1 DISTANCE=170 WAVELENGTH=0,9
unread 'WAVELENGTH 0,9: is not a number with a known unit' comma.img
smv volt.img PIXEL_SIZE=0.1 DISTANCE=170 'WAVELENGTH=12000 eV'
unread 'WAVELENGTH 12000 eV: is not a number with a known unit' volt.img
smv words.img PIXEL_SIZE=0.1 'DISTANCE=170 or so' WAVELENGTH=0.9
unread 'DISTANCE 170 or so: is not a number' words.img
smv twice.img PIXEL_SIZE=0.1 DISTANCE=170 DISTANCE=180 WAVELENGTH=0.9
unread 'DISTANCE 180: contradicts another value' twice.img
smv close.img PIXEL_SIZE=0.1 DISTANCE=170 CLOSE_DISTANCE=150 WAVELENGTH=0.9 XPHI=3
bragg-replay close.img 2>err | bragg-write --quiet close_%d.img
is 'DISTANCE is not CLOSE_DISTANCE' "$(keys close_0.img | grep '^DISTANCE')" 'DISTANCE=170;'
smv other.img PIXEL_SIZE=0.1024 DISTANCE=270 WAVELENGTH=0.9 BEAM_CENTER_X=0.15 BEAM_CENTER_Y=0.25
bragg-replay adsc.img other.img other.img 2>err | bragg-write --quiet other_%d.img
is 'an image at another distance is named once' "$(grep -c 'warning: other.img: the header has 0.9 A and 270 mm, but all frames are sent with 0.9 A and 170 mm' err)" 1
smv fine.img PIXEL_SIZE=0.0512 DISTANCE=170 WAVELENGTH=0.9 BEAM_CENTER_X=0.15 BEAM_CENTER_Y=0.25
bragg-replay adsc.img fine.img 2>err | bragg-tap --quiet --count >/dev/null
is 'an image with other pixels is named' "$(sed 's/.*warning/warning/' err)" 'warning: fine.img: the header has pixels of 0.0512 mm, but all frames are sent with pixels of 0.1024 mm of adsc.img'
smv beam.img PIXEL_SIZE=0.1024 DISTANCE=170 WAVELENGTH=0.9 BEAM_CENTER_X=0.15 BEAM_CENTER_Y=0.55
bragg-replay adsc.img beam.img 2>err | bragg-tap --quiet --count >/dev/null
is 'an image with the beam at another place is named' "$(sed 's/.*warning/warning/' err)" 'warning: beam.img: according to the header, the beam hits pixel 5.37109, 1.46484, but all frames are sent with pixel 2.44141, 1.46484 of adsc.img'
smv near.img PIXEL_SIZE=0.1024 DISTANCE=170.1 WAVELENGTH=0.901 BEAM_CENTER_X=0.25 BEAM_CENTER_Y=0.25
bragg-replay adsc.img near.img 2>err | bragg-tap --quiet --count >/dev/null
is 'an image whose beam jitters is not named' "$(cat err)" ''
cbf() { # FILE SED-COMMAND
	sed "$2" a_0.cbf >"$1"
}
cbf inch.cbf 's/# Detector_distance [0-9.]* m/# Detector_distance 4.7 inch/'
unread '# Detector_distance 4.7 inch: is not a number with a known unit' inch.cbf
cbf unset.cbf 's/# Wavelength [0-9.]* A/# Wavelength not set/'
unread '# Wavelength not set: is not a number' unset.cbf
cbf oblong.cbf 's/# Pixel_size \([^x]*\) x .* m/# Pixel_size \1 x 2e-3 m/'
unread '# Pixel_size .*: is not a square' oblong.cbf
cbf beam.cbf 's/# Beam_xy (.*)/# Beam_xy (31 52)/'
unread '# Beam_xy .*: is not two numbers in pixels' beam.cbf
sed 's/# Beam_xy (\([^)]*\))/# Beam_xy (\1)/; s/# Detector_distance [0-9.]* m/# Detector_distance 120 mm/' a_0.cbf >mm.cbf
bragg-replay mm.cbf | bragg-write --quiet mm_%d.img
is 'a distance in mm' "$(keys mm_0.img | grep '^DISTANCE')" 'DISTANCE=120;'

# --- what is refused: one line, status 3 or 2, nothing written
refused() { # NAME STATUS TEXT WORD...
	name=$1 want=$2 text=$3
	shift 3
	status=0
	{ bragg-replay "$@" 2>err || echo $? >status; } | bragg-write --quiet z_%d.img 2>others
	is "$name" "$(cat status)" "$want"
	check "$name: a message names the fault" says "^bragg-replay: $text" err
	is "$name: the message is one line" "$(wc -l <err)" 1
	check "$name: nothing is written" [ ! -e z_0.img ]
}
bragg-geometry --detpixels=8 --pixel=1 | bragg-tap --record=x.rec
head -c 1100 a_0.img >short.img
head -c 3300 a_0.cbf >short.cbf
head -c 3000 a.nxs >short.nxs
echo hello >text.img
smv other.img PIXEL_SIZE=0.1
smv nan.img PIXEL_SIZE=nan
smv huge.img DISTANCE=1e30
refused 'a short SMV file' 3 'short.img: truncated inside its SMV header' short.img
refused 'a short CBF file' 3 '.*short.cbf: too short' short.cbf
refused 'a short NXmx file' 3 'short.nxs: cannot be read as HDF5: truncated or corrupt' short.nxs
refused 'a text' 3 'text.img: neither a recording of bragg-tap nor an image (got 6 bytes of another format)' text.img
refused 'a recording among images' 3 'x.rec: not an image; expected SMV, CBF, NXmx, TIFF, EDF, CXI or messages' a_0.img x.rec
refused 'a file that is not there' 1 'gone.img: cannot open' a_0.img gone.img
refused 'no number' 3 'nan.img: header: PIXEL_SIZE=nan is not a finite number' nan.img
refused 'a distance of 1e27 m' 3 'huge.img: header: distance, m: 1e.27; expected a value from 0 to 1e.06' huge.img
refused 'a frame that is not there' 2 '--frames: frame 3 is not in a_0.img, which contains 3 frames' --frames=2-3 a_0.img a_1.img a_2.img
refused 'recorded times' 2 '--speed: image files contain no times' --speed=real a_0.img
# series NAME OPTION...: two frames as NXmx
series() {
	name=$1
	shift
	bragg-geometry --pixel=1.6 --ncells=5 "$@" | bragg-orient --quiet --frames=2 --random | bragg-intensity --threads=1 |
		bragg-noise --quiet | bragg-write --quiet "$name.nxs"
}
series first --distance=120 --detpixels=61x40
series turned --distance=120 --detpixels=40x61
series halves --distance=120 --detpixels=61x40 --cut=1,2
series nearer --detpixels=61x40 --distance=100
refused 'NXmx of the same pixels, turned' 3 'turned.nxs: panel 0 has 40 x 61 pixels; expected 61 x 40 as in first.nxs' first.nxs turned.nxs
refused 'NXmx of the same pixels in two panels' 3 'halves.nxs: has 2 panels; expected 1 as in first.nxs' first.nxs halves.nxs
refused 'NXmx behind SMV' 3 'turned.nxs: panel 0 has 40 x 61 pixels; expected 61 x 40 as in a_0.img' a_0.img turned.nxs
bragg-replay first.nxs nearer.nxs 2>err | bragg-write --quiet nearer_%d.img
is 'NXmx at another distance is warned of' "$(sed 's/.*warning/warning/' err)" 'warning: nearer.nxs: the header has 1 A and 100 mm, but all frames are sent with 1 A and 120 mm of first.nxs'
bragg-replay a_0.img other.img 2>err | bragg-write --quiet y_%d.img 2>/dev/null
check 'a detector of another size is refused' says '^bragg-replay: .*other.img: 6 x 4 pixels; expected 61 x 40 as in a_0.img' err
finish
