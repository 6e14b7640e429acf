#!/bin/sh
# The stages composed in a shell: files, determinism, agreement of engines.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch

geometry='bragg-geometry --detpixels=96 --pixel=0.8 --distance=120 --wavelength=1.0 --ncells=8'

# run FOLDER THREADS [ENGINE]: the whole chain through pipes
run() {
	mkdir "$1" && (
		cd "$1" || exit 1
		$geometry | bragg-orient --frames=4 --random --seed=7 |
			bragg-intensity --threads="$2" --engine="${3:-cpu}" |
			bragg-background --water=0.1 --air=1 --threads="$2" |
			bragg-noise --seed=9 --readout=1 --threads="$2" | bragg-write 'lyso_%04d.img'
	)
}
sums() { (cd "$1" && sha256sum ./*.img | tr '\n' ' '); }
count() { (cd "$1" && find . -name '*.img' | wc -l); }

check 'six stages run to the end' run one 1
is 'there is a file for every frame and no other' "$(cd one && echo *)" \
	'lyso.img.index lyso_0000.img lyso_0001.img lyso_0002.img lyso_0003.img'
is 'frames differ' "$(cd one && sha256sum ./*.img | cut -c1-64 | sort -u | wc -l)" 4
check 'two threads run too' run two 2
is 'one thread and two give the same bytes' "$(sums one)" "$(sums two)"

# No frame is a number of frames, too.
none() { mkdir none && (cd none && $geometry | bragg-orient --frames=0 | bragg-intensity | bragg-write 'n_%04d.img'); }
check 'a stream of no frames ends well' none
is 'a stream of no frames writes no file' "$(count none)" 0

# Two intensity stages share the frames of one orient stage by named endpoints.
workers() {
	mkdir "$1" && (
		cd "$1" || exit 1
		$geometry | bragg-orient --frames=4 --random --seed=7 --out="@ipc://$PWD/r" &
		bragg-intensity --threads=1 --in="ipc://$PWD/r" --out="@ipc://$PWD/a" &
		bragg-intensity --threads=2 --in="ipc://$PWD/r" --out="@ipc://$PWD/b" &
		bragg-background --water=0.1 --air=1 --in="ipc://$PWD/a" --in="ipc://$PWD/b" |
			bragg-noise --seed=9 --readout=1 | bragg-write 'lyso_%04d.img' && wait
	)
}
check 'two intensity stages between named endpoints' workers three
is 'one worker and two give the same bytes' "$(sums one)" "$(sums three)"
usual() {
	mkdir usual && (
		cd usual || exit 1
		$geometry | bragg-orient --frames=4 --random --seed=7 --coffset=0 --cell-spread=0 |
			bragg-intensity | bragg-background --water=0.1 --air=1 --ice=0 |
			bragg-noise --seed=9 --readout=1 --gain=1 --dead=0 | bragg-write 'lyso_%04d.img'
	)
}
check 'a default value may be given' usual
is 'an option at its default changes no byte of pixels or headers' "$(sums usual)" "$(sums one)"

# floats FILE ENGINE [OPTION...]: expected photons, without noise
floats() {
	file=$1 engine=$2
	shift 2
	$geometry "$@" | bragg-orient --random --seed=7 |
		bragg-intensity --engine="$engine" --precision="${precision:-mixed}" | bragg-write "$file"_%d.raw
}
check 'photons by the reference engine' floats reference reference --oversample=2
check 'photons by the cpu engine' floats cpu cpu --oversample=2
check 'the engines agree' bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 cpu_0.raw reference_0.raw

precision=double
check 'photons in double precision' floats double cpu --oversample=2
precision=mixed
check 'double precision differs from the reference by a rounding at most' \
	bragg-compare --max-error=1.2e-7 --sum-tolerance=1e-9 double_0.raw reference_0.raw

# A faithful pipeline is nanoBragg.
# faithful NAME NANOBRAGG-OPTIONS ORIENT-OPTIONS
faithful() {
	mkdir "$1"
	(cd "$1" && bragg-nanobragg -cell 70 80 90 75 85 95 -default_F 100 -N 5 -lambda 1 -distance 100 -pixel 0.1 \
		-detpixels 64 -fluence 1e24 -oversample 2 -polar 0.9 $2 -floatfile float.bin -nonoise -nopgm) > "$1.out" 2>&1
	bragg-geometry --physics=faithful --cell=70,80,90,75,85,95 --default-F=100 --ncells=5 --wavelength=1 \
		--distance=100 --pixel=0.1 --detpixels=64 --fluence=1e24 --oversample=2 --polarization=0.9 |
		bragg-orient --quiet $3 | bragg-intensity --engine=reference | bragg-write "$1/faithful_%d.raw"
	check "a faithful pipeline writes the floats of bragg-nanobragg $2" cmp "$1/float.bin" "$1/faithful_0.raw"
}
faithful misset '-misset 10 20 30' --misset=10,20,30
faithful random '-misset_seed 5 -misset random' '--random --seed=5'
faithful mosaic '-phi 3 -osc 1 -phisteps 4 -mosaic 0.5 -mosaic_domains 7' \
	'--phi0=3 --osc=1 --phi-steps=4 --mosaic=0.5 --mosaic-domains=7'

# Other engines do not repeat the quirks of nanoBragg's loop.
# quirk NAME TEXT GEOMETRY ORIENT
quirk() {
	status=0
	bragg-geometry --quiet --physics=faithful --cell=50,50,50,90,90,90 --default-F=100 --detpixels=16 $3 | bragg-orient --quiet $4 |
		bragg-intensity --engine=cpu 2>err | bragg-write --quiet quirk_%d.raw 2>/dev/null || status=$?
	check "a faithful image of the cpu engine is refused: $1" grep -q "^bragg-intensity: .*--engine=cpu: cannot repeat nanoBragg with $2; expected --engine=reference" err
	is "$1: one line, no image" "$(grep -c . err) $(ls quirk_*.raw 2>/dev/null)" '1 '
}
quirk 'layers' 'several sensor layers' '--thickness=300 --layers=3' ''
quirk 'phi 0' 'phi steps of which one is exactly 0' '' '--osc=1 --phi-steps=2'

# Faithful noise is noisify's.
bragg-noisify -floatfile misset/float.bin -detpixels 64 -pixel 0.1 -distance 100 -lambda 1 -scale 1 \
	-fluence 125932015286227086360700780544 -seed 3 -calibration 0.02 -calib_seed 7 -readout 2 -gain 1.5 \
	-psf gauss -psf_fwhm 150 -intfile int.img -noisefile noisify.img -nopgm > noisify.out 2>&1
bragg-geometry --physics=faithful --cell=70,80,90,75,85,95 --default-F=100 --ncells=5 --detpixels=64 --oversample=2 \
	--polarization=0.9 | bragg-orient --quiet --misset=10,20,30 | bragg-intensity --engine=reference |
	bragg-noise --generator=nanobragg --seed=3 --calibration=0.02 --calibration-seed=7 --readout=2 --gain=1.5 \
		--psf=gauss --psf-fwhm=150 | bragg-write faithful_noise_%d.img
check 'bragg-noisify wrote its image' test -s noisify.img
is 'faithful noise is that of bragg-noisify' "$(tail -c 8192 faithful_noise_0.img | sha256sum)" \
	"$(tail -c 8192 noisify.img | sha256sum)"

# Background: against nonBragg, and not counted twice as nanoBragg's -water is.
awk 'BEGIN { for (s = 0; s <= 1; s += 0.02) print s, 8 * exp(-5 * s * s) + 2 }' > my.stol
bragg-nonbragg -stol my.stol -distance 100 -pixel 0.1 -detpixels 64 -lambda 1 -thickness 0.05 -density 1.2 -MW 28 \
	-fluence 1e25 -beamsize 0.0003 -polar 0.9 -floatfile amorphous.bin -nonoise -nopgm > nonbragg.out 2>&1
matter() { # FILE GEOMETRY-OPTION...
	name=$1
	shift
	bragg-geometry --convention=custom --beam-center=3.15,3.25 --distance=100 --pixel=0.1 --detpixels=64 --wavelength=1 \
		--polarization=0.9 --cell=50,50,50,90,90,90 --default-F=0 "$@" | bragg-orient --osc=1 --phi-steps=5 --quiet |
		bragg-intensity | bragg-background --stol=my.stol --thickness=50 --density=1.2 --molecular-weight=28 |
		bragg-write "$name"_%d.raw
}
matter once --oversample=1
matter fine --oversample=3
check 'amorphous photons are those of bragg-nonbragg' \
	bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 once_0.raw amorphous.bin
check 'amorphous photons do not depend on oversampling' cmp once_0.raw fine_0.raw

# Noise of a frame comes from its seed and number alone.
noisy() { # FOLDER FRAMES [NOISE-OPTION]
	mkdir "$1" && (
		cd "$1" || exit 1
		$geometry --oversample=1 | bragg-orient --frames="$2" --seed=5 --quiet | bragg-intensity |
			bragg-background --water=5 | bragg-noise ${3:-} | bragg-write 'n_%d.img'
	)
}
pixels() { tail -c 18432 "$1" | sha256sum; }
noisy few 2
noisy more 3
noisy seeded 1 --seed=5
noisy other 1 --seed=6
is 'a longer series begins with the shorter one' "$(pixels few/n_1.img)" "$(pixels more/n_1.img)"
is 'the seed of bragg-orient is that of the noise' "$(pixels few/n_0.img)" "$(pixels seeded/n_0.img)"
check 'frames of one still have noise of their own' test "$(pixels few/n_0.img)" != "$(pixels few/n_1.img)"
check 'another seed gives other noise' test "$(pixels few/n_0.img)" != "$(pixels other/n_0.img)"

# A rotation series of two half turns is one series.
phi() { # FILE OPTION...
	name=$1
	shift
	$geometry --oversample=1 | bragg-orient --quiet "$@" | bragg-intensity | bragg-write "$name"_%d.raw
}
phi series --frames=4 --phi0=10 --osc=0.5 --phi-steps=3
phi late --frames=2 --phi0=11 --osc=0.5 --phi-steps=3
check 'frame k starts at phi0 + k osc' cmp series_2.raw late_0.raw
check 'frame k+1 starts where frame k ends' cmp series_3.raw late_1.raw

# Orientations from a file: the identity is no rotation at all.
printf '# two forms\n1 0 0 0 1 0 0 0 1\n0 1 0 -1 0 0 0 0 1\n' > matrices.txt
printf '1 0 0 0\n0.70710678118654757 0 0 -0.70710678118654757\n' > quaternions.txt
phi plain --frames=1
phi matrix --orientations=matrices.txt
phi quaternion --orientations=quaternions.txt
check 'the identity matrix changes nothing' cmp plain_0.raw matrix_0.raw
check 'the identity quaternion changes nothing' cmp plain_0.raw quaternion_0.raw
check 'a matrix turns the crystal' test "$(sha256sum < matrix_0.raw)" != "$(sha256sum < matrix_1.raw)"
cat matrices.txt matrices.txt matrices.txt > thrice.txt
phi turning --frames=3 --osc=0.5 --lattices=2 --orientations=matrices.txt
phi listed --frames=3 --osc=0.5 --lattices=2 --orientations=thrice.txt
check 'in a rotation, the orientations of one frame are those of all' cmp turning_2.raw listed_2.raw
check 'the crystals turn' test "$(sha256sum < turning_0.raw)" != "$(sha256sum < turning_2.raw)"
geometry="$geometry --crystal=ncells=8 --crystal=ncells=8 --fluence=1e26"
phi each --frames=3 --osc=0.5 --orientations=matrices.txt
phi both --frames=3 --osc=0.5 --orientations=thrice.txt
check 'so are those of one lattice of each crystal' cmp each_2.raw both_2.raw
check 'lists of other lengths are refused' sh -c '
	for n in 1 3 5; do
		grep -v "^#" thrice.txt | head -n $n >some.txt
		! sh -c "$1 | bragg-orient --quiet --frames=3 --osc=0.5 --orientations=some.txt | bragg-tap" >printed 2>said || exit 1
		grep "some.txt: has $n orientations, but 3 frames need 6" said || exit 1
	done' sh "$geometry"
geometry=${geometry%% --crystal*}
check_status 'stills need orientations for all frames' 1 sh -c "$geometry | bragg-orient --quiet --frames=3 --lattices=2 --orientations=matrices.txt | bragg-tap"

# The lineage follows what a file holds, not its name.
lineage() { # FILE NAME
	$geometry --oversample=1 | bragg-orient --quiet --frames=1 --orientations="$1" | bragg-intensity | bragg-noise |
		bragg-write "$2"_%d.img && head -n1 "$2.img.index"
}
cp matrices.txt same.txt
check 'a list of orientations under another name is the same' test "$(lineage matrices.txt l1)" = "$(lineage same.txt l2)"
printf '0 1 0 -1 0 0 0 0 1\n' > same.txt
check 'another list of orientations under the same name has another lineage' test "$(lineage matrices.txt l3)" != "$(lineage same.txt l4)"

# Warnings about coarse sampling name the option that helps.
warnings=$({ bragg-geometry --detpixels=64 --pixel=1 --ncells=50 --oversample=1 |
	bragg-orient --osc=5 --mosaic=1 --steps=given 2>&3 | bragg-intensity | bragg-write w_%d.raw; } 3>&1)
for option in --oversample= --phi-steps= --mosaic-domains=; do
	case $warnings in
	*"$option"*) is "coarse sampling gives no warning about an option that was given: $option" 0 0 ;;
	*) is "coarse sampling gives a warning that names $option" "$warnings" "a warning with $option" ;;
	esac
done

for engine in reference cpu; do
	$geometry | bragg-orient --random | bragg-intensity --engine=$engine --trace-pixel=3,4 2> trace.$engine |
		bragg-write t_$engine%d.raw
	for name in position airpath solid_angle hkl photons; do
		check "$engine traces $name" grep -q "trace: $name " trace.$engine
	done
done
# What holds for all frames is said once, whoever computes them.
cat > faint.yaml <<'end'
stages:
- name: geometry
  args: [--detpixels=64, --pixel=1, --ncells=5, --fluence=1e10]
- name: orient
  args: [--frames=30, --random]
- name: intensity
  count: 3
- name: write
  args: [faint_%d.raw]
end
bragg-run faint.yaml 2> faint
is 'frames of less than one photon are warned of once' "$(grep -c 'the crystals give .* photons in total, less than one' faint)" 1
$geometry --cell=50,50,50,90,90,90 --default-F=0 | bragg-orient --random --frames=3 |
	bragg-intensity 2> faint | bragg-write 'none_%d.raw'
is 'no fluence is asked for where there is no photon at all' "$(grep -c 'the crystals give no photons' faint) $(grep -c fluence faint)" '1 0'
hkl() { awk '/trace: hkl / { printf "%.10g %.10g %.10g", $4, $5, $6; exit }' "$1"; }
is 'both engines trace the same h, k, l' "$(hkl trace.cpu)" "$(hkl trace.reference)"
finish
