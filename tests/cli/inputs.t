#!/bin/sh
# Structure factors from files of several kinds: the same crystal gives the same image.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
cp "$BRAGG_TESTS/golden/lysozyme_6A.mtz" good.mtz
cell=59.062,68.451,30.517,90,90,90

# image FILE OPTION...: a frame of the crystal that they describe
image() {
	file=$1
	shift
	rm -f "$file"*
	bragg-geometry --detpixels=64 --pixel=1.6 --ncells=5 "--dmin=${dmin-6}" "$@" | bragg-orient --misset=10,20,30 |
		bragg-intensity --threads=1 | bragg-write --quiet "$file"
}
image mtz.raw --mtz=good.mtz

# --- lists of the unique part
perl -e 'local $/; binmode STDIN; my @x = unpack "x80 f<1885", <STDIN>;
	while (my ($h, $k, $l, $F) = splice @x, 0, 5) { printf "%d %d %d %.17g\n", $h, $k, $l, $F if $F == $F }' <good.mtz >unique.hkl
is 'the list holds what the MTZ file holds' "$(wc -l <unique.hkl)" 377
image list.raw --hkl=unique.hkl --cell=$cell --spacegroup=P212121
check '--spacegroup expands it as the MTZ file is expanded' cmp mtz.raw list.raw
image crystal.raw --crystal="hkl=unique.hkl cell=$cell spacegroup=19"
check 'a crystal can have its own' cmp mtz.raw crystal.raw
image common.raw --hkl=unique.hkl --cell=$cell --spacegroup='P 21 21 21' --crystal='ncells=5,5,5'
check 'an option for all crystals applies to one crystal' cmp mtz.raw common.raw
image bare.raw --hkl=unique.hkl --cell=$cell 2>said
check 'without it spots are missing' sh -c '! cmp -s mtz.raw bare.raw'
is 'a warning names --spacegroup as the remedy' "$(grep -c 'warning: .*unique.hkl: .*Give --spacegroup to expand the list' said)" 1

# --- a copy of the program with files of its own, as in a bundle
mkdir -p moved/bin moved/libexec/braggpipe moved/share/braggpipe
cp "$(command -v bragg-geometry)" moved/bin
sed "s/P 21 21 21/P 77 77 77/g" /usr/share/ccp4/syminfo.lib >moved/share/braggpipe/syminfo.lib
# own FILE OPTION...: as image, from the copy; of commands it finds only those that it needs
own() {
	file=$1
	shift
	rm -f "$file"*
	PATH=$tap_scratch/few moved/bin/bragg-geometry --detpixels=64 --pixel=1.6 --ncells=5 "--dmin=${dmin-6}" "$@" |
		bragg-orient --misset=10,20,30 | bragg-intensity --threads=1 | bragg-write --quiet "$file"
}
mkdir few
for command in cat rm rmdir; do ln -s "$(command -v $command)" few; done
own own.raw --hkl=unique.hkl --cell=$cell --spacegroup='P 77 77 77'
check 'space groups are read from the folder of the program' cmp mtz.raw own.raw

# --- models: a program that stands for gemmi sfcalc
if ! has gemmi; then
	skip 'models of atoms' "$lack is missing"
	finish
	exit
fi
export XDG_CACHE_HOME="$tap_scratch/cache"
mkdir fake
cat >fake/gemmi <<'END'
#!/bin/sh
[ "$1" = --version ] && echo 'gemmi 0.0' && exit
[ "$1" = sfcalc ] || exec "$GEMMI" "$@"
printf '%s\n' "$*" >>"$LIST"
for word; do case $word in --to-mtz=*) to=${word#*=} ;; esac; done
case $FAKE in
good) cat good.mtz >"$to" ;;
half) head -c 2000 good.mtz >"$to" ;;
none) ;;
says) printf 'a warning\nERROR: what gemmi says\n' >&2; exit 1 ;;
memory) ulimit -v; exit 1 ;;
large) echo 'ERROR: std::bad_alloc' >&2; exit 1 ;;
killed) kill -KILL $$ ;;
slow) echo $$ >gemmi.pid; exec sleep 600 ;;
esac
END
chmod +x fake/gemmi
export FAKE=good LIST="$tap_scratch/calls" GEMMI="$(command -v gemmi)"
PATH=$tap_scratch/fake:$PATH
: >calls
calls() {
	wc -l <calls
}
atom() { # B
	printf 'ATOM      1  N   GLY A   1       2.000   3.000   4.000  1.00 %s           N\n' "$1"
}
printf 'CRYST1   59.062   68.451   30.517  90.00  90.00  90.00 P 21 21 21    4\n%s\n' "$(atom 10.00)" >'my model.pdb'
image model.raw --model='my model.pdb'
check 'the factors of gemmi from a model give the same image' cmp mtz.raw model.raw
is 'the arguments of gemmi have a grid of 2 A' "$(sed 's,fd/[0-9]*,fd/N,; s,-[0-9]*-[0-9]*.cif,-N.cif,' calls)" \
	"sfcalc --dmin=1.6666666666666665 --wavelength=0 --to-mtz=/proc/self/fd/N ${TMPDIR:-/tmp}/bragg-N.cif --rate=1.25 --ksolv=0.35 --bsolv=46"
