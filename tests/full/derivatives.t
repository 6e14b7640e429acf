#!/bin/sh
# Planes of derivatives come along with frames, whatever stages are on their way.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/python.sh"

check 'planes are the differences of images' \
	timeout 100 /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" images

check 'planes of a rotation that is exposed in part are differences' \
	timeout 100 /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" exposed

check 'the model of Python has the derivatives of its images' \
	timeout 100 /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" model

check 'derivatives by structure factors are differences near spots' \
	timeout 100 /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" structure_factors

# --- on their way: two panels, pixels left out by resolution
cat >two.geom <<'END'
photon_energy = 12398.42
adu_per_photon = 1
clen = 0.06
res = 1250
p0/min_fs = 0
p0/max_fs = 39
p0/min_ss = 0
p0/max_ss = 47
p0/corner_x = -42
p0/corner_y = -24
p0/fs = 1x +0y
p0/ss = 0x +1y
p1/min_fs = 0
p1/max_fs = 39
p1/min_ss = 48
p1/max_ss = 95
p1/corner_x = 2
p1/corner_y = -24
p1/fs = 0.98480775x +0y +0.17364818z
p1/ss = 0x +1y
p1/coffset = 0.002
END
check 'after noise they are those of what pixels count' \
	timeout 100 /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" counted
recipes() {
	bragg-geometry --quiet --geom=two.geom --ncells=8 --dmin=2.5 --fluence=1e28 |
		bragg-orient --quiet --frames=3 --random ${window:+--window=$window}
}
bend() {
	recipes | bragg-intensity --quiet --derivatives=rot,panel.1.tilt_s,scale "$@"
}
bend --threads=1 | bragg-tap --quiet --record=photons.rec
bragg-replay --quiet photons.rec | bragg-background --quiet --water=20 | bragg-tap --quiet --record=more.rec
bragg-replay --quiet more.rec | bragg-tap --quiet --record=again.rec
bragg-replay --quiet more.rec | bragg-noise --quiet | bragg-tap --quiet --record=noise.rec
bend --threads=3 --fuse='background --water=20' --fuse=noise | bragg-tap --quiet --record=fused.rec
bragg-replay --quiet photons.rec | "$top/pipelines/vignette.py" --quiet | bragg-tap --quiet --record=vignette.rec
cat >workers.yaml <<'END'
stages:
- {name: geometry, args: [--geom=two.geom, --ncells=8, --dmin=2.5, --fluence=1e28]}
- {name: orient, args: [--frames=3, --random]}
- {name: intensity, args: ["--derivatives=rot,panel.1.tilt_s,scale"], count: 2, threads: 2}
- {name: tap, args: [--record=workers.rec]}
END
is 'bragg-tap names them' "$(bragg-replay --quiet photons.rec | bragg-tap --print | grep -c ' planes=rot_x,rot_y,rot_z,panel.1.tilt_s,scale pixels=')" 3
check 'two workers' bragg-run --quiet workers.yaml
check 'background, noise, recordings, a stage in Python and other workers keep their bytes' \
	/usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" kept
check 'a recorded frame is computed again with its planes' bragg-replay --recompute fused.rec:2

bend --near-spots=2 | bragg-tap --quiet --record=near.rec
bend --near-spots=2 --threads=3 --fuse='background --water=20' --fuse=noise | bragg-tap --quiet --record=near_fused.rec
bragg-geometry --quiet --geom=two.geom --ncells=8 | bragg-orient --quiet --random --hit-rate=0 |
	bragg-intensity --quiet --derivatives=rot,panel.1.tilt_s,scale --near-spots=2 | bragg-tap --quiet --record=near_blank.rec
