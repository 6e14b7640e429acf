#!/bin/sh
# bragg-write run.cxi: an NXmx series that is also a CXI file, with the true reflections as peaks.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'CXI files' python:h5py python:numpy
scratch
# two panels of different places, one below the other in the file
cat >two.geom <<'END'
photon_energy = 12400 eV
clen = 0.05
res = 5000
adu_per_photon = 1
a/min_fs = 0
a/max_fs = 119
a/min_ss = 0
a/max_ss = 59
a/corner_x = -60
a/corner_y = 5
a/fs = +x
a/ss = +y
b/min_fs = 0
b/max_fs = 119
b/min_ss = 60
b/max_ss = 119
b/corner_x = 61
b/corner_y = -5
b/fs = -x
b/ss = -y
bad0/panel = b
bad0/min_fs = 0
bad0/max_fs = 3
bad0/min_ss = 60
bad0/max_ss = 61
END
# frames OPTION... -- OUTPUT...: options of bragg-orient, and of bragg-write
frames() {
	orient=
	while [ "$1" != -- ]; do
		orient="$orient $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --geom=two.geom ${crystal---ncells=8} --shape=gauss --fluence=1e26 --write-geom=cxi.geom --overwrite |
		bragg-orient --random --seed=3 $orient | bragg-intensity --threads=1 ${photons---reflections=20} | bragg-write "$@"
}
check 'five frames, two a file' frames --frames=5 --mean-lattices=2 -- --compression=gzip --frames-per-file=2 run.cxi --reflections='run_%d.tsv'
is 'files of the series' "$(echo run*.cxi)" 'run.cxi run_data_000001.cxi run_data_000002.cxi run_data_000003.cxi'
cat >look.py <<'END'
import csv, sys
import h5py, numpy
peaks = "entry_1/result_1/peak"
f = h5py.File("run.cxi")
images, mask, counts = f["entry_1/data_1/data"][:], f["entry_1/data_1/mask"][:], f["entry_1/result_1/nPeaks"][:]
# centroids of the photons themselves
def centroids():
    worst = 0
    for k, n in enumerate(counts):
        x, y = f[peaks + "XPosRaw"][k, :n], f[peaks + "YPosRaw"][k, :n]
        for i in range(n):
            others = numpy.hypot(x - x[i], y - y[i])
            others[i] = 99
            column, row = int(x[i] + 0.5), int(y[i] + 0.5)
            if others.min() < 8 or not (3 < column < 116 and 3 < row % 60 < 56) or i > 9:
                continue
            window = images[k, row - 3:row + 4, column - 3:column + 4]
            slow, fast = numpy.mgrid[row - 3:row + 4, column - 3:column + 4]
            total = window.sum()
            worst = max(worst, abs((window * fast).sum() / total - x[i]), abs((window * slow).sum() / total - y[i]))
            yield worst
def table(name):
    with open(name) as lines:
        return list(csv.DictReader(lines, delimiter="\t"))
if sys.argv[1] == "places":
    seen = list(centroids())
    print(len(seen) > 10, seen[-1] < 0.1)
if sys.argv[1] == "counts":
    print(*(n == len(table("run_%d.tsv" % k)) for k, n in enumerate(counts)), counts.dtype, counts.shape)
if sys.argv[1] == "strongest":
    for name, column in (("TotalIntensity", "photons"), ("MaximumValue", "peak"), ("NPixels", "pixels"), ("SegPosRaw", "panel"), ("SNR", "z")):
        good = True
        for k, n in enumerate(counts):
            rows = sorted(table("run_%d.tsv" % k), key=lambda row: -float(row["photons"]))
            got = f[peaks + name][k]
            good &= numpy.allclose(got[:n], [float(row[column]) for row in rows], rtol=1e-3) and not got[n:].any() and got.shape == (2048,)
        print(name, good, end=" ")
    total, snr = f[peaks + "TotalIntensity"][:], f[peaks + "SNR"][:]
    # there is no background, but reflections that overlap are noise to each other
    print((snr <= 1.0001 * numpy.sqrt(total)).all(), (snr > 0.9999 * numpy.sqrt(total)).any())
if sys.argv[1] == "beam":
    print(f["cxi_version"][()], *numpy.unique(f["LCLS/photon_energy_eV"][:].round(3)), *numpy.unique(f["LCLS/detector_1/EncoderValue"][:].round(6)),
          *numpy.unique(f["entry_1/instrument_1/detector_1/x_pixel_size"][:].round(9)),
          "%.5g" % f["entry_1/instrument_1/source_1/energy"][0], f["entry_1/frame_id"][:].tolist(), f["LCLS/photon_wavelength_A"].shape)
if sys.argv[1] == "mask":
    print(mask.dtype, mask.shape, int(mask.sum()), int(mask[60:62, :4].sum()))
