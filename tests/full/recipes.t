#!/bin/sh
# The examples of braggpipe-examples(7) work as they are pasted from the page, and make what it says.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'the examples' mandoc
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch
# Lines that are indented deeper than the text become one script per section.  Lines are wide, for the names in the first table.
mandoc -T utf8 -O width=100 "$top/stages/pages/braggpipe-examples.7" | col -bx |
	awk '/^[A-Z]/ { section = $0; gsub(/[^A-Z]+/, "-", section) } /^           / { print >section ".sh" }'
is 'there are twenty-five, of which streams.t and training.t run one each' "$(ls *.sh | tr '\n' ' ')" \
	'A-CLIENT-UNDER-FAULTS.sh A-LIVE-EIGER-DETECTOR.sh A-MESH-SCAN.sh A-MICROCRYSTAL-IN-AN-ELECTRON-MICROSCOPE.sh A-MICROMETRE-CRYSTAL-AT-A-SYNCHROTRON.sh A-MISALIGNED-DETECTOR.sh A-RASTER-SCAN-BY-REQUESTS.sh A-SCAN-BY-REQUESTS.sh A-SERIES-FROM-A-BEAMLINE.sh AN-ENERGY-SCAN-OVER-AN-EDGE.sh EXPERIMENTS-IMPORTED-BY-DIALS.sh FILES-FOR-CRYSTFEL.sh FRAMES-THAT-VARY.sh INTERRUPTED-RUNS.sh LABELLED-STILLS.sh LAUE-PATTERNS.sh MESSAGES-THAT-ARE-HDF-FILES.sh OPTIONS-OF-PATTERN-SIM.sh PLANNING-AN-EXPERIMENT.sh PULSES-OF-A-FREE-ELECTRON-LASER.sh RAW-DATA-OF-AN-AGIPD.sh STREAMS-OF-EPICS-AND-BSREAD.sh TEST-SETS.sh TRAINING-SETS.sh TWO-DETECTORS-COMPARED.sh '

