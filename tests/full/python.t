#!/bin/sh
# The Python module: all that gives frames, all ways out of a loop, stages, labels, the notebook, pip.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/python.sh"
loop 'a pipeline file runs without its last stages' file
loop 'an exception in a loop stops its pipeline' raised
loop 'a loop that Ctrl-C interrupts ends well' interrupted
loop 'a loop that is killed ends well' killed
loop 'two loops at once have their own frames' two
loop 'a loop slower than the pipeline gets all frames' slow
loop 'images that are kept do not change' kept
loop 'a stage that dies is named' died
loop 'what is no source of frames is refused' refused
loop 'image files, one or several, are frames' images
loop 'panels lie where they are' panels
loop 'nobody there, nonsense, and a pipeline of others that goes on without the loop' strangers
loop 'sums of any length' sums
loop 'a source in Python, and a sink' stages
loop 'a second loop over the same object gets the same frames, and len() knows how many' again
loop 'a data set: frame k is frame k, whoever computes it; parts share no frame' dataset
loop 'the beam meets each panel where Panel.beam says' beam
loop 'a function may use its memory again' memory
loop 'images with pixels that are not finite do not pass' unsound
bragg-replay --quiet x.rec | bragg-write --quiet --compression=gzip x.nxs
if has python:h5py; then
	{
		printf '{\nHEADER_BYTES=  512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\nSIZE1=60;\nSIZE2=40;\n}\f' | dd bs=512 conv=sync
		{ head -c 240 /dev/zero && head -c 4560 /dev/zero | tr '\0' '\1'; }
	} >mask.img 2>/dev/null
	bragg-geometry --quiet --detpixels=60,40 --ncells=3 --mask=mask.img | bragg-orient --quiet | bragg-intensity --quiet --threads=1 |
		bragg-noise --quiet --dead=0.01 --hot=0.01 --beamstop=1 | bragg-tap --record=m.rec
	bragg-replay --quiet m.rec | bragg-write --quiet --compression=gzip m.nxs 2>/dev/null
	check 'Experiment.mask: why pixels are masked' timeout 60 /usr/bin/python3 "$BRAGG_TESTS/python/mask.py"
else
	skip 'Experiment.mask: why pixels are masked' "$lack is missing"
fi
if has python:pandas; then
	bragg-geometry --quiet --detpixels=8 | bragg-orient --quiet --frames=9 --random --hit-rate=0.5 --truth=truth.tsv | bragg-tap --quiet >/dev/null
	line=$(sed -n 's/\\(dq/"/g; s/\\e/\\/g; s/^\.Ql \(pandas.read_csv(.*)\) \.$/\1/p' "$top/stages/orient/bragg-orient.1")
	is 'pandas reads the table of lattices as the page says: numbers, none for a blank' \
		"$(/usr/bin/python3 -c "import pandas; table = $line; print(table.u11.dtype, table.u11.isna().equals(table.lattices == 0), 0 < table.u11.isna().sum() < 9)")" \
		'float64 True True'
else
	skip 'pandas reads the table of lattices as the page says' "$lack is missing"
fi
loop 'frames pass between processes: multiprocessing, PyTorch, by fork and by spawn' processes
loop 'Ctrl-C ends what a source in Python started' source

# ratios to a plain copy, with room for other programs on this machine: half of what is reached there and less
for row in '1024 400 0.8 0.12 0.03' '2048 120 0.8 0.25 0.05'; do
	# shellcheck disable=SC2086 # words
	check "frames of ${row%% *} x ${row%% *} come fast enough" sh -c 'timeout 200 /usr/bin/python3 "$@" >speed' sh "$BRAGG_TESTS/python/speed.py" $row
	cat speed
done

check 'the benchmark times them' bench --parts=python --sizes=128 --iterations=1 --frames=3 --out=python.jsonl
is 'a row each' "$(sed -n 's/.*"contestant": "\([a-z]*\)".*"of_copy": [^,]*,.*/\1/p' python.jsonl | tr '\n' ' ')" 'copy loop source transform sink '

if has python:torch; then
	check 'PyTorch gets each frame once, with labels that fit, whatever its workers' timeout 200 /usr/bin/python3 "$BRAGG_TESTS/python/labels_check.py"
else
	skip 'PyTorch gets each frame once, with labels that fit, whatever its workers' "$lack is missing"
fi
check 'labels: nothing is left' soon sh -c '[ -z "$(ls tmp)" ]'

if has python:torch; then
	check 'gradients: gradcheck accepts them, PyTorch finds the crystal again' sh -c 'timeout 100 "$1" --check >said' sh "$top/pipelines/gradient.py"
	is 'gradcheck has run once' "$(grep -c 'gradcheck: accepted' said)" 1
else
	skip 'gradients' "$lack is missing"
fi

if has python:nbformat python:nbclient python:ipykernel python:matplotlib; then
	check 'the notebook runs' timeout 250 /usr/bin/python3 "$BRAGG_TESTS/python/notebook.py" "$top/pipelines/braggpipe.ipynb" .
else
	skip 'the notebook runs' "$lack is missing"
fi
check 'the examples of the docstrings run as they are printed' timeout 250 /usr/bin/python3 -W ignore "$BRAGG_TESTS/python/docstrings.py"
if has mypy; then
	types() {
		MYPYPATH="$top/pipelines" mypy --config-file "$top/pipelines/pyproject.toml" --cache-dir "$PWD/mypy" "$@"
	}
	check 'types of the module' types "$top/pipelines/braggpipe"
	check 'types of the options: what is right is accepted' types "$BRAGG_TESTS/python/typed.py"
	is 'types of the options: each wrong name or value is found' "$(types "$BRAGG_TESTS/python/typos.py" | sed -n 's/^[^:]*typos.py:\([0-9]*\): error: .*/\1/p' | xargs)" '3 4 5 6 7 8 9'
else
	skip 'types' "$lack is missing"
fi

# pip, without a network: setuptools and the packages that the module needs are Debian's
cp -r "$top/pipelines" source
find source -name __pycache__ -prune -exec rm -r {} +
if has python:setuptools python:wheel python:pip; then
	check 'pip installs the module' /usr/bin/python3 -m pip install -q --no-index --no-deps --no-build-isolation --target installed ./source
	is 'the installed module has its version' "$(basename installed/braggpipe-*.dist-info)" "braggpipe-$(bragg-run --version | sed 's/.*) \([^,]*\),.*/\1/').dist-info"
	check 'the installed module gives frames' env PYTHONPATH="$PWD/installed" /usr/bin/python3 -c '
import braggpipe, os
assert os.path.dirname(os.path.dirname(braggpipe.__file__)) == os.path.abspath("installed")
assert len(list(braggpipe.open("x.rec"))) == len(braggpipe.Dataset("x.rec")) == 3
assert all(os.path.exists("installed/braggpipe/" + name) for name in ("py.typed", "_options.pyi", "torch.py", "residual.py", "resonet.py", "shards.py", "unet.py"))'
	is 'pip leaves no build/ and *.egg-info in the clone' "$(diff -rq -x __pycache__ "$top/pipelines" source)" ''
else
	skip 'pip installs the module' "$lack is missing"
fi
finish
