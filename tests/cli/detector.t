#!/bin/sh
# Files as detectors: what a file says of one gives the same pixels in the same places, whoever
# wrote it; and files that cannot be are refused in a line, at once.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# photons NAME OPTION...: of one orientation
photons() {
	name=$1
	shift
	bragg-geometry --ncells=5 --oversample=1 --fluence=1e28 "$@" 2>>log | bragg-orient --misset=10,20,30 2>>log |
		bragg-intensity 2>>log | bragg-write --overwrite "$name.raw" 2>>log
}
# counts NAME OPTION...: a file of what a detector counts
counts() {
	name=$1
	shift
	bragg-geometry --ncells=5 --oversample=1 "$@" 2>>log | bragg-orient 2>>log | bragg-intensity 2>>log |
		bragg-noise --adc-offset=0 2>>log | bragg-write "$name.nxs" 2>>log
}
# same NAME A B: within the digits of positions
same() {
	check "$1" bragg-compare --max-error=1e-5 --shape="$4" "$2.raw" "$3.raw"
}
tilted='--distance=150 --twotheta=20 --rotate=5,-10,15'
# shellcheck disable=SC2086 # options are meant to split
{
	counts one --detector=eiger-1m --energy=12000 $tilted
	counts two --detector=jungfrau-1m --wavelength=1.3 $tilted
	photons image --detector=eiger-1m --energy=12000 $tilted
	photons modules --detector=jungfrau-1m --wavelength=1.3 $tilted
}
photons image_back --detector=one.nxs
same 'an NXmx file of bragg-write, one image with gaps' image image_back 1030,1065
photons modules_back --detector=two.nxs
same 'photons of modules are written and read' modules modules_back 1030,1028
masked() {
	perl -e 'local $/; my $n = 0; $_ == 0 and $n++ for unpack "f<*", <>; print $n' "$1"
}
is 'gaps are masked' "$(($(masked image_back.raw) >= 37 * 1030))" 1
is 'the saturation is that of the file' "$(bragg-geometry --detector=two.nxs --write-geom=two.geom | bragg-tap --print >printed; grep max_adu two.geom)" "max_adu = 10999"
photons red --detector=one.nxs --energy=11000
check_status 'an option comes before the wavelength of the file' 1 cmp -s red.raw image_back.raw
for what in --distance=100 --beam-center=1,1 --pixel=0.1 --twotheta=3 --detpixels=10; do
	check_status "an option that repeats what the file says is refused: ${what%=*}" 2 bragg-geometry --detector=one.nxs "$what"
done

