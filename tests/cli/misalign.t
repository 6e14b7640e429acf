#!/bin/sh
# bragg-geometry --misalign: photons meet the true panels, files describe the nominal ones, and bragg-score --geometry
# finds how far a returned geometry is off, without the motions that no analysis sees.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

detector='--detpixels=120,100 --pixel=0.4 --cut=2,2 --distance=60'
drawn='panel shift=120,120,300um tilt=4mrad'
common='--quiet --ncells=8 --oversample=1 --thickness=320 --beam-size=0.02 --fluence=3e27'

# frames NAME 'INTENSITY OPTIONS' GEOMETRY...: photons of a frame, with background
frames() {
	name=$1 how=$2
	shift 2
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry $common "$@" | bragg-orient --quiet --frames=1 --random --seed=3 --coffset=1 --shift-jitter=0.05 |
		bragg-intensity --quiet --threads=1 $how | bragg-background --quiet --threads=1 --water=20 --ice=5 --streak=1e6 |
		bragg-write --quiet --overwrite "$name"
}
# stopped NAME GEOMETRY...: the same frame behind a beam stop, counted
stopped() {
	name=$1
	shift
	# shellcheck disable=SC2086 # options are meant to split
	bragg-geometry $common "$@" | bragg-orient --quiet --frames=1 --random --seed=3 | bragg-intensity --quiet --threads=1 |
		bragg-noise --quiet --threads=1 --seed=3 --beamstop=13 --unmasked | bragg-write --quiet "$name"
}

# --- the bytes of frames are those of the geometry file of the true places
# shellcheck disable=SC2086 # options are meant to split
{
	frames 'nominal.raw' '' $detector --write-geom=nominal.geom
	frames 'drawn.raw' '' $detector --misalign="$drawn" --write-true-geom=true.geom --misalign-truth=truth.tsv
	frames 'again.raw' '' $detector --misalign="$drawn"
	frames 'other.raw' '' $detector --misalign="$drawn" --misalign-seed=2
}
frames 'true.raw' '' --geom=true.geom
check 'a frame is that of the true geometry' cmp drawn.raw true.raw
# shellcheck disable=SC2086 # options are meant to split
stopped behind.raw $detector --misalign="$drawn"
stopped true_behind.raw --geom=true.geom
check '... and so it is behind a beam stop' cmp behind.raw true_behind.raw
check_status '... which is not that of the nominal geometry' 1 cmp -s drawn.raw nominal.raw
check '... and the same seed gives it again' cmp drawn.raw again.raw
check_status '... but not another seed' 1 cmp -s drawn.raw other.raw
# shellcheck disable=SC2086 # options are meant to split
for how in --engine=reference --precision=double; do
	frames 'drawn.raw' $how $detector --misalign="$drawn"
	frames 'true.raw' $how --geom=true.geom
	check "$how: the frame is that of the true geometry" cmp drawn.raw true.raw
done
closed='--shape=gauss --mosaic-model=gauss --mosaic-rms=0.2 --third-harmonic=2'
# shellcheck disable=SC2086 # options are meant to split
frames 'drawn.raw' '' $detector --misalign="$drawn" $closed
# shellcheck disable=SC2086 # options are meant to split
frames 'true.raw' '' --geom=true.geom $closed
check 'closed form, third harmonic: the frame is that of the true geometry' cmp drawn.raw true.raw

# shellcheck disable=SC2086 # options are meant to split
bars() {
	bragg-geometry $common "$@" | bragg-orient --quiet --frames=1 | bragg-fisher --quiet --parameters=distance,scale
}
# shellcheck disable=SC2086 # options are meant to split
is 'error bars are those of the true geometry' "$(bars $detector --misalign="$drawn")" "$(bars --geom=true.geom)"

# --- everything else describes the nominal detector
# shellcheck disable=SC2086 # options are meant to split
written() {
	folder=$1
	shift
	mkdir "$folder"
	bragg-geometry $common $detector --write-geom="$folder/out.geom" "$@" |
		bragg-orient --quiet --frames=1 --random --seed=3 | bragg-intensity --quiet --reflections=1 |
		bragg-write --quiet --reflections="$folder/run.refl" "$folder/run.nxs"
}
written plain
written moved --misalign="$drawn"
check 'the geometry file is the nominal one' cmp plain/out.geom moved/out.geom
sed 's/"[0-9a-f]\{16\}-[0-9]*-[0-9]*"//g' plain/run.expt >one.expt
sed 's/"[0-9a-f]\{16\}-[0-9]*-[0-9]*"//g' moved/run.expt >two.expt
check 'so is the experiment list' cmp one.expt two.expt
for from in plain moved; do
	bragg-geometry --quiet --detector=$from/run.nxs --write-geom=$from/again.geom | bragg-tap --print >$from/print
