#!/bin/sh
# Models of atoms by gemmi itself: every kind of file and of symmetry gives the structure factors of its atoms.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/models.sh"
scratch
needs 'gemmi, numpy and msgpack' gemmi python:numpy python:msgpack
export XDG_CACHE_HOME="$tap_scratch/cache"

# --- an image is that of all atoms of the cell, listed in P 1
alike 'P 31 2 1' 40 40 60 90 90 120
alike 'R 3 :H' 60 60 50 90 90 120 --anomalous
alike 'P 1 21 1' 40 45 50 90 97 90 --light

# factors NAME OPTION...: F of the experiment as h k l F
factors() {
	name=$1
	shift
	rm -f experiment.rec
	bragg-geometry --detpixels=8 --dmin=3 "$@" 2>said | bragg-orient --quiet 2>>said | bragg-tap --quiet --record=experiment.rec &&
		/usr/bin/python3 "$BRAGG_TESTS/python/factors.py" experiment.rec | sort >"$name"
}
# refused WHAT OPTION...: with one line and status 3
refused() {
	what=$1
	shift
	status=0
	bragg-geometry --out="@ipc://$PWD/nobody" --detpixels=8 --dmin=3 "$@" >said 2>&1 || status=$?
	is "$what" "$status $(wc -l <said) $(grep -cF -e "$what" said)" '3 1 1'
}
# same A B: the same F, but for the order in which gemmi adds atoms
same() {
	paste -d ' ' "$1" "$2" | awk '$1 != $5 || $2 != $6 || $3 != $7 || ($4 - $8) ^ 2 > 1e-6 * ($4 ^ 2 + 1) { bad = 1 } END { exit bad || !NR }'
}
model 'P 1 21 1' 40 45 50 90 97 90 | grep -v ANISOU >good.pdb

# --- names of files
factors good --model=good.pdb
for name in 'a b.PDB' ./-x.ENT 'it'\''s $(x).txt' 'ångström'; do
	cp good.pdb "$name"
	factors named --model="$name"
	check "a model called $name" cmp good named
done
gzip -c good.pdb >good.PDB.gz
factors named --model=good.PDB.gz
check 'one that is compressed' cmp good named
gemmi convert --from=pdb --to=mmcif good.pdb other.mmcif
factors named --model=other.mmcif
check 'mmCIF' cmp good named
cp good.PDB.gz packed.pdb
refused 'packed.pdb: the file is compressed; expected a name that ends in .gz' --model=packed.pdb

