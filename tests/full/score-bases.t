#!/bin/sh
# bragg-score: the same lattice by another basis is right, another lattice is wrong; lattices of one crystal are one.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/score.sh"
needs 'answers with other bases' python:h5py python:numpy
scratch

# make FOLDER CONDITION CELL SETTING...: ground truth of a crystal whose reflections meet an awk condition, and answers with these bases
make() {
	mkdir "$1"
	awk "BEGIN { for (h = -26; h <= 26; h++) for (k = -26; k <= 26; k++) for (l = -26; l <= 26; l++) if ($2) print h, k, l, 60 + (h * h + k + 7 * l * l) % 40 }" >"$1/list.hkl"
	(
		cd "$1" || exit 1
		bragg-geometry --quiet --detpixels=300 --pixel=0.4 --distance=120 --ncells=20 --hkl=list.hkl --cell="$3" |
			bragg-orient --quiet --random --frames=3 --seed=7 | bragg-intensity --quiet --reflections=5 | bragg-write --quiet truth.nxs
		shift 3
		/usr/bin/python3 "$BRAGG_TESTS/cli/score_streams.py" truth.nxs 0.4 120 "$@"
	)
}
odd='(h + k) % 2 == 0'
make P 1 61,68,31,90,90,90 cyclic skew twice half long longer
make C "$odd" 61,68,43,90,104,90 of_C skew cyclic twice half
make I '(h + k + l) % 2 == 0' 61,68,43,90,90,90 of_I
make F "$odd && (k + l) % 2 == 0" 61,68,73,90,90,90 of_F
make R '(-h + k + l) % 3 == 0' 61,61,90,90,90,120 of_R reverse
right='lattices.right=3 lattices.wrong=0 lattices.other_basis=3 intensities.cc=1 intensities.slope=1 predicted.share=1'
for answer in P/cyclic P/skew C/of_C C/skew C/cyclic I/of_I F/of_F R/of_R R/reverse; do
	# shellcheck disable=SC2086 # words
	known "$answer: the same lattice" "${answer%/*}/truth.nxs" "$answer.stream" '' $right angle_deg.max=0
done
check 'the table counts lattices in another basis' grep -q '^3 right lattices have another basis than the ground truth' table
known 'its cell is that of the ground truth' C/truth.nxs C/of_C.stream '' cell.a.mean=61 cell.beta.mean=104
# shellcheck disable=SC2086 # words
known 'a misorientation stays what it is' C/truth.nxs C/skew_of_C.stream '' $right angle_deg.max=0.3
known 'groups allow it as well' R/truth.nxs R/reverse.stream --symmetry=R3 lattices.right=3 lattices.ambiguous=0
for answer in P/twice P/half C/twice C/half; do
	refused "$answer: another lattice" 3 'are of another crystal' "${answer%/*}/truth.nxs" "$answer.stream"
done
known 'an axis that is 5 % longer is wrong' P/truth.nxs P/long.stream '' lattices.right=0 lattices.wrong=3
known 'an axis that is 5 % longer is wrong in another basis' P/truth.nxs P/longer.stream '' lattices.right=0 lattices.wrong=3
known 'the twin of a cell that is said to be centred is wrong' R/truth.nxs R/twin.stream '' lattices.right=0 lattices.wrong=3
sed 's/^centering = P/centering = Q/' P/centred.stream >bad.stream
refused 'no centring' 3 "the centering is 'Q'; expected P, A, B, C, I, F, H or R" P/truth.nxs bad.stream

# --- the dark and the pumped part of a crystal
mkdir pump
(
	cd pump || exit 1
	bragg-geometry --quiet --detpixels=300 --pixel=0.4 --distance=120 --crystal='name=dark hkl=../P/list.hkl cell=61,68,31,90,90,90 ncells=20' \
		--crystal='name=light hkl=../I/list.hkl cell=61,68,31,90,90,90 ncells=20' |
		bragg-orient --quiet --frames=8 --random --seed=7 --facility=lcls --pump=1:1 --pumped=0.3 --pumped-spread=0.05 |
		bragg-intensity --quiet --reflections=5 | bragg-write --quiet --reflections=pp.stream truth.nxs
	bragg-score truth.nxs pp.stream | sed -n 's/^lattices .* found/found/p' >counts
)
known 'both parts are one lattice' pump/truth.nxs pump/pp.stream '' lattices.true=8 lattices.found=8 lattices.right=8 lattices.twice=0 lattices.missed=0 \
	lattices.share=1 spots.precision=1 spots.recall=1 intensities.slope=1~1e-3 predicted.share=1 angle_deg.max=0~1e-3
