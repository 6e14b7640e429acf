#!/bin/sh
# The loops of a live analysis, as they stand in pipelines: DIALS and CrystFEL get frames, bragg-score
# tells how well they did.  Where there is no indexamajig, a real stream of it is played in its place.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
pipelines=$BRAGG_TESTS/../pipelines
scratch
# figures FIGURE=VALUE...: of the loop that ran last
figures() {
	/usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" loop/score.json "$@"
}
page() {
	/usr/bin/python3 "$BRAGG_TESTS/cli/score_page.py" loop/report.html "$@"
}
run() {
	status=0
	rm -rf loop
	timeout 500 bragg-run --workdir=loop "$@" 2>message || status=$?
	[ "$status" = 0 ] || tail -n 5 message >&2
}

# crystfel NAME: the loop with the indexamajig of the path
crystfel() {
	sed "s|tcp://127.0.0.1:4546|ipc://$PWD/s|" "$pipelines/loop-crystfel.yaml" >crystfel.yaml
	run crystfel.yaml
	is "CrystFEL, $1: the end" "$status" 0
	check "CrystFEL, $1: the score" figures frames=30 frames_without_answer=0 lattices.true=30 lattices.right=30 lattices.wrong=0 \
		angle_deg.median=0.02~0.01 angle_deg.max=0.03~0.03 geometry_px.fast=0 geometry_px.slow=0 found_px.fast=0~0.03 found_px.slow=0~0.03
	check "CrystFEL, $1: the table is shown" grep -q '^index| .*angle_deg  *median' message
	check "CrystFEL, $1: the report" page 'bragg-score' images=10
	is "CrystFEL, $1: nothing goes on" "$(pgrep -f "$PWD/s" | wc -l)" 0
}
needs 'loops' python:h5py python:numpy xz
mkdir path
cat >path/indexamajig <<-END
	#!/bin/sh
	# Takes all frames, writes a stream in two parts, and stays as the real one does.
	testclient peaks ipc://$PWD/s 30 >/dev/null
	for o; do [ "\$last" = -o ] && stream=\$o; last=\$o; done
	xz -dc "$BRAGG_TESTS/golden/crystfel/plain.stream.xz" >all
	head -c 60000 all >"\$stream"
	sleep 1
	tail -c +60001 all >>"\$stream"
	exec sleep 1000
END
chmod +x path/indexamajig
real_path=$PATH
PATH=$PWD/path:$PATH
crystfel 'a stream that was recorded'
printf '#!/bin/sh\nexit 7\n' >path/indexamajig
run crystfel.yaml
is 'the loop fails if CrystFEL fails at once' "$((status != 0))" 1
PATH=$real_path
if has indexamajig; then
	crystfel indexamajig
else
	skip 'CrystFEL, indexamajig' "$lack is missing"
fi

if has dials.stills_process; then
	export HDF5_PLUGIN_PATH=/no/plugins
	run --frames=3 "$pipelines/loop-dials.yaml"
	unset HDF5_PLUGIN_PATH
	is 'DIALS without plugins of HDF5: the end' "$status" 0
	check 'DIALS: spots that were found' figures frames=3 frames_without_answer=0 spots.recall=0.73~0.05 spots.precision=0.99~0.02
	check 'DIALS: the score' figures lattices.true=2 lattices.right=2 lattices.wrong=0 hits.true_positive=2 \
		angle_deg.median=0.05~0.05 found_px.fast=0~0.03 found_px.slow=0~0.03 geometry_px.fast=0~0.01 geometry_px.slow=0~0.01 \
		predicted_px.fast=0~0.1 predicted_px.slow=0~0.1 cell.a.relative_error=0~0.001 intensities.cc=0.999~0.002 intensities.slope=1~0.02 \
		intensities.chi2=1~0.3
	check 'DIALS: the table is shown' grep -q '^score| intensities  *cc' message
	check 'DIALS: the report' page images=2 \
		'Hits and spots are from idx-0000_strong.refl. Lattices and intensities are from idx-0000_integrated.refl.'
else
	skip 'DIALS' "$lack is missing"
fi
finish