is 'no link is left' "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'bragg-*.cif' -lname "/proc/*" ! -newer model.raw -newer mtz.raw)" ''
image again.raw --model='my model.pdb'
check 'a second run gives the same image' cmp mtz.raw again.raw
is 'gemmi computes the factors once' "$(calls)" 1
mv 'my model.pdb' ./-other.pdb
image again.raw --model=-other.pdb
is 'a model under another name needs no new factors' "$(calls)" 1
is 'one file is kept' "$(find cache -type f | wc -l)" 1
kept=$(find cache -type f)
atom 20.00 >>./-other.pdb
image again.raw --model=-other.pdb
is 'gemmi computes again for other atoms' "$(calls)" 2
dmin=0 image again.raw --model=-other.pdb --distance=50 2>said
is 'a list that is not complete is refused' "$(sed 's/[0-9]* of [0-9]*/N of N/; s/such as.*;/such as h k l;/' said | grep -c 'bragg-geometry: -other.pdb: gemmi sfcalc left out N of N reflections to 1.05 A, such as h k l; expected all')" 1
is 'a wider view is computed' "$(sed -n '3s/ --to.*//p' calls)" 'sfcalc --dmin=0.87500000000000011 --wavelength=0'
dmin=0 image far.raw --model=-other.pdb --distance=30 2>said
is 'no further than 1 A' "$(sed -n '4s/ --to.*//p' calls) $(head -n 1 said)" "sfcalc --dmin=0.83333333333333326 --wavelength=0 bragg-geometry: warning: \
-other.pdb: structure factors end at 1 A, but the detector records 0.9 A. Give --dmin to compute more"
dmin=0.9 image far.raw --model=-other.pdb --distance=30 2>said
is '--dmin extends the factors beyond 1 A' "$(sed -n '5s/ --to.*//p' calls) $(grep -c warning: said)" 'sfcalc --dmin=0.75 --wavelength=0 0'
image again.raw --crystal='model=-other.pdb name=one' --crystal='name=two mtz=good.mtz'
is 'a crystal has a model of its own' "$(calls) $(cat again.raw | wc -c)" '5 16384'
head -c 3000 good.mtz >"$kept"
sed '$d' ./-other.pdb >model.pdb
image again.raw --model=model.pdb
is 'corrupt frames are computed again' "$(calls)" 6
check 'the corrupt file of factors is fixed' cmp good.mtz "$kept"
rm -r cache
: >cache
image again.raw --model=model.pdb
check 'a cache that cannot be written is no failure' cmp mtz.raw again.raw
rm cache
for i in 1 2 3 4; do image again.$i.raw --model=model.pdb & done
wait
is 'four programs at once give the same images' "$(cat again.?.raw | cksum)" "$(cat mtz.raw mtz.raw mtz.raw mtz.raw | cksum)"
is 'four programs at once leave one file of factors' "$(find cache -type f | wc -l)" 1

# refused MESSAGE STATUS FAKE FILE: with one line, and nothing kept
refused() {
	rm -rf cache
	status=0
	FAKE=$3 bragg-geometry --out="@ipc://$PWD/nobody" --model="$4" 2>said || status=$?
	is "$1" "$status $(cat said)" "$2 bragg-geometry: $4: $1"
	is "$1: nothing is left" "$(find cache -type f 2>/dev/null)" ''
}
refused 'gemmi sfcalc: what gemmi says' 3 says model.pdb
refused 'gemmi sfcalc: 8388608' 3 memory model.pdb
refused 'gemmi sfcalc: std::bad_alloc: more than 8 GiB of memory; expected a larger --dmin' 3 large model.pdb
refused 'gemmi: killed by signal 9 (Killed)' 1 killed model.pdb
refused 'what gemmi sfcalc wrote cannot be read: corrupt MTZ (the header is not within the file)' 3 half model.pdb
refused 'what gemmi sfcalc wrote cannot be read: not an MTZ file. Use --hkl for lines of h k l F' 3 none model.pdb
refused 'cannot open: No such file or directory' 1 good absent.pdb
refused 'is an MTZ file; expected a model of atoms (PDB or mmCIF). bragg-geometry --mtz reads it' 3 good good.mtz
mkdir without
ln -s "$(command -v bragg-geometry)" without
status=0
PATH=$tap_scratch/without bragg-geometry --out="@ipc://$PWD/nobody" --model=model.pdb 2>said || status=$?
is 'gemmi that is not installed' "$status $(cat said)" \
	'1 bragg-geometry: models of atoms need the program gemmi, which computes structure factors. Install it with `apt install gemmi`, or give structure factors with --mtz'

