#!/bin/sh
# Spectra of pulses: bragg-orient --spectrum and --spectra.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
tab=$(printf '\t')
crystal='--detpixels=100 --pixel=1 --distance=100 --energy=9000 --cell=70,80,90,90,90,90 --ncells=8 --default-F=100 --fluence=1e26'

# shots NAME OPTION...: photons of frames, and the truth about them
shots() {
	name=$1
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry --quiet $crystal | bragg-orient --quiet --misset=10,20,30 --truth="$name.tsv" "$@" | bragg-intensity --quiet |
		bragg-background --quiet --water=5 | bragg-write --quiet "${name}_%d.raw"
}
column() { # FILE NAME
	awk -F"$tab" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1"
}
same() {
	bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 "$@"
}

# --- what every shot has
for kind in sase seeded gauss tophat pink twocolour; do
	check "a spectrum: $kind" shots "$kind" --frames=3 --spectrum="$kind"
	check "keeps the mean energy: $kind" awk -v kind="$kind" '{ if (($1 - 1.37760) ^ 2 > (kind == "twocolour" ? 0.012 : 0.0008) ^ 2) exit 1 }' \
		<<-EOF
		$(column "$kind.tsv" wavelength_A)
		EOF
done
is 'pulses of SASE differ in energy' "$(column sase.tsv fluence | sort -u | wc -l)" 3
is 'pulses without chance have the same fluence' "$(column pink.tsv fluence | sort -u | wc -l)" 1
check 'a frame does not depend on those before it' shots only --frames=3 --only=2 --spectrum=sase
check 'the bytes of a frame do not depend on those before it' cmp sase_2.raw only_2.raw
check 'a run with another seed succeeds' shots seed --frames=1 --spectrum=sase --seed=2
check_status 'another seed gives other pulses' 1 cmp -s sase_0.raw seed_0.raw
check 'jitter comes on top' shots jitter --frames=3 --spectrum=sase --fluence-jitter=30
check_status 'jitter changes the energy of a pulse' 1 cmp -s sase_0.raw jitter_0.raw

# --- measured spectra
printf '# energy/keV current/A\n8.95 1 4\n8.98 3 0\n9.00 5 0\n9.06 2 1\n' >two.txt
printf '9060 2 1\n9000,5,0\n8980 3 -7e-3\n8950 1 4\n' >back.txt
check 'two spectra in turn' shots two --frames=3 --spectra=two.txt --channels=1000
check 'the third frame has the first again' cmp two_0.raw two_2.raw
check_status 'the second does not' 1 cmp -s two_0.raw two_1.raw
check 'a list in eV from high to low, with noise below 0, is accepted' shots back --frames=2 --spectra=back.txt --channels=1000
check 'the list in eV gives the first image of the list in A' same two_0.raw back_0.raw
check 'the list in eV gives the second image of the list in A' same two_1.raw back_1.raw
# bragg-geometry takes the first one as a list of sources
awk 'NR > 1 { printf "-10 0 0 %s %.15g\n", $2, 12398.42 / ($1 * 1000) * 1e-10 }' two.txt >sources
# shellcheck disable=SC2086
bragg-geometry --quiet $crystal --source-file=sources --weights=apply | bragg-orient --quiet --misset=10,20,30 | bragg-intensity --quiet |
	bragg-write --quiet listed.raw
# shellcheck disable=SC2086
bragg-geometry --quiet $crystal | bragg-orient --quiet --misset=10,20,30 --spectra=two.txt --channels=1000 | bragg-intensity --quiet |
	bragg-write --quiet spectrum.raw
check 'a list of sources gives the same photons' same listed.raw spectrum.raw
check 'few channels keep all photons' shots few --frames=1 --spectra=two.txt --channels=2
check 'few channels keep the mean wavelength' awk '{ wave[NR] = $1 } END { if ((wave[1] / wave[2] - 1) ^ 2 > 1e-5 ^ 2) exit 1 }' \
	<<-EOF
	$(column few.tsv wavelength_A)
	$(column two.tsv wavelength_A | head -n 1)
	EOF

# --- what is known about a frame makes it again
# shellcheck disable=SC2086
bragg-geometry --quiet $crystal | bragg-orient --quiet --frames=2 --random --spectrum=twocolour --second=0.2 --separation=2 --channels=20 |
	bragg-intensity --quiet | bragg-write --quiet run.nxs
check 'recomputed from its file' bragg-replay --recompute run.nxs:1
finish