# --- ensembles, and symmetry that crystals do not have
half() { # MODEL-NUMBER
	echo "MODEL     $1"
	sed -n '/^ATOM/s/  1\.00/  0.50/p' good.pdb | sed "$2"
	echo ENDMDL
}
(sed 1q good.pdb && half 1 && half 2 's/SE  /S   /; s/SE$/ S/') >ensemble.pdb
(sed 1q good.pdb && half 1 && half 2 's/SE  /S   /; s/SE$/ S/') | grep -v MODEL | grep -v ENDMDL >together.pdb
factors ensemble --model=ensemble.pdb
factors together --model=together.pdb
check 'all models of an ensemble count, as conformers do' same ensemble together
check_status 'an ensemble of models has more than the first model' 1 cmp -s good ensemble
sed 's/  0\.50/  1.00/' ensemble.pdb >full.pdb
refused 'full.pdb: the occupancies of its 2 models add up to 2; expected at most 1' --model=full.pdb
(sed 1q good.pdb && cat <<'END' && sed 1d good.pdb) >ncs.pdb
MTRIX1   1  1.000000  0.000000  0.000000        0.00000    1
MTRIX2   1  0.000000  1.000000  0.000000        0.00000    1
MTRIX3   1  0.000000  0.000000  1.000000        0.00000    1
MTRIX1   2 -1.000000  0.000000  0.000000       30.00000
MTRIX2   2  0.000000 -1.000000  0.000000       30.00000
MTRIX3   2  0.000000  0.000000  1.000000        5.00000
END
(cat good.pdb && sed 1d good.pdb | perl -pe 'substr($_, 30, 24) = sprintf "%8.3f%8.3f%8.3f", 30 - substr($_, 30, 8), 30 - substr($_, 38, 8), 5 + substr($_, 46, 8)') >whole.pdb
factors ncs --model=ncs.pdb
factors whole --model=whole.pdb
check 'MTRIX that is not given is applied' cmp ncs whole
# x y z of the file along -z x -y of the cell
other_axes() { # MODEL: with SCALEn, and MTRIX in these axes
	perl -ne 'BEGIN { @cell = (40, 45, 50); $beta = 97 * atan2(1, 1) / 45; $star = 1 / (50 * sin $beta) }
		sub turned { my ($x, $y, $z) = @_; ($y, -$z, -$x) }
		if (/^CRYST1/) { print;
			my @M = ([1 / 40, 0, -cos($beta) / sin($beta) / 40], [0, 1 / 45, 0], [0, 0, $star]);
			printf "SCALE%d    %10.6f%10.6f%10.6f     %10.5f\n", $_ + 1, turned(@{$M[$_]}), 0 for 0 .. 2 }
		elsif (/^ATOM/) { substr($_, 30, 24) = sprintf "%8.3f%8.3f%8.3f", turned(substr($_, 30, 8), substr($_, 38, 8), substr($_, 46, 8)); print }
		elsif (/^MTRIX1   2/) { printf "MTRIX1   2 -1.000000  0.000000  0.000000       30.00000\nMTRIX2   2  0.000000  1.000000  0.000000       -5.00000\nMTRIX3   2  0.000000  0.000000 -1.000000      -30.00000\n" }
		else { print unless /^MTRIX. *2/ }' "$1"
}
other_axes good.pdb >axes.pdb
factors axes --model=axes.pdb
near() { # A B: within the digits of SCALEn
	paste -d ' ' "$1" "$2" | awk '$1 != $5 || $2 != $6 || $3 != $7 { bad = 1 } { d = $4 - $8; apart += d < 0 ? -d : d; all += $8 } END { exit bad || !(apart < 0.001 * all) }'
}
check 'a model with axes of its own' near axes good
other_axes ncs.pdb >axes-ncs.pdb
factors axes --model=axes-ncs.pdb
check 'symmetry in other axes gives the same factors' near axes whole
# on the axis of the symmetry above: an atom in full, and one in halves, is there once
axis='ATOM     30 SE   MET A  90      15.000  15.000   7.000  1.00 12.00          SE
ATOM     31  S   MET A  91      15.000  15.000   3.000  0.50 12.00           S'
(sed 's/        5\.00000/        0.00000/' ncs.pdb && echo "$axis") >special.pdb
(cat good.pdb && echo "$axis" | sed 's/  0\.50/  1.00/' && sed 1d good.pdb | perl -pe 'substr($_, 30, 24) = sprintf "%8.3f%8.3f%8.3f", 30 - substr($_, 30, 8), 30 - substr($_, 38, 8), substr($_, 46, 8)') >once.pdb
factors special --model=special.pdb
factors once --model=once.pdb
check 'an atom on its own image counts once' same special once
sed 's/MTRIX1   2 -1.0/MTRIX1   2 -1.2/' ncs.pdb >stretched.pdb
refused 'stretched.pdb: operator 2 of the non-crystallographic symmetry is not a rotation' --model=stretched.pdb

# --- what contradicts itself, and nonsense
edited() { # NAME SED
	sed "$2" good.pdb >"$1"
}
edited cell.pdb 's/P 1 21 1  /P 21 21 21/'
refused "cell.pdb: space group 'P 21 21 21' does not fit the cell" --model=cell.pdb
edited group.pdb 's/P 1 21 1 /P 7 7 7  /'
refused "group.pdb: gemmi does not know the space group 'P 7 7 7'" --model=group.pdb
edited none.pdb 1d
refused 'none.pdb: no unit cell of a crystal' --model=none.pdb
edited nmr.pdb '1s/.*/CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1/'
refused 'nmr.pdb: no unit cell of a crystal' --model=nmr.pdb
sed '2s/^\(.\{30\}\).\{8\}/\1********/' good.pdb >stars.pdb
refused "stars.pdb:2: x is not a number (got '********')" --model=stars.pdb
sed '2s/^\(.\{30\}\).\{8\}/\1 nan    /' good.pdb >nan.pdb
refused "nan.pdb:2: x is not a number" --model=nan.pdb
sed '2s/^\(.\{30\}\).\{8\}/\19999.999/' good.pdb >far.pdb
refused 'the coordinates are more than 100 cells away' --model=far.pdb
edited empty.pdb '/ 1\.00/s/  1\.00/  0.00/'
refused 'empty.pdb: the occupancies of all atoms are 0' --model=empty.pdb
(cat good.pdb && printf 'SCALE1      0.050000  0.000000  0.000000        0.00000\nSCALE2      0.000000  0.022222  0.000000        0.00000\nSCALE3      0.000000  0.000000  0.020151        0.00000\n') >scale.pdb
refused 'scale.pdb: SCALEn or _atom_sites.fract_transf_matrix contradicts the unit cell' --model=scale.pdb
(printf 'REMARK 290   SMTRY1   1  1.000000  0.000000  0.000000        0.00000\nREMARK 290   SMTRY2   1  0.000000  1.000000  0.000000        0.00000\nREMARK 290   SMTRY3   1  0.000000  0.000000  1.000000        0.00000\n' && cat good.pdb) >remark.pdb
refused "remark.pdb: REMARK 290 lists 1 symmetry operators that are not those of 'P 1 21 1'" --model=remark.pdb
(cat other.mmcif && sed 's/^data_.*/data_second/' other.mmcif) >two.cif
refused 'two.cif: the file has 2 structures; expected one' --model=two.cif
edited bare.pdb 's/^\(ATOM.\{56\}\)....../\1      /'
factors bare --model=bare.pdb
is 'B factors that are missing are warned of' "$(grep -c 'warning: bare.pdb: 24 of 24 atoms have no B factor: B = 0 is used' said)" 1

