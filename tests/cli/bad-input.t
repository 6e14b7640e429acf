#!/bin/sh
# Bad input of every kind, one row of bad-input.tsv each: the exit status, one line on
# stderr with the culprit in it, within a second and 64 MiB, and no file left behind.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
table=$BRAGG_TESTS/cli/bad-input.tsv
golden=$BRAGG_TESTS/golden
scratch
F=$PWD/fixtures
IN=--in=ipc://$PWD/nobody OUT=
export F IN OUT
mkdir "$F" "$F/folder"
cd "$F" || exit 1
# fixtures: on a full disk the script ends here, rather than with checks of what is not there
set -e
: > empty
bragg-run --make-keys=keys
# compressed text with a fixed head: bytes of every value
head -c 20000 "$golden/parity.tsv" | gzip -9n | tail -c 2000 > garbage
printf '1 2 3 10\n1 2\n' > short.hkl
printf '1 2 3 nan\n' > nan.hkl
printf '2147483648 0 0 1\n' > huge.hkl
printf -- '-90000 -90000 -90000 1\n90000 90000 90000 1\n' > box.hkl
printf '1 2 3 10 1\n1 2 4 10 1 0\n' > six.hkl
printf '9000 1\n9001 2 3\n' > ragged.spectra
printf '9000 1\n9001 2\n9001 3\n' > still.spectra
printf '9000 0\n9001 -2\n' > dark.spectra
printf '9000 1 5\n9001 5 -0.7\n9002 1 1\n' > below.spectra
printf '# energy/eV photons\r\n\r\n9000 1 5 \r\n 9001 5 -.25\t\r\n9002 -.125 1\r\n\r\n9003 1 0\r' > noise.spectra
printf '9000,5 0,97\n9001,5 1,2\n' > comma.spectra
printf '9000.5;0,97\n9001.5;1,2\n' > semicolon.spectra
printf '# wavelength/A weight\n1.37 1\n1.38 2\n' > wavelength.spectra
printf '9000,1,2\n9001, 2, 1\n' > comma.ok.spectra
printf '0 0 -10 1 1e-10\n0 0 -10 0,97 1e-10\n' > comma.sources
printf '5000 1\n6000 1\n' > far.spectra
printf '\357\273\277# made today\n# energy/keV\n5 1\n6 1\n' > second.spectra
printf '\357\273\277# made today\n# wavelength/A weight\n9000 1\n9001 2\n' > waves.spectra
printf '# energy/MeV\n0.009 1\n0.0091 1\n' > MeV.spectra
printf '0,5 0,5 0,5 0,5\n' > comma.rot
printf 'first label label\n0 a b\n' > twice.runs
printf 'first colour\n0 blue\n' > odd.runs
printf 'first\n5\n' > late.runs
printf 'first\n0\n9\n7\n' > back.runs
printf 'first hit_rate\n0 1\n4 1.5\n' > rate.runs
printf 'first hit_rate\n0 1\n' > rate.ok.runs
printf 'first\n' > none.runs
printf 'first energy_eV\n0 5000\n' > energy.runs
printf '1 2\n' > early.shadow
printf '0\n-101\n' > far.shifts
printf '1 2\n' > two.shifts
printf '1\n1 2 3\n' > odd.shifts
printf 'nan 2 3\n' > nan.shifts
printf 'shadow 0\n1 2\n3 4\nshadow 1\n' > line.shadow
printf 'shadow 2\n' > bright.shadow
printf 'shadow 0.5\n-1 -1\n0 -1\n0 0\nshadow 0\n300 300\n400 300\n400 400\n' > pixels.shadow
printf '1 2 3 10\n0 0 1 5\n1 2 3 20\n' > twice.hkl
printf '1 2 3 1e10\n' > bright.hkl
for h in 0 1 2 3; do for k in 0 1 2 3; do for l in 1 2 3 4; do echo $h $k $l 10; done; done; done > unique.hkl
awk '{ print; print -$1, -$2, -$3, $4 }' unique.hkl | sort -u > whole.hkl
cp "$golden/lysozyme_6A.mtz" good.mtz
# real FILE PLACE BYTES: FILE, or good.mtz, with another number in its second row: 80 bytes, 5 a row
real() {
	[ -e "$1" ] || cp good.mtz "$1"
	printf "$3" | dd of="$1" bs=1 seek="$((80 + 20 + 4 * $2))" conv=notrunc 2> /dev/null
}
real index.mtz 0 '\000\000\300\177'
real both.mtz 0 '\000\000\300\177'
real both.mtz 3 '\000\000\300\177'
real between.mtz 1 '\000\000\300\077'
real infinite.mtz 3 '\000\000\200\177'
real twice.mtz 2 '\000\000\000\100'
head -c 2000 good.mtz > half.mtz
sed 's/NCOL  *[0-9]* /NCOL 99999999 /' good.mtz > many.mtz
printf '1 0 0\n0 1 0\n' > short.mat
printf '0.01 0.01 0\n0 0 0.01\n0 0 0.01\n' > singular.mat
printf '0.01 0 0\n0 nan 0\n0 0 0.01\n' > nan.mat
printf '0 0 0 1 1e-10\n' > zero.src
printf -- '-1 0 0 1 1e-10\nhello\n' > words.src
printf -- '-1 0 0 1 1e-10\n-1 0 0 3 1.01e-10\n' > flat.src
printf -- '-1 0 0 2 1e-10\n-1 0 0 2 1.01e-10\n' > even.src
# smv FAST SLOW BYTES: an SMV file with as many bytes of pixels
smv() {
	printf '{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nSIZE1=%s;\nSIZE2=%s;\n}' "$1" "$2" |
		dd bs=512 count=1 conv=sync 2> /dev/null
	head -c "$3" /dev/zero
}
smv 8 8 128 > mask.img
smv 8 8 100 > short.img
smv 8 8 256 > long.img
smv 8 8 128 | sed 's/=little_/=muddle_/' > order.img
smv 8 8 128 | sed 's/^BYTE_ORDER/BITS_ORDER/' > unordered.img
smv 2147483647 2147483647 100 > wide.img
printf '1 0 0 0 1 0 0 0 1.1\n' > stretched.txt
printf '1 0 0 0 1 0 0 0 -1\n' > mirror.txt
printf 'clen = 0.1 m\nres = 10000\nhello\n' > words.geom
printf 'clen = 0.1 m\nres = 10000\na/fs = 2x\n' > long.geom
printf 'clen = 0.1 m\nres = 10000\na/min_fs = 0\n' > half.geom
# expt NAME SED-COMMAND: an experiment list of one panel, with a change
printf '%s\n' '{"__id__": "ExperimentList",' \
	'"experiment": [{"beam": 0, "detector": 0, "goniometer": null, "scan": null, "crystal": 0}],' \
	'"beam": [{"direction": [0, 0, 1], "wavelength": 1.0}],' \
	'"detector": [{"panels": [{"fast_axis": [1, 0, 0], "slow_axis": [0, -1, 0], "origin": [-1, 1, -50],' \
	'"image_size": [20, 20], "pixel_size": [0.1, 0.1]}]}],' \
	'"crystal": [{"real_space_a": [50, 0, 0], "real_space_b": [0, 60, 0], "real_space_c": [0, 0, 70]}]}' > good.expt
