#!/bin/sh
# bragg-replay: NXmx series of other programs, with links, virtual data sets and the compressions of detectors.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'files of HDF5' python:h5py
scratch
write() { /usr/bin/python3 "$BRAGG_TESTS/cli/nexus_series.py" "$@" || exit 1; }
# six frames of a rotation; own.h5 has the images, and raw files are what others must give
bragg-geometry --quiet --detpixels=61x40 --pixel=1.6 --distance=120 --beam-center=31,52 --wavelength=1.1 --ncells=15 --write-geom=one.geom |
	bragg-orient --quiet --frames=6 --phi0=10 --osc=0.5 --phi-steps=2 --misset=10,20,30 --seed=7 | bragg-intensity --threads=1 |
	bragg-background --water=1 | bragg-noise --quiet | bragg-tap --hold=yes --record=a.rec >none 2>&1
bragg-replay --quiet a.rec | bragg-write --quiet own.nxs a_%d.raw a_%d.img
bragg-replay --quiet a.rec | bragg-write --quiet --compression=lz4 lz4.nxs
own=own_data_000001.h5
is_series() { # NAME FILE [OPTION...]: all pixels, and nothing said
	name=$1
	shift
	bragg-replay --quiet "$@" 2>said | bragg-write --quiet --overwrite b_%d.raw b_%d.img
	check "$name: pixels" sh -c 'for i in 0 1 2 3 4 5; do cmp a_$i.raw b_$i.raw || exit; done'
	is "$name: not a word" "$(cat said)" ''
	is "$name: detector, beam and rotation" "$(keys b_4.img)" "$(keys a_4.img)"
	rm -f b_*
}
keys() { strings "$1" | grep -E '^(SIZE|PIXEL_SIZE|DISTANCE|WAVELENGTH|BEAM_|DENZO|OSC|PHI)'; }
write links $own dectris.h5
is_series 'a master of DECTRIS, with links' dectris.h5
mkdir away
mv dectris* away
is_series 'its data files are next to the master, not here' away/dectris.h5
write links lz4_data_000001.h5 packed.h5 lz4
is_series LZ4 packed.h5
write virtual $own virtual.h5
is_series 'a virtual data set, in another order than its files' virtual.h5
write plain $own plain.h5 a
is_series 'int16, deflate and shuffle' plain.h5
is_series 'a geometry from another file' --geometry-from=one.geom plain.h5
is 'bragg-view shows it' "$(timeout 20 bragg-view --bind=127.0.0.1:0 --linger=0 away/dectris.h5 2>&1 | grep -c '^http')" 1
is 'pixels of the largest value are masked if there is no mask' "$(
	write largest $own largest.h5
	bragg-replay --quiet largest.h5 | bragg-write --quiet m.nxs && /usr/bin/python3 -c '
import h5py, numpy
print(numpy.argwhere(h5py.File("m.nxs")["entry/instrument/detector/pixel_mask"][:]).tolist())')" '[[3, 5], [39, 60]]'

# --- two panels, with a gap between them that belongs to none
bragg-geometry --quiet --detpixels=61x40 --pixel=1.6 --distance=120 --wavelength=1.1 --ncells=15 --cut=1,2 |
	bragg-orient --quiet --frames=2 --seed=7 --random | bragg-intensity --threads=1 | bragg-noise --quiet | bragg-write --quiet two.nxs two_%d.raw
write gap two_data_000001.h5 gap.h5
bragg-replay --quiet gap.h5 | bragg-write --quiet --overwrite c_%d.raw
check 'panels have the pixels of their place in the image' sh -c 'cmp two_0.raw c_0.raw && cmp two_1.raw c_1.raw'

# --- refused, with one line
refused() { # STATUS FILE TEXT
	bragg-replay --quiet $2 >none 2>said
	is "$2: $3" "$? $(grep -c -e "$3" said) $(wc -l <said)" "$1 1 1"
}
write links $own zstd.h5 zstd
refused 3 zstd.h5 'data_000001 is compressed with filter 32008, which cannot be read; expected no compression'
write bad $own half.h5 half
refused 3 half.h5 'data is put together from parts of images'
write bad $own hole.h5 gap
refused 3 hole.h5 'image 4 of the series is in no file'
rm away/dectris_data_000002.h5
refused 3 away/dectris.h5 'data_000002 is a link to /entry/data/data in away/dectris_data_000002.h5, which is missing'
rm virtual_v_000002.h5
refused 3 virtual.h5 'virtual_v_000002.h5: cannot open: No such file'
refused 3 'plain.h5 packed.h5' 'plain.h5: is an NXmx file of another program, and 2 files are given; expected one'
write empty $own empty.h5
refused 3 empty.h5 'empty.h5: has no images; expected an NXentry with an NXdata'
write sizes $own sizes.h5
refused 3 sizes.h5 'has images of another size or type than /entry/data/data_000001'
finish