check 'derivatives near spots are the same there, and 0 elsewhere' /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" near_spots
check 'derivatives near spots are recomputed' bragg-replay --recompute near.rec:1
is 'bragg-tap prints the number of pixels' "$(bragg-replay --quiet near.rec | bragg-tap --print | grep -c ' planes=rot_x,rot_y,rot_z,panel.1.tilt_s,scale listed=[1-9]')" 3
bragg-replay --quiet near.rec | "$top/pipelines/vignette.py" --quiet | bragg-tap --quiet --record=near_vignette.rec
bragg-replay --quiet near.rec | bragg-write --quiet 'near_%d.raw' near.nxs
bragg-replay --quiet near.rec | bragg-noise --quiet --psf=gauss --psf-fwhm=1000 --calibration=0.1 | bragg-tap --quiet --record=near_psf.rec
bragg-replay --quiet near.rec | bragg-noise --quiet --calibration=0.1 --dead=0.05 | bragg-tap --quiet --record=near_dead.rec
bragg-replay --quiet photons.rec | bragg-noise --quiet --calibration=0.1 --dead=0.05 | bragg-tap --quiet --record=dead.rec
check 'on their way they stay lists, until light leaves these or a file keeps them' \
	/usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" listed
check 'files are computed again with them' bragg-replay --recompute near.nxs:1

for threads in 1 3; do
	recipes | bragg-intensity --quiet --threads=$threads --derivatives=scale,F | bragg-background --quiet --water=20 | bragg-tap --quiet --record=F$threads.rec
done
bragg-replay --quiet F1.rec | "$top/pipelines/vignette.py" --quiet | bragg-tap --quiet --record=Fv.rec
check 'derivatives by F are those of Python' /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" kept_F
bragg-replay --quiet F1.rec 2>/dev/null | {
	bragg-noise --quiet --psf=gauss 2>said
	echo $? >status
} | bragg-tap --quiet --record=none.rec 2>/dev/null
is 'derivatives by F with a point spread are refused' "$(cat status) $(wc -l <said) $(grep -c 'Remove F from' said)" '3 1 1'
bragg-replay --quiet F1.rec | bragg-write 'lone_F_%d.raw' 2>&1 | grep -c 'by F are not stored' >said
is 'derivatives by F in files are refused' "$(cat said)" 1

# --- pixels and lineage are the same without
recipes | bragg-intensity --quiet --threads=2 | bragg-write --quiet 'without_%d.raw'
bragg-replay --quiet photons.rec | bragg-write --quiet 'with_%d.raw'
for i in 0 1 2; do
	check "pixels of frame $i do not depend on them" cmp with_$i.raw without_$i.raw
done
# --- files
bragg-replay --quiet photons.rec | bragg-write --quiet --frames-per-file=2 with.nxs
window=1
bend | bragg-write --quiet --frames-per-file=3 one.nxs # the file is written anew for each frame
window=
check 'a file for each plane' /usr/bin/python3 "$BRAGG_TESTS/python/derivatives.py" files
is 'each derivative has a file with its name' "$(ls with_1.*)" "$(printf 'with_1.%s\n' panel.1.tilt_s.raw raw rot_x.raw rot_y.raw rot_z.raw scale.raw)"
printf mine >mine_1.rot_y.raw
bragg-replay --quiet photons.rec 2>/dev/null | bragg-write --quiet 'mine_%d.raw' 2>said
is 'a file that was there stays' "$(cat mine_1.rot_y.raw) $(grep -c 'mine_1.rot_y.raw exists' said) $(test -e mine_1.raw; echo $?)" 'mine 1 1'
bragg-replay --quiet photons.rec | bragg-write --quiet --overwrite 'mine_%d.raw'
check '--overwrite replaces an existing derivative' cmp mine_1.rot_y.raw with_1.rot_y.raw
: >with_2.scale.raw.part-abcdef
bragg-replay --quiet photons.rec | bragg-write --quiet 'with_%d.raw'
is 'files of a killed process are removed' "$(echo ./*.part-*)" './*.part-*'
bragg-geometry --quiet --detpixels=16 --pixel=3 | bragg-orient --quiet --frames=2 |
	bragg-intensity --quiet --derivatives=scale | bragg-write 'lone_%d.pgm' 2>&1 | grep -c 'derivative images are not stored' >said
is 'where no file keeps them a warning says so' "$(cat said)" 1

# --- a series that goes on where it ended
bend | bragg-noise --quiet | bragg-write --quiet --frames-per-file=2 whole.nxs
recipes | bragg-intensity --quiet --derivatives=scale | bragg-noise --quiet | bragg-write --quiet --frames-per-file=2 other.nxs
mkdir part
for name in whole other; do
	cp $name* part
	rm part/${name}_data_000002.h5
