# models.sh: small models of atoms, and what gemmi makes of them.
# shellcheck shell=sh

# model SPACE-GROUP A B C ALPHA BETA GAMMA: a PDB file of 24 atoms, some heavy
model() {
	perl -e 'my ($group, @cell) = @ARGV; my $x = 12345;
		my $next = sub { $x = ($x * 1103515245 + 12345) % 2147483648; $x / 2147483648 };
		printf "CRYST1%9.3f%9.3f%9.3f%7.2f%7.2f%7.2f %-11s1\n", @cell, $group;
		for my $i (1 .. 24) {
			my $e = (qw(N C C O S SE))[$i % 6];
			printf "ATOM  %5d %-4s MET A%4d    %8.3f%8.3f%8.3f  1.00%6.2f          %2s\n", $i, length $e > 1 ? $e : " $e",
				$i, 12 * &$next, 12 * &$next, 14 * &$next, 12 + 10 * &$next, $e;
			printf "ANISOU%5d %-4s MET A%4d  %7d%7d%7d%7d%7d%7d      %2s\n", $i, length $e > 1 ? $e : " $e", $i,
				1500, 2500, 3500, 300, -200, 400, $e if $i % 4 == 0;
		}' "$@"
}

# expanded MODEL SPACE-GROUP: the same crystal in P 1, by gemmi
expanded() {
	sed -n 's/^\(CRYST1.\{49\}\).*/\1P 1           1/p' "$1"
	gemmi sg "$2" | sed '1,/symmetry operations:/d; /^[^ ]/,$d' | sed 's/ //g; /^$/d' >operators
	while read -r operator; do
		gemmi convert --apply-symop="$operator" "$1" moved.pdb
		grep '^ATOM\|^HETATM\|^ANISOU' moved.pdb
	done <operators
}

# image FILE OPTION...: a frame
image() {
	file=$1
	shift
	rm -f "$file"*
	bragg-geometry --detpixels=100 --pixel=1.2 --distance=100 --ncells=6 --oversample=1 --dmin=3 --wavelength=0.97 "$@" |
		bragg-orient --misset=71,-23,148 --osc=2 --phi-steps=10 2>>said | bragg-intensity 2>>said | bragg-write --quiet "$file"
}

# differ A B: the sum of what differs, of the sum
differ() {
	cat "$1" "$2" | perl -e 'local $/; binmode STDIN; my @x = unpack "f<*", <STDIN>;
		my $n = @x / 2; my ($sum, $apart) = (0, 0);
		for (0 .. $n - 1) { $apart += abs($x[$_] - $x[$_ + $n]); $sum += $x[$_ + $n] } printf "%.4f\n", $sum > 0 ? $apart / $sum : 1'
}

# alike SPACE-GROUP A B C ALPHA BETA GAMMA [OPTION]: with --anomalous, or --light of another model
alike() {
	group=$1
	rm -f one.pdb all.pdb
	model "$1" "$2" "$3" "$4" "$5" "$6" "$7" >one.pdb
	expanded one.pdb "$group" >all.pdb
	set -- "$8"
	for file in one all; do
		case $1 in
		--light)
			sed '/^ATOM.* S  MET/s/  1\.00 /  0.30 /' $file.pdb >$file-light.pdb
			image $file.raw --model=$file.pdb --light=$file-light.pdb --light-occupancy=0.5
			;;
		*) image $file.raw --model=$file.pdb ${1:+"$1"} ;;
		esac
	done
	check "$group ${1:-alone}: the image of its atoms in P 1 (apart $(differ one.raw all.raw))" \
		[ "$(differ one.raw all.raw | tr -d .)" -lt 00100 ]
}