done
check 'so is the detector of the NXmx file' cmp plain/again.geom moved/again.geom
is 'the NXmx file scores the nominal geometry against the true one' \
	"$(bragg-score --geometry=nominal.geom moved/run.nxs | tail -n 2)" "$(bragg-score --geometry=nominal.geom true.geom | tail -n 2)"
bragg-geometry --quiet $detector --misalign="$drawn" --ncells=5 2>/dev/null | bragg-orient --quiet --frames=1 |
	bragg-intensity --quiet | bragg-tap --record=one.rec --quiet
is '... and so does a recording' "$(bragg-score --geometry=nominal.geom one.rec | tail -n 2)" \
	"$(bragg-score --geometry=nominal.geom true.geom | tail -n 2)"
check 'a recorded frame is computed again' bragg-replay --recompute one.rec:0
check 'the true geometry has no error' bragg-score --geometry=true.geom --require='panels_px.rms<0.00001' moved/run.nxs
is 'the NXmx file as a result has the nominal one' "$(bragg-score --geometry=moved/run.nxs moved/run.nxs | tail -n 2)" \
	"$(bragg-score --geometry=nominal.geom true.geom | tail -n 2)"

# --- draws: rms, members, and places that do not depend on the others
# column LINE NUMBER FILE
column() {
	awk -F '\t' -v line="$1" -v at="$2" 'NR == line { if ($at + 0 == $at) printf "%.3f\n", $at; else print $at }' "$3"
}
draws() {
	file=$1
	shift
	bragg-geometry --quiet --misalign-truth="$file" "$@" | bragg-tap --print >/dev/null
}
draws small.tsv --detpixels=200 --cut=2,2 --misalign='panel shift=10um'
draws large.tsv --detpixels=200 --cut=20,20 --misalign='panel shift=10,20,40um tilt=1mrad'
is 'the draw of a panel does not depend on the number of panels' "$(column 4 4 small.tsv)" "$(column 4 4 large.tsv)"
rms() {
	awk -F '\t' -v at="$1" -v from="$2" -v to="$3" 'NR > 1 { sum += $at * $at }
		END { rms = sqrt(sum / (NR - 1)); if (rms < from || rms > to) print rms }' large.tsv
}
is 'rms shift along fast, slow, normal; tilt' "$(rms 4 9 11)$(rms 5 18 22)$(rms 6 36 44)$(rms 7 0.9 1.1)$(rms 8 0.9 1.1)$(rms 9 0.9 1.1)" ''
draws agipd.tsv --detector=agipd-1m --misalign='group:quadrants shift=300um tilt=3mrad'
is 'quadrants: four tilts for 128 panels' "$(cut -f 7-9 agipd.tsv | tail -n +2 | sort -u | wc -l)" 4
is '... and the groups are named' "$(column 2 3 agipd.tsv) $(column 129 3 agipd.tsv)" 'quadrants:0 quadrants:3'
draws whole.tsv --detector=jungfrau-1m --misalign='detector tilt=3mrad'
is 'a detector tilts as one' "$(cut -f 7-9 whole.tsv | tail -n +2 | sort -u | wc -l)" 1
for name in agipd-1m:modules:16 cspad:quadrants:4 cspad:modules:32 epix10k-2m:modules:16 epix10k-2m:quadrants:4 jungfrau-16m:quadrants:4; do
	preset=${name%%:*} rest=${name#*:}
	draws "$name.tsv" --detector="$preset" --misalign="group:${rest%:*} tilt=3mrad"
	is "$preset: groups ${rest%:*}" "$(cut -f 3 "$name.tsv" | tail -n +2 | sort -u | wc -l)" "${rest#*:}"
done
sed -e '/^bad/d' nominal.geom >groups.geom
cat >>groups.geom <<'END'
rigid_group_left = p0,p2
rigid_group_right = p1, p3
rigid_group_collection_halves = left,right
group_all = left,right
END
draws halves.tsv --geom=groups.geom --misalign='group:halves shift=50um tilt=2mrad' --misalign='panel shift=1um'
is 'groups of a geometry file' "$(column 2 3 halves.tsv) $(column 3 3 halves.tsv) $(column 4 3 halves.tsv)" \
	'halves:0 halves:1 halves:0'
is '... move as one' "$(cut -f 7 halves.tsv | tail -n +2 | cut -c 1-6 | sort -u | wc -l)" 2
draws all.tsv --geom=groups.geom --misalign='group:all tilt=2mrad'
is '... also one of groups' "$(cut -f 7 all.tsv | tail -n +2 | cut -c 1-6 | sort -u | wc -l)" 1

# --- the score, with known numbers: 9 panels of 300 x 300 pixels of 0.1 mm, 120 mm away
cat >places <<'END'
-460.222249721 -459.597400913 -0.000023110838 +0.999998661151 -0.001487013185 +0.000682999217 +0.001487924268 +0.999998001419 -0.001335379533
-149.883501011 -459.276032658 -0.000034081871 +0.999999586772 +0.000534988435 -0.000735011987 -0.000535672288 +0.999999423598 -0.000930515417
159.960783074 -460.455042737 -0.000049404336 +0.999997731636 -0.000687474464 +0.002015961977 +0.000685371532 +0.999999220534 +0.001043645839
-461.079465984 -150.834785623 -0.000244229307 +0.999998109995 +0.000407231484 +0.001901096742 -0.000406561062 +0.999999855041 -0.000353023257
-149.880456675 -150.137606359 -0.000290980725 +0.999999982910 +0.000169992853 +0.000072682741 -0.000169934067 +0.999999659092 -0.000808045434
158.900668181 -150.104591583 -0.000075349836 +0.999998000181 -0.001212266264 -0.001590611675 +0.001210335553 +0.999998530379 -0.001214218554
-460.005157296 160.516287896 -0.000065033314 +0.999999981696 +0.000095658779 -0.000165704228 -0.000095686542 +0.999999981386 -0.000167544996
-150.707827471 160.019460215 0.000217206998 +0.999999153119 +0.000177535040 -0.001289280251 -0.000180526614 +0.999997291112 -0.002320598887
159.744944972 161.070808772 0.000120142708 +0.999999619611 +0.000864933262 -0.000112552338 -0.000865134337 +0.999998007778 -0.001798883810
END
# geometry MOVE: a geometry file of these places, moved by an awk program on x y z of corner (v), fast (f) and slow (s)
geometry() {
	awk -v px=1e-4 "$1"'
	BEGIN { print "clen = 0.12\nphoton_energy = 12398.42\nadu_per_photon = 1\nres = 10000" }
	{
		i = NR - 1
		cx = $1 * px; cy = $2 * px; cz = $3 + 0.12; fx = $4; fy = $5; fz = $6; sx = $7; sy = $8; sz = $9
		move()
		printf "p%d/min_fs = 0\np%d/max_fs = 299\np%d/min_ss = %d\np%d/max_ss = %d\n", i, i, i, i * 300, i, i * 300 + 299
		printf "p%d/corner_x = %.9f\np%d/corner_y = %.9f\np%d/coffset = %.12f\n", i, cx / px, i, cy / px, i, cz - 0.12
		printf "p%d/fs = %+.12fx %+.12fy %+.12fz\np%d/ss = %+.12fx %+.12fy %+.12fz\n", i, fx, fy, fz, i, sx, sy, sz
	}' places
}
turned='function turn(a, b, w) { A = a; B = b; P = cos(w) * A - sin(w) * B; Q = sin(w) * A + cos(w) * B }'
geometry 'function move() { }' >true9.geom
geometry 'function move() { cx = (i % 3 * 310 - 460) * px; cy = (int(i / 3) * 310 - 460) * px; cz = 0.12
	fx = sy = 1; fy = fz = sx = sz = 0 }' >nominal9.geom
