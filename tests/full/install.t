#!/bin/sh
# make install: programs, pages, pipelines and completion, used from where they were put.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch
check 'make install' make -s -C "$top" install PREFIX=/usr DESTDIR="$PWD/root" WERROR=1
mkdir own && sed 's/bragg-skeleton"/bragg-own"/' "$top/stages/skeleton/bragg-skeleton.c" >own/bragg-own.c
check 'make stage: a stage outside the folder' make -s -C "$top" stage SOURCE="$PWD/own/bragg-own.c"
is 'it is a program' "$(own/bragg-own --version | sed 's/ .*//')" bragg-own
is 'and nothing else appears next to it' "$(ls own | paste -sd' ')" 'bragg-own bragg-own.c'
# A stage outside the folder, from the installed files alone
installed() {
	PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig pkg-config "$@" braggpipe
}
is 'pkg-config knows the version' "$(installed --modversion)" "$(own/bragg-own --version | sed 's/.*) \([^,]*\),.*/\1/')"
for name in skeleton skeleton-sink; do
	# shellcheck disable=SC2046 # options are words
	check "a stage compiles from the installed files: bragg-$name" gcc -std=c11 -Wall -Wextra -Werror -o "own/$name" \
		"root/usr/share/braggpipe/stages/bragg-$name.c" $(installed --cflags --libs)
done
is 'every installed header compiles alone' "$(cd root/usr/include/braggpipe && find . -name '*.h' | while read -r header; do
	gcc -std=c11 -fsyntax-only $(cd "$OLDPWD" && installed --cflags) -x c "$header" 2>&1 || echo "$header"; done)" ''
bragg-geometry --quiet --detpixels=32 --ncells=5 --fluence=1e27 --default-F=100 --cell=60,70,80,90,90,90 |
	bragg-orient --quiet --frames=2 --random | bragg-intensity --quiet | bragg-tap --quiet --record=own.rec
is 'it passes frames on, as the one of this folder does' "$(bragg-replay --quiet own.rec | own/skeleton --quiet --factor=3 | own/skeleton-sink --above=0.1 --order --quiet)" \
	"$(bragg-replay --quiet own.rec | bragg-skeleton --quiet --factor=3 | bragg-skeleton-sink --above=0.1 --order --quiet)"
check_status 'make stage does not write over a source' 2 make -s -C "$top" stage SOURCE="$PWD/own/bragg-own"
PATH=$PWD/root/usr/bin:$PATH
share=$PWD/root/usr/share
is 'a page for every program' "$(ls root/usr/bin | grep - | sed 's/$/.1/')" "$(ls "$share/man/man1")"
check 'the page about loops' test -s "$share/man/man7/braggpipe-loop.7"
check 'the page about several hosts is installed' test -s "$share/man/man7/braggpipe-machines.7"
check 'the pipelines of loops are installed' test -s "$share/braggpipe/pipelines/loop-dials.yaml" -a -s "$share/braggpipe/pipelines/loop-crystfel.yaml"
check 'the notebooks are installed' test -s "$share/braggpipe/pipelines/braggpipe.ipynb" -a -s "$share/braggpipe/pipelines/train.ipynb"
is 'one program lists all of them' "$(braggpipe list | sed -n '/^Pipelines/q; s/^  \([a-z]*\) .*/bragg-\1/p' | grep -v -e -columns -e -demo -e -list -e -help | sort)" \
	"$(ls root/usr/bin | grep -)"
is 'braggpipe list names all pipelines' "$(braggpipe list | sed '1,/^Pipelines/d; /^$/d' | awk 'NF > 3 { print $1 ".yaml" }')" \
	"$(cd "$share/braggpipe/pipelines" && ls ./*.yaml | cut -c3-)"
check 'braggpipe list has a line about each program' sh -c 'braggpipe list | grep "^  karabo  *Stills of lysozyme as a live stream of the European XFEL$"'
is 'braggpipe list has a line for each pipeline' "$(braggpipe list | awk 'length > 90 || /#/')" ''
is 'braggpipe starts each program' "$(braggpipe orient --version)" "$(bragg-orient --version)"
check 'braggpipe demo' braggpipe demo --frames=1 --quiet
check 'makes the folder demo' test -s demo/lyso_0000.png
check_status 'no such program' 2 braggpipe gemoetry
is 'the nearest is named' "$(braggpipe gemoetry 2>&1)" \
	"braggpipe: unknown program 'gemoetry'. Did you mean 'geometry'? 'braggpipe list' shows all programs"
check 'a shipped pipeline runs by its name' bragg-run --quiet --frames=1 --workdir=stills lysozyme
check 'the shipped pipeline makes its files' test -s stills/lyso_0000.img
check 'a file of that name is taken first' sh -c 'printf "stages:\n  - name: none\n" >lysozyme; bragg-run lysozyme 2>&1 | grep -q "lysozyme:"'
rm lysozyme
check_status 'a name of nothing' 1 bragg-run nonesuch
check_status 'a name leads nowhere else' 1 bragg-run ../pipelines/lysozyme
if has python:zmq python:msgpack python:numpy; then
	bragg-geometry --quiet --detpixels=16 | bragg-orient --quiet |
		bragg-intensity --quiet | "$share/braggpipe/pipelines/vignette.py" --quiet | bragg-write --quiet dark.raw
	check 'a stage in Python finds its modules' test -s dark.raw
	is 'Python of Debian finds the installed module' "$(PYTHONPATH=$PWD/root/usr/lib/python3/dist-packages /usr/bin/python3 -c '
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
is 'the shell completes the words of an option' "$(complete bragg-geometry --shape = to)" 'tophat'
is 'the shell completes all options' "$(complete bragg-geometry --shape =)" 'square round gauss tophat star'
is 'names of programs' "$(complete braggpipe geo)" 'geometry'
is 'the shell completes options of braggpipe commands' "$(complete braggpipe orient --rand)" '--random'
is 'names of detectors' "$(complete bragg-geometry --detector = eiger-1)" 'eiger-1m eiger-16m'
touch here.mtz
is 'the shell completes names of files' "$(complete bragg-geometry --mtz = he)" 'here.mtz'
finish
