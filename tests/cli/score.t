#!/bin/sh
# bragg-score: streams made from ground truth, with known faults, give the figures that they must.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/score.sh"
needs 'scores of streams made from ground truth' python:h5py python:numpy
scratch

# make KEY OPTION...: ground truth of four frames, one of them empty
make() {
	name=$1
	shift
	bragg-geometry --quiet --detpixels=512 --pixel=0.2 --distance=120 --ncells=20 "$@" |
		bragg-orient --quiet $orient |
		bragg-intensity --quiet --threads=1 --reflections=5 | bragg-write --quiet "$name"
	/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" "$name" 0.2 120
}
mkdir square turning
orient='--frames=3 --osc=2 --phi0=20'
(cd turning && make truth.nxs)
orient='--random --lattices=2 --frames=2 --seed=3'
(cd square && make truth.nxs --cell=60,60,35,90,90,90 --default-F=100)
orient='--random --hit-rate=0.75 --frames=4 --seed=5'
make truth.nxs
bragg-score truth.nxs perfect.stream >perfect
bragg-geometry --quiet --detpixels=512 --pixel=0.2 --distance=120 --ncells=20 | bragg-orient --quiet $orient |
	bragg-intensity --quiet --threads=1 --reflections=5 | bragg-tap --record=truth.rec
is 'a recording gives the same score as NXmx' "$(bragg-score --json=- truth.rec perfect.stream | sed 's/truth.rec/KEY/')" \
	"$(bragg-score --json=- truth.nxs perfect.stream | sed 's/truth.nxs/KEY/')"
true_spots=$(sed -n 's/^spots .* true \([0-9]*\) .*/\1/p' perfect)
strong=$(sed -n 's/^spots .* strong \([0-9]*\) .*/\1/p' perfect)

# --- what was made from the ground truth is right
known 'a perfect answer' truth.nxs perfect.stream '' frames=4 frames_without_answer=0 \
	hits.true_positive=3 hits.false_positive=0 hits.false_negative=0 hits.true_negative=1 \
	spots.precision=1 spots.recall=1 spots.found="$true_spots" found_px.fast=0 found_px.slow=0 geometry_px.fast=0 geometry_px.slow=0 \
	predicted_px.fast=0 predicted_px.slow=0 predicted_px.n="$true_spots" predicted.share=1 \
	lattices.true=3 lattices.found=3 lattices.wrong=0 lattices.missed=0 angle_deg.median=0 angle_deg.p95=0 angle_deg.max=0 angle_deg.n=3 \
	cell.a.mean=59.062 cell.b.mean=68.451 cell.c.mean=30.517 cell.a.relative_error=0 cell.alpha.mean=90~1e-5 cell.n=3 \
	intensities.cc=1 intensities.slope=1 intensities.chi2=0 intensities.n="$true_spots"
known 'panels that begin elsewhere in the data' truth.nxs first.stream '' spots.recall=1 found_px.fast=0 geometry_px.fast=0 predicted_px.fast=0
known 'the distance comes with the frames' truth.nxs distance.stream '' geometry_px.fast=0 geometry_px.slow=0
known 'image numbers of the ground truth file' truth.nxs event.stream '' frames=4 spots.recall=1 angle_deg.max=0
awk '/^----- Begin chunk/ { n++ } /^Event/ { $0 = "Event: //" } /^Image filename/ { $0 = sprintf("Image filename: run2/lyso_%04d.cbf", n - 1) }
	!/frame_id/' perfect.stream >images.stream