cp fake/gemmi moved/libexec/braggpipe
own own.raw --model=model.pdb
check 'gemmi that came with the program is found' cmp mtz.raw own.raw
cp moved/libexec/braggpipe/gemmi few
rm -r moved/libexec cache
own own.raw --model=model.pdb
check 'gemmi of the PATH, too' cmp mtz.raw own.raw
rm -r cache

# gone: the process of gemmi has ended
gone() {
	! grep -q '^State:.[RSD]' "/proc/$(cat gemmi.pid)/status" 2>/dev/null
}
for signal in INT TERM KILL; do
	rm -f gemmi.pid
	FAKE=slow perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' bragg-geometry --out="@ipc://$PWD/nobody" --model=model.pdb 2>said &
	soon test -s gemmi.pid
	kill -$signal $!
	wait $! 2>/dev/null
	check "SIG$signal ends gemmi, too" soon gone
done
cat >p.yaml <<'END'
stages:
  - {name: geometry, args: [--model=model.pdb]}
  - {name: orient}
  - {name: intensity, threads: 1}
  - {name: write, args: [a.raw]}
END
rm -f gemmi.pid
FAKE=slow perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' bragg-run --quiet p.yaml 2>said &
soon test -s gemmi.pid
kill -INT $!
status=0
wait $! || status=$?
is 'Ctrl-C to bragg-run' "$status" 130
check 'ends gemmi, too' soon gone
is 'nothing is kept' "$(find cache -type f 2>/dev/null)" ''

# --- gemmi itself
PATH=${PATH#*:}
cat >tiny.pdb <<'END'
CRYST1   20.000   25.000   30.000  90.00 100.00  90.00 P 1 21 1      2
ATOM      1  N   GLY A   1       2.000   3.000   4.000  1.00 10.00           N
ATOM      2  CA  GLY A   1       3.000   3.500   5.000  1.00 12.00           C
ATOM      3  C   GLY A   1       4.300   4.000   4.400  1.00 15.00           C
ATOM      4  O   GLY A   1       4.400   4.300   3.200  1.00 18.00           O
END
gemmi sfcalc --dmin=1.5 --ksolv=0.35 --bsolv=46 --to-mtz=tiny.mtz tiny.pdb
dmin=1.5 image a.raw --model=tiny.pdb 2>/dev/null
dmin=1.5 image b.raw --mtz=tiny.mtz 2>/dev/null
check 'a protein, with solvent' cmp a.raw b.raw

# One carbon atom in P1: |F| is its scattering factor, of the International Tables vol. C, 6.1.1.4.
cat >carbon.cif <<'END'
data_c
_cell_length_a 16
_cell_length_b 17
_cell_length_c 18
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'P 1'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_U_iso_or_equiv
C1 C 0.1 0.2 0.3 0.01
END
perl -e 'my @c = (2.31, 20.8439, 1.02, 10.2075, 1.5886, 0.5687, 0.865, 51.6512);
	for my $h (-17 .. 17) { for my $k (-18 .. 18) { for my $l (-19 .. 19) {
		my $s = ($h * $h / 256 + $k * $k / 289 + $l * $l / 324) / 4;
		next if $s == 0 or $s > 0.25 / 0.98;
		my $f = 0.2156;
		$f += $c[2 * $_] * exp(-$c[2 * $_ + 1] * $s) for 0 .. 3;
		printf "%d %d %d %.9g\n", $h, $k, $l, $f * exp(-8 * 3.14159265358979 ** 2 * 0.01 * $s);
	} } }' >carbon.hkl
dmin=1 image a.raw --model=carbon.cif 2>/dev/null
dmin=1 image b.raw --hkl=carbon.hkl --cell=16,17,18,90,90,90 2>/dev/null
is 'a small molecule: F in electrons' "$(cat a.raw b.raw | perl -e 'local $/; binmode STDIN; my @x = unpack "f<*", <STDIN>;
	my $n = @x / 2; my ($worst, $lit) = (0, 0);
	for (0 .. $n - 1) { my $d = abs($x[$_] - $x[$_ + $n]) / ($x[$_ + $n] || 1); $worst = $d if $d > $worst; $lit++ if $x[$_] > 0 }
	print $worst < 1e-4 && $lit > 3000 ? "good" : "$worst $lit"')" good
sed 's/ C$/XX/; s/ CA / XX /' tiny.pdb >unknown.pdb
sed 1d tiny.pdb >bare.pdb
for f in 'unknown.pdb gemmi sfcalc: unknown element' 'bare.pdb no unit cell of a crystal'; do
	status=0
	bragg-geometry --out="@ipc://$PWD/nobody" --model="${f%% *}" 2>said || status=$?
	is "${f#* }" "$status $(grep -c "^bragg-geometry: ${f%% *}: ${f#* }" said) $(grep -c -e --unknown said) $(wc -l <said)" '3 1 0 1'
done
finish
