#!/bin/sh
# Stands in for ssh where there is no other host: runs the command here.  What each host is like
# says its name; calls are counted in $FAR, a folder.
while :; do
	case $1 in
	-*) echo "$1" >>"$FAR/options" && shift ;;
	*) break ;;
	esac
done
host=$1
shift
echo "$host" >>"$FAR/calls"
calls=$(grep -c "^$host\$" "$FAR/calls")
case $host in
refused)
	echo "ssh: connect to host refused port 22: Connection refused" >&2
	exit 255
	;;
loud) # its shell says hello
	echo "Welcome to loud"
	;;
old) printf '\002version 0.0.9 1\n\002host old 127.0.0.1\n\002end\n' && exit ;;
nobody)
	PATH=/usr/bin:/bin exec sh -c "$(printf %s "$*" | sed 's#/[^ ]*/bragg-run#/nowhere/bragg-run#')"
	;;
bare) # has no programs of others
	PATH=/usr/bin:/bin exec sh -c "$*"
	;;
far) # has another file system
	sed -zu 's#^file /#file /far/#' | sh -c "$*"
	exit
	;;
late | early) # has another time of day
	[ "$host" = late ] && shift_s=-300000 || shift_s=300000
	exec env -i PATH="$PATH" HOME="$HOME" ASAN_OPTIONS="${ASAN_OPTIONS-}" LD_PRELOAD="$(command -v clock.so)" CLOCK_SHIFT=$shift_s sh -c "$*"
	;;
shaky) # its first connection after the question breaks when $FAR/cut is there
	[ "$calls" != 2 ] || {
		mkfifo "$FAR/there" "$FAR/back"
		exec 3<&0
		sh -c "$*" <"$FAR/there" >"$FAR/back" &
		cat <&3 >"$FAR/there" &
		there=$!
		cat <"$FAR/back" &
		back=$!
		while kill -0 $back && [ ! -e "$FAR/cut" ]; do sleep 0.05; done 2>/dev/null
		kill $there $back
		exit 255
	}
	;;
esac
exec env -i PATH="$PATH" HOME="$HOME" sh -c "$*"
