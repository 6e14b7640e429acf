#!/bin/sh
# f' and f'' of atoms: structure factors against the sum over atoms in Python.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy, msgpack and gemmi' python:numpy python:msgpack gemmi
cp "$BRAGG_TESTS/golden/lysozyme_6A.mtz" good.mtz
export XDG_CACHE_HOME="$tap_scratch/cache"

cat >sites.txt <<'END'
# two atoms, one of them in half of the cells
Se 0.55253801 0.29197528 0.07323787 1 17.81
Se 0.42970099 0.31643073 0.24546974 0.5 20.27
Fe 0.09999661 0.19999708 0.29999672
END
cat >fprime.txt <<'END'
Se 12650 -9 1
Se 12660 -11 4
Fe 7000 0.5 2.5
Fe 13000 0.5 2.5
END

# factors NAME OPTION...: F of the experiment as h k l F in NAME
factors() {
	name=$1
	shift
	rm -f experiment.rec
	bragg-geometry --detpixels=8 --energy=12655 --dmin=6 "$@" 2>said | bragg-orient --quiet | bragg-tap --quiet --record=experiment.rec &&
		/usr/bin/python3 "$BRAGG_TESTS/python/factors.py" experiment.rec >"$name"
}
# sum NAME F' F'' F' F'' [WITHIN]: the same by the formula, of Se and Fe, from amplitudes and phases of the file
sum() {
	/usr/bin/python3 -c "
import sys, numpy
f = {'Se': complex(float(sys.argv[1]), float(sys.argv[2])), 'Fe': complex(float(sys.argv[3]), float(sys.argv[4]))}
raw = open('good.mtz', 'rb').read()
rows = numpy.frombuffer(raw, '<f4', 5 * 377, 80).reshape(377, 5).astype(float)
atoms = [line.split() for line in open('sites.txt') if line[0] != '#']
known = {}
for h, k, l, F, phase in rows:
    s_sqr = (h / 59.062) ** 2 + (k / 68.451) ** 2 + (l / 30.517) ** 2
    for hand in (1, -1):
        total = F * numpy.exp(1j * hand * numpy.radians(phase))
        for atom in atoms:
            x, y, z = map(float, atom[1:4])
            occupancy, B = (list(map(float, atom[4:])) + [1, 0])[:2] if len(atom) > 4 else (1, 0)
            for X, Y, Z in ((x, y, z), (.5 - x, -y, .5 + z), (-x, .5 + y, .5 - z), (.5 + x, .5 - y, -z)):
                total += f[atom[0]] * occupancy * numpy.exp(-B * s_sqr / 4 + 2j * numpy.pi * hand * (h * X + k * Y + l * Z))
        for a, b, c in ((1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)):
            known[hand * a * h, hand * b * k, hand * c * l] = abs(total)
ours = {tuple(map(float, line.split()[:3])): float(line.split()[3]) for line in open('$1')}
assert set(ours) == set(known), (len(ours), len(known))
worst = max(abs(ours[h] - known[h]) / max(known[h], 1) for h in known)
differ = max(abs(ours[h] - ours[tuple(-i for i in h)]) for h in ours)
assert worst < float((sys.argv + [1e-4])[5]), worst
assert differ > 5, differ" "$2" "$3" "$4" "$5" ${6:+"$6"}
}
factors ours --mtz=good.mtz --sites=sites.txt --fprime=fprime.txt
check 'measured values: F(+) and F(-) of every reflection' sum ours -10 2.5 0.5 2.5
factors table --mtz=good.mtz --column=FC,PHIC --sites=sites.txt --verbose
said() { # ELEMENT
	sed -n "s/.* $1 at 12655 eV: f' = \(.*\), f'' = \(.*\) electrons/\1 \2/p" said
}
# shellcheck disable=SC2046 # words
check 'the values that ship, as they are told' sum table $(said '2 Se') $(said '1 Fe')
factors wide --mtz=good.mtz --sites=sites.txt --dispersion=0.5 --dispersion-steps=5
is 'a beam across the edge is warned of' "$(grep -c "warning: f' and f'' of Se change by 4.* electrons over the wavelengths of the beam" said) $(grep -c warning said)" '1 1'
# a mutant: the hand of the cell is turned over
sed 's/ 0\.\(........\) 0\.\(........\) 0\.\(........\)/ -0.\1 -0.\2 -0.\3/' sites.txt >other.txt
factors other --mtz=good.mtz --sites=other.txt --fprime=fprime.txt
check_status 'atoms at -x are others' 1 sum other -10 2.5 0.5 2.5 2>/dev/null
printf 'Se 12655 -10 0\nFe 12655 3 0\n' >real.txt
factors real --mtz=good.mtz --sites=sites.txt --fprime=real.txt
mates() {
	awk '{ F[$1, $2, $3] = $4 } END { for (h in F) { split(h, i, SUBSEP); d = F[h] - F[-i[1], -i[2], -i[3]]; if (d * d > 1e-12) exit 1 } }' real
}
check "without f'' Friedel's law holds" mates
factors key --crystal="name=one mtz=good.mtz sites=sites.txt fprime=fprime.txt"
check 'a crystal has atoms of its own' cmp key ours