# an analysis that knows one lattice and one spot
awk '/^--- Begin crystal/ { if (seen++) skip = 1 } !skip { print } /^--- End crystal/ { skip = 0 } /^----- End chunk/ { seen = 0 }' pump/pp.stream >one.stream
check 'there were two in some frames' sh -c '[ "$(grep -c "Begin crystal" pump/pp.stream)" -gt 8 ]'
known 'an answer with one lattice is right' pump/truth.nxs one.stream '' lattices.found=8 lattices.right=8 lattices.missed=0 lattices.share=1

# --- numbers of frames as CrystFEL writes them
number() { # FROM-LINE TO-LINE...: the stream without events, its numbers of frames by this sed
	sed "s|^Event: .*|Event: //|; s|^Image filename: .*|Image filename: ZMQdata|; $1" P/cyclic.stream >numbers.stream
}
for name in 'header/int//entry_1/frame_id' 'header/int//LCLS/run-2/frame_id' 'hdf5/entry_1/frame_id' 'hdf5//entry_1/frame_id' \
	'header/float//entry_1/frame_id' 'header/str//entry_1/frame_id'; do
	number "s|^header/int/frame_id|$name|"
	known "$name" P/truth.nxs numbers.stream '' frames=3 lattices.right=3
done
number 's|^header/int/frame_id = \(.*\)|header/float//entry_1/frame_id = \1.000000|'
known 'a float that is whole' P/truth.nxs numbers.stream '' frames=3 lattices.right=3
number 's|^header/int/frame_id = \(.*\)|header/float//entry_1/frame_id = \1.5|'
refused 'a float that is not' 3 "frame_id is '0.5'; expected a whole number" P/truth.nxs numbers.stream
number 's|^header/int/frame_id = \(.*\)|header/int/my_frame_id = \1|'
refused 'another name' 3 'a chunk has no frame number' P/truth.nxs numbers.stream
number 's|^header/int/frame_id = \(.*\)|&\nheader/int//entry/frame_id = 7|'
refused 'two numbers' 3 'the chunk has two values of frame_id (7, before 0)' P/truth.nxs numbers.stream
for event in 'entry//0' '//0/1' 'tag-7//'; do
	sed "s|^Event: .*|Event: $event|; /frame_id/d; s|^Image filename: .*|Image filename: x_000001.h5|" P/cyclic.stream >numbers.stream
	refused "event $event" 3 "the event '$event' is not the number of an image" P/truth.nxs numbers.stream
done

# --- what a stream says in another way is not guessed
# odd NAME TEXT SED: this change is refused
odd() {
	sed "$3" P/cyclic.stream >bad.stream
	refused "$1" 3 "$2" P/truth.nxs bad.stream
}
odd 'a camera length in mm' "average_camera_length is '120.0 mm'" 's/^average_camera_length = .*/average_camera_length = 120.0 mm/'
odd 'no number as camera length' "average_camera_length is 'nan m'" 's/^average_camera_length = .*/average_camera_length = nan m/'
odd 'a unit of the energy' "photon_energy_eV is '12.4 keV'" 's/^photon_energy_eV = .*/photon_energy_eV = 12.4 keV/'
odd 'a hit that is neither' "hit is 'yes'" 's/^hit = 1/hit = yes/'
odd 'columns of peaks in another order' "the columns are '  ss/px" 's|^  fs/px   ss/px|  ss/px   fs/px|'
odd 'no column of sigmas' 'the columns are' 's|   sigma(I)||'
odd 'an index that is not whole' 'not a reflection' 's|^ *\(-*[0-9]*\) *\(-*[0-9]*\) *\(-*[0-9]*\) \(.* p0\)$|\1.5 \2 \3 \4|'
finish
