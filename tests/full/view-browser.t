#!/bin/sh
# bragg-view in Debian's chromium: the page, zoom, values against the file, marks, history, a server
# that starts again, panels on no common grid, phones and the dark; PICTURES=FOLDER keeps pictures.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'bragg-view in a browser' chromium python:websockets
scratch
if has tsc; then
	check 'the scripts of the page use what is there, and all that is there' tsc --allowJs --checkJs --noEmit \
		--target es2022 --module es2022 --moduleResolution node --noUnusedLocals --noUnusedParameters \
		--noImplicitReturns "$BRAGG_TESTS/../common/web/page/main.js"
else
	skip 'the scripts of the page' "$lack is missing"
fi
bragg-geometry --detpixels=1000,900 --pixel=0.1 --distance=100 --ncells=25 --dmin=1.6 |
	bragg-orient --frames=4 --random --seed=3 --lattices=2 | bragg-intensity --reflections | bragg-background --water=5 |
	bragg-tap --record=b.rec
bragg-replay b.rec | bragg-noise --seed=9 | bragg-tap --record=a.rec
bragg-replay a.rec | bragg-write 'a_%d.img'
bragg-geometry --detector=agipd-1m --distance=100 --ncells=25 | bragg-orient --frames=1 --random --seed=3 |
	bragg-intensity | bragg-tap --record=panels.rec
printf 'stages:\n- {name: replay, args: [%s/b.rec]}\n- {name: noise}\n- {name: write, args: [y_%%d.bin]}\n' "$PWD" >report.yaml
bragg-run --quiet --workdir=run --report=report.html report.yaml
/usr/bin/python3 "$BRAGG_TESTS/full/view_browser.py" a.rec 'a_%d.img' panels.rec ${PICTURES:+"$PICTURES"} || tap_failed=1
tap_count=$((tap_count + $(cat checks)))
finish