# --- a model: a program that stands for gemmi
/usr/bin/python3 -c "
import numpy
raw = bytearray(open('good.mtz', 'rb').read())
rows = numpy.frombuffer(raw, '<f4', 5 * 377, 80).reshape(377, 5)
rows[:, 3] *= 1.3
rows[:, 4] += 70 * numpy.sin(numpy.arange(377))
open('light.mtz', 'wb').write(raw)
open('other.mtz', 'wb').write(raw.replace(b'59.0620', b'59.1620'))"
mkdir fake
cat >fake/gemmi <<'END'
#!/bin/sh
case $1 in
--version) echo 'gemmi 0.0' ;;
sfcalc)
	for word; do case $word in --to-mtz=*) to=${word#*=} ;; *.cif) model=$word ;; esac; done
	mtz=good.mtz
	grep -q ' 32\.635 ' "$model" && mtz=light.mtz
	[ "$(grep -c ' FE ' "$model")" -gt 1 ] && mtz=other.mtz
	cat $mtz >"$to" ;;
*) exec "$GEMMI" "$@" ;;
esac
END
chmod +x fake/gemmi
GEMMI=$(command -v gemmi)
export GEMMI
PATH=$tap_scratch/fake:$PATH
cat >good.pdb <<'END'
CRYST1   59.062   68.451   30.517  90.00  90.00  90.00 P 21 21 21    4          
ATOM      1  N   MET A  12      30.000  10.000   5.000  1.00 10.00           N  
ATOM      2 SE   MET A  12      32.634  19.986   2.235  1.00 17.81          SE  
HETATM    3 SE   MET A 105      25.379  21.660   7.491  0.50 20.27          SE  
ATOM      4 FE   HEM A 106       5.906  13.690   9.155  1.00  0.00          FE  
END
# the same atoms in another setting of axes: x, y and z along a, -c and b
awk '/^CRYST1/ { print
	printf "SCALE1      %8.6f  %8.6f  %8.6f        0.00000\n", 1 / 59.062, 0, 0
	printf "SCALE2      %8.6f  %8.6f  %8.6f        0.00000\n", 0, 0, 1 / 68.451
	printf "SCALE3      %8.6f %9.6f  %8.6f        0.00000\n", 0, -1 / 30.517, 0
	next }
	{ printf "%s%8.3f%8.3f%8.3f%s\n", substr($0, 1, 30), substr($0, 31, 8), -substr($0, 47, 8), substr($0, 39, 8), substr($0, 55) }' good.pdb >scale.pdb
cp good.pdb 'my model.pdb'
cp good.pdb mine.pdb
factors model --model='my model.pdb' --anomalous --fprime=fprime.txt
check 'atoms of a model' sum model -10 2.5 0.5 2.5
factors scale --model=scale.pdb --anomalous --fprime=fprime.txt
# gemmi 0.6.5 (Debian 13) does not compute with such axes: it gets those of the cell.
check 'atoms of a model with axes of its own scatter anomalously' sum scale -10 2.5 0.5 2.5 3e-3
factors sites --model='my model.pdb' --sites=sites.txt --fprime=fprime.txt
check 'sites of --sites replace the atoms of the model' sum sites -10 2.5 0.5 2.5

