#!/bin/sh
# The column z of reflections: which of them an analysis can see, in all files and in the score.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# --- readout noise of 48 ADU at 4 ADU per photon is 12 photons
bragg-geometry --quiet --detpixels=256 --pixel=0.3 --distance=120 --ncells=12 --fluence=1e27 |
	bragg-orient --quiet --random --seed=3 --frames=2 | bragg-intensity --quiet --threads=1 --reflections |
	bragg-background --quiet --water=0.05 | bragg-noise --quiet --gain=4 --readout=48 | bragg-tap --quiet --record=noisy.rec
bragg-replay --quiet noisy.rec | bragg-write --verbose --reflections=all.tsv all.nxs 2>all.log
bragg-replay --quiet noisy.rec | bragg-write --quiet --reflections=all.stream all.cxi
bragg-replay --quiet noisy.rec | bragg-write --quiet --visible --reflections=seen.stream seen.cxi
bragg-replay --quiet noisy.rec | bragg-write --quiet --visible=20 --reflections=bright.stream bright.cxi

# counts: rows, how many have another z than the definition says, how many are above 5 and above 20, and above 5 without readout noise
read -r rows wrong seen bright calm <<END
$(awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ p = $at["photons"]; z = p / sqrt(p + $at["background"] + $at["pixels"] * 144); n++
	  wrong += !($at["z"] / z < 1.00001); alone += $at["z"] / z > 0.99999
	  seen += $at["z"] > 5; bright += $at["z"] > 20; calm += p / sqrt(p + $at["background"]) > 5 }
	END { print n, wrong || alone < 0.5 * n, seen, bright, calm }' all.tsv)
END
is 'z is photons / sqrt(photons + background + pixels x 12 photons squared), or less for reflections that overlap' "$wrong" 0
check 'the frames have visible reflections, faint ones, and some that readout noise hides' \
	[ "$bright" -gt 3 -a "$bright" -lt "$seen" -a "$seen" -lt "$calm" -a "$calm" -lt "$rows" ]
peaks() { # STREAM
	awk '/^num_peaks/ { n += $3 } /^End of peak/ { inside = 0 } inside { lines++ } /^  fs\/px   ss/ { inside = 1 } END { print n, lines }' "$1"
}
is 'all reflections are peaks of a stream' "$(peaks all.stream)" "$rows $rows"
is '--visible: those with z above 5' "$(peaks seen.stream)" "$seen $seen"
is '--visible=20: those with z above 20' "$(peaks bright.stream)" "$bright $bright"
is 'measured reflections are always all' "$(grep -c ' p0$' seen.stream)" $((rows + seen))
is 'the line at the end says how many are visible' "$(sed -n 's/.*; \(.*\) % visible (z above 5.*/\1/p' all.log)" \
	"$(awk "BEGIN { printf \"%.3g\", 100 * $seen / $rows }")"

# --- the score counts the same reflections, whatever file has the truth
awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "frame\tfast\tslow"; next }
	$at["z"] > 5 { print $at["frame"] "\t" $at["fast"] "\t" $at["slow"] }' all.tsv >peaks.tsv
for truth in all.nxs noisy.rec all.tsv; do
	bragg-score --strong=5 $truth peaks.tsv >score.out
	is "$truth: visible reflections, and that all were found" \
		"$(awk '$1 == "spots" { print $6, $7, $8, $9, $10, $11 } $1 == "spots.visible" { print $2, $3, $4, $5 }' score.out | paste -s -d' ')" \
		"precision 1 recall 1 strong $seen recall 1 n $seen"
done

# --- computed again
is 'NXmx with z is computed again' "$(bragg-replay --recompute all.nxs:1)" 'all.nxs: the same bytes, and reflections'

# --- overlaps: two lattices of one orientation share all pixels, the second has a hundredth of the photons of the first
printf '1 0 0 0 1 0 0 0 1\n1 0 0 0 1 0 0 0 1\n' >same.rot
bragg-geometry --quiet --detpixels=256 --pixel=0.3 --distance=120 --ncells=12 --fluence=1e27 |
	bragg-orient --quiet --orientations=same.rot --lattices=2 --shares=1,0.01 | bragg-intensity --quiet --threads=1 --reflections |
	bragg-write --quiet --reflections=two.tsv two.raw
is 'z of a faint reflection contains the photons of the bright one in its pixels' "$(awk -F'\t' '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ key = $at["h"] " " $at["k"] " " $at["l"]; P[$at["lattice"], key] = $at["photons"]; z[$at["lattice"], key] = $at["z"]
	  if ($at["lattice"] == 1 && $at["photons"] > 3) keys[key] = 1 }
	END { for (k in keys) { p = P[1, k]; q = P[0, k]; a = z[1, k] / (p / sqrt(p + q)); n++; near += a > 0.95; if (a < 0.5 || a > 1.02) bad++; b = z[0, k] / sqrt(q); if (b > 1.001) bad++ }
	  print (n > 5 && near > 0.5 * n), bad + 0 }' two.tsv)" '1 0'