# --- of others
if has python:h5py; then
	for name in one two; do
		/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" chain $name.nxs chain_$name.h5
	done
	photons image_chain --detector=chain_one.h5
	same 'another chain of depends_on and other units give the same image' image image_chain 1030,1065
	photons modules_chain --detector=chain_two.h5
	same 'modules by their places in the data, not by name' modules modules_chain 1030,1028
	# refused WHAT TEXT: within a second, in a line
	refused() {
		/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" bad one.nxs bad.h5 "$1"
		check_status "$1" 3 timeout 10 bragg-geometry --detector=bad.h5
		is "$1 says so" "$(timeout 10 bragg-geometry --detector=bad.h5 2>&1 >/dev/null | grep -c "^bragg-geometry: bad.h5: .*$2")" 1
	}
	refused cycle 'depends_on leads back to itself'
	refused nowhere 'depends_on is /entry/no/such/axis, which is missing'
	refused nan 'not a finite number'
	refused units "unknown units 'furlong'; expected"
	refused no-vector 'vector: expected three numbers'
	refused zero-vector 'vector: expected three numbers'
	refused huge 'pixels along slow and fast, from 1 to 65536'
	refused huge-size 'is not a list of at most 3 integers'
	refused text-mask 'expected an integer for each pixel'
	refused oblong 'pixels are not square'
	refused behind 'pixels (slow x fast), but the modules span'
	refused wavelength 'a wavelength of'
	refused spectrum 'is a spectrum; expected one wavelength'
	refused no-module 'has no NXdetector_module'
	refused no-detector 'not an NXmx file'
	refused beam-odd "unknown units 'furlong'; expected eV, keV, MeV or J"
	refused beam-bare 'has no units; expected m, mm, um, nm or angstrom'
	refused beam-two 'the file has two wavelengths, 1.0332[0-9]* and 1.3776[0-9]* A. Give --wavelength or --energy'
	# beam WHAT: the wavelength of a file that says it so, or what is said
	beam() {
		/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" bad one.nxs beam.h5 "beam-$1"
		shift
		bragg-geometry --detector=beam.h5 --ncells=5 "$@" 2>said | bragg-tap --print | grep -o 'wavelength_A=[0-9.]*'
		sed 's/^bragg-geometry: //' said
	}
	is 'the energy of an NXbeam' "$(beam eV)" wavelength_A=1.37760222
	is 'the energy of a beam can be in keV, and the first of several counts' "$(beam keV)" wavelength_A=1.37760222
	is 'the energy of a monochromator can be in J' "$(beam J)" wavelength_A=1.37760222
	is 'the wavelength of a monochromator can be in nm' "$(beam mono)" wavelength_A=1.3
	is 'an option selects one of two contradictory values' "$(beam two --wavelength=1.1)" wavelength_A=1.1
	is 'a file that does not say it' "$(beam none)" "$(printf '%s\n' wavelength_A=1 \
		'warning: beam.h5: the file has no wavelength; 1 A is used. Give --wavelength or --energy')"
	refused foreign-alone 'the modules span 1065 x 1030 pixels (slow x fast), but detectorSpecific/y_pixels_in_detector and x_pixels_in_detector'
	# other WHAT: the warnings about a file of which a field says something else
	other() {
		/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" bad one.nxs other.h5 "foreign-$1"
		bragg-geometry --detector=other.h5 --ncells=5 2>&1 >/dev/null | sed -n 's/^bragg-geometry: warning: other.h5: //p'
	}
	is 'a file of another program that agrees with itself' "$(other '')" ''
	is 'a beam centre in mm that agrees' "$(other mm)" ''
	is 'a beam centre that was left at 0, 0' "$(other zero)" ''
	is 'a beam centre that contradicts the modules' "$(other centre | sed 's/[0-9.][0-9.]*, [0-9][0-9.]*/N/g')" \
		'/entry/instrument/detector/beam_center_x and _y are N pixels, but its transformations lead to N, which are used'
	is 'an energy that contradicts the wavelength' "$(other energy | sed 's/has [0-9.]*/has N/')" \
		'/entry/instrument/detector/detectorSpecific/photon_energy is 8000 eV, but the beam has N eV, which is used'
	/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" bad one.nxs bad.h5 huge-mask
	check 'a mask far larger than the modules is read in part' timeout 10 sh -c \
		'bragg-geometry --detector=bad.h5 --ncells=5 | bragg-tap --print'
	/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" bad one.nxs signed.h5 signed-mask
	photons signed --detector=signed.h5
	check 'negative numbers mask as positive ones do' cmp signed.raw image_back.raw
	/usr/bin/python3 "$BRAGG_TESTS/cli/nxmx_chains.py" bad one.nxs lost.h5 lost-mask
	bragg-geometry --detector=lost.h5 2>warned | bragg-tap --print >printed
	check 'a mask in a file that is not there is missed aloud' grep -q 'lost.h5: pixel_mask cannot be read' warned
	# the library would run over the end of its heap of texts
	perl -e 'local $/; my $x = <>; my $at = index $x, "GCOL"; substr($x, $at + 24, 8) = "\0\xff\xff\xff\0\0\0\0"; print $x' \
		chain_one.h5 >heap.h5
	check_status 'a corrupt heap' 3 timeout 10 bragg-geometry --detector=heap.h5
	check_status 'a corrupt heap fails also if SIGCHLD is ignored' 3 sh -c "trap '' CHLD; exec bragg-geometry --detector=heap.h5"
	is 'the message about a corrupt heap is one line' "$(timeout 10 bragg-geometry --detector=heap.h5 2>&1 >/dev/null | grep -c '^bragg-geometry: heap.h5: ')" 1