# --- small molecules
cif() { # NAME SYMMETRY...
	name=$1
	shift
	{
		printf 'data_x\n_cell_length_a 7.9\n_cell_length_b 8.7\n_cell_length_c 10.9\n_cell_angle_alpha 90\n_cell_angle_beta 103\n_cell_angle_gamma 90\n'
		printf '%s\n' "$@" loop_ _atom_site_label _atom_site_type_symbol _atom_site_fract_x _atom_site_fract_y _atom_site_fract_z \
			_atom_site_U_iso_or_equiv 'C1 C 0.1 0.2 0.3 0.03' 'O1 O 0.25 0.31 0.4 0.04' 'Fe1 Fe3+ 0.7 0.1 0.8 0.02'
	} >"$name"
}
listed="loop_
_symmetry_equiv_pos_as_xyz
'x,y,z'
'-x+1/2,y+1/2,-z+1/2'
'-x,-y,-z'
'x-1/2,-y-1/2,z-1/2'"
cif named.cif "_symmetry_space_group_name_H-M 'P 21/n'"
cif listed.cif "$listed"
cif wavelength.cif "$listed" '_diffrn_radiation_wavelength 1.74'
factors named --model=named.cif
factors listed --model=listed.cif
check 'operators that are listed are those of the name' cmp named listed
factors wavelength --model=wavelength.cif
check "a wavelength in the file brings no f'" cmp named wavelength
factors iron --model=named.cif --anomalous --energy=7.2keV
check_status '--anomalous changes the factors of small molecules' 1 cmp -s named iron
cif bad.cif "_symmetry_space_group_name_H-M 'P 21/c'" "$listed"
refused "bad.cif: the symmetry operators are not those of the space group 'P 21/c'" --model=bad.cif
cif nothing.cif ''
refused 'nothing.cif: no space group' --model=nothing.cif
cif number.cif '_space_group_IT_number 14'
refused 'number.cif: no space group' --model=number.cif
cif old.cif "_symmetry_space_group_name_H-M 'F d 3 m'"
refused "space group 'F d 3 m'" --model=old.cif
cif wrong.cif "_symmetry_space_group_name_H-M 'P 21/n'" '_space_group_IT_number 15'
refused 'wrong.cif: space group' --model=wrong.cif

