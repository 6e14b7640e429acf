#!/bin/sh
# From a bare Debian 12: every line of scripts/Dockerfile, as docker would run it, then README.md
# to each picture, in a system that holds nothing but what debootstrap puts there.  The package of
# `make deb` is installed in another.  `make check` is run where BARE_CHECK is set: it is what this
# machine did anyway.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'a bare Debian' debootstrap unshare
top=$(cd "$BRAGG_TESTS/.." && pwd)
scratch
if [ "$(id -u)" != 0 ] || ! debootstrap --variant=minbase bookworm system >log 2>&1; then
	skip 'a bare Debian' "root only, and from a mirror: $(tail -n 1 log)"
	finish
	exit
fi
cp -a system other

# inside COMMAND: as docker runs a line, with processes, /proc and terminals of its own
system=system folder=/ path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
inside() {
	unshare -m -p --fork --kill-child sh -c 'mount -t proc proc "$1/proc"
		mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
		mount --bind "$1/dev/pts/ptmx" "$1/dev/ptmx"
		exec chroot "$1" env -i PATH="$3" DEBIAN_FRONTEND=noninteractive sh -c "cd $2 && $4"' \
		inside "$system" "$folder" "$path" "$1" </dev/null
}
inside true 2>log || {
	skip 'a bare Debian' "no namespaces of its own: $(tail -n 1 log)"
	finish
	exit
}
while read -r word rest; do
	case $word in
	'' | '#'*) ;;
	FROM) is 'the Dockerfile begins with Debian 12' "$rest" debian:12 ;;
	RUN)
		if [ "$rest" = 'make check' ] && [ -z "${BARE_CHECK-}" ]; then
			skip "RUN $rest" 'BARE_CHECK is not set'
		else
			began=$(date +%s)
			check "RUN $rest" inside "$rest"
			took=$(($(date +%s) - began))
			note "RUN $rest took $took s"
			[ "$rest" != 'make check' ] || check 'within 5 minutes' test "$took" -lt 300
		fi
		;;
	COPY)
		is 'it copies the checkout' "${rest% *}" .
		mkdir -p "system${rest#* }"
		(cd "$top" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T -) | tar -x -C "system${rest#* }"
		;;
	WORKDIR) folder=$rest ;;
	ENV) path=$(echo "${rest#PATH=}" | sed "s|\$PATH|$path|") ;;
	*) check "the Dockerfile says $word" false ;;
	esac
done <"$top/scripts/Dockerfile"
is 'README.md has the same two commands' "$(sed -n 's/^RUN make/make/p' "$top/scripts/Dockerfile" | paste -sd,)" \
	"$(sed -n 's/^\(make [a-z]*\)  .*/\1/p' "$top/README.md" | paste -sd,)"

check 'the demo made 20 pictures' inside '[ $(ls demo/*.png | wc -l) = 20 ] && make -s build/tests/bin/picture'
for picture in system"$folder"/demo/*.png; do
	check "$(basename "$picture") shows something" inside "build/tests/bin/picture demo/$(basename "$picture")"
done
# What README.md tells to install beside, then all of its commands.
grep -oE 'apt(-get)? install [-a-z0-9 ]*' "$top/README.md" >installs
while read -r line; do
	check "$line" inside "$line -y --no-install-recommends"
done <installs
path=$folder/build/tests/bin:$path
inside 'sh tests/full/readme.t' >readme 2>&1 || true
note "$(cat readme)"
is 'README.md works there' "$(grep -c '^ok' readme) $(grep -c '^not ok' readme)" "$(sed -n 's/^1\.\.//p' readme) 0"
check 'make deb' inside 'make -s deb'
cp system"$folder"/build/*.deb other/tmp
system=other folder=/tmp path=/usr/sbin:/usr/bin:/sbin:/bin
check 'apt installs the package' inside 'apt-get update && apt-get install -y --no-install-recommends ./*.deb'
check 'braggpipe demo' inside 'braggpipe demo --quiet --frames=2'
check 'makes pictures' test -s other/tmp/demo/lyso_0001.png
check 'apt removes it' inside 'apt-get purge -y braggpipe'
is 'and nothing is left' "$(find other/usr other/etc -name '*bragg*')" ''
finish