known 'numbers in the names of images' truth.nxs images.stream '' frames=4 spots.recall=1 angle_deg.max=0
for option in --convention=dials '--convention=custom --spindle=0,0.6,0.8'; do
	rm -f axes*
	# shellcheck disable=SC2086 # options are words
	bragg-geometry --quiet --detpixels=512 --pixel=0.2 --distance=120 --ncells=20 $option 2>axes.err | bragg-orient --quiet $orient |
		bragg-intensity --quiet --threads=1 --reflections=5 | bragg-write --quiet --reflections=axes.stream axes.nxs
	known "axes across the beam are CrystFEL's: $option" axes.nxs axes.stream '' frames=4 spots.recall=1 geometry_px.fast=0~1e-4 \
		lattices.wrong=0 lattices.missed=0 angle_deg.max=0~1e-3 angle_deg.n=3
done
# indexamajig's NaN where nothing could be measured
awk '/^ *h +k/ { n = 2; print; next } n { $(6 - n) = n > 1 ? "nan" : "-nan"; n-- } 1' perfect.stream >unmeasured.stream
is 'two in each crystal' "$(grep -c nan unmeasured.stream)" 6
known 'reflections that are not measured are predicted' truth.nxs unmeasured.stream '' predicted_px.n="$true_spots" predicted.share=1 \
	intensities.n=$((true_spots - 6)) intensities.cc=1 intensities.chi2=0
known 'a stream in two parts' truth.nxs 'half.stream second.stream' '' frames=4 frames_without_answer=0 spots.recall=1 lattices.missed=0

# --- faults, each of which has its figure
known 'turned by half a degree' truth.nxs turned.stream '' angle_deg.median=0.5 angle_deg.p95=0.5 angle_deg.max=0.5 lattices.wrong=0 \
	angle_deg.x_median=0.133631 angle_deg.y_median=0.267261 angle_deg.z_median=0.400892 cell.a.relative_error=0 spots.recall=1
known 'turned by 2 degrees: wrong' truth.nxs turned2.stream '' lattices.wrong=3 lattices.right=0 lattices.missed=3 angle_deg.median=absent \
	angle_deg.n=0 intensities.cc=absent intensities.n=0 cell.a.mean=absent predicted_px.fast=absent spots.recall=1
known 'orientations within --angle are right' truth.nxs turned2.stream --angle=3 lattices.wrong=0 angle_deg.median=2 angle_deg.n=3
known 'a cell larger by 1 %' truth.nxs cell.stream '' cell.a.relative_error=0.01 cell.b.relative_error=0.01 cell.c.relative_error=0.01 \
	cell.volume.relative_error=0.030301 cell.a.mean=59.65262 angle_deg.median=0 lattices.wrong=0
known 'spots half a pixel off' truth.nxs shifted.stream '' found_px.fast=0.5 found_px.slow=0 geometry_px.fast=0 predicted_px.fast=0 spots.precision=1
check 'the table says that spots are half a pixel off' grep -q 'found spots: half a pixel off, +0.50 px along fast' table
known 'a detector half a pixel off' truth.nxs corner.stream '' geometry_px.fast=-0.5 geometry_px.slow=0 found_px.fast=0
check 'the table says that the geometry is half a pixel off' grep -q 'geometry of the analysis: half a pixel off, -0.50 px along fast' table
known 'nothing is off in a perfect answer' truth.nxs perfect.stream '' geometry.distance_mm=0 geometry.distance_relative=0 geometry.turn_deg=0 \
	geometry.tilt_x_deg=0 geometry.tilt_y_deg=0 wavelength.relative_error=0