geometry "$turned"'function move() { turn(cx, cy, 1e-3); cx = P; cy = Q; turn(fx, fy, 1e-3); fx = P; fy = Q
	turn(sx, sy, 1e-3); sx = P; sy = Q }' >turn9.geom
geometry 'function move() { cz += 1e-4 }' >far9.geom
geometry "$turned"'function move() { turn(cy, cz, 5e-4); cy = P; cz = Q; turn(fy, fz, 5e-4); fy = P; fz = Q
	turn(sy, sz, 5e-4); sy = P; sz = Q }' >tilt9.geom
geometry 'function move() { if (i == 4) { cx += 5e-5 * fx; cy += 5e-5 * fy; cz += 5e-5 * fz } }' >panel9.geom
# scored FILE: the four rms errors
scored() {
	bragg-score --geometry="$1" true9.geom | awk '/^panels_px/ { printf "%.4f %.4f %.4f %.4f", $3, $5, $7, $9 }'
}
# motion FILE: what moved
motion() {
	bragg-score --geometry="$1" true9.geom | awk '/^panels / { printf "%.3f %.5f %.3f %.3f", $3, $5, $7, $9 }' | sed 's/-0\.000/0.000/g'
}
is 'the nominal geometry' "$(scored nominal9.geom)" '0.9288 0.9179 0.8932 0.7884'
is 'turned about the beam by 1 mrad' "$(scored turn9.geom)" '0.3848 0.0002 0.0000 0.0000'
is 'moved along the beam by 100 um' "$(scored far9.geom)" '0.3207 0.3207 0.0003 0.0003'
is 'turned about x by 0.5 mrad' "$(scored tilt9.geom)" '0.6319 0.6319 0.6319 0.0000'
is 'the turn is found with its sign' "$(motion turn9.geom)" '1.000 0.00000 0.000 0.000'
is '... and the distance' "$(motion far9.geom)" '0.000 0.00083 0.000 0.000'
is '... and the tilt' "$(motion tilt9.geom)" '0.000 0.00000 0.500 0.000'
is 'one panel moved by half a pixel: its error and no other' "$(bragg-score --geometry=panel9.geom true9.geom |
	awk '/by_panel/ { printf "%s%.3f", (NR > 1 ? " " : ""), $7 }')" '0.000 0.000 0.000 0.000 0.500 0.000 0.000 0.000 0.000'
