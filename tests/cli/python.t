#!/bin/sh
# The Python module: frames in a loop, and however the loop is left nothing of its pipeline stays.  More of it: tests/full/python.t.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/python.sh"
loop 'frames of a pipeline are those of its recording, and a loop that is left stops its pipeline' same left
loop 'a stage that fails is quoted; options by their names, and the nearest for a wrong one' failed options
loop 'own stages before and after the noise' own
loop 'a stage gives back what it was lent: nobody sees what is done to it later' lent
loop 'frames, their truth and recordings survive pickling and copying; a stream says what to do instead' pickled
bragg-geometry --quiet --detpixels=256 --pixel=0.4 --distance=120 --cut=2,2 '--crystal=name=dark cell=70,80,90,90,90,90 ncells=20 default-F=100' \
	'--crystal=name=light cell=70.5,80,90.5,90,90,90 ncells=20 default-F=110' --fluence=1e27 |
	bragg-orient --quiet --frames=6 --random --seed=5 --hit-rate=0.8 --pump=1:2 --pumped=0.3 | bragg-intensity --quiet --reflections |
	bragg-background --quiet --water=2 | bragg-tap --quiet --record=scored.rec
check 'braggpipe.score: the metrics of bragg-score for the same spots' timeout 60 /usr/bin/python3 "$BRAGG_TESTS/python/score.py" scored.rec
for client in 'watch_dectris.py cbor2' 'find_hits.py msgpack'; do
	is "a client without its packages names them: $client" "$(/usr/bin/python3 -I -S "$top/pipelines/${client% *}" 2>&1)" \
		"$(sed -n "s/.*exit(f\"\(${client% *}: the package \){error.name}\(.*\)\")/\1${client#* }\2/p" "$top/pipelines/${client% *}")"
done
is 'the module has the version of the programs' "$(/usr/bin/python3 -c 'import braggpipe; print(braggpipe.__version__)')" \
	"$(bragg-run --version | sed 's/.*) \([^,]*\),.*/\1/')"
check 'the types of the options are those of the programs: scripts/make-python-options' \
	sh -c 'cd "$0" && scripts/make-python-options | cmp - pipelines/braggpipe/_options.pyi' "$top"
finish
