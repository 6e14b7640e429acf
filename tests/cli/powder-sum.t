#!/bin/sh
# bragg-write --powder-sum: the sum of all frames is that of their pixels, in any order, as each format
# stores it; masked pixels stay masked, and nothing is written that is not the sum of all frames.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
says() { grep -q -- "$@"; }
geometry() {
	bragg-geometry --quiet --detpixels=30,20 --pixel=0.5 --distance=60 --ncells=5 --fluence=1e28 --default-F=100 --cell=40,50,60 "$@"
}
photons() { # OPTION...
	geometry --roi=3,29,0,19 | bragg-orient --quiet --frames=6 --random --seed=2 --fluence-jitter=30 "$@" |
		bragg-intensity --quiet --threads=1 | bragg-background --quiet --flat=0.3
}
counts() {
	photons | bragg-noise --quiet --dead=0.03 --adc-offset=10 "$@"
}
# plain FILE: the pixels of a .raw file, one a line
plain() {
	od -An -v -tf4 -w4 "$1" | awk '{ printf "%.7g\n", $1 }'
}
# added PLACES MASKED FILE...: the sums of the pixels of files, 0 where MASKED holds -2
added() {
	format="%.$1g\n" masked=$2
	shift 2
	for file; do
		plain "$file" >"$file.text"
	done
	plain "$masked" | paste - $(for file; do echo "$file.text"; done) |
		awk -v format="$format" '{ s = 0; for (i = 2; i <= NF; i++) s += $i; printf format, $1 == -2 ? 0 : s }'
}
refused() { # NAME TEXT STATUS COMMAND
	check_status "$1" "$3" sh -c "$4"
	check "$1: says why" says "$2" <<END
$tap_output
END
}

# --- counts
counts | bragg-tap --record=counts.rec
write() {
	bragg-replay --quiet counts.rec | bragg-write --quiet "$@"
}
write --powder-sum=sum.cbf
is 'no template, no other file' "$(echo sum* ./*index)" 'sum.cbf ./*index'
bragg-replay --quiet sum.cbf | bragg-write --quiet cbf_%d.raw
check 'masked pixels and those outside of the region of interest stay masked' test "$(plain cbf_0.raw | grep -c '^-2$')" -gt 65
write --powder-sum=sum.raw 'frame_%d.raw'
is 'sums of counts' "$(plain sum.raw)" "$(added 7 cbf_0.raw frame_?.raw)"
check 'there are counts' test "$(plain sum.raw | sort -g | tail -n 1)" -gt 100
is 'sums in CBF' "$(plain cbf_0.raw | sed 's/^-2$/0/')" "$(plain sum.raw)"
tr -d '\r' <sum.cbf | head -c 8192 | grep -a '^# ' >header
is 'the header has the exposure, offset and fluence of six frames' \
	"$(sed -n 's/^# Exposure_time //p; s/^# ADC_offset //p; s/^# BRAGG_FLUENCE //p' header)" '6 s
60 counts
6e+28'
write --powder-sum=sum.nxs run.nxs
bragg-replay --quiet sum.nxs | bragg-write --quiet nxs_%d.raw
check 'sums in NXmx, besides the frames' cmp nxs_0.raw sum.raw
is 'one sum of six frames' "$(bragg-replay --quiet sum.nxs | bragg-tap --print | grep -c ^frame) $(bragg-replay --quiet run.nxs | bragg-tap --print | grep -c ^frame)" '1 6'
write --powder-sum=sum.png
is 'a picture' "$(head -c 4 sum.png | tail -c 3)" PNG
for file in sum.cbf sum.nxs; do
	refused "$file is no frame to compute again" 'is the sum of 6 frames; expected a single frame' 3 "bragg-replay --recompute $file"
done
bragg-replay --quiet --first=5 counts.rec | bragg-write --quiet --powder-sum=five.cbf
is 'sums of other frames have another lineage' "$(for file in sum five; do tr -d '\r' <$file.cbf | head -c 8192 | grep -a LINEAGE; done | sort -u | wc -l)" 2

# --- photons: the float32 0.1 is 0.100000001490116, and sums of ten in float32 are 1.0000001
geometry | bragg-orient --quiet --frames=10 --hit-rate=0 | bragg-intensity --quiet --threads=1 | bragg-background --quiet --flat=0.1 |
	bragg-write --quiet --powder-sum=tenth.raw
