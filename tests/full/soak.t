#!/bin/sh
# A short form of every part of scripts/soak.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
for part in kill freeze chain source any network rate slow large same valgrind schedules; do
	case $part in
	rate) scale=0.003 ;;
	slow) scale=0.05 ;;
	freeze) scale=0.15 ;;
	large) scale=0.01 ;;
	schedules) scale=0.015 ;;
	*) scale=0.04 ;;
	esac
	check "soak: $part" "$BRAGG_TESTS/../scripts/soak" --part=$part --scale=$scale
	note "$(printf '%s\n' "$tap_output" | sed 1d)"
done
finish
