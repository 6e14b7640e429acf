#!/bin/sh
# The reference cases: what nanoBragg, nonBragg and noisify wrote, byte for byte.
# tests/golden/manifest.tsv is made by scripts/make-golden, which documents it.
# GOLDEN_CASES, a pattern of names, limits the run.
tests=${BRAGG_TESTS:-$(cd "$(dirname "$0")/.." && pwd)}
. "$tests/lib.sh"
scratch
golden=$tests/golden

# value FILE TYPE SIZE OFFSET: one item of FILE as od prints it.
value() {
	od -An -t "$2" -j "$4" -N "$3" "$1" | tr -d ' '
}

# Says, once a case, which of its known pixels differ: floats by their bits, or, where
# there is no float image, counts of the noise image.
explain() {
	for pixel in $2; do
		place=${pixel%:*} expected=${pixel#*:}
		index=$((${place#*,} * $1 + ${place%,*}))
		if [ -f floatimage.bin ]; then
			got=$(value floatimage.bin x4 4 $((index * 4)))
		else
			got=$(value noiseimage.img u2 2 $((512 + index * 2)))
		fi
		[ "$got" = "$expected" ] || echo "pixel $place: got $got, expected $expected"
	done
}

# compare NAME FILE SUM: one test, if the case has that file.
compare() {
	[ "$3" = - ] && return
	got=missing
	[ -f "$2" ] && got=$(sha256sum <"$2" | cut -d' ' -f1)
	if [ "$got" = "$3" ]; then
		tap_result 0 "$1 $2"
		return
	fi
	tap_result 1 "$1 $2"
	note "sha256 $got, expected $3"
	case $2 in
	*.img) note "header:" "$(head -c 512 "$2" | tr -d '\000' | tr '\n\f' ';;' | cut -c1-490)" ;;
	*.pgm) note "$(head -3 "$2" | tail -1)" ;;
	esac
	[ -n "$explained" ] || note "$(explain "$width" "$pixels")"
	explained=yes
}

tab=$(printf '\t')
grep -v '^#' "$golden/manifest.tsv" >manifest
while IFS=$tab read -r case program width inputs float int noise pgm dump pixels arguments; do
	# shellcheck disable=SC2254 # a pattern is meant
	case $case in ${GOLDEN_CASES:-*}) ;; *) continue ;; esac
	mkdir "$case"
	cd "$case" || exit 1
	place_inputs "$golden/inputs" "$inputs"
	explained=
	# shellcheck disable=SC2086 # arguments are words
	check "$case runs" "$program" $arguments </dev/null
	compare "$case" floatimage.bin "$float"
	compare "$case" intimage.img "$int"
	compare "$case" noiseimage.img "$noise"
	compare "$case" image.pgm "$pgm"
	compare "$case" Fdump.bin "$dump"
	cd ..
	rm -rf "$case"
done <manifest

# The folder of reference cases has no image.pgm of noisify.
mkdir -p copy/tests cases/50_noisify_default
cp -R "$BRAGG_TESTS/../scripts" copy/
cp -R "$golden" copy/tests/
row=$(grep '^50_noisify_default' manifest)
(
	cd cases/50_noisify_default || exit 1
	gunzip -c "$golden"/inputs/*-in.bin.gz >in.bin
	printf 'noisify %s\n' "$(printf '%s\n' "$row" | cut -f11)" >cmd.txt
	echo '"npix_fast": 128' >stats.json
)
check 'make-golden runs' copy/scripts/make-golden cases
is 'make-golden keeps the sum of a file that the folder does not have' \
	"$(grep -v '^#' copy/tests/golden/manifest.tsv | cut -f1-9,11)" "$(printf '%s\n' "$row" | cut -f1-9,11)"
sed -i 's/-seed 7/-seed 8/' cases/50_noisify_default/cmd.txt
copy/scripts/make-golden cases >/dev/null
is 'make-golden has no sum of a file for other arguments' "$(grep -v '^#' copy/tests/golden/manifest.tsv | cut -f5-9)" \
	"$(printf '%s\t%s\t%s\t%s\t%s' - - - - -)"
finish