if sys.argv[1] == "segments":  # as the CheetahConverter of PeakNet, which adds the first row of a panel to the row in it
    good = []
    for k, n in enumerate(counts):
        x, y, panel = (f[peaks + name][k, :n] for name in ("XPosRaw", "YPosRaw", "SegPosRaw"))
        rows = {int(row["panel"]): set() for row in table("run_%d.tsv" % k)}
        for row in table("run_%d.tsv" % k):
            rows[int(row["panel"])].add((round(float(row["fast"]) - 0.5, 2), round(float(row["slow"]) - 0.5, 2)))
        good += [(round(float(a), 2), round(float(b) - 60 * p, 2)) in rows[p] for a, b, p in zip(x, y, panel.astype(int))]
    print(len(good) > 20, sum(good) > 0.95 * len(good))
if sys.argv[1] == "parts":
    parts = [h5py.File("run_data_%06d.cxi" % i) for i in (1, 2, 3)]
    print(*(numpy.array_equal(f[name][:], numpy.concatenate([p[name][:] for p in parts]))
            for name in ("entry_1/data_1/data", "entry_1/result_1/nPeaks", peaks + "XPosRaw", "entry_1/frame_id", "LCLS/machineTime")))
END
look() {
	/usr/bin/python3 look.py "$@"
}
is 'a position is the index of a pixel, in both panels' "$(look places)" 'True True'
is 'as many peaks as reflections' "$(look counts)" 'True True True True True int32 (5,)'
is 'the strongest first, and zeros after the last' "$(look strongest)" 'TotalIntensity True MaximumValue True NPixels True SegPosRaw True SNR True True True'
is 'energy, distance in mm, pixel in m, energy in J, frames' "$(look beam)" '140 12400.0 50.0 0.0002 1.9867e-15 [0, 1, 2, 3, 4] (5,)'
is 'masked pixels' "$(look mask)" 'uint16 (120, 120) 8 8'
is 'a row in a panel, and the panel before it' "$(look segments)" 'True True'
is 'the master shows what its files have' "$(look parts)" 'True True True True True'
is 'the geometry file names the peaks' "$(grep -c -e '^peak_list = /entry_1/result_1$' -e '^peak_list_type = cxi$' cxi.geom)" 2

# --- as an NXmx series
bragg-replay run.cxi | bragg-write 'again_%d.raw'
frames --frames=5 --mean-lattices=2 -- 'first_%d.raw' --reflections='first_%d.tsv'
is 'bragg-replay reads it' "$(cat again_?.raw | md5sum)" "$(cat first_?.raw | md5sum)"
check 'it is computed again' bragg-replay --recompute run.cxi:3
mkdir part
(cd part && ln -s ../two.geom . && frames --frames=5 --only=0-2 --mean-lattices=2 -- --frames-per-file=2 run.cxi &&
	frames --frames=5 --mean-lattices=2 -- --frames-per-file=2 --resume run.cxi && cp ../run_?.tsv . &&
	/usr/bin/python3 ../look.py strongest && /usr/bin/python3 ../look.py parts) >continued
is 'a run that is continued has the same peaks' "$(cat continued)" "$(look strongest; look parts)"
frames --frames=5 --mean-lattices=2 -- --frames-per-file=2 run.nxs
is 'NXmx of the same name is another series' "$(echo run*.h5)" 'run_data_000001.h5 run_data_000002.h5 run_data_000003.h5'
mkdir mixed
cp run_data_000001.h5 mixed/run_data_000001.cxi
cp two.geom mixed
other() {
	(cd mixed && frames --frames=5 --mean-lattices=2 -- --frames-per-file=2 --resume run.cxi)
}
check_status 'a data file without peaks is refused' 1 other
is 'the file in the way is named' "$(echo "$tap_output" | grep -c 'run_data_000001.cxi exists and was not written by this run')" 1

# --- none, and too many
photons=
check 'frames without reflections' frames --frames=1 -- none.cxi
is 'they have no peaks' "$(/usr/bin/python3 -c "import h5py; f = h5py.File('none.cxi'); print('result_1' in f['entry_1'], f['entry_1/data_1/data'].shape)")" \
	'False (1, 120, 120)'
photons=--reflections=1e-9 crystal='--ncells=3 --cell=200,200,200,90,90,90 --default-F=100'
check 'frames with thousands of reflections' frames --frames=1 -- --reflections=all.tsv many.cxi
is 'the strongest 2048 are kept' "$(/usr/bin/python3 -c "
import csv, h5py, numpy
f = h5py.File('many.cxi')
photons = numpy.array([float(row['photons']) for row in csv.DictReader(open('all.tsv'), delimiter='\t')])
kept = f['entry_1/result_1/peakTotalIntensity'][0]
print(photons.size > 2048, f['entry_1/result_1/nPeaks'][0], numpy.allclose(kept, numpy.sort(photons)[::-1][:2048], rtol=1e-4))")" 'True 2048 True'
finish