check 'the table says nothing of a correct geometry' sh -c '! grep -q " off\|turned\|tilted" table'
known 'a camera length of 111 instead of 110' truth.nxs far.stream '' geometry.distance_mm=1.090909 geometry.distance_relative=0.00909091 geometry.turn_deg=0
check 'the table says that the camera length is off' grep -q '^the geometry of the analysis: the camera length is off by +1.091 mm (+0.909 %)$' table
known 'a camera length that is 2 % short' truth.nxs near.stream '' geometry.distance_mm=-2.4 geometry.distance_relative=-0.02
known 'a camera length that is off, on a detector that is shifted' truth.nxs far_off.stream '' geometry.distance_mm=1.2 geometry.turn_deg=0
check 'the table says the errors of beam centre and camera length' sh -c 'grep -q "off by -2.02 px along fast" table && grep -q "the camera length is off by +1.200 mm" table'
known 'a detector that is turned about the beam' truth.nxs about.stream '' geometry.turn_deg=0.5 geometry.distance_mm=0 geometry.tilt_x_deg=0
check 'the table says the turn about the beam in degrees' grep -q '^the geometry of the analysis: the detector is turned about the beam by +0.500 deg$' table
known 'turned and near' truth.nxs far_about.stream '' geometry.turn_deg=-1 geometry.distance_relative=-0.01
known 'turned by more than a detector may be off' truth.nxs about_6.stream '' geometry.turn_deg=0 lattices.wrong=3
check 'the table says that the axes of the analysis are turned' grep -q '^the axes of the analysis are turned about the beam by -6.00 deg' table
known 'a detector that is tilted about x' truth.nxs tilt_x.stream '' geometry.tilt_x_deg=0.5~1e-3 geometry.tilt_y_deg=0~1e-3
known 'a detector that is tilted about y' truth.nxs tilt_y.stream '' geometry.tilt_y_deg=-0.4~1e-3 geometry.tilt_x_deg=0~1e-3
known 'a wavelength that is off' truth.nxs blue.stream '' wavelength.relative_error=-0.00990099 geometry.distance_mm=0
check 'the table says that the wavelength is off' grep -q '^the wavelength of the analysis is off by -0.990 %$' table
known 'a cell by a wrong camera length' truth.nxs far_cell.stream '' geometry.distance_relative=0.01 cell.b.relative_error=0.01
check 'the table says that the camera length is off, not the cell' grep -q '^all edges of found cells are off by +1.00 %, as the camera length and the wavelength' table
known 'a cell by a wrong wavelength' truth.nxs blue_cell.stream '' wavelength.relative_error=-0.01 cell.b.relative_error=-0.01
check 'the table says that all edges of cells are off' grep -q '^all edges of found cells are off by -1.00 %, as the camera length and the wavelength' table
known 'a wrong cell' truth.nxs cell.stream '' geometry.distance_mm=0 wavelength.relative_error=0
check 'the table says that the cell is off, not the geometry' grep -q '^all edges of found cells are off by +1.00 %: +0.00 % are from the camera length and the wavelength' table
sed '/^photon_energy_eV/d' cell.stream >cell_alone.stream
known 'a wrong cell in results without a wavelength' truth.nxs cell_alone.stream '' wavelength.relative_error=absent cell.a.relative_error=0.01
check 'the table says that positions alone cannot separate the causes' grep -q 'positions alone cannot distinguish a wrong cell from a wrong camera length or wavelength' table
known 'a tenth of the strong spots dropped' truth.nxs dropped.stream '' spots.precision=1 \
	spots.recall="$(awk "BEGIN { printf \"%.9f\", 1 - int(($strong + 9) / 10) / $strong }")"
known 'errors of one sigma' truth.nxs noisy.stream '' intensities.chi2=1
known 'sigmas halved' truth.nxs halved.stream '' intensities.chi2=4
known 'units of the detector instead of photons' truth.nxs gain.stream '' intensities.chi2=1 intensities.slope=1~0.02
known 'no spots' truth.nxs silent.stream '' spots.precision=absent spots.recall=0 found_px.fast=absent found_px.n=0 angle_deg.max=0
check 'the table says why a figure is absent' grep -q '^found_px .*fast absent (no found spot is a true one above 100 photons)' table
known 'nothing taken for a hit' truth.nxs blind.stream '' hits.true_positive=0 hits.false_negative=3 hits.false_positive=0 hits.true_negative=1
known 'everything taken for a hit' truth.nxs keen.stream '' hits.true_positive=3 hits.false_positive=1 hits.true_negative=0
known '--hit says what a hit is' truth.nxs perfect.stream --hit=1000,1 hits.true_positive=0 hits.false_positive=3
known 'frames without an answer' truth.nxs half.stream '' frames=2 frames_without_answer=2 lattices.true=3 lattices.missed=1 hits.false_negative=1
check 'the table says how many frames have no result' grep -q '^2 frames of the ground truth have no result' table
known 'frames that --only does not list are not missed' truth.nxs half.stream --only=0-1 frames=2 frames_without_answer=0 lattices.missed=0 \
	hits.false_negative=0 spots.recall=1
