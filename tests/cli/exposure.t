#!/bin/sh
# bragg-geometry --exposure: every file and stream says how long a frame was exposed, so that its images can be made again.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
# made OPTION...: two frames of a rotation, as written into the files a
made() {
	bragg-geometry --detpixels=60,48 --pixel=0.5 --ncells=6 --beam-size=0.2 --oversample=3 "$@" 2>warnings |
		bragg-orient --frames=2 --phi0=10 --osc=0.5 --phi-steps=4 | bragg-intensity --threads=1 --reflections
}
# header FILE NAME: the value of a name in the text of a header
header() {
	tr -d '\r' <"$1" | grep -a "$2" | head -1 | sed "s/.*$2[ =]*//; s/;.*//"
}
# counts: whole numbers of photons, for files that store integers
counts() {
	bragg-noise --no-poisson --adc-offset=0 --bits=32
}
made --flux=1e16 --exposure=0.0625 | bragg-tap --quiet --record=a.rec
bragg-replay a.rec | bragg-write 'a_%d.raw'
bragg-replay a.rec | counts | bragg-write --reflections=a.refl 'a_%d.cbf'
bragg-replay a.rec | bragg-noise --no-poisson --adc-offset=0 | bragg-write 'a_%d.img'
is 'CBF: time and period' "$(header a_1.cbf Exposure_time) $(header a_1.cbf Exposure_period)" '0.0625 s 0.0625 s'
is 'SMV: time' "$(header a_1.img TIME)" 0.0625
is 'list of DIALS: time and beginning of each image' \
	"$(grep -o '"exposure_time": [^]]*\]' a.expt) $(grep -o '"epochs": [^]]*\]' a.expt)" '"exposure_time": [0.0625, 0.0625] "epochs": [0, 0.0625]'

# the likeliest wrong list says 1 s, with 16 times the photons
bragg-geometry --expt=a.expt --flux=1e16 --ncells=6 --beam-size=0.2 --oversample=3 |
	bragg-orient --scan=a.expt --phi-steps=4 | bragg-intensity --threads=1 | bragg-write 'b_%d.raw' 2>err
check 'a list and the flux make the images again' bragg-compare a_1.raw b_1.raw --max-error=1e-5
note "$tap_output"

made --flux=1e12 | bragg-noise | bragg-write --reflections=c.refl 'c_%d.cbf'
made --flux=1e12 | bragg-noise | bragg-write 'c_%d.img'
is 'without the option: 1 s' "$(header c_0.cbf Exposure_time) $(header c_0.img TIME) $(grep -o '"epochs": [^]]*\]' c.expt)" '1 s  "epochs": [0, 1]'
made --fluence=1e24 --exposure=0.01 | bragg-write 'd_%d.raw'
made --fluence=1e24 --exposure=0.01 | counts | bragg-write 'd_%d.cbf'
made --fluence=1e24 | bragg-write 'e_%d.raw'
is 'an exposure beside a fluence is told' "$(header d_0.cbf Exposure_time)" '0.01 s'
check 'and changes no pixel' cmp d_1.raw e_1.raw

if has python:h5py; then
	bragg-replay a.rec | counts | bragg-write a.nxs
	is 'NXmx: times, and photons per second' "$(/usr/bin/python3 - <<'END'
import h5py
at = h5py.File("a.nxs")["entry/instrument"]
times = [at[f"detector/{name}"][()] for name in ("count_time", "frame_time")]
flux, total = (at[f"beam/{name}"][()] for name in ("flux", "total_flux"))
print(*times, round(float(total) / 1e16, 9), round(float(flux) * 0.2e-3**2 / 1e16, 9))
END
	)" '0.0625 0.0625 1.0 1.0'
else
	skip 'NXmx: times, and photons per second' "$lack is missing"
fi

# --- a counter is dead for a part of the exposure
dead() {
	name=$1
	shift
	made --flux=1e20 --exposure=0.002 | bragg-noise --counter=paralysable --dead-time=1e5 "$@" | bragg-write "${name}_%d.raw"
}
dead f
dead g --count-time=2
check 'photons arrive during the exposure' cmp f_0.raw g_0.raw
check 'a counter that is dead for a part of it misses some' sh -c "! cmp f_0.raw a_0.raw >/dev/null"
status=0
made --flux=1e12 --exposure=1e-6 2>/dev/null | bragg-noise --counter=paralysable 2>err | cat >none || status=$?
is 'a dead time beyond a tenth of the exposure' "$status $(cat err)" \
	'0 bragg-noise: --dead-time=150 ns is too long; expected at most a tenth of --count-time=0.001 ms'
finish