is 'photons are added exactly' "$(od -An -v -tf4 -w4 tenth.raw | awk '{ print $1 }' | sort -u)" 1
photons | bragg-tap --record=photons.rec
bragg-replay --quiet photons.rec | bragg-write --quiet --powder-sum=photons.raw 'photons_%d.raw'
added 7 photons.raw photons_?.raw >expected
is 'sums of photons' "$(plain photons.raw | paste - expected | awk '{ d = $1 - $2; if (d * d > 1e-10 * $1 * $1) n++; t += $1 } END { print n + 0, (t > 1000) }')" '0 1'
bragg-replay --quiet photons.rec | bragg-write --quiet --powder-sum=photons.cbf --scale=1000
bragg-replay --quiet photons.cbf | bragg-write --quiet scaled_%d.raw
is 'photons as integers' "$(plain scaled_0.raw | sed 's/^-2$/0/' | paste - expected | awk '{ d = $1 - 1000 * $2; if (d * d > 0.27) n++ } END { print n + 0 }')" 0
cat >workers.yaml <<-YAML
	stages:
	- {name: replay, args: [photons.rec]}
	- {name: background, count: 3, args: [--flat=0.3]}
	- {name: write, args: [--powder-sum=workers.raw]}
YAML
bragg-replay --quiet photons.rec | bragg-background --quiet --flat=0.3 | bragg-write --quiet --powder-sum=one.raw
check 'three workers' bragg-run --quiet --workdir=by3 workers.yaml
check 'make the same bytes' cmp one.raw by3/workers.raw

# --- what is not the sum of all frames
refused 'two processes' "must run as one process. Set 'count: 1'" 2 \
	"sed 's/name: write,/name: write, count: 2,/' workers.yaml >two.yaml && bragg-run --quiet --workdir=by2 two.yaml"
check 'leave no sum' test ! -e by2/workers.raw
refused 'a run that is continued' 'cannot be used with --resume, because the sum' 2 'bragg-replay --quiet counts.rec | bragg-write --quiet --resume --powder-sum=more.cbf run.nxs'
refused 'an existing file' 'sum.cbf' 1 'bragg-replay --quiet counts.rec | bragg-write --quiet --powder-sum=sum.cbf'
refused 'an existing data file' 'sum_data_000001.h5' 1 'mv sum.nxs aside && bragg-replay --quiet counts.rec | bragg-write --quiet --powder-sum=sum.nxs'
cp sum.cbf before.cbf
check 'replaced with --overwrite' sh -c 'bragg-replay --quiet photons.rec | bragg-write --quiet --overwrite --scale=1 --powder-sum=sum.cbf && ! cmp -s sum.cbf before.cbf'
check 'NXmx, too' write --overwrite --powder-sum=sum.nxs
bragg-replay --quiet sum.nxs | bragg-write --quiet again_%d.raw
check 'with the sums as before' cmp again_0.raw sum.raw
refused 'gain levels' 'words of several gain levels, which cannot be added' 3 \
	'bragg-geometry --quiet --detector=jungfrau-1m --distance=100 | bragg-orient --quiet | bragg-intensity --quiet --threads=1 | bragg-noise --quiet --gain-switching | bragg-write --quiet --powder-sum=words.cbf'
refused 'photons in CBF' 'CBF stores integers' 3 'bragg-replay --quiet photons.rec | bragg-write --quiet --powder-sum=p.cbf'
refused 'counts that are to be scaled' 'scale needs float32 photons' 3 'bragg-replay --quiet counts.rec | bragg-write --quiet --scale=2 --powder-sum=p.png'
refused 'SMV' 'this format cannot store a sum' 2 'bragg-replay --quiet counts.rec | bragg-write --quiet --powder-sum=p.img'
refused 'a number' 'the name has a number' 2 'bragg-replay --quiet counts.rec | bragg-write --quiet --powder-sum=p_%d.cbf'
refused 'the name of a frame' 'name the same files' 2 'bragg-replay --quiet counts.rec | bragg-write --quiet --powder-sum=p_3.raw p_%d.raw'
refused 'the data files of the frames' 'name the same files' 2 'bragg-replay --quiet counts.rec | bragg-write --quiet --powder-sum=p.h5 p.nxs'
refused 'neither a template nor a sum' 'missing argument: TEMPLATE' 2 'bragg-replay --quiet counts.rec | bragg-write --quiet'
refused 'an option for frames alone' 'has no effect' 2 'bragg-replay --quiet counts.rec | bragg-write --quiet --frames-per-file=2 --powder-sum=p.nxs'
geometry | bragg-orient --quiet --frames=5 | bragg-intensity --quiet --threads=1 | bragg-background --quiet --flat=1e9 | bragg-noise --quiet --adc-offset=0 --bits=32 |
	bragg-tap --record=large.rec
refused 'sums above the integers of the format' 'the sum of pixel 0 is ' 3 'bragg-replay --quiet large.rec | bragg-write --quiet --powder-sum=large.nxs'
refused 'at once, also in a run without an end' 'the sum of pixel 0 is ' 3 'bragg-replay --quiet --loop=forever large.rec | timeout 60 bragg-write --quiet --powder-sum=large.cbf'
check 'leave no file' sh -c '! ls large*.nxs large*.h5 2>/dev/null'
check 'and fit into float32' sh -c 'bragg-replay --quiet large.rec | bragg-write --quiet --powder-sum=large.raw'
finish
