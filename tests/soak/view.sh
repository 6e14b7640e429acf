# The part `view` of scripts/soak: a browser that looks on for ten minutes.

part_view() {
	seconds=$(scaled 600 20)
	frames=$((10 * seconds))
	row_start=$(date +%s)
	row_result=pass
	mkdir -p -m 700 browser # chromium leaves settings there
	XDG_RUNTIME_DIR=$PWD/browser BRAGG_VIEW_SECONDS=$seconds sh "$tests/full/view-browser.t" >view.log 2>&1 || row_result=FAIL
	! grep -q '^not ok' view.log || row_result="FAIL: $(grep -m1 '^not ok' view.log)"
	skipped=$(grep -m1 '# SKIP' view.log) && [ "$row_result" = pass ] && row_result="skip: ${skipped#*# SKIP }"
	print_row 'a page of bragg-view' 0 "$row_result" "$(sed -n 's/^# \([0-9]* frames in\)/\1/p' view.log)"
}
