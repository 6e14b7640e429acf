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
		cat moved.pdb
	done <operators | grep '^ATOM\|^HETATM\|^ANISOU'
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

# atoms SPACE-GROUP A B C ALPHA BETA GAMMA: one.pdb, and the same crystal in P 1, all.pdb
atoms() {
	group=$1
	rm -f one.pdb all.pdb
	model "$@" >one.pdb
	expanded one.pdb "$group" >all.pdb
}

# same_image [OPTION]: of both, with --anomalous, or --light of another model
same_image() {
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

# alike SPACE-GROUP A B C ALPHA BETA GAMMA [OPTION]: both
alike() {
	atoms "$1" "$2" "$3" "$4" "$5" "$6" "$7"
	same_image "$8"
}

# laue_classes: a space group of each Laue class and setting, as lines of A B C ALPHA BETA GAMMA SPACE-GROUP
laue_classes() {
	cat <<-'END'
		30 34 38 80 97 105 P 1
		60 40 45 90 108 90 C 1 2 1
		35 40 45 90 90 90 P 21 21 21
		45 45 50 90 90 90 P 41
		60 60 70 90 90 90 I 4 2 2
		40 40 60 90 90 120 P 32
		60 60 50 90 90 120 R 3 :H
		45 45 45 80 80 80 R 3 :R
		40 40 60 90 90 120 P 32 1 2
		40 40 60 90 90 120 P 31 2 1
		60 60 60 90 90 120 R 3 2 :H
		50 50 50 110 110 110 R 3 2 :R
		45 45 70 90 90 120 P 61
		50 50 70 90 90 120 P 63 2 2
		60 60 60 90 90 90 P 21 3
		110 110 110 90 90 90 F 4 3 2
	END
}
