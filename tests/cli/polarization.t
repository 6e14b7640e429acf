#!/bin/sh
# The beam is polarized as synchrotrons' are, unless told otherwise, and files say how.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# frame NAME OPTION...: photons of a crystal and of water, at up to 55 degrees
frame() {
	name=$1
	shift
	bragg-geometry --detpixels=101 --pixel=1 --distance=50 --ncells=5 --oversample=1 --write-geom="$name.geom" "$@" |
		bragg-orient --misset=10,20,30 | bragg-intensity --threads=1 | bragg-background --water=1000 --threads=1 |
		bragg-write --scale=1 "${name}_0.raw" "${name}_0.cbf"
} 2>>err
said() {
	echo "$(tr -d '\r' <"$1_0.cbf" | head -c 4096 | sed -n 's/^# \(Polarization .*\|BRAGG_POLARIZATION .*\)/\1/p' | paste -sd';');$(
		sed -n 's/^; polarization: //p' "$1.geom")"
}
frame default
frame told --polarization=0.98
frame fraction --polarization-fraction=0.99
frame xds --polarization-fraction=0.95 # K 0.9
frame none --polarization=0
frame off --no-polarization
frame dials --convention=dials
frame aslant --polarization=-0.5 --polarization-vector=0,1,2
cat >beam.expt <<'END'
{"__id__": "ExperimentList", "experiment": [{"beam": 0, "detector": 0}],
"beam": [{"direction": [0, 0, 1], "wavelength": 1.0, "polarization_normal": [0, 1, 0], "polarization_fraction": 0.7}],
"detector": [{"panels": [{"fast_axis": [1, 0, 0], "slow_axis": [0, -1, 0], "origin": [-50, 50, -50],
"image_size": [101, 101], "pixel_size": [1, 1]}]}]}
END
given='--ncells=5 --oversample=1'
bragg-geometry --expt=beam.expt $given --polarization-fraction=0.95 --write-geom=list.geom 2>>err | bragg-orient 2>>err |
	bragg-intensity --threads=1 2>>err | bragg-write --scale=1 list_0.cbf 2>>err
frame faithful --physics=faithful
frame faithful_none --physics=faithful --polarization=0
check 'by default 99 % of the photons swing along the E vector' cmp default_0.raw told_0.raw
check 'the default is the fraction 0.99 of XDS and DIALS' cmp default_0.raw fraction_0.raw
is 'the header has the given fraction' "$(said xds)" 'Polarization 0.950;BRAGG_POLARIZATION 0.9 0 0 1;--polarisation=horiz95'
check 'a fraction that was typed counts in an experiment list, too' test "$(said list)" = "$(said xds)"
check '--polarisation=none gives another image' sh -c '! cmp -s default_0.raw none_0.raw'
check "nanoBragg's beam is unpolarized" cmp faithful_0.raw faithful_none_0.raw
is 'the header has the default' "$(said default)" 'Polarization 0.990;BRAGG_POLARIZATION 0.98 0 0 1;--polarisation=horiz99'
is 'the header has the fraction of an unpolarized beam' "$(said none)" 'Polarization 0.500;BRAGG_POLARIZATION 0 0 0 1;--polarisation=horiz50'
is 'the header has no fraction without a polarization factor' "$(said off)" ';--polarisation=none'
is 'along the slow axis' "$(said dials)" 'Polarization 0.010;BRAGG_POLARIZATION 0.98 0 1 0;--polarisation=vert99'
# 26.565 degrees from z, the fast axis; y is against the slow one.  Most swings across: 90 more.
is 'the header has a fraction in any direction' "$(said aslant)" \
	'Polarization 0.350;BRAGG_POLARIZATION -0.5 0 0.447213595 0.894427191;--polarisation=63deg75'

# pixels FILE FRACTION: by how much those right and left of the beam differ from those above and
# below, once corrected for so many photons that swing to the right and left
flat() {
	od -An -v -w4 -tf4 "$1" | awk -v f="$2" '{v[NR - 1] = $1} END {
		for (d = 30; d < 50; d++) {
			c = 50 ^ 2 / (50 ^ 2 + d ^ 2)  # cos^2
			h += (v[50 * 101 + 50 + d] + v[50 * 101 + 50 - d]) / (f * c + 1 - f)
			s += (v[(50 + d) * 101 + 50] + v[(50 - d) * 101 + 50]) / (f + (1 - f) * c)
		}
		print h / s
	}'
}
check 'water is as bright all around, corrected as files say' awk -v x="$(flat default_0.raw 0.99)" 'BEGIN {exit !(x > 0.995 && x < 1.005)}'
check 'water has the polarization factor of the beam' awk -v x="$(flat default_0.raw 0.5)" 'BEGIN {exit !(x < 0.8)}'
check 'along the slow axis too' awk -v x="$(flat dials_0.raw 0.01)" 'BEGIN {exit !(x > 0.995 && x < 1.005)}'
finish
