#!/bin/sh
# What passes to each pixel by a map: the same in three formats, on top of the beam stop, and what is no map.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy and h5py' python:numpy python:h5py

# No spots, but water in every one of 100 x 80 pixels.
shots() { # NAME OPTION...
	name=$1
	shift
	bragg-geometry --quiet --detpixels=100,80 --pixel=1 --distance=100 --cell=50,50,50,90,90,90 --default-F=0 ${cut:+--cut=2,2} |
		bragg-orient --quiet --frames=2 | bragg-intensity --quiet | bragg-background --quiet --water=50 |
		bragg-noise ${loud---quiet} --saturation=65000 --adc-offset=0 --readout=0 "$@" | bragg-write --quiet "$name"
}
holds() {
	check "$1" /usr/bin/python3 -c "
import numpy, h5py
def a(name): return numpy.fromfile(name, '<f4').reshape(80, 100).astype(float)
def mask(name): return h5py.File(name)['/entry/instrument/detector/pixel_mask'][()]
def data(name): return h5py.File(name)['/entry/data/data'][()].astype(float)
t = numpy.fromfile('map.raw', '<f4').reshape(80, 100).astype(float)
$2"
}

/usr/bin/python3 -c "
import numpy, h5py
t = numpy.ones((80, 100), '<f4'); t[:, :50] = 0.75; t[20:25, 10:20] = 0
t.tofile('map.raw')
h5py.File('map.h5', 'w')['transmission'] = t.reshape(1, 80, 100)
h5py.File('other.h5', 'w')['map'] = t
h5py.File('turned.h5', 'w')['transmission'] = t.T
head = b'{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nSIZE1=100;\nSIZE2=80;\n}\x0c\n'
open('map.img', 'wb').write(head.ljust(512) + numpy.rint(t * 65535).astype('<u2').tobytes())
h5py.File('big.h5', 'w')['transmission'] = t.astype('>f8')
h5py.File('yes.h5', 'w')['transmission'] = t > 0
h5py.File('dark.h5', 'w').create_dataset('transmission', (80, 100), 'f4')
h5py.File('lzf.h5', 'w').create_dataset('transmission', data=t, compression='lzf')
f = h5py.File('percent.h5', 'w'); f['transmission'] = t; f['transmission'].attrs['units'] = 'percent'
f = h5py.File('plain.h5', 'w'); f['transmission'] = t; f['transmission'].attrs['units'] = 'dimensionless'
open('motorola.img', 'wb').write(head.replace(b'little_endian', b'Big_Endian').ljust(512) + numpy.rint(t * 65535).astype('>u2').tobytes())
open('wave.img', 'wb').write(head.replace(b'DIM', b'WAVELENGTH=3;\nDIM').ljust(512) + numpy.rint(t * 65535).astype('<u2').tobytes())
open('ones.img', 'wb').write(head.ljust(512) + (t > 0).astype('<u2').tobytes())
t[:50].tofile('short.raw')
t[3, 4] = 1.01; t.tofile('bright.raw')
t[3, 4] = numpy.nan; t.tofile('nan.raw')"
light='--no-poisson --gain=0.5'
# shellcheck disable=SC2086 # options are words
{
	shots plain_%d.raw $light
	shots map_%d.raw $light --transmission=map.raw
	shots hdf5_%d.raw $light --transmission=map.h5
	shots smv_%d.raw $light --transmission=map.img
	shots stop.nxs $light --beamstop=10 --beamstop-transmission=0.5
	shots both.nxs $light --beamstop=10 --beamstop-transmission=0.5 --transmission=map.h5
	shots bare.nxs $light --beamstop=10 --beamstop-transmission=0.5 --transmission=map.h5 --unmasked
}
holds 'a map lets pass what it says' "p, m = a('plain_0.raw'), a('map_0.raw'); assert abs(m - t * p).max() <= 1 and 100 < p.min() < p.max() < 60000"
check 'transmission from HDF5 gives the same pixels' cmp map_1.raw hdf5_1.raw
holds 'transmission from SMV has 16 bits' "assert abs(a('map_1.raw') - a('smv_1.raw')).max() <= 1"
holds 'on top of a beam stop' "s, b = data('stop.nxs'), data('both.nxs'); assert abs(b - t * s).max() <= 1"
holds 'pixels that nothing reaches are masked, as is the beam stop' "
want = (mask('stop.nxs') != 0) | (t == 0); assert (mask('both.nxs') == 256 * want).all() and 100 < want.sum() < 200"
holds '--unmasked leaves pixels that nothing reaches without a mask' "assert (data('bare.nxs') == data('both.nxs')).all() and 'pixel_mask' not in h5py.File('bare.nxs')['/entry/instrument/detector']"
for same in big.h5 plain.h5; do
	shots "${same}_%d.raw" $light --transmission="$same"
	check "$same is the same" cmp "${same}_1.raw" map_1.raw
done
shots motorola_%d.raw $light --transmission=motorola.img
check 'transmission from SMV in the other byte order gives the same pixels' cmp motorola_1.raw smv_1.raw
warned() { # FILE WANTED
	is "$1 gives a warning" "$(loud='' shots "warned_$1_%d.raw" $light --transmission="$1" 2>&1 | grep -c "^bragg-noise: warning: --transmission: $2")" 1
}
warned wave.img 'the file has the wavelength 3 A, but the beam 1 A'
warned ones.img 'the largest fraction of all pixels is 1.53e-05'
check 'recomputed with that file' bragg-replay --recompute both.nxs:1
shots img_%d.img --transmission=map.raw
shots same_%d.img --transmission=map.h5
lineage() { grep -aho '^BRAGG_LINEAGE=[0-9a-f]*' "$1"; }
is 'the lineage depends on the content of a transmission file' "$(lineage img_0.img)" "$(lineage same_0.img)"
refused() { # FILE WANTED
	is "$1 is refused" "$(shots refused_%d.raw --transmission="$1" 2>&1 | grep -c "^bragg-noise: .*$2")" 1
}
refused other.h5 'other.h5: not a transmission map; expected /transmission, numbers of 2 or 3 dimensions'
refused yes.h5 'yes.h5: /transmission has no numbers; expected integers or floats'
refused dark.h5 'dark.h5: all pixels are 0, so no photon passes; expected transmissions from 0 to 1'
refused lzf.h5 'lzf.h5: /transmission is compressed with filter 32000 (LZF), which cannot be read here. Repack it with h5repack --filter=GZIP=1'
refused percent.h5 "percent.h5: /transmission: units are 'percent'; expected a transmission from 0 to 1 without units"
refused bright.raw 'bright.raw: pixel 304 has a transmission of 1.01; expected a value from 0 to 1'
refused nan.raw 'nan.raw: pixel 304 has a transmission of nan'
refused short.raw 'the file has 5000 pixels in rows of 5000; expected 8000 in rows of 100'
refused turned.h5 'the file has 8000 pixels in rows of 80'
refused absent.h5 'absent.h5: cannot open'
finish