known 'results of frames that --only does not list are skipped' truth.nxs perfect.stream --only=1-3 frames=3 frames_without_answer=0 spots.precision=1
known 'frames of --only without an answer' truth.nxs half.stream --only=1,2-3 frames=1 frames_without_answer=2
is '--only of a frame that is not in the ground truth' "$(bragg-score --only=3-9 truth.nxs half.stream 2>&1; echo $?)" \
	"bragg-score: --only: frame 4 is not in truth.nxs, which has 4 frames from 0 to 3
2"

# --- strong by I/sigma: spots of I/sigma above 3 are found
bragg-geometry --quiet --detpixels=512 --pixel=0.2 --distance=120 --ncells=20 | bragg-orient --quiet $orient |
	bragg-intensity --quiet --threads=1 --reflections | bragg-background --quiet --water=20 | bragg-tap --quiet --record=wet.rec
bragg-replay --quiet wet.rec | bragg-write --quiet wet.nxs
for table in wet.tsv wet_%d.refl wet.stream; do
	bragg-replay --quiet wet.rec | bragg-write --quiet --overwrite --reflections="$table" wet_%d.raw
done
awk 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "frame\tfast\tslow"; next }
	{ photons = $at["photons"]; sigmas = photons / sqrt(photons + $at["background"]); total++
	  strong += sigmas > 3; bright += photons > 30; both += sigmas > 3 && photons > 30; band += sigmas >= 4 && sigmas < 8 }
	sigmas > 3 { print $at["frame"] "\t" $at["fast"] "\t" $at["slow"] }
	END { print strong, bright, both, band >"counts" }' wet.tsv >peaks.tsv
read -r above bright both band <counts
check 'half of the bright reflections are lost in the background' [ $((2 * both)) -lt "$bright" ]
for truth in wet.nxs wet.rec wet.tsv wet_%d.refl; do
	known "strong by I/sigma: $truth" $truth peaks.tsv --strong=3 spots.strong="$above" spots.recall=1 spots.precision=1 \
		spots.by_i_over_sigma.from_4.recall=1 spots.by_i_over_sigma.from_4.n="$band" spots.by_i_over_sigma.from_0.recall=0
	check "strong by I/sigma: $truth has no warning" sh -c '! grep -q "I/sigma below" table'
done
known 'strong by photons' wet.nxs peaks.tsv '' spots.strong="$bright" spots.recall="$(awk "BEGIN { printf \"%.9f\", $both / $bright }")"
is 'a line says that strong reflections are below the noise' "$(grep 'I/sigma below' table)" \
	"$((bright - both)) of $bright strong reflections (more than 30 photons) have I/sigma below 3 because of the background; --strong=3 excludes them from recall and hits"
known 'hits by I/sigma' wet.nxs peaks.tsv '--strong=3 --hit=10000,1' hits.true_positive=0
bragg-score --strong=3 --report=page.html wet.nxs peaks.tsv >/dev/null
check 'the report says which spots are strong' grep -q 'All strong spots (I/sigma above 3) should be found' page.html
known 'no background' truth.nxs perfect.stream --strong=3 spots.recall=1
check 'a line says that there is no background' grep -q '^--strong: the ground truth has no photons of background' table
refused 'ground truth that does not contain the background' 2 '--strong: wet.stream does not contain the background' --strong=3 wet.stream peaks.tsv

