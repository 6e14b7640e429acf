#!/bin/sh
# bragg-orient --exposed and --gate: frames that are exposed during a part of their rotation, and whose exposure is known late.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

# photons FILE OPTION...: frames of a crystal that rotates
photons() {
	file=$1
	shift
	bragg-geometry --quiet --detpixels=64 --pixel=1.5 --distance=100 --ncells=8 --shape=gauss --fluence=1e27 |
		bragg-orient --quiet --misset=10,20,30 "$@" | bragg-intensity --quiet | bragg-write --quiet --overwrite "$file"
}
photons half_%d.raw --frames=2 --osc=4 --exposed=0.25 --phi-steps=6
photons first.raw --osc=1 --phi-steps=6
photons second.raw --phi0=4 --osc=1 --phi-steps=6
check 'an exposed quarter is a rotation by a quarter' bragg-compare --max-error=1e-6 half_0.raw first.raw
check 'the next frame begins after the whole rotation' bragg-compare --max-error=1e-6 half_1.raw second.raw
bragg-geometry --quiet --detpixels=16 | bragg-orient --quiet --osc=4 --exposed=0.25 | bragg-intensity --quiet | bragg-noise --quiet |
	bragg-write --quiet plain.img
is 'the header has the whole rotation' "$(strings plain.img | grep -c '^OSC_RANGE=4;')" 1
photons whole.raw --osc=4 --phi-steps=6 --exposed=1
photons plain.raw --osc=4 --phi-steps=6
check 'all of a rotation is the default' cmp whole.raw plain.raw
# narrow spots need a step for each part of the rotation that is exposed
steps() {
	bragg-geometry --quiet --detpixels=64 --ncells=30 | bragg-orient --quiet --osc=20 "$@" |
		bragg-tap --quiet --overwrite --record=steps.rec
	strings steps.rec | sed -n 's/.*--phi-steps=\([0-9]*\).*/\1/p' | head -n 1
}
all=$(steps) part=$(steps --exposed=0.1)
check "a tenth of the rotation needs fewer steps: $all and $part" test "$part" -lt "$((all / 5))"

# --- a file with exposures that grows
photons single_%d.raw --frames=3 --osc=1 --phi-steps=4
printf '2\n1\n0.5\n' >done.gate
photons gated_%d.raw --frames=3 --osc=1 --phi-steps=4 --gate=done.gate
check 'a factor 1 changes nothing' cmp single_1.raw gated_1.raw
perl -e 'local $/; open F, $ARGV[0]; print pack "f<*", map { $_ * $ARGV[1] } unpack "f<*", <F>' single_0.raw 2 >twice.raw
perl -e 'local $/; open F, $ARGV[0]; print pack "f<*", map { $_ * $ARGV[1] } unpack "f<*", <F>' single_2.raw 0.5 >half.raw
check 'a factor 2 doubles the photons' bragg-compare --max-error=1e-6 gated_0.raw twice.raw
check 'a factor 0.5 halves the photons' bragg-compare --max-error=1e-6 gated_2.raw half.raw
printf '1 0 0 4\n1 0 0 0\n' >turned.gate
photons turned_%d.raw --frames=2 --osc=1 --phi-steps=6 --gate=turned.gate
check 'a line with an angle' cmp turned_0.raw second.raw
check 'in any order' cmp turned_1.raw first.raw
printf '1 0 0 0 2000\n1 0 0 4 0\n' >near.gate
photons near_%d.raw --frames=2 --osc=1 --phi-steps=6 --gate=near.gate --gate-z
photons coffset.raw --osc=1 --phi-steps=6 --coffset=-2
check 'a line with a place along the beam' cmp near_0.raw coffset.raw
check 'only its frame moves' cmp near_1.raw second.raw
printf '2\n' >live.gate
photons late_%d.raw --frames=2 --osc=1 --phi-steps=4 --gate=live.gate &
run=$!
check 'the first frame does not wait for the second' soon cmp late_0.raw gated_0.raw
sleep 0.5
printf '1' >>live.gate
sleep 0.5
check 'a line that is not complete does not count' test ! -e late_1.raw
printf '\n' >>live.gate
status=0
wait $run || status=$?
is 'the run ends after the last line' "$status" 0
check 'the second frame has the photons of its line' cmp late_1.raw gated_1.raw
photons ctrl_%d.raw --frames=2 --gate=/dev/null 2>said &
run=$!
sleep 1
pid=$(pgrep -P $run bragg-orient || pgrep -n -f 'gate=/dev/nul[l]')
kill "$pid"
check 'SIGTERM ends a run that waits' soon sh -c "! kill -0 $pid 2>/dev/null"
wait $run

# refused WHAT TEXT OPTION...: with one line
refused() {
	what=$1 text=$2
	shift 2
	status=0
	bragg-geometry --quiet --detpixels=8 ${mode:-} | bragg-orient "$@" 2>said | bragg-tap >/dev/null 2>&1
	is "$what" "$(grep -cF -e "$text" said) $(wc -l <said)" '1 1'
}
printf '1\nx\n' >word.gate
printf '0\n' >zero.gate
printf '1 2\n' >two.gate
printf '%0200d\n' 1 >long.gate
refused 'a line without a number' "word.gate:2: the line is not a factor on the fluence (got 'x')" --frames=2 --gate=word.gate
refused 'a factor of 0' "zero.gate:1: the line is not a factor on the fluence (got '0')" --gate=zero.gate
refused 'two numbers in a line' "two.gate:1: the line is not a factor" --gate=two.gate
printf '1 0 0 0 0 0\n' >six.gate
printf '1 0 0 0 5\n' >along.gate
printf '1 0 0 0 100000\n' >front.gate
printf '1 2e6 0\n' >far.gate
printf '1 0 0\n1 5 0\n' >place.gate
refused 'six numbers in a line' "six.gate:1: the line is not a factor" --gate=six.gate
refused 'a place along the beam needs an option' "along.gate:1: the line has a place along the beam (got 5 um); expected 0. Give --gate-z" --gate=along.gate
refused 'a sample at the detector' 'puts panel 0 in front of the sample' --gate=front.gate --gate-z
refused '--gate-z without lines' '--gate-z' --gate-z
refused 'a place that is too far' "far.gate:1: the line is not a factor" --gate=far.gate
refused 'a place without a sample holder' "place.gate:2: the line has a place, but there is no sample holder. Give --crystals-at" \
	--frames=2 --gate=place.gate
refused 'a long line' "long.gate:1: the line is too long" --gate=long.gate
refused 'a file that does not exist' 'none.gate: cannot open' --gate=none.gate
refused 'the truth is not known before the first frame' '--gate and --truth' --gate=done.gate --truth=t.tsv
mode=--physics=faithful
refused 'faithful mode has no exposures' '--physics=physical' --gate=done.gate
mode=
refused 'no rotation' '--exposed' --exposed=0.5
refused 'nothing exposed' '--exposed' --osc=1 --exposed=0
finish