# --- .refl: visible reflections are strong
bragg-replay --quiet noisy.rec | bragg-write --quiet --visible --reflections=seen.refl no_%d.raw
bragg-replay --quiet noisy.rec | bragg-write --quiet --overwrite --reflections=every.refl no_%d.raw
if has python:msgpack; then
	# strong FILE: number of rows, and of those with the flag strong
	strong() {
		/usr/bin/python3 -c '
import msgpack, struct, sys
table = msgpack.unpackb(open(sys.argv[1], "rb").read(), raw=True, strict_map_key=False)[2]
kind, (rows, data) = table[b"data"][b"flags"]
flags = struct.unpack(f"<{rows}Q", data)
print(rows, sum(flag & 32 > 0 for flag in flags))' "$1"
	}
	is 'all reflections of .refl are strong' "$(strong every.refl)" "$rows $rows"
	is '--visible: visible reflections of .refl are strong' "$(strong seen.refl)" "$rows $seen"
fi
bragg-replay --quiet noisy.rec | bragg-write --quiet --overwrite --preview='all_%d.png' --preview-truth no_%d.raw
bragg-replay --quiet noisy.rec | bragg-write --quiet --overwrite --preview='seen_%d.png' --preview-truth --visible no_%d.raw
check '--visible changes the circles of --preview-truth' [ "$(cmp all_0.png seen_0.png >ignored && echo same)" = "" ]

# --- options that make no sense
check_status '--visible without peaks' 2 sh -c 'bragg-replay --quiet noisy.rec 2>/dev/null | bragg-write --quiet --visible no.nxs 2>said'
check '--visible without peaks: the message' grep -q -- '--visible has no effect: there is no CXI, stream, .refl or --preview-truth output' said

if has python:h5py; then
	cat >look.py <<'END'
import sys
import h5py, numpy
cxi = {name: h5py.File(name + ".cxi") for name in ("all", "seen", "bright")}
table = h5py.File("all.nxs")["entry/reflections"]
z = table["z"][:]
variance = table["photons"][:] + table["background"][:] + 144 * table["pixels"][:]
part = z * numpy.sqrt(variance) / table["photons"][:]  # less for reflections that overlap
assert part.max() < 1 + 1e-6 and (part > 1 - 1e-5).mean() > 0.5
print(*(int(f["entry_1/result_1/nPeaks"][:].sum()) for f in cxi.values()))
ratios = cxi["seen"]["entry_1/result_1/peakSNR"][:]
assert ratios[ratios > 0].min() > 5 and abs(numpy.sort(ratios[ratios > 0]) - numpy.sort(z[z > 5])).max() == 0
for name in ("old.nxs", "old_data_000001.h5", "old_data_000002.h5"):
    old = h5py.File(name, "r+")
    del old["entry/reflections/z"], old["entry/braggpipe/checksums"]
END
	bragg-replay --quiet noisy.rec | bragg-write --quiet --frames-per-file=1 old.nxs
	is 'peaks of CXI, and their signal to noise' "$(/usr/bin/python3 look.py 2>&1)" "$rows $seen $bright"
	bragg-score --strong=5 old.nxs peaks.tsv >score.out
	is 'a file of a previous version has no readout noise' "$(awk '$1 == "spots" { print $11 }' score.out)" "$calm"
	is 'and is computed again' "$(bragg-replay --recompute old.nxs:0 2>&1)" 'old.nxs: the same bytes, and reflections'
else
	skip 'peaks of CXI, and their signal to noise' "$lack is missing"
fi

# --- Python: the same z, from the file and from the recording
if has python:h5py python:numpy python:zmq python:msgpack; then
	cat >frames.py <<'END'
import sys
import braggpipe, numpy
given = numpy.genfromtxt("all.tsv", names=True)["z"]
for name in ("all.nxs", "noisy.rec", "old.nxs"):
    frames = [frame.detach() for frame in braggpipe.open(name)]
    z = numpy.concatenate([frame.reflections["z"] for frame in frames])
    score = braggpipe.score(frames, lambda frame: frame.reflections[frame.reflections["z"] > 5], strong_sigma=5)
    print(name, abs(z / given - 1).max() < 1e-5, score.strong, score.recall)
END
	is 'z in Python' "$(PYTHONPATH="$BRAGG_TESTS/../pipelines" /usr/bin/python3 frames.py 2>&1)" "all.nxs True $seen 1.0
noisy.rec True $seen 1.0
old.nxs False $calm 1.0"
else
	skip 'z in Python' "$lack is missing"
fi
finish
