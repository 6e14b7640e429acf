#!/bin/sh
# bragg-orient --pump: light and dark frames, and what light does.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'numpy' python:numpy

dark='--crystal=name=dark cell=70,80,90,90,90,90 ncells=8 default-F=100'
light='--crystal=name=light cell=70.5,80,90.5,90,90,90 ncells=8 default-F=110'
shots() { # NAME FIRST SECOND OPTION...
	name=$1 first=$2 second=$3
	shift 3
	bragg-geometry --quiet --detpixels=64 --pixel=1.5 --distance=100 --oversample=1 --fluence=1e26 "$first" ${second:+"$second"} |
		bragg-orient --quiet --frames=6 --random --seed=5 --truth="$name.tsv" "$@" | bragg-intensity --quiet --precision=double |
		bragg-write --quiet "${name}_%d.raw"
}
sum() {
	cat "$1"_?.raw | cksum
}
shots alone "$dark" ''
shots other "$light" ''
shots zero "$dark" "$light" --pump=1:2 --pumped=0
is 'molecules that light leaves alone: the bytes of the dark state' "$(sum zero)" "$(sum alone)"
shots label "$dark" '' --pump=1:2
is 'a label alone changes no pixel' "$(sum label)" "$(sum alone)"
is 'a label is in the table' "$(awk -F'\t' '{ printf "%s ", $NF }' label.tsv)" 'laser 1 0 0 1 0 0 '
shots all "$dark" "$light" --pump=1:2 --pumped=1
check 'all molecules excited: the other state, in light frames alone' sh -c '
	cmp all_0.raw other_0.raw && cmp all_3.raw other_3.raw && cmp all_1.raw alone_1.raw && cmp all_5.raw alone_5.raw'
shots some "$dark" "$light" --pump=1:2 --pumped=0.3 --lattices=2
shots dark2 "$dark" '' --lattices=2
shots light2 "$light" '' --lattices=2
check 'a share of them: each state by its share, in one orientation' /usr/bin/python3 -c "
import numpy as np
some, dark, light = (np.fromfile(n + '_3.raw', 'f4').astype(float) for n in ('some', 'dark2', 'light2'))
assert np.allclose(some, 0.7 * dark + 0.3 * light, rtol=1e-5) and (some != dark).any()
assert (np.fromfile('some_4.raw', 'f4') == np.fromfile('dark2_4.raw', 'f4')).all()"
is 'four lattices in the table' "$(awk -F'\t' '$1 == 3 { printf "%s %s, ", $7, $8 }' some.tsv | sed 's/0.69999999999999996/0.7/g; s/0.29999999999999999/0.3/g')" \
	'dark 0.7, light 0.3, dark 0.7, light 0.3, '
shots vary "$dark" "$light" --pump=1:0 --pumped=0.5 --pumped-spread=0.1
check 'shares that vary' test "$(awk -F'\t' '$7 == "light" { print $8 }' vary.tsv | sort -u | wc -l)" = 6
refuse() { # WHAT OPTION...
	wanted=$1
	shift
	is "refused: $*" "$(bragg-geometry --quiet --detpixels=8 "$dark" 2> /dev/null | bragg-orient --quiet --random "$@" 2>&1 > no | grep -o "$wanted")" "$wanted"
}
refuse "'1' is not a pattern; expected LIGHT:DARK" --pump=1
refuse 'is not a pattern' --pump=0:0
refuse 'is not a pattern' --pump=1:2:3
refuse 'pumped needs --pump' --pumped=0.1
check_status 'refused: one state' 2 sh -c "bragg-geometry --quiet --detpixels=8 --ncells=5 | bragg-orient --quiet --pump=1:1 --pumped=0.5 --out=ipc:///tmp/none 2> one.err"
is 'names what it needs' "$(grep -o 'needs two crystals.*' one.err)" 'needs two crystals, the dark and the light state; there is 1'
bragg-geometry --quiet --detpixels=32 --pixel=2 "$dark" | bragg-orient --quiet --frames=2 --random --pump=1:1 --facility=sacla |
	bragg-intensity --quiet | bragg-noise --quiet | bragg-write --quiet head_%d.img
is 'a header' "$(grep -aho 'BRAGG_PULSE.*' head_1.img | tr -d ';')" 'BRAGG_PULSE=tag 100000002 laser 0'
finish
