#!/bin/sh
# bragg-orient --coffset and its kin: frames of a detector that moves are those of one that stands there,
# and whatever tells of a frame says so.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a detector that moves' python:numpy python:zmq python:msgpack
scratch

geometry() {
	bragg-geometry --quiet --detpixels=120,100 --pixel=0.4 --ncells=5 --cut=2,2 --thickness=320 --oversample=1 --beam-center=19,23 "$@"
}
# frames NAME ENGINE GEOMETRY ORIENT...
frames() {
	name=$1 how=$2 where=$3
	shift 3
	# shellcheck disable=SC2086 # options are meant to split
	geometry $where | bragg-orient --quiet --frames=2 --random --seed=3 "$@" | bragg-intensity --quiet $how |
		bragg-background --quiet --water=1 --streak=1e6 | bragg-write --quiet --overwrite "$name"
}

# --- the pixels: in binary 0.125 m and 0.03125 m are whole
for engine in reference cpu; do
	frames there_%d.raw --engine=$engine --distance=156.25
	frames moved_%d.raw --engine=$engine --distance=125 --coffset=31.25
	frames still_%d.raw --engine=$engine --distance=125
	for k in 0 1; do
		check "$engine: frame $k is that of a detector at this distance" cmp there_$k.raw moved_$k.raw
		check_status "$engine: ... and of no other" 1 cmp -s still_$k.raw moved_$k.raw
	done
done
printf '# mm\n-31.25\n0\n' >along.txt
frames near_%d.raw --precision=double --distance=93.75
frames far_%d.raw --precision=double --distance=125
frames list_%d.raw --precision=double --distance=125 --shifts=along.txt
check 'the first of a list' cmp near_0.raw list_0.raw
check 'the second of a list' cmp far_1.raw list_1.raw
frames large_%d.raw '' '--distance=156.25 --crystal-size=2 --beam-size=3'
frames large_moved_%d.raw '' '--distance=125 --crystal-size=2 --beam-size=3' --coffset=31.25
check 'a crystal of some pixels' cmp large_1.raw large_moved_1.raw

# --- across the beam: a detector that moves by a pixel sees what its neighbour saw
printf '0.4 0 0\n' >x.txt
printf '0 0.4 0\n' >y.txt
for to in x y; do
	geometry --distance=125 | bragg-orient --quiet --random --shifts=$to.txt --truth=$to.tsv | bragg-intensity --quiet --precision=double |
		bragg-write --quiet --scale=1 $to.raw $to.cbf
