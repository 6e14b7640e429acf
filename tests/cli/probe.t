#!/bin/sh
# bragg-geometry --probe: electrons and neutrons have their wavelength and cross section, and refuse what belongs to X-rays.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

small='--quiet --detpixels=64 --pixel=0.05 --distance=300 --oversample=1'
# frame NAME OPTION...
frame() {
	name=$1
	shift
	# shellcheck disable=SC2086 # options without blanks
	bragg-geometry $small --cell=5,5,5 --ncells=4 --shape=gauss --fluence=1e28 "$@" |
		bragg-orient --quiet --misset=0,0,3 | bragg-intensity --quiet | bragg-write --quiet --overwrite "$name.raw"
}
header() {
	head -c 3000 "$1" | grep -a "$2" | tr -d '\r'
}

# --- wavelengths of tables, from voltages
for row in 80:0.0417572 120:0.0334922 200:0.0250793 300:0.0196875; do
	# shellcheck disable=SC2086 # options without blanks
	bragg-geometry $small --probe=electron --voltage=${row%:*}kV --cell=5,5,5 --default-F=1 --write-geom=v.geom --overwrite |
		bragg-orient --quiet | bragg-intensity --quiet 2>/dev/null | bragg-write --quiet --overwrite v.cbf --scale=1
	is "wavelength at ${row%:*} kV" "$(header v.cbf Wavelength | awk '{printf "%.7f", $3}')" "${row#*:}"
	is '... CrystFEL gets the voltage' "$(sed -n 's/^electron_voltage = //p' v.geom)" "${row%:*}000 V"
done

# --- 1 A is 49376.14 electrons at 200 kV, and 1 fm 0.354869: gamma/r_e and 1/r_e
frame electron --probe=electron --default-F=2
frame xray --wavelength=0.0250793404 --no-polarization --default-F=98752.276
frame neutron --probe=neutron --wavelength=0.0250793404 --default-F=278278
frame default --default-F=3
frame named --default-F=3 --probe=xray
total() {
	od -An -v -w4 -tf4 "$1.raw" | awk '{ sum += $1 } END { print sum + 0 }'
}
alike() {
	note "$1 $(total "$1"), $2 $(total "$2")"
	awk -v a="$(total "$1")" -v b="$(total "$2")" 'BEGIN { exit !(a > 1 && a/b > 0.999995 && a/b < 1.000005) }'
}
check 'electrons scatter as gamma F_e/r_e electrons' alike electron xray
check 'neutrons scatter as F/r_e electrons' alike neutron xray
check '--probe=xray changes no byte' cmp default.raw named.raw
bragg-geometry --quiet --probe=electron --cell=5,5,5 --default-F=1 --detector=eiger-1m | bragg-orient --quiet | bragg-intensity --quiet |
	bragg-tap --quiet --record=electron.rec >/dev/null 2>tap.log || complain "$(cat tap.log)"
check 'experiments of electrons name the probe' grep -aq probe electron.rec
is 'experiments of X-rays do not name the probe' "$(bragg-geometry --quiet | bragg-orient --quiet | bragg-tap --quiet --record=xray.rec 2>/dev/null; \
	grep -ac 'probe' xray.rec)" 0

# --- matter: electrons have a table of water, whose rings are brighter near the beam
frame_of() {
	bragg-geometry --quiet --probe="$1" --cell=5,5,5 --default-F=0 --detpixels=64 --pixel=0.5 --distance=1000 --fluence=1e18 --beam-size=0.002 |
		bragg-orient --quiet | bragg-intensity --quiet 2>/dev/null | bragg-background --quiet --water=0.1 | bragg-write --quiet --overwrite water.raw
}
check 'water scatters electrons' frame_of electron
note "electrons in a frame of 0.1 um of water: $(total water)"
# 4e6 electrons cross 100 nm: 34 % are scattered inelastically (240 nm), 19 % elastically (529 nm)
check '... as many as the mean free paths say' eval 'awk -v n="$(total water)" "BEGIN { exit !(n > 0.25 * 4e6 && n < 0.6 * 4e6) }"'

