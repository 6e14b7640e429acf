#!/bin/sh
# bragg-replay --geometry-from: TIFF, EDF and CXI of other programs, whose detector is in another file.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'images of other programs' python:struct
scratch
says() { grep -q "$@"; }

# --- one panel, off-centre
bragg-geometry --quiet --detpixels=61x40 --pixel=1.6 --distance=120 --beam-center=31,52 --wavelength=1.1 --ncells=15 --write-geom=one.geom |
	bragg-orient --quiet --frames=3 --random --seed=7 | bragg-intensity --threads=1 --reflections | bragg-background --water=1 | bragg-noise --quiet |
	bragg-write --quiet --reflections=one.refl a_%d.img a_%d.raw a.cxi
bragg-replay --quiet a.cxi | bragg-write --quiet n.nxs
cp a_0.raw image.raw
/usr/bin/python3 "$BRAGG_TESTS/cli/plain_images.py" 61 40
keys() { # of detector and beam, as the header of an SMV file has them
	strings "$1" | grep -E '^(SIZE|PIXEL_SIZE|DISTANCE|WAVELENGTH|BEAM_|DENZO)'
}
for file in u16.tif be16.tif u32.tif i32.tif f32.tif z16.tif zf32.tif steps_le16.tif steps_be16.tif steps_be32.tif u16.edf be16.edf i32.edf u32.edf f32.edf; do
	bragg-replay --quiet --geometry-from=one.geom $file 2>said | bragg-write --quiet --overwrite r_%d.raw
	is "$file: pixels, and not a word" "$(cmp a_0.raw r_0.raw) $(cat said)" ' '
	check "bragg-compare reads $file" bragg-compare --max-error=0 a_0.img $file
done
for file in one.geom one.expt a_0.img a.cxi; do
	bragg-replay --quiet --geometry-from=$file u16.tif u16.edf 2>said | bragg-write --quiet --overwrite r_%d.img
	is "$file: detector and beam of TIFF and EDF" "$(keys r_1.img) $(grep -v 'numbers of the files' said)" "$(keys a_0.img) "
	check "$file: pixels" bragg-compare --max-error=0 a_0.img r_1.img
done
cat >one.poni <<END
poni_version: 2
Detector: Detector
Detector_config: {"pixel1": 0.0016, "pixel2": 0.0016, "max_shape": [40, 61], "orientation": 3}
Distance: 0.12
Poni1: 0.052
Poni2: 0.031
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1.1e-10
END
bragg-replay --quiet --geometry-from=one.poni u16.edf | bragg-write --quiet --overwrite r_%d.raw
check 'a file of pyFAI' cmp a_0.raw r_0.raw
masked() { # the number of masked pixels of a panel, as the geometry file for CrystFEL has them
	bragg-replay --quiet --geometry-from=one.geom $1 | timeout 20 bragg-serve --protocol=crystfel --bind=ipc://"$PWD/s" --policy=drop-new --linger=0 \
		--geom=masked.geom --overwrite >none 2>&1
	sed -n 's/^bad0.m.*_fs = //p' masked.geom | tr '\n' ' '
}
is 'pixels of -1 and -2 of a Pilatus are masked' "$(masked gaps.tif)" '7 8 '
is 'negative pixels after a subtraction are not' "$(masked dark.tif)" ''
bragg-replay --geometry-from=one.geom wave.edf 2>said | bragg-tap --quiet >none
sed -i '/warning/!d' said
is 'an EDF that contradicts the geometry' "$(grep -c 'wave.edf: the header has 1.3 A and .* but all frames are sent with 1.1 A and 120 mm of one.geom' said) $(
	grep -c 'wave.edf: the header has pixels of 2 mm, but all frames are sent with pixels of 1.6 mm of one.geom' said) $(wc -l <said)" '1 1 2'

# --- panels anywhere in the image: two, exchanged and moved
printf 'photon_energy = 9500 eV\nclen = 0.1 m\nres = 625\n' >two.geom
for panel in 0 1; do
	printf 'p%s/%s\n' $panel "min_fs = $((3 + 30 * panel))" $panel "max_fs = $((29 + 30 * panel))" $panel "min_ss = $((10 - 10 * panel))" \
		$panel "max_ss = $((39 - 10 * panel))" $panel 'fs = +1.0x' $panel 'ss = +1.0y' $panel "corner_x = $((30 * panel - 30))" $panel 'corner_y = -20'
