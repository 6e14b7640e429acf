#!/bin/sh
# make deb: a package without faults that holds what make install installs, works, and leaves nothing.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a Debian package' dpkg-shlibdeps lintian objdump
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch
check 'make deb' sh -c "make -s -C '$top' deb WERROR=1 >name"
deb=$top/$(tail -n 1 name)
sum=$(sha256sum <"$deb")
check 'make deb can be repeated' make -s -C "$top" deb WERROR=1
is 'the second package is the same to the byte' "$(sha256sum <"$deb")" "$sum"
check 'lintian finds no error and nothing to warn of' lintian --allow-root --fail-on error,warning "$deb"

make -s -C "$top" install PREFIX=/usr DESTDIR="$PWD/installed" >/dev/null
dpkg-deb -x "$deb" held
# files FOLDER: what is in it, pages by their names, without the documents that Debian wants
files() {
	(cd "$1" && find . ! -type d ! -path '*/share/doc/*' | sed '/share.man/s/\.gz$//' | sort)
}
is 'the package holds what make install installs' "$(files held)" "$(files installed)"
for library in libzmq5 "libhdf5-[0-9-]*" libccp4c0 libyaml-0-2 libgomp1; do
	check "the package depends on $library" sh -c "dpkg-deb -f '$deb' Depends | grep -qw $library"
done
check 'the package only suggests Python' sh -c "dpkg-deb -f '$deb' Suggests | grep -q python3-zmq && ! dpkg-deb -f '$deb' Depends | grep -q python"

mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates root/var/log
touch root/var/lib/dpkg/status root/var/lib/dpkg/available
installer() {
	dpkg --root="$PWD/root" --log="$PWD/log" --force-depends --force-not-root "$@"
}
if [ "$(id -u)" = 0 ]; then
	check 'dpkg installs it' installer --install "$deb"
	PATH=$PWD/root/usr/bin:$PATH
	is 'the installed programs come first on the path' "$(command -v bragg-run)" "$PWD/root/usr/bin/bragg-run"
	check 'a shipped pipeline runs' bragg-run --quiet --frames=2 --workdir=stills lysozyme
	check 'a shipped pipeline makes its files' test -s stills/lyso_0001.img -a -s stills/lyso_0001.png
	check 'dpkg removes it' installer --purge braggpipe
	is 'no file is left after dpkg removes the package' "$(find root ! -type d ! -path '*/var/*'; find root -name '*bragg*')" ''
else
	skip 'dpkg installs, runs and removes it' 'only root can'
fi

# one object for some processors only
mkdir -p there/obj/common there/obj/stages
echo 'void half(float *x, int n) { for (int i = 0; i < n; i++) x[i] *= 0.5f; }' |
	gcc -O3 -march=haswell -c -o there/obj/common/half.o -x c -
is 'instructions that only some CPUs support are not in the bundle' "$(BUILD=$PWD/there "$top/scripts/make-deb" 2>&1)" \
	"make-deb: $PWD/there/obj/common/half.o was compiled for some processors only: make clean, and leave -march out"
finish
