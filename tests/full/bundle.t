#!/bin/sh
# make bundle: one file with programs that run on bare Debian 11, 12 and 13, from any folder, without root.
#
# BRAGG_BUNDLE=1 makes the bundle and tries it; BRAGG_BUNDLE=FILE tries one that was made before.
# Either takes minutes, and needs root and a mirror of Debian.  BRAGG_SUITES names other releases.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
case ${BRAGG_BUNDLE-} in
'')
	skip 'make bundle' 'it takes minutes and needs root: BRAGG_BUNDLE=1 asks for it'
	finish
	exit
	;;
1) bundle= ;;
*) bundle=$(realpath "$BRAGG_BUNDLE") ;;
esac
needs 'bare systems' debootstrap xz unshare
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch
if [ ! "$bundle" ]; then
	check 'make bundle' sh -c "make -s -C '$top' bundle >name"
	bundle=$top/$(tail -n 1 name)
fi
name=$(basename "$bundle" .tar.xz)
note "$(stat -c %s "$bundle") bytes"
check 'the bundle has less than 40 MB' test "$(stat -c %s "$bundle")" -lt 40000000

# What programs of this machine make
bragg-run --quiet --workdir=here lysozyme
cat >stills.yaml <<'END'
stages:
  - {name: geometry, args: [--detpixels=128, --pixel=0.8, --distance=120, --ncells=8]}
  - {name: orient, args: [--frames=6, --random, --seed=3]}
  - {name: intensity, count: 2}
  - {name: noise}
  - {name: write, args: ['stills_%02d.cbf']}
END
port=$((21000 + $$ % 10000))
cat >serve.yaml <<END
stages:
  - {name: geometry, args: [--detpixels=128, --pixel=0.8, --distance=120, --ncells=8]}
  - {name: orient, args: [--frames=5, --random]}
  - {name: intensity}
  - {name: noise}
  - {name: serve, args: ['--bind=tcp://127.0.0.1:$port', --linger=60]}
END
bragg-run --quiet --workdir=stills stills.yaml
cat >tiny.pdb <<'END'
CRYST1   20.000   25.000   30.000  90.00 100.00  90.00 P 1 21 1      2
ATOM      1  N   GLY A   1       2.000   3.000   4.000  1.00 10.00           N
ATOM      2  CA  GLY A   1       3.000   3.500   5.000  1.00 12.00           C
ATOM      3  C   GLY A   1       4.300   4.000   4.400  1.00 15.00           C
ATOM      4  O   GLY A   1       4.400   4.300   3.200  1.00 18.00           O
END
cat >client.py <<'END'
"""Asks a karabo-bridge for frames until it has N: client.py ENDPOINT N"""
import sys

import karabo_bridge

client = karabo_bridge.Client(sys.argv[1], timeout=60)
for _ in range(int(sys.argv[2])):
    data, _ = client.next()
    print(max(int(array.max()) for values in data.values() for array in values.values() if getattr(array, "size", 1) > 1) > 0)
END

printf '1 1 1 100\n2 3 1 150\n4 1 2 200\n' >list.hkl
# The beginning and the end of pipes with spots.
spotted() {
	echo 'bragg-geometry --quiet --detpixels=64 --pixel=1.6 --ncells=8 --dmin=2'
}
photons() {
	echo 'bragg-orient --misset=10,20,30 --quiet | bragg-intensity --quiet | bragg-write --quiet tiny.raw'
}
! has gemmi || sh -c "$(spotted) --model=tiny.pdb | $(photons)"

# inside COMMAND: as a user without rights, in a folder whose name has a blank; $B is the bundle
inside() {
	unshare -m -p --fork --kill-child sh -c 'mount -t proc proc "$1/proc"
		exec chroot --userspec=1000:1000 "$1" env -i PATH=/usr/bin:/bin HOME=/nowhere B="$2" sh -c "cd \"/home/my beam line\" && $3"' \
		inside "$system" "/home/my beam line/$name" "$1" </dev/null
}