expt() {
	sed "$2" good.expt > "$1"
}
expt nan.expt 's/1\.0/NaN/'
expt axis.expt 's/"fast_axis": ./&"x", /'
expt lacks.expt 's/origin/origins/'
expt behind.expt 's/-1, 1, -50/-1, 1, 0/'
expt metal.expt 's/"image_size"/"thickness": 1, "material": 14, &/'
expt offset.expt 's/"image_size"/"px_mm_strategy": {"type": "OffsetPxMmStrategy"}, &/'
expt flat.expt 's/0, 60, 0/100, 0, 0/'
expt scan.expt 's/"scan": null/"scan": 0/; s/"crystal": \[/"scan": [{"image_range": [-3, 4]}], &/'
head -c 300 good.expt > half.expt
head -c 100000 /dev/zero | tr '\0' '[' > deep.expt
printf '1 0 0 0 0\n' > five.txt
printf '1 0 0 0\n' > one.txt
printf '0 2\n0.1 3\n' > good.stol
printf '0.1 2\n0 3\n' > falls.stol
printf '0 2\n0.1 abc\n' > words.stol
printf '0 2\n0.1 -3\n' > negative.stol
printf 'stages:\n\t- name: a\n' > broken.yaml
printf 'stages:\n- name: a\n- colour: b\n' > keys.yaml
printf 'stages:\n- name: a\n- name: a\n' > twice.yaml
printf 'stages:\n- {name: a, input: b}\n- name: b\n' > cycle.yaml
printf 'stages:\n- name: a\n- name: b\n' > absent.yaml
printf 'stages:\n- name: geometri\n- name: orient\n' > slip.yaml
printf 'stages:\n- name: geometry\n- name: orient\n' > good.yaml
bragg-geometry --detpixels=8 --pixel=1 | bragg-tap --record=geometry.rec
bragg-replay geometry.rec | bragg-orient --frames=3 | bragg-tap --record=recipes.rec
head -c 100 recipes.rec > head.rec
# flip FILE BYTE: a copy of recipes.rec with another byte there
flip() {
	cp recipes.rec "$1"
	printf 'x' | dd of="$1" bs=1 seek="$2" conv=notrunc 2> /dev/null
}
flip header.rec 20
flip first.rec 70
flip payload.rec 9000
head -c 100000 /dev/zero | tr '\0' '[' > deep.yaml
. "$BRAGG_TESTS/cli/bad-input.sh"
for made in *; do
	[ -s "$made" ] || [ "$made" = empty ]
