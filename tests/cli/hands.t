#!/bin/sh
# F(+) and F(-) apart: two columns of an MTZ file, or a list with both mates.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy' python:numpy

# The file that ships with the tests with columns LABEL:TYPE in place of F and phase; the second is
# the first times 0.6 to 1.4, or a difference of so much; it lacks some, as others lack the first.
columns() { # FILE LABEL TYPE LABEL TYPE
	/usr/bin/python3 -c "
import sys, numpy
name, *words = sys.argv[1:]
raw = bytearray(open('$BRAGG_TESTS/golden/lysozyme_6A.mtz', 'rb').read())
rows = numpy.frombuffer(raw, '<f4', 5 * 377, 80).reshape(377, 5)
factor = 1 + 0.4 * numpy.sin(numpy.arange(377))
centric = (rows[:, :3] == 0).any(1)
factor[centric] = 1
rows[:, 4] = rows[:, 3] * (factor if words[3] != 'D' else factor - 1)
if words[3] != 'D': rows[5::50, 4] = numpy.nan; rows[7::50, 3] = numpy.nan
for at, (label, type) in ((b'COLUMN FC', words[:2]), (b'COLUMN PHIC', words[2:])):
    i = raw.index(at)
    raw[i:i + 80] = ('COLUMN %-30s %s %17.9f %17.9f %4d' % (label, type, 0, 2000, 1)).ljust(80).encode()
open(name, 'wb').write(raw)" "$@"
}
columns pair.mtz 'F(+)' G 'F(-)' G
columns dano.mtz F F DANO D

# shot NAME MISSET OPTION...: a still; the beam hits the middle of 80 x 80 pixels
engine=cpu
shot() {
	name=$1 misset=$2
	shift 2
	bragg-geometry --quiet --detpixels=80 --pixel=0.5 --distance=120 --beam-center=19.75,19.75 --polarization=0 --ncells=12 \
		--oversample=3 "$@" | bragg-orient --quiet --misset="$misset" | bragg-intensity --quiet --engine="$engine" | bragg-write --quiet --overwrite "$name"
}
holds() {
	check "$1" /usr/bin/python3 -c "
import numpy
def a(name): return numpy.fromfile(name, '<f4').reshape(80, 80).astype(float)
def same(x, y): return abs(x - y).max() < 3e-3 * x.max()
$2"
}

# --- half a turn about an axis across the beam: -h is where h was, behind a mirror
for engine in reference cpu; do
	shot one.raw 20,0,10 --mtz=pair.mtz --anomalous
	shot merged.raw 20,0,10 --mtz=pair.mtz '--column=F(+)'
	shot half.raw 20,0,190 --mtz=pair.mtz --anomalous
	shot half_merged.raw 20,0,190 --mtz=pair.mtz '--column=F(+)'
	shot swapped.raw 20,0,190 --mtz=pair.mtz '--column=F(-),F(+)'
	holds "$engine: merged mates make mirror images" "assert same(a('merged.raw'), a('half_merged.raw')[:, ::-1])"
	holds "$engine: hands do not" "assert not same(a('one.raw'), a('half.raw')[:, ::-1])"
	holds "$engine: but for the other hand" "assert same(a('one.raw'), a('swapped.raw')[:, ::-1]) and a('one.raw').max() > 50"
done
check 'the labels alone say it' shot labels.raw 20,0,10 --mtz=pair.mtz '--column=F(+),F(-)'
check '--anomalous gives the same pixels as the labels' cmp labels.raw one.raw
shot plain.raw 20,0,10 --mtz=pair.mtz '--column=F(+)'
check_status 'one column is another crystal' 1 cmp -s plain.raw one.raw

# --- F and its difference: F + D/2 and F - D/2
shot up.raw 20,0,10 --mtz=dano.mtz --anomalous
shot down.raw 20,0,10 --mtz=dano.mtz --anomalous --column=F,DANO
check 'a difference, found or named' cmp up.raw down.raw
shot mean.raw 20,0,10 --mtz=dano.mtz
check_status 'the named difference is used' 1 cmp -s up.raw mean.raw

# --- a list: Bijvoet differences of intensities are those of the squares of F
cell=50,60,70,90,90,90
awk 'BEGIN { for (h = 1; h <= 9; h++) for (k = 1; k <= 9; k++) for (l = 1; l <= 9; l++) {
	print h, k, l, 100 >"alone.hkl"
	printf "%d %d %d 100\n%d %d %d 80\n", h, k, l, -h, -k, -l >"both.hkl"
	printf "%d %d %d 100\n%d %d %d 80\n", h, k, l, h, k, -l >"other.hkl" } }'
spot() { # NAME MISSET FILE OPTION...
	name=$1 misset=$2 file=$3
	shift 3
	shot "$name" "$misset" --cell=$cell --spacegroup=P212121 --hkl="$file" "$@"
}
spot h.raw 20,0,10 both.hkl --anomalous
spot mate.raw 20,0,190 both.hkl --anomalous
spot other.raw 20,0,190 other.hkl --anomalous
spot alone.raw 20,0,10 alone.hkl --anomalous
spot friedel.raw 20,0,10 alone.hkl
holds 'photons of mates are in the ratio of the list' "
h, mate = a('h.raw'), a('mate.raw')[:, ::-1]; lit = h > 0.01 * h.max()
ratio = mate[lit] / h[lit]; is_ = lambda x: abs(ratio / x - 1) < 0.01
assert (is_(0.64) | is_(1 / 0.64)).mean() > 0.95 and is_(0.64).sum() > 20 and is_(1 / 0.64).sum() > 20, ratio"
check 'an equivalent of the mate says the same' cmp mate.raw other.raw
check 'a lone mate stands for both' cmp alone.raw friedel.raw
refused() {
	spot bad.raw 0,0,0 both.hkl 2>&1 | grep 'both.hkl:1: F of 1 1 1 is 100 in this line and 80 in a later one'
}
check 'without --anomalous a different F of a mate is refused' refused

# --- what is known about a frame makes it again
shot run.nxs 20,0,10 --mtz=pair.mtz '--column=F(+),F(-)'
check 'recomputed from its file' bragg-replay --recompute run.nxs:0
finish
