#!/bin/sh
# Mini-CBF in other hands: fabio, CBFlib and dxtbx read the pixels, dxtbx the same geometry
# as from SMV, and DIALS imports one sweep.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs CBF dials.import python:dxtbx python:fabio python:numpy python:pycbf

# A mask that excludes every 37th pixel.
mask() {
	perl -e '$h = "{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\n" .
		"SIZE1=300;\nSIZE2=200;\nPIXEL_SIZE=0.172;\n}\n";
		print $h, " " x (512 - length $h), pack("v*", map {$_ % 37 != 5} 0 .. 59999)'
}
# frames NAME ORIENTATION OPTION...: three as NAME_*.img and NAME_*.cbf; the last of bragg-geometry.
frames() {
	name=$1 orientation=$2
	shift 2
	# shellcheck disable=SC2086 # the list is meant to split
	bragg-geometry --detpixels=300,200 --pixel=0.172 --distance=90 --wavelength=1.0332 --beam-center=20.1,30.7 \
		--ncells=10 --fluence=1e27 "$@" 2>>geometry.log |
		bragg-orient --frames=3 --phi0=30 --osc=0.5 --phi-steps=9 $orientation |
		bragg-intensity |
		bragg-background --water=0.0015 |
		bragg-noise --seed=3 --adc-offset=0 |
		bragg-write "${name}_%04d.img" "${name}_%04d.cbf" 2>>write.log
}
check 'frames are made' frames plain --misset=10,20,30
mask >mask.img
check 'frames with a mask are made' frames masked --misset=10,20,30 --mask=mask.img
check 'frames of twelve lattices are made' frames many '--lattices=12 --random'
is 'the header tells of most' "$([ "$(head -c 8000 many_0000.cbf | grep -ac '^# BRAGG_ROTATION')" -ge 10 ] && echo yes)" yes

# sold NAME KIND OPTION...: three frames of a detector that is sold; the last of bragg-geometry.
sold() {
	name=$1 kind=$2
	shift 2
	bragg-geometry --distance=90 --wavelength=1.0332 --ncells=10 --fluence=1e27 --oversample=1 "$@" 2>>geometry.log |
		bragg-orient --frames=3 --phi0=30 --osc=0.5 --phi-steps=9 --misset=10,20,30 |
		bragg-intensity | bragg-background --water=0.0015 | bragg-noise --seed=3 --adc-offset=0 |
		bragg-write --cbf-header="$kind" "${name}_%04d.img" "${name}_%04d.cbf" "$name.nxs" 2>>write.log
}
check 'a Pilatus 300K' sold pilatus pilatus --detpixels=487,619 --pixel=0.172 --thickness=320 --layers=1
check 'an Eiger2 1M' sold eiger eiger --detpixels=1028,1062 --pixel=0.075
check 'an Eiger 4M of 8 modules, thick' sold thick eiger --detector=eiger-4m --layers=3
/usr/bin/python3 "$BRAGG_TESTS/full/cbf_readers.py" plain:FormatCBFMini masked:FormatCBFMini many:FormatCBFMini \
	pilatus:FormatCBFMiniPilatus:0.32 eiger:FormatCBFMiniEiger:0 thick:FormatCBFMiniEiger:0.45 >readers 2>readers.log || complain "$(cat readers.log)"
agree() {
	check "$1: $2" grep -qx "$1 agrees" readers
}
for name in plain masked many; do
	agree $name 'all readers agree'
done
agree pilatus 'readers support it and its sensor of one layer'
agree eiger 'an Eiger2, readers support it and agree'
agree thick 'readers support it and its sensor'
check 'DIALS imports' sh -c 'dials.import plain_*.cbf output.experiments=imported.expt >import.log 2>&1'
check 'one sweep of three frames' sh -c 'grep -q "num images: 3" import.log && grep -q "sweep: *1" import.log'

# What fabio writes: CBF with a Content-MD5 over packed pixels of many lengths, SMV of both orders of bytes.
cat >others.py <<'E2'
import subprocess, sys
import fabio, numpy
def compared(path, pixels):
    pixels.astype("<f4").tofile("others.raw")
    done = subprocess.run(["bragg-compare", path, "others.raw"], capture_output=True, text=True)
    assert done.returncode == 0, (path, pixels.shape, done.stdout, done.stderr)
random = numpy.random.default_rng(7)
for width in list(range(1, 140)) + [487, 1030]:
    pixels = random.integers(-2, 2 ** (width % 24 + 1), (1 + width % 3, width), dtype=numpy.int32)
    fabio.cbfimage.CbfImage(data=pixels).write("others.cbf")
    assert b"Content-MD5" in open("others.cbf", "rb").read()
    compared("others.cbf", pixels)
    damaged = bytearray(open("others.cbf", "rb").read())
    damaged[damaged.index(b"\x0c\x1a\x04\xd5") + 4] ^= 1
    open("damaged.cbf", "wb").write(damaged)
    done = subprocess.run(["bragg-compare", "damaged.cbf", "others.raw"], capture_output=True, text=True)
    assert done.returncode == 3 and "the pixels are corrupt: Content-MD5" in done.stderr, done
for order, code in ("little", "<"), ("big", ">"):
    for name, kind in ("unsigned short int", "u2"), ("unsigned long int", "u4"), ("long int", "i4"), ("float IEEE", "f4"):
        pixels = random.integers(0, 60000, (5, 7)).astype(code + kind)
        head = "{\nHEADER_BYTES=  512;\nDIM=2;\nBYTE_ORDER=%s_endian;\nTYPE=mad;\nData_type=%s;\nSIZE1=7;\nSIZE2=5;\n}\n" % (order, name)
        open("others.img", "wb").write(head.encode().ljust(512) + pixels.tobytes())
        read = fabio.open("others.img").data
        assert (read == pixels).all()
        compared("others.img", read)
E2
check 'pixels that fabio writes and reads, and their MD5' /usr/bin/python3 others.py

# DIALS cannot import the names that bragg-write warns of, and all others.
mkdir names
bragg-geometry --detpixels=64 --pixel=1.6 --distance=90 --ncells=5 --fluence=1e26 2>>geometry.log |
	bragg-orient --random 2>>geometry.log | bragg-intensity | bragg-noise --adc-offset=0 2>>geometry.log | bragg-tap --record=still.rec
for name in still.cbf 'v2_%d_x.img' v3_only.cbf still_1.cbf 'n%d.smv' b1.x.img; do
	bragg-replay --quiet still.rec | bragg-write "names/$name" 2>"names/$(echo "$name" | sed 's/%d/0/').warned"
done
/usr/bin/python3 "$BRAGG_TESTS/full/dials_imports.py" names/still.cbf names/v2_0_x.img names/v3_only.cbf names/still_1.cbf \
	names/n0.smv names/b1.x.img >imported 2>imports.log || complain "$(cat imports.log)"
for name in still.cbf v2_0_x.img v3_only.cbf still_1.cbf n0.smv b1.x.img; do
	is "$name: warned of when DIALS cannot import it" "$(grep -c "DIALS cannot import '" "names/$name.warned")" \
		"$(sed -n "s|^names/$name ||p" imported)"
done
finish
