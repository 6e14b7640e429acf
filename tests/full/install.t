#!/bin/sh
# make install: programs, pages, pipelines and completion, used from where they were put.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch
check 'make install' make -s -C "$top" install PREFIX=/usr DESTDIR="$PWD/root" WERROR=1
PATH=$PWD/root/usr/bin:$PATH
share=$PWD/root/usr/share
is 'a page for every program' "$(ls root/usr/bin | grep - | sed 's/$/.1/')" "$(ls "$share/man/man1")"
check 'the page about loops' test -s "$share/man/man7/braggpipe-loop.7"
check 'and the one about several hosts' test -s "$share/man/man7/braggpipe-machines.7"
check 'and its pipelines' test -s "$share/braggpipe/pipelines/loop-dials.yaml" -a -s "$share/braggpipe/pipelines/loop-crystfel.yaml"
is 'one program lists all of them' "$(braggpipe list | sed -n '/^Pipelines/q; s/^  \([a-z]*\) .*/bragg-\1/p' | grep -v -e -columns -e -demo -e -list -e -help | sort)" \
	"$(ls root/usr/bin | grep -)"
is 'and all pipelines' "$(braggpipe list | sed '1,/^Pipelines/d; /^$/d' | awk 'NF > 3 { print $1 ".yaml" }')" \
	"$(cd "$share/braggpipe/pipelines" && ls ./*.yaml | cut -c3-)"
check 'with a line about each' sh -c 'braggpipe list | grep "^  karabo  *A detector of a free-electron laser without the laser$"'
is 'none of them broken' "$(braggpipe list | awk 'length > 90 || /#/')" ''
is 'and starts them' "$(braggpipe orient --version)" "$(bragg-orient --version)"
check 'braggpipe demo' braggpipe demo --frames=1 --quiet
check 'makes the folder demo' test -s demo/lyso_0000.png
check_status 'no such program' 2 braggpipe gemoetry
is 'the nearest is named' "$(braggpipe gemoetry 2>&1)" \
	"braggpipe: unknown program 'gemoetry'. Did you mean 'geometry'? 'braggpipe list' shows all programs"
check 'a shipped pipeline runs by its name' bragg-run --quiet --frames=1 --workdir=stills lysozyme
check 'and makes its files' test -s stills/lyso_0000.img
check 'a file of that name is taken first' sh -c 'printf "stages:\n  - name: none\n" >lysozyme; bragg-run lysozyme 2>&1 | grep -q "lysozyme:"'
rm lysozyme
check_status 'a name of nothing' 1 bragg-run nonesuch
check_status 'a name leads nowhere else' 1 bragg-run ../pipelines/lysozyme
if has python:zmq python:msgpack python:numpy; then
	bragg-geometry --quiet --detpixels=16 | bragg-orient --quiet |
		bragg-intensity --quiet | "$share/braggpipe/pipelines/vignette.py" --quiet | bragg-write --quiet dark.raw
	check 'a stage in Python finds its modules' test -s dark.raw
	is 'and so does Python, where Debian has it' "$(PYTHONPATH=$PWD/root/usr/lib/python3/dist-packages /usr/bin/python3 -c '
import braggpipe
print(len(list(braggpipe.simulate(detpixels=16, ncells=3, default_F=1e4))))')" 1
	mv root moved
	is 'the module finds the programs next to it, in any folder' \
		"$(PATH=/usr/bin:/bin PYTHONPATH=$PWD/moved/usr/lib/python3/dist-packages /usr/bin/python3 -c '
import braggpipe
with braggpipe.open("bragg-geometry --detpixels=16 | bragg-orient | bragg-intensity") as frames:
    print(len(list(frames)), len(list(braggpipe.open("lysozyme", set={"orient.frames": 2}))))
print(len(list(braggpipe.simulate(detpixels=16, ncells=3, default_F=1e4))))' | paste -sd,)" '1 2,1'
	mv moved root
else
	skip 'a stage in Python finds its modules' "$lack is missing"
fi

# complete WORD...: what bash offers for the last of these words
complete() {
	bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _braggpipe; echo "${COMPREPLY[*]}"' \
		"$share/bash-completion/completions/$1" "$@"
}
is 'options are completed' "$(complete bragg-geometry --beam-c)" '--beam-center='
is 'shipped pipelines, too' "$(complete bragg-run kar) $(complete braggpipe run lys)" 'karabo lysozyme'
is 'no option of another program that a help text names' "$(complete bragg-geometry --make)" ''
is 'flags, too' "$(complete bragg-orient --rand)" '--random'
is 'and the words that an option takes' "$(complete bragg-geometry --shape = to)" 'tophat'
is 'all of them' "$(complete bragg-geometry --shape =)" 'square round gauss tophat'
is 'names of programs' "$(complete braggpipe geo)" 'geometry'
is 'and their options' "$(complete braggpipe orient --rand)" '--random'
is 'names of detectors' "$(complete bragg-geometry --detector = eiger-1)" 'eiger-1m eiger-16m'
touch here.mtz
is 'and files' "$(complete bragg-geometry --mtz = he)" 'here.mtz'
finish