done >>two.geom
bragg-replay --geometry-from=two.geom u16.tif 2>said | bragg-tap --quiet --record=two.rec >none
check 'pixels outside of all panels are said' says 'the panels of two.geom end at pixel 60, 40 of an image of 61 x 40' said
bragg-replay --quiet two.rec | bragg-write --quiet two_%d.raw
is 'panels of a geometry of CrystFEL have the pixels from where it says' "$(/usr/bin/python3 -c '
import array
image, two = (array.array("f", open(name, "rb").read()) for name in ("a_0.raw", "two_0.raw"))
row = lambda panel, s: image[(10 - 10 * panel + s) * 61 + 3 + 30 * panel:][:27]
print(list(two) == [pixel for panel in range(2) for s in range(30) for pixel in row(panel, s)])')" True

# --- refused, with one line that names the reason
# refused STATUS FILE TEXT [OPTION...]
refused() {
	refused_status=$1 refused_file=$2 refused_text=$3
	shift 3
	{ bragg-replay --quiet ${1---geometry-from=one.geom} $refused_file 2>said; echo $? >status; } | bragg-tap --quiet >none 2>&1
	is "$refused_file: $refused_text" "$(cat status) $(grep -c -e "$refused_text" said) $(wc -l <said)" "$refused_status 1 1"
}
refused 3 lzw.tif 'lzw.tif: the image is compressed by another method than deflate. Write it with deflate or without compression (got 5 in tag 259); expected 1'
refused 3 floats.tif 'the image has differences of floats. Write it without predictor (got 3 in tag 317); expected 1'
for file in zshort zmore zraw; do
	refused 3 $file.tif 'a strip is damaged, or does not fit the size of the image'
done
refused 3 zless.tif 'the strips do not fit the size of the image'
refused 3 zempty.tif 'a strip is damaged'
refused 3 zlarge.tif 'the file is too short for its image'
refused 3 turned.tif 'the image is turned or mirrored (got 6'
refused 3 white.tif 'the values are inverted or are colours (got 0'
refused 3 rgb.tif 'the image has colours (got 3'
refused 3 tiles.tif 'the image is stored in tiles'
refused 3 pages.tif 'the file has several images'
refused 3 double.tif 'pixels have 64 bits and the format 3'
refused 3 bits.tif 'pixels have 12 bits and the format 1'
refused 3 strips.tif 'the strips do not fit the size of the image'
refused 3 short.tif 'the strips do not fit the size of the image'
refused 3 packed.edf "packed.edf: header: Compression is 'ZCompression', which cannot be read; expected None"
refused 3 turned.edf "RasterOrientation is '3'"
refused 3 double.edf "DataType is 'DoubleValue', which cannot be read"
refused 3 order.edf 'ByteOrder is missing'
refused 3 pages.edf 'the file has several images, or 602 more bytes than its image'
refused 3 stack.edf 'the file has several images; expected one'
refused 3 size.edf 'Size is 12, but the pixels have 4880 bytes'
refused 3 short.edf 'the file is too short'
refused 3 elsewhere.edf 'the pixels are in another file (a.bin)'
refused 3 nodim.edf 'Dim_2 must be a whole number'
refused 3 named.edf "WaveLength is not a number (got 'short')"
refused 3 u16.tif 'u16.tif: the file has no geometry of its detector. Give --geometry-from=FILE' --loop=1
refused 3 a.cxi 'a.cxi: is not a file of another program. Remove --geometry-from'
refused 2 two.rec 'two.rec is a recording, which contains its geometry' --geometry-from=one.geom
refused 3 u16.tif 'u16.edf: has no geometry that --geometry-from reads' --geometry-from=u16.edf
refused 1 u16.tif 'none.geom: cannot open' --geometry-from=none.geom
sed 's/max_ss = 39/max_ss = 40/' one.geom >tall.geom
refused 3 u16.tif 'u16.tif: the image has 61 x 40 pixels, but tall.geom describes 61 x 41' --geometry-from=tall.geom
sed 's/^clen.*/clen = \/a mm/' one.geom >path.geom
refused 3 u16.tif 'has no clen that is a number' --geometry-from=path.geom
sed 's/^photon_energy.*/photon_energy = \/a eV/' one.geom >path.geom
refused 3 u16.tif 'photon_energy.*Write a number into path.geom' --geometry-from=path.geom
bragg-geometry --quiet --detpixels=30x30 --pixel=1 | bragg-orient --quiet 2>none | bragg-intensity --quiet 2>none | bragg-noise --quiet | bragg-write --quiet small.cbf
refused 3 u16.tif 'u16.tif: the image has 61 x 40 pixels, but small.cbf describes 30 x 30' --geometry-from=small.cbf
is 'bragg-view passes the geometry on' "$(timeout 20 bragg-view --bind=127.0.0.1:0 --linger=0 --geometry-from=one.geom u16.tif u16.edf 2>&1 | grep -c '^http')" 1
is 'bragg-view without files' "$(bragg-view --geometry-from=one.geom 2>&1 </dev/null | grep -c 'geometry-from has an effect only with files')" 1

