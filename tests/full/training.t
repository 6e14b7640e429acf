#!/bin/sh
# Training sets: shards that safetensors and mlcroissant read (scripts/install-deps full), a network that is trained and finds spots,
# and the notebook that compares the network with bragg-serve.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/training.sh"
sets=$top/build/pypi-sets/bin/python3
installed() {
	"$sets" -c "import $1" 2>/dev/null
}
shards() {
	timeout 100 "$sets" -m braggpipe.shards "$@"
}
if installed safetensors; then
	is 'a set of shards' "$(shards set --from=frames.rec --per-shard=3 --license=https://creativecommons.org/licenses/by/4.0/ 2>&1)" 'set: 14 frames'
	is 'shards of three frames, of one part each' "$(ls set | paste -sd' ')" \
		'croissant.json frames.csv test_00000.safetensors train_00000.safetensors validation_00000.safetensors validation_00001.safetensors validation_00002.safetensors validation_00003.safetensors'
	python=$sets
	check 'safetensors reads images, labels and numbers of the frames' compared shards set frames.rec
	shards again --from=frames.rec --per-shard=3 --license=https://creativecommons.org/licenses/by/4.0/ --set-name=set >/dev/null
	check 'the same frames give the same files' diff -r set again
	is 'an existing folder stays' "$(shards set --from=frames.rec 2>&1)" 'braggpipe.shards: set exists. Choose another name, or remove the file'
	is 'frames without labels' "$(shards none --from='bragg-geometry --quiet --detpixels=16 | bragg-orient --quiet | bragg-intensity --quiet' 2>&1; ls -d none* 2>/dev/null)" \
		'braggpipe.shards: frame 0 has no labels: use the options reflections=1 and labels=True'
	is 'a simulation' "$(shards drawn --frames=3 --random --detpixels=64 --pixel=0.8 --ncells=8 2>&1)" 'drawn: 3 frames'
	if installed mlcroissant; then
		is 'mlcroissant finds nothing wrong but the missing date' "$("$top/build/pypi-sets/bin/mlcroissant" validate --jsonld set/croissant.json 2>&1 | sed -n 's/^ *-  //p')" \
			'[Metadata(set)] Property "https://schema.org/datePublished" is recommended, but does not exist.'
		check 'mlcroissant gives a record for each frame' compared croissant set
		sed 's/cr:Field/cr:Feld/' set/croissant.json >set/wrong.json
		check_status 'mlcroissant refuses a wrong description' 1 "$top/build/pypi-sets/bin/mlcroissant" validate --jsonld set/wrong.json
	else
		skip 'mlcroissant reads the description' 'mlcroissant is missing: scripts/install-deps full'
	fi
else
	skip 'shards' 'safetensors is missing: scripts/install-deps full'
fi

if has python:torch; then
	unet() {
		timeout 400 /usr/bin/python3 -m braggpipe.unet "$@"
	}
	is 'a network is trained' "$(unet train frames.rec net.pt --steps=60 --width=4 2>&1)" 'net.pt: trained with 14 images in 60 steps'
	check 'the network finds spots' unet find net.pt frames.rec found.tsv --threshold=0.2
	check 'bragg-score agrees with most of the spots' bragg-score --strong=5 --require='spots.precision>=0.9' --require='spots.visible.recall>=0.5' frames.rec found.tsv
	is 'the table has a line for a frame without spots' "$(sed 1d found.tsv | cut -f1 | sort -nu | paste -sd' ')" "$(seq 78 91 | paste -sd' ')"
	is 'an existing network stays' "$(unet train frames.rec net.pt 2>&1)" 'braggpipe.unet: net.pt exists. Choose another name, or remove the file'
	is 'a file that is no network' "$(unet find found.tsv frames.rec no.tsv 2>&1; ls no.tsv* 2>/dev/null)" 'braggpipe.unet: found.tsv: is no network of braggpipe.unet train'
	is 'frames without a visible reflection' "$(unet train 'bragg-geometry --quiet --detpixels=64 | bragg-orient --quiet | bragg-intensity --quiet --reflections --labels' no.pt --visible=1e6 2>&1; ls no.pt* 2>/dev/null)" \
		'braggpipe.unet: the samples have no visible reflection. Use more fluence or larger crystals'
	is 'a threshold that is no probability' "$(unet find net.pt frames.rec no.tsv --threshold=1 2>&1)" 'braggpipe.unet: argument --threshold: is not between 0 and 1 (got 1)'
else
	skip 'a network finds spots' "$lack is missing"
fi
if installed safetensors && has python:torch python:h5py mandoc; then
	mandoc -T utf8 -O width=78 "$top/stages/pages/braggpipe-examples.7" | col -bx |
		awk '/^[A-Z]/ { here = /^TRAINING/ } here && /^           /' | sed '/venv\|pip install/d' >page.sh
	mkdir page
	cd page || exit 1
	ln -s "$top/build/pypi-sets" env
	status=0
	timeout 500 sh -e ../page.sh </dev/null >out 2>errors || status=$?
	cd ..
	is 'braggpipe-examples(7): the files that it names' "$status $(grep -v ' takes about .* a frame' page/errors)$(ls page/spots page/train.h5 page/net.pt | paste -sd' ' | tr -s ' ')" \
		'0 page/net.pt page/train.h5 page/spots: croissant.json frames.csv train_00000.safetensors train_00001.safetensors'
	is 'braggpipe-examples(7): bragg-score has a score' "$(grep -c '^spots.visible  *recall 0\.[6-9]' page/out)" 1
else
	skip 'the example of braggpipe-examples(7)' 'safetensors, torch, h5py or mandoc is missing'
fi
if has python:torch python:nbformat python:nbclient python:ipykernel python:matplotlib; then
	check 'the notebook runs: the network finds more visible reflections than bragg-serve' timeout 500 /usr/bin/python3 "$BRAGG_TESTS/python/notebook.py" "$top/pipelines/train.ipynb" .
	is 'the notebook has its four pictures' "$(ls [0-9].png | wc -l)" 4
else
	skip 'the notebook runs' "$lack is missing"
fi
finish
