#!/bin/sh
# bragg-orient --runs and --beam-jitter: what differs from run to run, and where the beam goes.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy' python:numpy

cat >runs.txt <<-'END'
	# what changes
	first fluence energy_eV hit_rate label
	0     -       -         0        empty
	20    2       9100      1        -
	50    0.5     -         0.3      sparse  # to the end
END
shots() { # NAME 'GEOMETRY OPTIONS' OPTION...
	name=$1 how=$2
	shift 2
	# shellcheck disable=SC2086 # options are words
	bragg-geometry --quiet --detpixels=48 --pixel=2 --distance=120 --ncells=8 --oversample=1 ${how:---energy=9000 --fluence=1e25} |
		bragg-orient --quiet --random --seed=3 --truth="$name.tsv" "$@" | bragg-intensity --quiet --precision=double |
		bragg-write --quiet "${name}_%d.raw"
}
shots blocks '' --frames=400 --runs=runs.txt
check 'each frame is of its run' /usr/bin/python3 -c "
import csv, math
rows = list(csv.DictReader(open('blocks.tsv'), delimiter='\t'))
assert len(rows) == 400 and {(r['run'], r['label']) for r in rows} == {('0', 'empty'), ('1', '-'), ('2', 'sparse')}
for i, r in enumerate(rows):
    run = 0 if i < 20 else 1 if i < 50 else 2
    energy = [9000, 9100, 9000][run]
    assert int(r['run']) == run and float(r['fluence']) == [1, 2, 0.5][run], r
    assert abs(float(r['wavelength_A']) * energy / 12398.4198 - 1) < 1e-6, r
hits = [sum(int(r['lattices']) for r in rows if r['run'] == k) for k in '012']
assert hits[:2] == [0, 30] and abs(hits[2] - 105) < 4 * math.sqrt(350 * 0.3 * 0.7), hits"
shots as_ever '' --frames=22
shots second '--energy=9100 --fluence=2e25' --only=21
check 'a run by itself is that run' bragg-compare --max-error=1e-6 --floor=1e-6 --shape=48,48 blocks_21.raw second_21.raw
printf 'first label\n0 a\n7 b\n' >named.txt
shots named '' --frames=22 --runs=named.txt
check 'names alone change no pixel' sh -c 'cmp as_ever_3.raw named_3.raw && cmp as_ever_21.raw named_21.raw'
is 'tables without runs have no column of them' "$(head -n 1 as_ever.tsv | grep -c 'label\|urad')" 0
printf 'first mixture\n0 1,0\n6 0,1\n' >mixed.txt
bragg-geometry --quiet --detpixels=8 '--crystal=name=a cell=70,80,90,90,90,90 default-F=100' '--crystal=name=b cell=50,60,40,90,90,90 default-F=100' |
	bragg-orient --quiet --random --frames=12 --runs=mixed.txt --mixture=1,1 --truth=mixed.tsv | bragg-tap --quiet >/dev/null
is 'a mixture of each run' "$(awk -F'\t' 'NR > 1 { printf "%s", $7 }' mixed.tsv)" aaaaaabbbbbb

# --- the beam goes elsewhere: the reflection 0 0 0 is where it hits, 1 m away
bragg-geometry --quiet --detpixels=80 --pixel=0.1 --distance=1000 --cell=50,50,50,90,90,90 --default-F=100 --ncells=10 --shape=gauss --fluence=1e28 \
	--no-polarization | bragg-orient --quiet --frames=60 --beam-jitter=400 --seed=9 --truth=beam.tsv | bragg-intensity --quiet --precision=double |
	bragg-write --quiet beam_%d.raw
check 'where the table says, as far as was asked for' /usr/bin/python3 -c "
import csv, numpy as np
rows = list(csv.DictReader(open('beam.tsv'), delimiter='\t'))
told = np.array([[float(r['beam_x_urad']), float(r['beam_y_urad'])] for r in rows]) * 1e-3
y, x = np.indices((80, 80)) + 0.5
seen = []
for i in range(60):
    a = np.log(np.maximum(np.fromfile(f'beam_{i}.raw', 'f4').reshape(80, 80), 1e-30))
    near = a > a.max() - 1
    fit = np.linalg.lstsq(np.stack([x, y, x * x + y * y, np.ones_like(x)], -1)[near], a[near], rcond=None)[0]
    seen.append([-fit[0] / (2 * fit[2]) * 0.1, -fit[1] / (2 * fit[2]) * 0.1])
seen = np.array(seen)
shift = seen - told * [1, np.sign(np.dot(told[:, 1], seen[:, 1] - seen[:, 1].mean()))]
print(np.abs(shift - shift.mean(0)).max(), told.std(0), shift.mean(0))
assert np.abs(shift - shift.mean(0)).max() < 2e-3
assert (abs(told.std(0) / 0.4 - 1) < 0.3).all() and abs(told.mean(0)).max() < 0.2"
finish