done
(cd part && sed -i '/^2\t/d;/^2 /d' whole.nxs.index other.nxs.index)
cp two.geom part
(cd part && bend | bragg-noise --quiet | bragg-write --quiet --resume --frames-per-file=2 whole.nxs)
check 'NXmx: resumed, the same bytes' cmp part/whole_data_000002.h5 whole_data_000002.h5
check 'a resumed NXmx series has the same master' cmp part/whole.nxs whole.nxs
(cd part && bend | bragg-noise --quiet | bragg-write --quiet --resume --frames-per-file=2 other.nxs 2>said)
is 'a series refuses other derivatives' "$(grep -c 'other derivatives' part/said)" 1

lineage() {
	sed -n 's/^bragg-index [0-9]* //p' "$1"
}
is 'the lineage does not depend on derivatives' "$(lineage with.raw.index)" "$(lineage without.raw.index | grep .)"

bragg-geometry --quiet --detpixels=16 --pixel=3 | bragg-orient --quiet --hit-rate=0 |
	bragg-intensity --quiet --derivatives=share.3,mosaic | bragg-write --quiet 'blank_%d.raw'
check 'planes of a blank frame are 0' sh -c 'cmp blank_0.share.3.raw blank_0.raw && cmp blank_0.mosaic.raw blank_0.raw'

# --- planes that are none, of a stage that sends such
mkdir bad
# spoils WRONG RECORDING TEXT
spoils() {
	bragg-replay --quiet "$2" 2>/dev/null | /usr/bin/python3 "$BRAGG_TESTS/python/bad_planes.py" "$1" --quiet 2>/dev/null |
		bragg-write --quiet 'bad/x_%d.raw' 2>said
	is "refused: $1" "$? $(grep -c "$3" said) $(wc -l <said) $(ls bad | wc -l)" '3 1 1 0'
}
spoils short photons.rec 'has derivative images of another size than its image'
spoils name photons.rec 'or have missing or equal names'
spoils twice photons.rec 'missing or equal names'
spoils behind near.rec 'does not ascend within its image'
spoils falls near.rec 'does not ascend within its image'
spoils less near.rec 'payload whose size differs from its metadata'
spoils nan near.rec 'values that are not finite'

# --- what there is not
# refuses NAME STATUS TEXT WORDS GEOMETRY OPTION...: frames are not made, in one line that has TEXT
refuses() {
	refuses_name=$1 refuses_status=$2 refuses_text=$3 refuses_geometry=$4
	shift 4
	# shellcheck disable=SC2086 # the words of options
	bragg-geometry --quiet --detpixels=16 --pixel=3 $refuses_geometry | bragg-orient --quiet 2>/dev/null |
		{
			bragg-intensity --quiet "$@" 2>said
			echo $? >status
		} | bragg-write --quiet --overwrite 'no_%d.raw' 2>/dev/null
	is "$refuses_name" "$(cat status) $(wc -l <said) $(grep -c -e "$refuses_text" said)" "$refuses_status 1 1"
}
refuses 'a name that there is not: what is allowed' 2 "'foo'; expected rot cell" '' --derivatives=rot,foo
refuses 'a parameter named twice' 2 'twice' '' --derivatives=rot,rot_x
refuses 'no name' 2 'empty' '' --derivatives=
refuses 'F between reflections' 3 'interpolated' --interpolate=on --derivatives=F
refuses 'F twice' 2 "'F'; expected" '' --derivatives=F,F
refuses 'tophat' 3 'gauss' --shape=tophat --derivatives=rot
refuses 'one domain' 3 'mosaic domain' '' --derivatives=mosaic
refuses 'a panel too many' 3 'panel 1' '' --derivatives=panel.1.tilt_f
refuses 'near spots of nothing' 2 'near-spots needs --derivatives' '' --near-spots=1
refuses 'near spots of no photons' 2 'expected a value greater than 0' '' --derivatives=rot --near-spots=0
finish