check 'a requirement on it' bragg-score --geometry=nominal9.geom --require='panels_px.rms<0.93' true9.geom
check_status '... can fail' 1 bragg-score --geometry=nominal9.geom --require='panels_px.rms<0.9' true9.geom

# --- errors
# refuses NAME TEXT OPTION...
refuses() {
	name=$1 text=$2
	shift 2
	bragg-geometry "$@" 2>error.log | cat >/dev/null
	check "$name" grep -q -e "$text" error.log
}
refuses 'a word that is not a level' 'does not begin with a level' --misalign='panle shift=3'
refuses 'nothing moves' 'nothing moves' --misalign=panel
refuses 'two values' '1 or 3' --misalign='panel shift=1,2'
refuses 'a level twice' 'given twice' --misalign='panel shift=3' --misalign='panel tilt=3'
refuses 'a key twice' 'given twice' --misalign='panel shift=3 shift=4'
refuses 'no such group' 'expected group:modules or group:quadrants' --detector=agipd-1m --misalign='group:q shift=3'
refuses 'no groups' 'no groups of panels' --misalign='group:q shift=3'
refuses 'a group of the file that does not exist' 'expected one of left, right, halves, all' --geom=groups.geom --misalign='group:q shift=3'
sed 's/p0,p2/p0,p9/' groups.geom >wrong.geom
refuses 'a group with a panel that does not exist' "has 'p9'" --geom=wrong.geom --misalign='group:halves shift=3'
sed 's/p1, p3/p0,p1/' groups.geom >wrong.geom
refuses 'a panel in two groups' 'another group of the same collection' --geom=wrong.geom --misalign='group:halves shift=3'
refuses 'a curved detector' 'cannot be used together' --curved --misalign='panel shift=3'
refuses 'faithful mode' 'physical' --physics=faithful --misalign='panel shift=3'
refuses 'a seed alone' 'needs --misalign' --misalign-seed=3
refuses 'a panel in front of the sample' 'is not behind the sample' --distance=10 --detpixels=100 --misalign='detector shift=0,0,100000 tilt=0' --misalign-seed=4
bragg-score --report=x.html --geometry=nominal9.geom true9.geom 2>error.log
check '--report needs results' grep -q 'needs a RESULT' error.log
bragg-score --geometry=nominal9.geom nominal.geom 2>error.log
check 'another detector' grep -q 'is not on the detector' error.log
finish