# --- other settings of the same lattice
known 'the hand inverted' truth.nxs hand.stream '' lattices.wrong=3 lattices.left_handed=3 angle_deg.n=0
check 'the table says that the hand is inverted' grep -q 'the hand is inverted' table
known 'half a turn that the symmetry allows' truth.nxs twofold.stream '' lattices.wrong=0 angle_deg.max=0 intensities.cc=1 predicted_px.fast=0 \
	intensities.n="$true_spots"
known 'half a turn that P 1 does not allow is counted apart' truth.nxs twofold.stream --symmetry=P1 lattices.ambiguous=3 lattices.wrong=0 lattices.right=0
known 'axes in another order' truth.nxs cyclic.stream '' lattices.right=3 lattices.wrong=0 lattices.other_basis=3 angle_deg.max=0 intensities.cc=1 \
	intensities.slope=1 cell.a.mean=59.062 intensities.n="$true_spots"
check 'the table counts lattices in another basis' grep -q '^3 right lattices have another basis than the ground truth' table
known 'axes a and b swapped in a square cell' square/truth.nxs square/swap.stream '' lattices.wrong=0 lattices.right=4 angle_deg.max=0 \
	intensities.cc=1 cell.a.mean=60 cell.c.mean=35
known 'axes a and b swapped in a square cell, which 4/m does not allow' square/truth.nxs square/swap.stream --symmetry=P4 lattices.right=0 lattices.ambiguous=4
known 'axes a and b swapped in a square cell, which P 43 21 2 allows' square/truth.nxs square/swap.stream --symmetry=P43212 lattices.right=4 intensities.cc=1
known 'axes of a square cell in another order' square/truth.nxs square/cyclic.stream '' lattices.right=4 lattices.other_basis=4 cell.c.mean=35

# --- a series
known 'lattices that turn are right in the middle of their frames' turning/truth.nxs turning/perfect.stream '' lattices.right=3 angle_deg.max=0 \
	intensities.cc=1
# spots of tables of DIALS extend over several frames; the table of a spot finder has no indices
(
	cd turning || exit 1
	bragg-geometry --quiet --detpixels=256 --pixel=0.3 --distance=100 --ncells=20 --shape=gauss --mosaic-model=gauss --mosaic-rms=0.1 --fluence=1e26 |
		bragg-orient --quiet --frames=8 --osc=0.2 --phi-steps=4 | bragg-intensity --quiet --threads=1 --reflections |
		bragg-noise --quiet --adc-offset=0 | bragg-write --quiet --reflections=wide.refl wide.nxs
	ln -s wide.expt found.expt
	perl -0777 -pe '/miller_index.*?cctbx::miller::index<>.*?\xc6(....)/s or die; substr $_, $+[0], unpack("N", $1), "\0" x unpack("N", $1)' wide.refl >found.refl
)
for table in wide found; do
	known "a spot is found in all frames over which it extends: $table.refl" turning/wide.nxs "turning/$table.expt turning/$table.refl" '' frames=8 spots.recall=1 \
		spots.precision=1 spots.true=2118 spots.found=529 spots.by_photons.from_8.recall=1
done

# --- what is required
check_status 'a requirement that is met' 0 bragg-score --require='spots.recall>=1' --require='angle_deg.max<0.01' --require='cell.n>2' truth.nxs perfect.stream
check_status 'a requirement that is not met' 1 bragg-score --require='spots.recall>=1' --require='angle_deg.max<=0.4' truth.nxs turned.stream
check 'the message has the value of the requirement that is not met' sh -c 'echo "$1" | grep -q "required angle_deg.max<=0.4; got 0.5"' sh "$tap_output"
check_status 'a figure that is absent is not met' 1 bragg-score --require='angle_deg.max<=100' truth.nxs turned2.stream
check_status 'a figure that there is not' 2 bragg-score --require='angle.max<=1' truth.nxs perfect.stream
refused 'an invalid requirement' 2 "'angle_deg.max' is not a requirement; expected METRIC>=X" --require=angle_deg.max truth.nxs perfect.stream
refused 'a requirement without a number' 2 '--require' --require='angle_deg.max<=x' truth.nxs perfect.stream
is 'JSON on stdout is all there is' "$(bragg-score --json=- truth.nxs perfect.stream | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["frames"])')" 4

