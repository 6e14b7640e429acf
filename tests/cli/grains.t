#!/bin/sh
# bragg-background --powder-grains: rings of few crystals have their mean and their fluctuations, and frames can be without powder.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'grains of powders' python:numpy python:msgpack python:zmq gemmi
scratch
# dark FRAMES: frames without a crystal
dark() {
	bragg-geometry --quiet --detpixels=200 --pixel=0.4 --distance=160 --energy=20000 --beam-size=0.2 --flux=1e11 --oversample=1 --default-F=0 \
		--polarization-fraction=0.5 --cell=79,79,38 | bragg-orient --quiet --hit-rate=0 --frames=100 --only="$1" | bragg-intensity --quiet --threads=1
}
powder='--powder=lab6 --powder-thickness=20'
# frames NAME OPTION...: background of all frames
frames() {
	name=$1
	shift
	dark 0-99 | bragg-background --quiet "$@" | bragg-write --quiet --overwrite "${name}_%d.raw"
}
# crystals of 1000 A have spots narrower than a pixel, which counts in their number, not in their width on the image
# shellcheck disable=SC2086 # options are meant to split
{
	dark 0 | bragg-background --quiet $powder | bragg-write --quiet smooth.raw
	dark 0 | bragg-background --quiet $powder --powder-grains=1e9 | bragg-write --quiet many.raw
	frames grains --threads=1 $powder --powder-grains=20000
}
cat >ring.py <<'END'
"""Per ring: mean over the smooth ring, then 1/(relative variance) over the k of the formula, of the ring and ten times of a tenth of it."""
import numpy as np
N, pixel, distance, wavelength = 200, 0.4, 160.0, 12398.419843320026 / 20000
y, x = (np.mgrid[:N, :N] + 0.5 - (N / 2 + 1)) * pixel
s = 2 * np.sin(np.arctan2(np.hypot(x, y), distance) / 2) / wavelength
smooth = np.fromfile("smooth.raw", "<f4").reshape(N, N).astype(float)
images = np.array([np.fromfile(f"grains_{i}.raw", "<f4").reshape(N, N).astype(float) for i in range(100)])
assert images.min() >= 0
means, ks, tenths = [], [], []
for d, m in ((4.15683, 6), (2.93932, 12)):
    ring = abs(s - 1 / d) < 0.02
    k = 20000 * m * np.sqrt(np.pi) * 0.9 / 1000 / 2.354820045 * d
    all_of = images[:, ring].sum(1)
    means.append(all_of.mean() / smooth[ring].sum())
    ks.append((all_of.mean() / all_of.std()) ** 2 / k)
    for part in range(10):
        tenth = images[:, ring & (np.floor((np.arctan2(y, x) / 2 / np.pi + 0.5) * 10) == part)].sum(1)
        tenths.append(10 * (tenth.mean() / tenth.std()) ** 2 / k)
print("#", means, ks, np.mean(tenths))
print(max(abs(np.array(means) - 1)) < 0.015, 0.75 < np.mean(ks) < 1.3, 0.88 < np.mean(tenths) < 1.12)
END
/usr/bin/python3 ring.py >figures 2>&1
note "$(sed -n 's/^# //p' figures)"
is 'mean, fluctuations of rings, and of tenths of them' "$(grep -v '^#' figures)" 'True True True'
is 'many grains are a smooth ring' "$(/usr/bin/python3 -c '
import numpy
a, b = (numpy.fromfile(name, "<f4") for name in ("smooth.raw", "many.raw"))
print(abs(a - b).max() < 1e-6 * a.max())' 2>&1)" True

# --- which frames have which grains
check 'frames have other grains' sh -c '! cmp -s grains_0.raw grains_1.raw'
# shellcheck disable=SC2086 # options are meant to split
{
	dark 7 | bragg-background --quiet --threads=3 $powder --powder-grains=20000 | bragg-write --quiet alone.raw
	check 'a frame alone, with 3 threads, has the bytes of the frame in its run' cmp alone.raw grains_7.raw
	frames still $powder --powder-grains=300 --powder-seed=5 --air=20
	check '--powder-seed: all frames have the same grains' cmp still_0.raw still_99.raw
	dark 0 | bragg-background --quiet $powder --powder-grains=300 --powder-seed=6 --air=20 | bragg-write --quiet other.raw
	check 'another seed, other grains' sh -c '! cmp -s still_0.raw other.raw'
	frames some $powder --powder-frames=0.3 --air=20
	dark 0 | bragg-background --quiet --air=20 | bragg-write --quiet air.raw
	dark 0 | bragg-background --quiet $powder --air=20 | bragg-write --quiet both.raw
	without=0 with=0
	for i in $(seq 0 99); do
		! cmp -s some_"$i".raw air.raw || without=$((without + 1))
		! cmp -s some_"$i".raw both.raw || with=$((with + 1))
	done
	note "$with with powder, $without without"
	is 'each frame has all of the powder or none' $((with + without)) 100
	check '--powder-frames is the fraction with powder' [ "$with" -gt 15 -a "$with" -lt 45 ]
	dark 0-1 | bragg-background --quiet $powder --powder-grains=300 --powder-frames=0.9 | bragg-write --quiet kept.nxs
	is 'grains are computed again' "$(bragg-replay --recompute kept.nxs:1 2>&1)" 'kept.nxs: the same bytes'
}

# --- refused
# refused TEXT OPTION...
refused() {
	text=$1
	shift
	is "$text" "$({ dark 0 | bragg-background --quiet "$@" | bragg-tap --quiet; } 2>&1 >/dev/null | grep -m 1 -o -- "bragg-background: $text")" "bragg-background: $text"
}
refused '--powder-grains needs --powder' --air=1 --powder-grains=5
# shellcheck disable=SC2086 # options are meant to split
{
	refused '--powder-seed needs --powder-grains' $powder --powder-seed=5
	refused '--powder-grains: ' $powder --powder-grains=0
	bragg-geometry --quiet --detpixels=50 --pixel=1.6 --distance=160 --energy=20000 --default-F=0 --cell=79,79,38 |
		bragg-orient --quiet --hit-rate=0 --spectrum=tophat --bandwidth=5 | bragg-intensity --quiet |
		bragg-background --quiet $powder --powder-grains=50 2>wide.err | bragg-tap --quiet >ignored 2>&1
	check 'a wide band is refused' grep -q '^bragg-background: --powder-grains needs a narrow band (got 0\.60[0-9]* to 0\.62[0-9]* A)' wide.err
}
finish