# digest FOLDER: of its images
digest() {
	(cd "$1" && cat ./*.img ./*.cbf 2>/dev/null | sha256sum)
}

make_system() {
	if ! debootstrap --variant=minbase "$suite" "$suite" >log 2>&1; then
		check "$suite: debootstrap makes a system" tail -n 3 log
		return 1
	fi
	home="$PWD/$suite/home/my beam line"
	mkdir "$home"
	cp stills.yaml serve.yaml tiny.pdb list.hkl "$home"
	chown 1000:1000 "$home"
	# bare systems have no xz
	check "$suite: tar unpacks it" sh -c 'xz -dc "$1" | tar -x -C "$2"' unpack "$bundle" "$home"
}

try_libraries() {
	# shellcheck disable=SC2016 # of the inner shell
	inside 'find "$B/bin" "$B/libexec" -type f -exec ldd {} +' >libraries 2>&1
	is "$suite: all libraries are there" "$(grep -c 'not found' libraries)" 0
	is "$suite: all libraries are those of the bundle, except the C library" \
		"$(sed -n 's/.* => \(.*\) (0x.*/\1/p' libraries | grep -v "/$name/" | sed 's/.*\///' | sort -u | paste -sd' ')" \
		"$(for one in libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 libresolv.so.2 librt.so.1; do grep -q "/[^ ]*-linux-gnu/$one (" libraries && echo $one; done | paste -sd' ')"
	mkdir -p "$home/wrong"
	: >"$home/wrong/libzmq.so.5"
	check "$suite: bragg-run starts whatever LD_LIBRARY_PATH says" inside 'LD_LIBRARY_PATH="$PWD/wrong" "$B/bin/bragg-run" --version'
}

try_files() {
	check "$suite: braggpipe demo" inside '"$B/bin/braggpipe" demo --quiet'
	is "$suite: braggpipe demo makes the images of this machine" "$(digest "$home/demo")" "$(digest here)"
	is "$suite: braggpipe demo makes 20 pictures" "$(find "$home/demo" -name '*.png' | wc -l)" 20
	check "$suite: a pipeline file" inside '"$B/bin/bragg-run" --quiet --workdir=run stills.yaml'
	is "$suite: a pipeline file makes the images of this machine" "$(digest "$home/run")" "$(digest stills)"
	rm "$home/run/stills_03.cbf"
	check "$suite: --resume" inside '"$B/bin/bragg-run" --quiet --resume --workdir=run stills.yaml'
	is "$suite: makes what is missing" "$(digest "$home/run")" "$(digest stills)"
	check "$suite: a pipe that makes an NXmx file" inside "PATH=\"\$B/bin:\$PATH\"; $(spotted) --hkl=list.hkl --cell=40,50,60,90,90,90 --spacegroup=P212121 |
		bragg-orient --frames=2 --random --quiet | bragg-intensity --quiet | bragg-noise --quiet | bragg-write --quiet list.nxs"
	check "$suite: this machine recomputes the NXmx file" sh -c 'cd "$1" && bragg-replay --recompute list.nxs:0' repeat "$home"
	if has gemmi; then
		check "$suite: a model of atoms, by the gemmi of the bundle" inside "PATH=\"\$B/bin:\$PATH\"; $(spotted) --model=tiny.pdb | $(photons)"
		check "$suite: gives the photons that another gemmi gives" bragg-compare --max-error=1e-3 "$home/tiny.raw" tiny.raw
	else
		skip "$suite: a model of atoms" "$lack is missing"
	fi
}

try_clients() {
	is "$suite: a stream by a socket" "$(inside 'PATH="$B/bin:$PATH"
		bragg-tap --in=ipc:///tmp/frames --quiet --record=frames.rec &
		bragg-geometry --detpixels=64 | bragg-orient --frames=3 --random | bragg-intensity --quiet --out=@ipc:///tmp/frames
		wait; bragg-replay frames.rec | bragg-write --quiet "live_%d.raw"; ls live_*' | paste -sd' ')" 'live_0.raw live_1.raw live_2.raw'
	if has python:karabo_bridge; then
		inside '"$B/bin/bragg-run" --quiet --workdir=live serve.yaml' >served 2>&1 &
		is "$suite: a live client gets frames" "$(timeout 60 /usr/bin/python3 client.py "tcp://127.0.0.1:$port" 5 | sort | uniq -c | tr -s ' ')" ' 5 True'
		wait $! || complain "$(cat served)"
	else
		skip "$suite: a live client" "$lack is missing"
	fi
	is "$suite: a browser gets the page" "$(inside 'PATH="$B/bin:$PATH"
		bragg-view --bind=127.0.0.1:'$((port + 1))' run/stills_0?.cbf >page 2>&1 &
		for try in $(seq 100); do grep -q http page && break; sleep 0.1; done
		bash -c "exec 3<>/dev/tcp/127.0.0.1/'$((port + 1))' && printf \"GET / HTTP/1.0\r\nHost: 127.0.0.1:'$((port + 1))'\r\n\r\n\" >&3 && head -n 1 <&3"
		kill $!; wait' | tr -d '\r')" 'HTTP/1.1 200 OK'
}

# From Python of this machine, without braggpipe's programs in PATH
try_python() {
	if has python:zmq python:msgpack python:numpy; then
		is "$suite: the module starts the programs of the bundle" \
			"$(env -i PATH=/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$home/$name/python" /usr/bin/python3 -c '
import braggpipe, braggpipe._pipeline
print(len(list(braggpipe.simulate(detpixels=64, pixel=1.6, ncells=5, frames=3))), braggpipe._pipeline.search_path())' 2>&1)" \
			"3 $home/$name/bin:/usr/bin:/bin"
	else
		skip "$suite: the Python module" "$lack is missing"
	fi
}

# Files that are there for people.
try_pages() {
	is "$suite: each program has a page" "$(ls "$home/$name/bin" | grep - | sed 's/$/.1/')" "$(ls "$home/$name/share/man/man1")"
	is "$suite: completion" "$(bash -c '. "$1"; COMP_WORDS=(bragg-geometry --beam-c) COMP_CWORD=1; _braggpipe; echo "${COMPREPLY[*]}"' complete \
		"$home/$name/share/bash-completion/completions/braggpipe")" '--beam-center='
	is "$suite: each library has a licence" "$(sed -n 's/^lib\/[^ ]*  \([^ ]*\) .*, source.*/\1/p' "$home/$name/share/doc/braggpipe/LIBRARIES" | sort -u |
		while read -r package; do test -s "$home/$name/share/doc/braggpipe/licences/$package" || echo "$package"; done)" ''
	is "$suite: the list of libraries names each library" "$(sed -n 's/^lib\/\([^ ]*\)  .*/\1/p' "$home/$name/share/doc/braggpipe/LIBRARIES" | sort)" "$(ls "$home/$name/lib" | sort)"
}

for suite in ${BRAGG_SUITES-bullseye bookworm trixie}; do
	system=$suite
	make_system || continue
	try_libraries
	try_files
	try_clients
	try_python
	try_pages
	rm -rf "$suite"
done
finish