else
	skip 'files of another run' "$lack is missing"
fi
head -c 20000 one.nxs >short.nxs
check_status 'a truncated file' 3 timeout 10 bragg-geometry --detector=short.nxs
printf '\377\376\001\200%060d' 7 >noise.bin
check_status 'no detector at all' 3 timeout 10 bragg-geometry --detector=noise.bin
check_status 'a folder' 1 timeout 10 bragg-geometry --detector=/

# --- poni
poni() {
	printf '%s\n' 'poni_version: 2' "Detector: $1" "Detector_config: ${2:-{\}}" 'Distance: 0.15' 'Poni1: 0.04' 'Poni2: 0.03' \
		"Rot1: ${3:-0}" "Rot2: ${4:-0}" "Rot3: ${5:-0}" 'Wavelength: 1.1e-10'
}
poni Eiger1M >eiger.poni
photons eiger --detector=eiger.poni
photons upright --detector=eiger-1m --distance=150 --wavelength=1.1 --convention=custom --fast-axis=0,0,1 --slow-axis=0,1,0 \
	--normal=1,0,0 --close-center=30,40
same 'poni: row 0 is at the bottom, gaps and sensor are those of the name' upright eiger 1030,1065

# --- counters: no offset and enough bits, unless options say otherwise
# read_out NAME FACTS DETECTOR NOISE...: type, smallest and largest value of a pixel in the light, and of one without light
read_out() {
	read_name=$1 read_facts=$2 read_detector=$3
	shift 3
	is "$read_name" "$(bragg-geometry --quiet --detector="$read_detector" --ncells=5 --oversample=1 --fluence=1e40 $place |
		bragg-orient --quiet | bragg-intensity --quiet | bragg-background --quiet --water=10 | bragg-noise --quiet "$@" |
		bragg-write --quiet --overwrite 'read_%d.raw' && perl -e 'local $/; my @p = sort { $a <=> $b } unpack "f<*", <>; print "@p[0, -1]"' read_0.raw)" \
		"$read_facts"
}
place='--distance=100 --roi=0,1,0,1'
read_out 'a Pilatus: 20 bits, from 0' '0 1048575' pilatus-300k
read_out 'an Eiger: 16 bits, from 0' '0 65534' eiger-1m
read_out 'a Jungfrau adds up charge: an offset' '40 11040' jungfrau-1m
read_out 'an offset that is asked for' '50 65535' eiger-1m --adc-offset=50
read_out 'bits that are asked for' '0 65535' pilatus-300k --bits=16
read_out 'bits and an offset' '50 1048625' pilatus-300k --bits=32 --adc-offset=50
read_out 'a saturation that is asked for' '0 1000' pilatus-300k --saturation=1000
place=
read_out 'poni: a detector of this name counts as well' '0 65534' eiger.poni
poni Detector '{"pixel1": 0.001, "pixel2": 0.001, "max_shape": [30, 40]}' >plain.poni
is 'poni: a detector of another name has the default offset' "$(bragg-geometry --quiet --detector=plain.poni | bragg-orient --quiet | bragg-intensity --quiet |
	bragg-noise --quiet | bragg-tap --print | grep -o ' min=[0-9]*')" ' min=40'
is 'a frame keeps its offset when it is computed again' "$(bragg-geometry --quiet --detector=pilatus-300k --distance=100 --roi=0,1,0,1 |
	bragg-orient --quiet | bragg-intensity --quiet | bragg-noise --quiet --adc-offset=40 --bits=16 | bragg-write --quiet 'given_%d.img' &&
	bragg-replay --recompute given_0.img)" 'given_0.img: the same bytes'