# --- the report
# page OPTION... RESULT FACT...: a page about RESULT is good HTML without outside parts, and holds these texts
page() {
	page_name=$1 page_result=$2
	shift 2
	bragg-score --report=page.html truth.nxs "$page_result" >/dev/null || true
	check "report: $page_name" /usr/bin/python3 "$BRAGG_TESTS/cli/score_page.py" page.html "$@"
}
page 'all is right' perfect.stream 'No frame has an error.' 'precision 1' images=0 dots=0,0
page 'spots half a pixel off' shifted.stream 'places of found spots: half a pixel off' dots=0.5,0
page 'no spots' silent.stream 'No found spot is a true spot.' 'No spots were found.' images=3 missed="$strong" wrong=0 lattices=0
page 'wrong lattices' turned2.stream 'No right lattice was found.' missed=0 lattices=3 marks=right
page 'why plots are missing' silent.stream 'Plots that are not shown: Separation of true and false spots: This plot needs' 'Summary hits found'
page 'sigmas halved' halved.stream 'chi2 4 of'
page 'spots that are none' hand.stream lattices=3 images=3
# roc STREAM: whether its ROC curve goes through the corner or by chance, and ends below left
roc() {
	bragg-score --report=page.html truth.nxs "$1" >/dev/null
	/usr/bin/python3 - <<-'END'
		import re
		plot = open("page.html").read().split("ROC of hits by their found spots")[1].split("</svg>")[0]
		lines = [[float(v) for v in re.findall(r"[0-9.]+", d)] for d in re.findall(r'class="precision" d="([^"]*)"', plot)]
		chance = [float(v) for v in re.findall(r"[0-9.]+", re.search(r'class="wanted" d="([^"]*)"', plot)[1])]
		first = lines[0]
		print("corner" if first[1] == first[3] and first[2] == chance[0] else "chance" if first == chance[2:] + chance[:2] else lines,
		      lines[-1][2:] == chance[:2])
	END
}
is 'a ROC curve through the corner: hits alone have spots' "$(roc perfect.stream)" 'corner True'
is 'the line of chance: no frame has any' "$(roc silent.stream)" 'chance True'
hostile='<img src=x onerror=alert(1)>&amp;"'"'"'.stream'
cp perfect.stream "$hostile"
cp truth.nxs '<b>truth.nxs'
ln -s truth_data_000001.h5 '<b>truth_data_000001.h5' 2>/dev/null || true
bragg-score --report=page.html '<b>truth.nxs' "$hostile" >/dev/null
check 'names of files stay text' /usr/bin/python3 "$BRAGG_TESTS/cli/score_page.py" page.html "$hostile, compared with the ground truth <b>truth.nxs."
check_status 'no page where none can be' 1 bragg-score --report=/no/where/page.html truth.nxs perfect.stream
is 'the refusal is one line' "$(echo "$tap_output" | grep -c '/no/where/page.html')" 1

# --- what cannot be scored
bragg-geometry --quiet --detpixels=32 | bragg-orient --quiet | bragg-intensity --quiet | bragg-write --quiet plain.nxs
sed 's/_fs = 511/_fs = 255/; s/_ss = 511/_ss = 255/' perfect.stream >small.stream
gzip -c perfect.stream >packed.stream
refused 'not a frame number' 3 'unnumbered.stream:16: a chunk has no frame number. Run indexamajig with --copy-header=frame_id' \
	truth.nxs unnumbered.stream