# --- small molecules whose atoms have no type: CA1 is calcium or an alpha carbon
unnamed() { # LABEL [TYPE...]: an atom, in a file that may list its atom types
	printf 'data_x\n_cell_length_a 7.9\n_cell_length_b 8.7\n_cell_length_c 10.9\n_cell_angle_alpha 90\n_cell_angle_beta 103\n_cell_angle_gamma 90\n'
	printf '%s\n' "_symmetry_space_group_name_H-M 'P 21/n'" loop_ _atom_site_label _atom_site_fract_x _atom_site_fract_y _atom_site_fract_z \
		_atom_site_U_iso_or_equiv "$1 0.1 0.2 0.3 0.03"
	shift
	[ $# -eq 0 ] || printf '%s\n' loop_ _atom_type_symbol "$@"
} >unnamed.cif
for label in CA1 HG1; do
	unnamed $label
	refused "atom 1 ($label): the label fits two elements; expected the element in the column _atom_site_type_symbol" --model=unnamed.cif
done
for label in CAB 1C; do
	unnamed $label
	refused "atom 1 ($label): the element is not known" --model=unnamed.cif
done
unnamed CA1 C Ca2+
refused 'atom 1 (CA1): the label fits two elements' --model=unnamed.cif
unnamed C1
factors carbon --model=unnamed.cif
unnamed Ca1
factors calcium --model=unnamed.cif
check_status 'calcium is not carbon' 1 cmp -s carbon calcium
while read -r label element types; do
	unnamed $label $types
	factors $label --model=unnamed.cif
	check "$label${types:+ in a file of $types} is $element" cmp $element $label
done <<'END'
C1A carbon
CA1 carbon C O
CA2 calcium Ca2+ O
Ca3 calcium C Ca
END
sed 's/O1 O /O1 OH /' named.cif >hydroxyl.cif
refused "hydroxyl.cif: atom 2 (O1): its type is not an element (got 'OH'); expected a symbol such as Fe or Fe3+" --model=hydroxyl.cif

# --- MTZ files: a column has the cell and the name of its data set
changed() { # NAME PERL: the records of the file
	perl -e 'my ($perl) = @ARGV; local $/; binmode STDIN; binmode STDOUT; $_ = <STDIN>; eval $perl; print' "$2" <"$BRAGG_TESTS/golden/lysozyme_6A.mtz" >"$1"
}
changed set.mtz 's/(DCELL +1 +)59\.0620/${1}59.9620/'
is 'the cell of a data set' "$(bragg-geometry --mtz=set.mtz --cell=58,68.451,30.517,90,90,90 --detpixels=8 2>&1 >ignored | grep -c 'set.mtz has 59.962')" 1
changed twice.mtz 's/COLUMN PHIC( +)P/COLUMN FC  $1F/'
refused "twice.mtz: 2 columns have the label 'FC'; expected the name of a data set before it, as DATASET/FC" --mtz=twice.mtz --column=FC
changed angle.mtz 's/(CELL [0-9. ]*?)90\.0000/${1}97.0000/g'
refused 'angle.mtz: the 4 symmetry operators do not fit the cell' --mtz=angle.mtz
changed named.mtz 's/(DATASET +1 )calculated   /${1}my data (x)  /'
factors named --mtz=named.mtz --column='my data (x)/FC'
check 'the name of a data set may have blanks' [ -s named ]
refused "named.mtz: no column 'my/FC'" --mtz=named.mtz --column=my/FC
echo 'Se 0.1 0.2 0.3 1 20' >sites.txt
changed phase.mtz 's/(COLUMN PHIC .*?)   1NDIF/${1}   0NDIF/'
refused "phase.mtz: the first columns of the wanted types, 4 and 5, belong to the data sets 'calculated' and 'HKL_base'" --mtz=phase.mtz --sites=sites.txt
check 'F and phases of two data sets, by their labels' factors two --mtz=phase.mtz --sites=sites.txt --column=FC,PHIC
changed cells.mtz 's/(COLUMN PHIC .*?)   1NDIF/${1}   0NDIF/; s/(DCELL +0 +)59\.0620/${1}59.9620/'
refused 'cells.mtz: the columns belong to data sets with different cells (got 59.062 and 59.962)' --mtz=cells.mtz --sites=sites.txt --column=FC,PHIC

# --- reflections that symmetry forbids: 3 0 0 and 0 5 0 in place of the first two, and one that is noise
forbidden() { # NAME F
	changed "$1" 'for my $r ([0, 3, 0, 0, '"$2"'], [1, 0, 5, 0, 700], [2, 1, 0, 0, 2]) { my $n = shift @$r; substr($_, 80 + 20 * $n, 16) = pack "f<4", @$r }'
}
forbidden bright.mtz 836.5
factors bright --mtz=bright.mtz
is 'forbidden reflections with a large F are counted, and the largest named' \
	"$(grep -c 'warning: bright.mtz: the space group forbids 2 of the reflections with a large F, the largest 836.5 of 3 0 0: these F are used. Is the space group right?' said) $(grep -c warning said)" '1 1'
factors bright --mtz=bright.mtz --sites=sites.txt
is 'reflections that symmetry forbids are counted with phases as well' "$(grep -c 'forbids 2 of the reflections' said)" 1
factors good --mtz="$BRAGG_TESTS/golden/lysozyme_6A.mtz"
is 'a file without forbidden reflections gives no warning' "$(grep -c forbids said)" 0
finish
