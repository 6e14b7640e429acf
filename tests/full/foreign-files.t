#!/bin/sh
# Each kind of file of other programs: what bragg-replay, bragg-view and bragg-geometry --detector do with it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'files of other programs' python:fabio python:h5py python:numpy
scratch
bragg-geometry --quiet --detpixels=61x40 --pixel=0.3 --distance=90 --wavelength=1.03 --beam-center=5.1,8.4 --ncells=10 --write-geom=one.geom |
	bragg-orient --quiet --frames=1 --phi0=9.5 --osc=0.5 | bragg-intensity --quiet | bragg-background --quiet --flat=3 | bragg-noise --quiet --adc-offset=0 --bits=16 |
	bragg-write --quiet a_%04d.cbf a.nxs a_%d.raw
check 'the files are written' /usr/bin/python3 "$BRAGG_TESTS/full/foreign_files.py"
keys() { strings "$1" | grep -E '^(SIZE|PIXEL_SIZE|DISTANCE|WAVELENGTH|BEAM_|DENZO|OSC)' | sed 's/000001;/;/'; } # rounded
bragg-replay --quiet a_0000.cbf | bragg-write --quiet a.img

plays() { # FILE [OPTION...]: its pixels, and the detector and beam of a.img
	file=$1
	shift
	bragg-replay --quiet "$@" $file 2>said | bragg-write --quiet --overwrite b_%d.raw b.img
	check "$file: played, pixel by pixel" cmp a_0.raw b_0.raw
	is "$file: detector and beam, and not a word" "$(keys b.img | grep -v "${without:-nothing}") $(cat said)" "$(keys a.img | grep -v "${without:-nothing}") "
	is "$file: shown" "$(timeout 20 bragg-view --bind=127.0.0.1:0 --linger=0 "$@" $file 2>/dev/null | grep -c '^http')" 1
}
# no program prints anything but one line; bragg-view prints no address
refuses() { # FILE TEXT
	bragg-replay --quiet $1 >none 2>said
	is "$1: not played: $2" "$? $(grep -c -e "$2" said) $(wc -l <said)" '3 1 1'
	timeout 20 bragg-view --bind=127.0.0.1:0 --linger=0 $1 >none 2>said
	is "$1: not shown: $2" "$(grep -c -e "$2" said) $(wc -l <said) $(wc -l <none)" '1 1 0'
}
describes() { # FILE: bragg-geometry --detector takes its detector
	bragg-geometry --quiet --detector=$1 --ncells=10 | bragg-orient --quiet --phi0=9.5 --osc=0.5 | bragg-intensity --quiet | bragg-noise --quiet --adc-offset=0 --bits=16 | bragg-write --quiet --overwrite c.img
	is "$1: bragg-geometry takes its detector" "$(keys c.img)" "$(keys a.img)"
}
no_detector() { # FILE TEXT
	bragg-geometry --quiet --detector=$1 2>said >none
	is "$1: no detector: $2" "$? $(grep -c -e "$2" said) $(wc -l <said)" '3 1 1'
}
for file in fabio_0000.cbf fabio_0000.img; do
	plays $file
	describes $file
done
for file in eiger.tif fabio.edf; do
	refuses $file 'has no geometry of its detector. Give --geometry-from=FILE'
	no_detector $file 'expected'
	without=OSC plays $file --geometry-from=a_0000.cbf
done
refuses epics.hdf5 'has no NXdetector_module. Give --geometry-from=FILE'
no_detector epics.hdf5 'has no NXdetector_module'
without=OSC plays epics.hdf5 --geometry-from=one.geom
refuses skeleton.hdf5 'has no images; expected an NXentry with an NXdata'
no_detector skeleton.hdf5 'data_size: has another shape; expected the pixels along slow and fast'
refuses absent.nxs 'is a link to /entry/data/data in Therm_data_000001.h5, which is missing'
describes absent.nxs
refuses jungfrau.bin 'neither a recording of bragg-tap nor an image'
no_detector jungfrau.bin 'contains zero bytes; expected text'
finish