refused 'an image that is not in the ground truth' 3 'beyond.stream:16: image 1000 is not in truth.nxs, which has 4' truth.nxs beyond.stream
refused 'a frame of another run' 3 'foreign.stream:16: frame 90 is not in truth.nxs, which has 4 frames from 0 to 3' truth.nxs foreign.stream
refused 'another cell' 3 'another crystal: the first has cell edges 84.37, 97.79, 43.60 A; expected those of truth.nxs (59.06, 68.45, 30.52 A)' \
	truth.nxs other.stream
awk '/End of peak list/ { peaks = 0 } !peaks { print } /^ *fs\/px/ && !/h / { peaks = 1 }' turned2.stream >astray.stream
refused 'nothing in common' 3 'do not match truth.nxs: none of 0 found spots' truth.nxs astray.stream
awk '/^ *h +k/ { n = 1; print; next } n { $8 = "nan"; n-- } 1' perfect.stream >nowhere.stream
refused 'a reflection that lies nowhere' 3 'is not a reflection; expected h k l I sigma(I) peak background fs ss panel' truth.nxs nowhere.stream
refused 'no frames' 3 'empty.stream: no frames found' truth.nxs empty.stream
refused 'the same frames twice' 3 'has two results' truth.nxs perfect.stream perfect.stream
refused 'another detector' 3 'panel p0 of 256 x 256 pixels is not on the detector of the ground truth' truth.nxs small.stream
size=$(wc -c <perfect.stream)
for part in 60 200 400 1000 $((size / 2)) $((size - 1)) $((size - 10)); do
	head -c $part perfect.stream >part.stream
	refused "truncated behind $part bytes" 3 'part.stream' truth.nxs part.stream
done
refused 'no stream' 3 'truth.nxs: is an HDF5 file; expected results: a stream of CrystFEL, a table of DIALS, MTZ or peaks' truth.nxs truth.nxs
refused 'a packed stream' 3 'gunzip' truth.nxs packed.stream
refused 'results as ground truth' 3 'perfect.stream' perfect.stream perfect.stream
refused 'missing ground truth' 3 'missing: cannot open' missing perfect.stream
refused 'a result that does not exist' 3 'missing: cannot open' truth.nxs missing
refused 'ground truth without reflections' 3 'plain.nxs: no reflections found. Run bragg-intensity with --reflections' plain.nxs perfect.stream
refused 'a file that never ends' 3 '/dev/zero: not a CrystFEL stream' truth.nxs /dev/zero
{
	head -n 40 perfect.stream
	head -c 100000 /dev/zero
} >zeros.stream
refused 'a stream that becomes something else' 3 'zero byte' truth.nxs zeros.stream
mkfifo pipe
refused 'a pipe as ground truth' 3 'pipe: not a ground-truth file; expected an NXmx file of bragg-write, a recording' pipe perfect.stream
head -c 3000 truth.rec >torn.rec
refused 'a truncated recording as ground truth' 3 'torn.rec' torn.rec perfect.stream
bragg-geometry --quiet --detpixels=64 | bragg-orient --quiet | bragg-tap --record=recipes.rec
refused 'a recording of recipes as ground truth' 3 'recipes.rec: no images found' recipes.rec perfect.stream
bragg-geometry --quiet --detpixels=64 | bragg-orient --quiet | bragg-intensity --quiet | bragg-tap --record=bare.rec
refused 'a recording without reflections' 3 'bare.rec: frame 0 has no reflections. Run bragg-intensity with --reflections' bare.rec perfect.stream
mkdir away
mv truth_data_* away
refused 'ground truth without its data files' 3 'reflections of frame 0. Is a file of the series missing?' truth.nxs perfect.stream
mv away/* .
refused 'no space group' 2 'is not a space group' --symmetry=Q99 truth.nxs perfect.stream
finish