# --- CXI of Cheetah and psocake
if has python:h5py; then
	/usr/bin/python3 - <<'END'
import h5py, numpy
data = numpy.stack([numpy.fromfile(f"a_{i}.raw", "<f4").reshape(40, 61) for i in range(3)])
def cxi(name, images, energy=(11000, 11001, 11002), distance=(120, 120, 120), mask=None, **how):
    with h5py.File(name, "w") as f:
        f.create_dataset("entry_1/data_1/data", data=images, **how)
        f["LCLS/photon_energy_eV"], f["LCLS/detector_1/EncoderValue"] = numpy.array(energy, "f8"), numpy.array(distance, "f8")
        if mask is not None:
            f["entry_1/data_1/mask"] = mask
mask = numpy.zeros((40, 61), "u2")
mask[3, 5] = 1
for name, images in ("psocake", data), ("cheetah", data.clip(0, 32767)):
    for i, image in enumerate(images):
        image.tofile(f"{name}_{i}.raw")
cxi("cheetah.cxi", data.clip(0, 32767).astype("i2"), mask=mask, chunks=(1, 40, 61), compression="gzip", shuffle=True)
cxi("psocake.cxi", data)
cxi("spread.cxi", data, energy=(11000, 11500, 12000))
cxi("flat.cxi", data[0])
cxi("double.cxi", data.astype("f8"))
cxi("filter.cxi", data, chunks=(1, 40, 61), compression="lzf")
cxi("table.cxi", data, energy=(1, 2))
cxi("masks.cxi", data, mask=numpy.stack(3 * [mask]))
END
	sed 's/^clen.*/clen = \/LCLS\/detector_1\/EncoderValue mm/; s/^photon_energy.*/photon_energy = \/LCLS\/photon_energy_eV eV/' one.geom >cxi.geom
	for file in cheetah psocake; do
		bragg-replay --quiet --geometry-from=cxi.geom $file.cxi 2>said | bragg-write --quiet --overwrite r_%d.raw
		is "$file: not a word" "$(cat said)" ''
		for i in 0 1 2; do
			check "$file: pixels of frame $i" cmp ${file}_$i.raw r_$i.raw
		done
	done 2>none
	is 'energy and distance are those of the file' "$(bragg-replay --quiet --geometry-from=cxi.geom psocake.cxi | bragg-tap 2>none | grep -o 'wavelength=[^ ]*\|distance=[^ ]*' | sort -u | tr '\n' ' ')" \
		"$(bragg-geometry --quiet --geom=one.geom --energy=11001 | bragg-tap 2>none | grep -o 'wavelength=[^ ]*\|distance=[^ ]*' | sort -u | tr '\n' ' ')"
	is 'the mask of Cheetah' "$(bragg-replay --quiet --geometry-from=one.geom cheetah.cxi 2>none | bragg-write --quiet --overwrite m.nxs && /usr/bin/python3 -c '
import h5py, numpy
f = h5py.File("m.nxs")["entry"]
mask = f["instrument/detector/pixel_mask"][:]
images = [numpy.fromfile(f"a_{i}.raw", "<f4").reshape(40, 61).clip(0, 32767) for i in range(3)]
print(numpy.argwhere(mask).tolist())')" '[[3, 5]]'
	refused 3 flat.cxi 'flat.cxi: /entry_1/data_1/data is missing, empty or has another form; expected images \[frame, slow, fast\]'
	refused 3 double.cxi 'has pixels of another type'
	refused 3 filter.cxi 'is compressed with filter 32000, which cannot be read'
	refused 3 table.cxi '/LCLS/photon_energy_eV: expected a number for each of 3 frames'
	refused 3 masks.cxi 'mask: expected one mask of 40 x 61 pixels for all frames'
	refused 3 psocake.cxi 'psocake.cxi: the file has no geometry of its detector' --loop=1
	refused 3 'psocake.cxi cheetah.cxi' 'is a CXI file, and 2 files are given'
	bragg-replay --geometry-from=cxi.geom spread.cxi 2>said | bragg-tap --quiet >none
	is 'energies that differ are said' "$(grep -c 'photon energy differs from 11000 to 12000 eV, but all frames are sent with the mean, 11500 eV' said)" 1
else
	skip 'CXI of other programs' "$lack is missing"
fi
finish