# --- refusals by name
# refused WORDS OPTION...
refused() {
	words=$1
	shift
	is "$words" "$(bragg-geometry --quiet "$@" 2>&1 >/dev/null | head -n 1 | cut -c 1-"$((16 + ${#words}))")" "bragg-geometry: $words"
}
cell='--cell=5,5,5 --default-F=1'
# shellcheck disable=SC2086 # options without blanks
for option in energy=12000 third-harmonic=1 polarization=0.9 polarization-fraction=0.9; do
	refused "--${option%=*}: " --probe=electron $cell --$option
done
# shellcheck disable=SC2086
{
	refused '--wilson: its mean F belong to X-rays, but the beam has neutrons (bragg-geometry --probe). Remove --wilson' --probe=neutron --cell=5,5,5 --wilson=20
	refused '--wilson: its mean F belong to X-rays, but the beam has electrons (bragg-geometry --probe). Remove --wilson' --probe=electron --cell=5,5,5 --wilson=20
	is 'electrons are not offered random structure factors' "$(bragg-geometry --quiet --probe=electron --cell=5,5,5 2>&1)" \
		'bragg-geometry: --cell needs structure factors. Add --model, --mtz, --hkl or --default-F'
	refused '--probe=electron needs --model, --mtz or --hkl' --probe=electron
	refused '--voltage has an effect only with --probe=electron' --voltage=200kV
	refused '--voltage' --probe=electron --voltage=200 $cell
	refused '--voltage and --wavelength' --probe=electron --voltage=200kV --wavelength=1 $cell
	refused 'electrons with a wavelength of 1 A have 0.1504 kV; expected 10 to 5000 kV. Give --voltage=200kV' --probe=electron --wavelength=1 $cell
	refused '--thickness needs --absorption=UM with --probe=electron' --probe=electron --thickness=300 $cell
	refused '--probe' --probe=electron --physics=faithful $cell
	refused 'v.geom: the beam consists of electrons, not of X-rays. Give --probe=electron' --geom=v.geom
}
# later PROGRAM WORDS OPTION...: what programs after bragg-geometry refuse
later() {
	program=$1 words=$2
	shift 2
	is "$program: $words" "$({
		bragg-geometry --quiet --probe="${probe:-electron}" --cell=5,5,5 --default-F=1 | "$@" | bragg-tap --quiet
	} 2>&1 >/dev/null | grep -m 1 -o -- "$words")" "$words"
}
later bragg-orient '--spectrum: ' bragg-orient --quiet --spectrum=sase
later bragg-orient '--facility: ' bragg-orient --quiet --facility=lcls
later bragg-orient '--vary=energy: is the energy of a photon' bragg-orient --quiet --vary=energy=uniform:490000,500000
printf 'first energy_eV\n0 494000\n' >energy.runs
later bragg-orient 'energy_eV: is the energy of a photon' bragg-orient --quiet --runs=energy.runs
later bragg-orient '--vary=ice: its table is for X-rays' bragg-orient --quiet --vary=ice=uniform:1,2
later bragg-orient '--vary=air: its table is for X-rays' bragg-orient --quiet --vary=air=uniform:1,2
probe=neutron later bragg-orient '--vary=water: its table is for X-rays and electrons' bragg-orient --quiet --vary=water=uniform:1,2
recipes() {
	bragg-orient --quiet | bragg-intensity --quiet | "$@"
}
later bragg-background '--air: ' recipes bragg-background --air=10
later bragg-background '--ice: ' recipes bragg-background --ice=1
probe=neutron later bragg-background '--water: ' recipes bragg-background --water=1
later bragg-noise '--gain-switching: ' recipes bragg-noise --gain-switching
later bragg-serve '--protocol=karabo-bridge: clients expect X-rays' recipes bragg-serve --bind='tcp://127.0.0.1:*'

# --- water of single frames is that of --water
wet() { # FILE WATER ORIENT-OPTION...
	file=$1 water=$2
	shift 2
	bragg-geometry --quiet --probe=electron --cell=5,5,5 --default-F=1 --detpixels=32 --pixel=1 --distance=500 | bragg-orient --quiet "$@" |
		bragg-intensity --quiet | bragg-background --quiet --water="$water" | bragg-write --quiet "$file"
}
wet all.raw 0.05
wet each.raw 0 --vary=water=choice:0.05
check 'water that varies scatters electrons, too' cmp all.raw each.raw

# --- thickness
warned() {
	bragg-geometry --probe=electron --default-F=1 "$@" 2>&1 >/dev/null | grep -c 'elastic mean free path'
}
is 'a thin crystal has no warning' "$(warned --cell=50,50,50 --ncells=15)" 0
is 'a thick crystal has one' "$(warned --cell=50,50,50 --ncells=40)" 1
is '... also a large crystal of small blocks' "$(warned --cell=50,50,50 --ncells=10 --crystal-size=0.001)" 1

# --- models: F_e of silicon by gemmi, in equivalent electrons, and X-rays from the same cache
if has gemmi; then
	cat >si.cif <<'END'
data_Si
_cell_length_a 5.4310
_cell_length_b 5.4310
_cell_length_c 5.4310
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'F d -3 m :1'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
_atom_site_U_iso_or_equiv
Si1 Si 0 0 0 1 0.0059
END
	export XDG_CACHE_HOME="$PWD/cache"
	mkdir cache
	# of PROBE: |F| of 220 and 400 in electrons
	of() {
		# shellcheck disable=SC2086 # options without blanks
		bragg-geometry --quiet --probe=$1 --wavelength=0.0250793404 --model=si.cif --dmin=1 --ncells=3 --shape=gauss --fluence=1e30 \
			--detpixels=100 --pixel=0.6 --distance=1000 --oversample=1 --no-polarization | bragg-orient --quiet --misset=0,0,1 |
			bragg-intensity --quiet --reflections=1e-12 | bragg-write --quiet --overwrite si.raw --reflections=si.tsv
		awk '!names { if (/^#/) next; for (i = 1; i <= NF; i++) at[$i] = i; names = 1; next }
			{ n = $at["h"]*$at["h"] + $at["k"]*$at["k"] + $at["l"]*$at["l"]; F[n] = sqrt($at["F2"]) }
			END { printf "%.5g %.5g\n", F[8], F[16] }' si.tsv
	}
	is 'F of silicon for electrons, times gamma/r_e' "$(of electron)" '7.138e+05 4.2441e+05'
	is '... for X-rays, which the cache keeps apart' "$(of xray)" '67.575 56.422'
	is '... for neutrons, divided by r_e' "$(of neutron)" '11.413 11.058'
	is '... for electrons, from the cache' "$(of electron)" '7.138e+05 4.2441e+05'
else
	skip 'structure factors of silicon' "$lack is missing"
fi
finish