# cook NAME: in a folder of its own; warnings come back, but for those of CrystFEL
cook() {
	mkdir "$1" && cd "$1" || exit 1
	status=0
	sh -e "../$1.sh" </dev/null >out 2>warnings || status=$?
	is "$1 works, without a warning" "$status $(grep -v -e "^WARNING: " -e "cannot store the gain" -e "has no encryption keys" -e "images left late" -e "store only the mean of several wavelengths" -e "--inject" -e "clients took .* 0 were dropped" warnings | grep -i -e warning -e error)" '0 '
	[ "$status" = 0 ] || note "$(cat warnings)"
	for picture in *.png */*.png; do
		[ ! -e "$picture" ] || check "$picture shows something" picture "$picture"
	done
}

mkdir lists && cd lists || exit 1
printf 'CrystFEL reflection list version 2.0\nSymmetry: 1\n   h    k    l          I    phase   sigma(I)   nmeas\n   1    0   -2       2.25        -       0.10       1\n  -3    1    0      -4.00        -       0.10       1\nEnd of reflections\n' >crystal.hkl
check 'OPTIONS-OF-PATTERN-SIM: structure factors of intensities' sh -e ../OPTIONS-OF-PATTERN-SIM.sh
is 'each is a square root' "$(cat F.hkl)" '1 0 -2 1.5'
cd ..

cook PULSES-OF-A-FREE-ELECTRON-LASER
is 'every pulse is another one' "$(cut -f1,3,4 pulses.tsv | sed 1d | sort -u | cut -f2,3 | tr '\t' '\n' | sort -u | wc -l)" 16
is 'each cell is different' "$(awk -F'\t' 'NR > 1 && $2 > 0 { print $18 }' pulses.tsv | sort -u | wc -l)" "$(awk -F'\t' 'NR > 1 && $2 > 0' pulses.tsv | wc -l)"
cd ..
cook PLANNING-AN-EXPERIMENT
is 'error bars at four distances' "$(grep -c '^beam_x ' out) $(grep -c '<h2>[0-9]* mm' design.html)" '4 4'
cd ..
cook LABELLED-STILLS
is 'a label for every image' "$(ls label_*.raw | wc -l) $(ls still_*.png | wc -l)" '10 10'
hits=$(awk 'NR > 1 && $2 > 0' labels.tsv | wc -l)
check 'some frames are hits, and some not' test "$hits" -gt 3 -a "$hits" -lt 10
# a frame is a hit where its label holds photons
lit=0
for label in label_*.raw; do
	lit=$((lit + $(tr -d '\0' <"$label" | head -c 1 | wc -c)))
done
is 'labels hold photons in hits only' "$lit" "$hits"
cd ..

cook RAW-DATA-OF-AN-AGIPD
if has python:h5py; then
	is 'constants of four cells' "$(/usr/bin/python3 -c 'import h5py; print(h5py.File("cal_agipd.h5")["AnalogOffset"].shape[:2])')" '(3, 4)'
else
	skip 'constants of four cells' "$lack is missing"
fi
cd ..

if has python:h5py python:zmq; then
	cook MESSAGES-THAT-ARE-HDF-FILES
	is 'messages of four, four and two frames, which have their wavelengths' \
		"$(sed -n 's/a message of //p' out | tr '\n' ' ')$(grep '^[0-9]' out | cut -d' ' -f1 | tr '\n' ' ')$(grep '^[0-9]' out | cut -d' ' -f2 | sort -u | wc -l)" \
		'4 frames 4 frames 2 frames 0 1 2 3 4 5 6 7 8 9 10'
	cd ..
else
	skip 'MESSAGES-THAT-ARE-HDF-FILES' "$lack is missing"
fi

cook A-MICROMETRE-CRYSTAL-AT-A-SYNCHROTRON
cd ..
if has gemmi; then
	cook A-MICROCRYSTAL-IN-AN-ELECTRON-MICROSCOPE
	is 'three frames of electrons' "$(ls urea_*.cbf | wc -l) $(head -c 3000 urea_00.cbf | grep -a -c 'Wavelength 0.0250793')" '3 1'
	cd ..
else
	skip 'A-MICROCRYSTAL-IN-AN-ELECTRON-MICROSCOPE' "$lack is missing"
fi

cook LAUE-PATTERNS
is 'rays have one, two and more orders' "$(awk '$1 >= 1 && $1 <= 3 { n++ } END { print n }' out) $(head -n 1 laue/laue.tsv | cut -f 18)" '3 orders'
is '... and the other beams have files of reflections' "$(ls pink.refl pink.nxs energy.tsv energy.nxs | wc -l)" 4
cd ..
cook FRAMES-THAT-VARY
is 'frames have one to three lattices' "$(awk 'NR > 1 { print $2 }' varied.tsv | sort -u | tr '\n' ' ')" '1 2 3 '
cd ..
cook A-SERIES-FROM-A-BEAMLINE
is 'the orientation of all images is found again' "$(awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ n += $at["verdict"] == "good" && $at["chi2"] < 1.1 && $at["rot_x_deg"] ^ 2 + $at["rot_y_deg"] ^ 2 + $at["rot_z_deg"] ^ 2 > 0.02 ^ 2 } END { print n }' refined.tsv)" 3
cd ..

if has dials.refine; then
	cook A-MISALIGNED-DETECTOR
	is 'the panels are found' "$(awk '/^panels_px/ { print ($3 > 0.8) ($5 < 0.05) }' out | tr '\n' ' ')" '10 01 '
	cd ..
fi

if has dials.import; then
	sed -i 's/run set-stills/& --frames=2/' TEST-SETS.sh
	cook TEST-SETS
	is 'an analysis and the truth have a score' "$(grep -c '^lattices  *true 2 ' out) $(grep -c '^lattices .* right 2  wrong 0 ' out)" '2 1'
	cd ..
	cook A-MESH-SCAN
	is 'a map of ten rows of twenty points' "$(grep -c '^[.1-9]\{20\}$' out) $(grep '^[.1-9]\{20\}$' out | tr -d '.\n' | wc -c | awk '{ print ($1 > 20 && $1 < 120) }')" '10 1'
	cd ..
else
	skip 'TEST-SETS works' "$lack is missing"
	skip 'an analysis and the truth have a score' "$lack is missing"
	skip 'A-MESH-SCAN works' "$lack is missing"
fi

cook TWO-DETECTORS-COMPARED
check 'the sums differ by the gain' awk '/^sum ratio/ { r = $3 > 1 ? $3 : 1 / $3; ok = r > 9.8 && r < 10.2 } END { exit !ok }' out
cd ..

if has python:zmq; then
	cook A-LIVE-EIGER-DETECTOR
	is 'five images live' "$(cut -d' ' -f1 out | tr '\n' ' ')$(sed 1d sent.tsv | cut -f1 | sort -u | wc -l)" 'tcp://127.0.0.1:9999 0.12 0 1 2 3 4 5'
	cd ..
else
	skip 'A-LIVE-EIGER-DETECTOR' "$lack is missing"
fi

if has python:zmq; then
	cook A-CLIENT-UNDER-FAULTS
	is 'the client notices each fault that it can see' "$(grep -c 'is incomplete$' out) $(grep -c 'instead of' out | awk '{ print ($1 > 5) }')" \
		"$(grep -c ' truncate$' out) 1"
	check 'each kind of fault was sent' sh -c 'for i in drop swap truncate stall; do grep -q " $i\$" out || exit 1; done'
	cd ..
else
	skip 'A-CLIENT-UNDER-FAULTS' "$lack is missing"
fi

if has python:zmq python:numpy; then
	cook A-SCAN-BY-REQUESTS
	is 'three scans, fainter at each distance' "$(cut -d' ' -f1 out | tr '\n' ' ')" '0.1 0.2 0.4 '
	check 'the spots of a scan are bright' awk '$3 < 500 || $3 > 1e6 || $4 < 50 || (NR > 1 && $4 >= last) { bad = 1 } { last = $4 } END { exit bad }' out
	cd ..
	cook A-RASTER-SCAN-BY-REQUESTS
	check 'both maps of a raster scan have the three crystals' \
		awk '$1 != $2 || length($1) != 8 { bad = 1 } { n += gsub(/#/, "", $1) } END { exit bad || NR != 5 || n < 12 || n > 27 }' out
	cd ..
	sed -i "1i cp '$top/pipelines/sad.pdb' ." AN-ENERGY-SCAN-OVER-AN-EDGE.sh
	cook AN-ENERGY-SCAN-OVER-AN-EDGE
	is 'the scan is lowest at the edge' "$(sort -k3,3n out | head -n 1 | cut -d' ' -f1) $(wc -l <out)" '12658 6'
	cd ..
else
	skip 'A-SCAN-BY-REQUESTS' "$lack is missing"
	skip 'A-RASTER-SCAN-BY-REQUESTS' "$lack is missing"
	skip 'AN-ENERGY-SCAN-OVER-AN-EDGE' "$lack is missing"
fi

cook INTERRUPTED-RUNS
is 'eight frames' "$(ls long/*.img | wc -l)" 8
bragg-run --quiet --frames=8 --workdir=once lysozyme
check 'resumed images are those of one run' sh -c 'for i in long/*.img; do cmp $i once/${i#long/} || exit 1; done'
cd ..

cook FILES-FOR-CRYSTFEL
is 'the cell is a cell file' "$(head -n 1 lyso.cell) $(grep -c '^[abc] = ' lyso.cell)" 'CrystFEL unit cell file version 1.0 3'
is 'the energy is that of each frame' "$(grep -c '^wavelength = /entry/' agipd.geom)$(grep -c '^photon_energy' agipd.geom)" 10
if has indexamajig; then
	is 'CrystFEL finds every lattice' "$(sed -n 's/^lattices .* right \([0-9]*\) *wrong \([0-9]*\).*/\1 \2/p' out)" '20 0'
else
	skip 'CrystFEL finds every lattice' "$lack is missing"
fi
cd ..

if has dials.import; then
	cook EXPERIMENTS-IMPORTED-BY-DIALS
	sed -n '/--expt/,$s/1e28/1e27 --polarization=0.98/p; /--expt/,$!d; /1e27/!p' ../EXPERIMENTS-IMPORTED-BY-DIALS.sh | sed 's/again_/same_/g' >same.sh
	check 'the list of spots belongs to the same experiment' sh -e same.sh
	check 'the list of spots gives the same image to the last pixel' bragg-compare --max-error=0 rot_0002.cbf same_0002.cbf
	cd ..
else
	skip 'EXPERIMENTS-IMPORTED-BY-DIALS works' "$lack is missing"
fi
finish