done
set +e
cd .. || exit 1

limit_ms=1000
[ -z "${BRAGG_SANITIZED:-}" ] || limit_ms=3000 # their libraries alone take a second to load, five at once

# judge WANT WORD COMMAND: *faults* of a command in an empty folder
judge() {
	# a second of wall time: asked for again, later and later, when other work held the machine
	for pause in 0 0 1 2 4 8; do
		[ "$pause" = 0 ] || sleep "$pause"
		[ ! -e work ] || rm -rf work
		mkdir work
		(cd work && limited ../report sh -c "$3" < /dev/null > ../out 2> ../err)
		read -r status ms kib < report
		[ "$ms" -ge "$limit_ms" ] && [ "$ms" -lt 9000 ] || break # beyond that it hangs
	done
	faults= lines=0 said= left=
	while IFS= read -r line; do
		lines=$((lines + 1)) said=$said$line~
	done < err
	expected=1
	[ "$2" != - ] || expected=0
	[ "$status" = "$1" ] || faults="$faults status $status, expected $1;"
	[ "$lines" = "$expected" ] || faults="$faults $lines lines on stderr;"
	case $expected$said in 0* | *"$2"*) ;; *) faults="$faults no '$2' in it;" ;; esac
	case $1$expected$said in 01bragg-*': warning: '*) ;; 01*) faults="$faults no warning;" ;; esac
	[ "$ms" -lt "$limit_ms" ] || faults="$faults took $ms ms;"
	[ "$kib" -lt 65536 ] || faults="$faults took $kib KiB;"
	rmdir work 2> /dev/null || left=$(find work -type f | tr '\n' ' ')
	[ -z "$left" ] || faults="$faults left $left;"
	[ -z "$faults" ] || faults="$faults stderr: $said"
}

# lane NUMBER: every second row, one line of faults for each, in a folder and with an endpoint of its own
tab=$(printf '\t')
grep -v '^#' "$table" > rows
lane() {
	OUT=--out=@ipc://$PWD/somebody.$1
	mkdir "lane.$1" && cd "lane.$1" || exit 1
	number=0
	while IFS=$tab read -r want word command; do
		number=$((number + 1))
		[ $((number % 2)) = "$1" ] || continue
		judge "$want" "$word" "$command"
		printf '%s\n' "$faults"
	done < ../rows
}
(lane 1) > lane.1.faults &
(lane 0) > lane.0.faults
wait
exec 3< lane.1.faults 4< lane.0.faults
number=0
while IFS=$tab read -r want word command; do
	number=$((number + 1))
	faults='no verdict'
	if [ $((number % 2)) = 1 ]; then IFS= read -r faults <&3; else IFS= read -r faults <&4; fi
	is "$command" "$faults" ''
done < rows
finish
