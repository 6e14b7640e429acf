#!/bin/sh
# Training files for resonet: images, labels and geometry are what the frames say; wrong command lines have one line.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/training.sh"
needs 'training files' python:h5py
resonet() {
	timeout 60 /usr/bin/python3 -m braggpipe.resonet "$@"
}
is 'a training file from a recording' "$(resonet train.h5 --from=frames.rec --block=2 2>&1)" 'train.h5: 14 frames'
check 'images, labels and geometry are those of the frames' compared resonet train.h5 frames.rec
resonet middle.h5 --from=frames.rec --view=center --dtype=uint16 >/dev/null
is 'the middle of the detector, 64 x 64 blocks of 2 x 2 pixels' "$(/usr/bin/python3 -c '
import h5py, numpy
import braggpipe
file = h5py.File("middle.h5")
names = list(file["labels"].attrs["names"])
label = dict(zip(names, file["labels"][0]))
frame = next(iter(braggpipe.open("frames.rec")))
photons = numpy.where(frame.experiment.mask == 0, (frame.image.astype("f4") - 40) / 4, 0)
blocks = photons.reshape(75, 2, 85, 2).max((1, 3))[5:69, 10:74]
print(file["images"].dtype, file["images"].shape[1:], numpy.array_equal(file["images"][0], numpy.floor(numpy.sqrt(blocks.clip(0, 65025)))),
      abs(label["cent_fast_train"] - (label["beam_center_fast"] / 2 - 10)) < 1e-4)')" 'uint16 (64, 64) True True'

simulated="--random --detpixels=96 --pixel=0.6 --ncells=8 --fluence=1e26 --water=0.1 --jitter=30"
# shellcheck disable=SC2086 # words
{
	resonet one.h5 --frames=3 $simulated >/dev/null
	resonet two.h5 --frames=5 $simulated >/dev/null
}
is 'a simulation: a longer set begins with the frames of a shorter one; the amount of water is unknown' "$(/usr/bin/python3 -c '
import h5py, numpy
one, two = h5py.File("one.h5"), h5py.File("two.h5")
names = list(one["labels"].attrs["names"])
print(one["images"].shape[0], two["images"].shape[0], all(numpy.array_equal(one[name][:], two[name][:3], equal_nan=name == "labels")
      for name in ("images", "labels", "geom", "frame")), numpy.isnan(one["labels"][:, names.index("bg_scale")]).all())')" '3 5 True True'

# refused NAME MESSAGE WORD...: the command fails, with this line and no file
refused() {
	name=$1 message=$2 files=$(ls)
	shift 2
	is "$name" "$(resonet "$@" 2>&1; ls)" "braggpipe.resonet: $message
$files"
}
refused 'an existing file stays' 'train.h5 exists. Choose another name, or remove the file' train.h5 --from=frames.rec
refused 'no number of frames' 'the number of frames is missing. Give --frames=N, or --from=SOURCE' no.h5 --random
refused 'a source and options' '--from and options of a simulation cannot be used together (got --random)' no.h5 --from=frames.rec --random
refused 'an unknown option' "a simulation has no option 'randon'. Did you mean 'random'?" no.h5 --frames=2 --randon
refused 'an option given twice' '--osc is given more than once; give it once' no.h5 --frames=2 --osc=1 --osc=2
refused 'a word that is no option' 'simulate is no option; expected --NAME=VALUE' no.h5 --frames=2 simulate
refused 'blocks that are too large' 'blocks of 80 pixels are too large for 150 pixels; expected at most 75' no.h5 --from=frames.rec --block=80
refused 'an error of a program' "bragg-orient: --osc: 'x' is not a finite number (--osc=DEG)" no.h5 --frames=2 --osc=x
refused 'a source without reflections' 'frame 0 has no reflections: use the option reflections=1' no.h5 --from='bragg-geometry --quiet --detpixels=16 | bragg-orient --quiet | bragg-intensity --quiet'
if has python:safetensors; then
	skip 'shards without their package' 'safetensors is installed'
else
	is 'shards without their package' "$(/usr/bin/python3 -m braggpipe.shards set --from=frames.rec 2>&1; ls -d set 2>&1)" \
		"braggpipe.shards: the package safetensors is missing. Run: pip install safetensors
ls: cannot access 'set': No such file or directory"
fi
finish
