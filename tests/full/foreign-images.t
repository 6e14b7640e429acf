#!/bin/sh
# EDF and TIFF that fabio writes, in each of its pixel types, are played and compared; fabio reads the same values.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'images of fabio' python:fabio python:numpy
scratch
bragg-geometry --quiet --detpixels=487x195 --pixel=0.172 --distance=150 --energy=9keV --ncells=10 --write-geom=one.geom |
	bragg-orient --quiet --frames=2 --random --seed=7 | bragg-intensity --quiet | bragg-background --quiet --water=0.1 | bragg-noise --quiet |
	bragg-write --quiet a_%d.cbf a_%d.raw
check 'fabio writes EDF and TIFF' /usr/bin/python3 - <<'END'
import fabio, numpy
for i in range(2):
    data = fabio.open(f"a_{i}.cbf").data
    for kind in "u2", "i4", "u4", "f4":
        pixels = data.clip(0).astype(kind)
        pixels.astype("f4").tofile(f"{kind}_{i}.raw")
        fabio.edfimage.EdfImage(data=pixels, header={"WaveLength": "1.3776e-10", "title": "a; b = c"}).write(f"{kind}_{i}.edf")
        fabio.tifimage.TifImage(data=pixels).write(f"{kind}_{i}.tif")
END
for kind in u2 i4 u4 f4; do
	for suffix in edf tif; do
		bragg-replay --quiet --geometry-from=one.geom ${kind}_0.$suffix ${kind}_1.$suffix | bragg-write --quiet --overwrite r_%d.raw
		check "$kind $suffix: pixels are those that fabio wrote" sh -c "cmp r_0.raw ${kind}_0.raw && cmp r_1.raw ${kind}_1.raw"
	done
	check "$kind: bragg-compare reads both" bragg-compare --max-error=0 ${kind}_0.edf ${kind}_0.tif
done
if has python:PIL; then
	/usr/bin/python3 -c '
from PIL import Image
import numpy
for kind, mode in ("u2", "I;16"), ("f4", "F"):
    image = Image.fromarray(numpy.fromfile(f"{kind}_0.raw", "f4").reshape(195, 487).astype(kind), mode)
    for name in "tiff_adobe_deflate", "tiff_deflate", "tiff_lzw", "packbits":
        image.save(f"{kind}_{name}.tif", compression=name)' 2>none
	for file in u2_tiff_adobe_deflate u2_tiff_deflate f4_tiff_adobe_deflate f4_tiff_deflate; do
		bragg-replay --quiet --geometry-from=one.geom $file.tif | bragg-write --quiet --overwrite r_%d.raw
		check "$file of PIL: the same pixels" cmp r_0.raw ${file%%_*}_0.raw
	done
	for file in u2_tiff_lzw f4_packbits; do
		is "$file of PIL is refused" "$(bragg-replay --geometry-from=one.geom $file.tif 2>&1 >none | grep -c 'compressed by another method than deflate. Write it')" 1
	done
else
	skip 'TIFF of PIL' "$lack is missing"
fi
check 'compressed EDF of fabio is refused' sh -c '/usr/bin/python3 -c "
import fabio, numpy
fabio.edfimage.EdfImage(data=numpy.zeros((195, 487), \"u2\"), header={\"Compression\": \"GZIP_Compression\"}).write(\"z.edf\")" 2>none
	! bragg-replay --geometry-from=one.geom z.edf 2>&1 >none | grep -v "Compression is"'
finish