# --- a part of the molecules is excited
sed "s|34 |35 |" good.pdb >light.pdb
sed 's/5\.906/8.906/' good.pdb | tail -n 3 | cat good.pdb - >other.pdb
factors dark --model='my model.pdb'
factors light --model='my model.pdb' --light=light.pdb --light-occupancy=0.3
mixed() { # DARK LIGHT OCCUPANCY
	/usr/bin/python3 -c "
import sys, numpy
occupancy = float(sys.argv[3])
read = lambda name: numpy.frombuffer(open(name, 'rb').read(), '<f4', 5 * 377, 80).reshape(377, 5).astype(float)
dark, light = (rows[:, 3] * numpy.exp(1j * numpy.radians(rows[:, 4])) for rows in (read('good.mtz'), read('light.mtz')))
wanted = dict(zip(map(tuple, read('good.mtz')[:, :3]), abs((1 - occupancy) * dark + occupancy * light)))
ours = {tuple(map(float, line.split()[:3])): float(line.split()[3]) for line in open(sys.argv[1])}
plain = {tuple(map(float, line.split()[:3])): float(line.split()[3]) for line in open(sys.argv[2])}
assert set(ours) == set(plain)
for hkl in wanted:
    for mate in hkl, tuple(-i for i in hkl):
        assert abs(ours[mate] - wanted[hkl]) < 1e-4 * max(wanted[hkl], 1), (mate, ours[mate], wanted[hkl])
change = numpy.mean([abs(ours[hkl] / plain[hkl] - 1) for hkl in ours])
assert (change > 0.03) == (occupancy > 0), change" "$@"
}
check 'amplitudes are mixed with their phases' mixed light dark 0.3
factors none --model='my model.pdb' --light=light.pdb --light-occupancy=0
check 'an excited occupancy of 0 gives the dark amplitudes' mixed none dark 0
factors key --model=mine.pdb --crystal="name=one light=light.pdb light-occupancy=0.3"
check 'options of --crystal give the same amplitudes' cmp key light

# --- what cannot be
refused() { # WHAT STATUS OPTION...
	what=$1 wanted=$2
	shift 2
	status=0
	bragg-geometry --out="@ipc://$PWD/nobody" --dmin=6 "$@" >said 2>&1 || status=$?
	is "$what" "$status $(wc -l <said) $(grep -cF -e "$what" said)" "$wanted 1 1"
}
grep -v 'SE  $\|FE  $' good.pdb >light.pdb
refused 'light.pdb: no atom scatters anomalously; expected Na or a heavier element' 3 --model=light.pdb --anomalous
sed 's/32.634/abcdef/' good.pdb >words.pdb
refused "words.pdb:3: x is not a number (got '  abcdef')" 3 --model=words.pdb --anomalous
refused "no column 'PHI'" 3 --mtz=good.mtz --column=FC,PHI --sites=sites.txt
refused "column 'FC' is not a phase; expected type P" 3 --mtz=good.mtz --column=FC,FC --sites=sites.txt
refused "'FC' is one column, amplitudes need phases, with labels such as 'FC,PHIC'" 2 --mtz=good.mtz --column=FC --sites=sites.txt
refused "f' and f'' of Se at 40000 eV are not known" 2 --mtz=good.mtz --sites=sites.txt --energy=40keV
refused 'sites.txt:2: 6 columns; expected four' 3 --mtz=good.mtz --sites=sites.txt --fprime=sites.txt
refused 'other.pdb: the cell or space group is another one; expected those of my model.pdb' 3 --model='my model.pdb' --light=other.pdb --light-occupancy=0.3
refused '--light needs --light-occupancy=X, the fraction of excited molecules' 2 --model='my model.pdb' --light=light.pdb
printf 'Se 12650 -9 1\nSe 12654 -11 4\n' >short.txt
factors short --mtz=good.mtz --sites=sites.txt --fprime=short.txt
is 'a curve that ends below the energy of the beam is warned of' "$(grep -c 'warning: --fprime has Se from 12650 to 12654 eV, but the beam has 12655 eV' said)" 1
echo 'Se 9000 -3 2' >single.txt
refused "--fprime: the only line of Se is for 9000 eV, and f' and f'' are needed at 12650 eV; expected within 1 %" 2 --mtz=good.mtz --sites=sites.txt --energy=12650 --fprime=single.txt
refused '--light needs --model' 2 --mtz=good.mtz --light=light.pdb --light-occupancy=0.3
refused "'1.5' is out of range; expected a value of at least 0 and at most 1" 2 --model='my model.pdb' --light=light.pdb --light-occupancy=1.5
refused '--sites needs --mtz or --model' 2 --sites=sites.txt
refused '--fprime needs --anomalous or --sites' 2 --mtz=good.mtz --fprime=fprime.txt
finish