done
geometry --distance=125 | bragg-orient --quiet --random --truth=none.tsv | bragg-intensity --quiet --precision=double | bragg-write --quiet none.raw
check 'x is along the fast axis, y along the slow one or against it' /usr/bin/python3 -c "
import numpy
def a(name):
    raw, out = numpy.fromfile(name, '<f4').astype(float), numpy.zeros((100, 120))
    for i in range(4):
        out[i // 2 * 50:][:50, i % 2 * 60:][:, :60] = raw[i * 3000:][:3000].reshape(50, 60)
    return out
n, x, y = a('none.raw'), a('x.raw'), a('y.raw')
def off(p, q): return abs(p - q).max() / n.max()
assert off(x[:, :-1], n[:, 1:]) < 1e-6 < 1e-2 < off(x, n)
assert min(off(y[:-1], n[1:]), off(y[1:], n[:-1])) < 1e-6 < 1e-2 < off(y, n)"
is 'the table has how far' "$(cut -f37-39 x.tsv | tr '\n' ' ')" "$(printf 'shift_x_mm\tshift_y_mm\tcoffset_mm 0.4\t0\t0 ')"
is 'the table has no offset where nothing moves' "$(grep -c coffset none.tsv)" 0

is 'a tap shows it' "$(geometry --distance=125 | bragg-orient --quiet --coffset=2 | bragg-tap | grep -o "shift_mm=[^ ]*")" 'shift_mm=2,0,0'

# --- jitter
geometry --distance=125 | bragg-orient --quiet --frames=1000 --coffset=2 --coffset-jitter=50 --shift-jitter=20 --seed=5 --truth=many.tsv | bragg-tap --quiet >/dev/null
check 'each axis has its own width of offsets' /usr/bin/python3 -c "
import csv, numpy
rows = list(csv.DictReader(open('many.tsv'), delimiter='\t'))
a = numpy.array([[float(r[k]) for k in ('shift_x_mm', 'shift_y_mm', 'coffset_mm')] for r in rows])
print(a.mean(0), a.std(0), numpy.corrcoef(a.T))
rms = numpy.array([0.02, 0.02, 0.05])
assert (abs(a.mean(0) - [0, 0, 2]) < 4 * rms / 1000**0.5).all() and (abs(a.std(0) / rms - 1) < 0.09).all()
assert abs(numpy.corrcoef(a.T) - numpy.eye(3)).max() < 0.13"
geometry --distance=125 | bragg-orient --quiet --only=700 --coffset=2 --coffset-jitter=50 --shift-jitter=20 --seed=5 --frames=1000 --truth=one.tsv | bragg-tap --quiet >/dev/null
check 'a frame alone is what it is among all' cmp one.tsv many.tsv

# --- what files say
bragg-geometry --quiet --detpixels=120,100 --pixel=0.4 --ncells=5 --oversample=1 --beam-center=19,23 --distance=125 |
	bragg-orient --quiet --frames=3 --random --coffset-jitter=3000 --shift-jitter=300 --truth=t.tsv | bragg-intensity --quiet --reflections=1 |
	bragg-noise --quiet | bragg-write --quiet f_%d.cbf f_%d.img f.nxs --reflections=f.refl
bragg-geometry --quiet --detpixels=120,100 --pixel=0.4 --ncells=5 --oversample=1 --beam-center=19,23 --distance=125 |
	bragg-orient --quiet --frames=3 --random --coffset-jitter=3000 --shift-jitter=300 | bragg-intensity --quiet --reflections=1 |
	bragg-write --quiet g.nxs --reflections=g.stream
# told FRAME: mm along the beam, by the table
told() {
	awk -F'\t' -v k="$1" 'NR > 1 && $1 == k { printf "%.6f", 125 + $39 }' t.tsv
}
for k in 0 1 2; do
	is "CBF: frame $k" "$(sed -n 's/# Detector_distance \([0-9.]*\) m.*/\1/p' f_$k.cbf | awk '{ printf "%.6f", 1000 * $1 }')" "$(told $k)"
	is "SMV: frame $k" "$(sed -n 's/^DISTANCE=\(.*\);$/\1/p' f_$k.img | awk '{ printf "%.6f", $1 }')" "$(told $k)"
	is "CrystFEL: frame $k" "$(sed -n 's/average_camera_length = \(.*\) m/\1/p' g.stream | sed -n $((k + 1))p)" \
		"$(told $k | awk '{ printf "%.6f", $1 / 1000 }')"
done
for file in f_0.cbf f_1.img f.nxs:2; do
	check "CrystFEL: bragg-replay recomputes $file to the same bytes" sh -c "bragg-replay --recompute $file | grep -q 'the same bytes'"
done
check 'DIALS: a detector for each still' /usr/bin/python3 -c "
import csv, json
e = json.load(open('f.expt'))
for row in csv.DictReader(open('t.tsv'), delimiter='\t'):
    d = e['detector'][e['experiment'][int(row['frame'])]['detector']]
    assert abs(d['panels'][0]['origin'][2] + 125 + float(row['coffset_mm'])) < 1e-6, d"
for key in f.nxs f.refl; do
	bragg-score $key f.refl --json=score.json >/dev/null
	check "$key: the detector of the results is where it was" /usr/bin/python3 -c "
import json
s = json.load(open('score.json'))
s = s.get('scores', s)
assert 'geometry_px' in s and abs(s['geometry_px']['fast']) + abs(s['geometry_px']['slow']) + s['geometry_px']['fast_mad'] < 1e-9, s['geometry_px']"
done
bragg-replay f.nxs | bragg-write --quiet again_%d.cbf
grep -a '^# Detector_distance\|^# Beam_xy' again_2.cbf >again_2.part
check 'a series played again knows it' sh -c "grep -a '^# Detector_distance\|^# Beam_xy' f_2.cbf | cmp - again_2.part"

check 'the Python library tells it, of files and of frames' env PYTHONPATH="$BRAGG_TESTS/../pipelines" /usr/bin/python3 -c "
import csv, numpy, braggpipe
rows = list(csv.DictReader(open('t.tsv'), delimiter='\t'))
for frame in braggpipe.open('f.nxs'):
    row, lab = rows[frame.number], frame.experiment
    told = [float(row[k]) for k in ('coffset_mm', 'shift_x_mm', 'shift_y_mm')]
    want = told[0] * lab.beam + told[1] * lab.panels[0].fast + told[2] * lab.panels[0].slow
    assert abs(frame.truth.shift_m * 1e3 - want).max() < 1e-6, (frame.truth.shift_m, want)
    assert abs(lab.panels[0].origin_m @ lab.beam - 0.125) < 1e-9"

# --- what depends on the geometry follows
looks() { # NAME DISTANCE ORIENT...: what people see, with rings and predicted spots
	name=$1 distance=$2
	shift 2
	bragg-geometry --quiet --detpixels=600 --pixel=0.2 --ncells=10 --oversample=1 --distance="$distance" --fluence=1e26 --cut=2,2 |
		bragg-orient --quiet --random "$@" | bragg-intensity --quiet | bragg-write --quiet --preview="$name" --preview-truth --overwrite "${name%png}raw"
}
looks there.png 156.25
looks moved.png 125 --coffset=31.25
looks still.png 125
check 'rings and circles move, too' cmp there.png moved.png
check_status '... and are not where they were' 1 cmp -s still.png moved.png
bragg-geometry --quiet --detpixels=60 --pixel=0.8 --ncells=5 --oversample=1 --distance=156.25 | bragg-orient --quiet --random |
	bragg-fisher --quiet --parameters=rot,scale >there.txt
bragg-geometry --quiet --detpixels=60 --pixel=0.8 --ncells=5 --oversample=1 --distance=125 | bragg-orient --quiet --random --coffset=31.25 |
	bragg-fisher --quiet --parameters=rot,scale >moved.txt
check 'error bars are those of a detector there' sh -c "sed 's/156.25/125/' there.txt | cmp - moved.txt"
bragg-geometry --quiet --detpixels=256 --pixel=0.4 --distance=100 --cell=50,60,70,90,90,90 --ncells=15 --default-F=100 --fluence=3e24 --oversample=3 |
	bragg-orient --quiet --random --frames=2 --coffset-jitter=2000 --shift-jitter=500 | bragg-intensity --quiet |
	bragg-background --quiet --water=0.05 | bragg-tap --record=refined.rec >/dev/null 2>&1
bragg-replay --quiet refined.rec | bragg-noise --quiet --bits=32 |
	bragg-refine --start=refined.rec --parameters=rot,cell --table=refined.tsv >/dev/null 2>&1
check 'refinement has the detector where it was: cells within 4 of their error bars' /usr/bin/python3 -c "
import csv
rows = list(csv.DictReader(open('refined.tsv'), delimiter='\t'))
assert [r['verdict'] for r in rows] == ['good', 'good']
for r in rows:
    for edge, A in zip('abc', (50, 60, 70)):
        assert abs(float(r[f'cell_{edge}_A']) - A) < 4 * float(r[f'error_cell_{edge}_A']), r"
finish