is 'pixels of the file' "$(bragg-geometry --detector=plain.poni | bragg-tap --print | grep -o 'size=[0-9x]*')" 'size=40x30'
poni Detector '{"pixel1": 0.001, "pixel2": 0.001}' >open.poni
check_status 'pixels that nobody says' 3 bragg-geometry --detector=open.poni
is 'an option gives the number of pixels if the file does not' "$(bragg-geometry --detector=open.poni --detpixels=40,30 | bragg-tap --print | grep -o 'size=[0-9x]*')" 'size=40x30'
check_status 'an option cannot change the number of pixels of the file' 2 bragg-geometry --detector=plain.poni --detpixels=40,30
poni Perkin >perkin.poni
check_status 'a detector that is not known' 3 bragg-geometry --detector=perkin.poni --detpixels=40,30
poni Eiger1M '{"pixel1": 0.000172, "pixel2": 0.000172}' >sizes.poni
poni Eiger1M '{"max_shape": [2167, 2070]}' >shape.poni
check_status 'pixels of another size than those of the named detector' 3 bragg-geometry --detector=sizes.poni
{ cat plain.poni && printf 'PixelSize1: 0.0011\nPixelSize2: 0.0011\n'; } >contradicts.poni
{ cat plain.poni && printf '# calibrated again\nPixelSize1: 0.0011\nPixelSize2: 0.0011\nDistance: 0.2\n'; } >appended.poni
{ cat plain.poni && echo 'Dist: 0.2'; } >distances.poni
says() { bragg-geometry --detector="$1" 2>&1 >/dev/null | tail -n 1; }
check_status 'two sizes of pixels in one geometry' 3 bragg-geometry --detector=contradicts.poni
is 'the message names both sizes of pixels' "$(says contradicts.poni)" 'bragg-geometry: contradicts.poni:11: PixelSize1 is 0.0011, which contradicts the 0.001 of an earlier line'
is 'two contradictory distances in a .poni are refused' "$(says distances.poni)" 'bragg-geometry: distances.poni:11: Dist is 0.2, which contradicts the 0.15 of an earlier line'
bragg-geometry --detector=appended.poni --write-geom=appended.geom | bragg-tap --print >printed
is 'the last of two geometries in a file is used' "$(grep '^clen\|^res' appended.geom)" "$(printf 'clen = 0.200000000\nres = 909.090909')"
check_status 'a shape that contradicts the number of pixels is refused' 3 bragg-geometry --detector=shape.poni
# said FILE OPTION...: warnings of bragg-geometry, and the wavelength
said() {
	file=$1
	shift
	bragg-geometry "$@" --ncells=5 2>said | bragg-tap --print >printed
	sed "s/^bragg-geometry: warning: $file: //" said
	grep -o 'wavelength_A=[0-9.]*' printed
}
poni Detector '{"pixel1": 0.001, "pixel2": 0.001, "max_shape": [30, 40]}' | sed 's/^Wavelength.*/Wavelength: None/' >none.poni
is 'a wavelength that is not said' "$(said none.poni --detector=none.poni)" "$(printf \
	'the file has no wavelength; 1 A is used. Give --wavelength or --energy\nwavelength_A=1')"
is 'an option says it' "$(said none.poni --detector=none.poni --wavelength=1.3)" 'wavelength_A=1.3'
sed 's/^Rot1/Rott1/' plain.poni >slip.poni
is 'a key that is not known' "$(said slip.poni --detector=slip.poni)" "$(printf 'these settings have no effect: Rott1\nwavelength_A=1.1')"
poni Detector '{"pixel1": 0.001, "pixel2": 0.001, "max_shape": [30, 40], "sensor": {"material": "CdTe", "thickness": 0.001}}' >cdte.poni
check 'a sensor without mu' sh -c "bragg-geometry --detector=cdte.poni --ncells=5 2>&1 >/dev/null | grep -q \"sensor of 'CdTe' is not known\""
poni CSPAD >cspad.poni
check_status 'a detector that is not flat' 3 bragg-geometry --detector=cspad.poni
finish
