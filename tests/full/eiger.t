#!/bin/sh
# bragg-eiger with real clients (scripts/install-deps full): fastcs-eiger, psi-mflow, libertem-dectris, LiberTEM-live, the client of
# Dectris that it contains, and OM; DIALS indexes a series with the cell, the distance and the beam centre that were PUT.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
. "$BRAGG_TESTS/eiger.sh"
build=$(cd "$BRAGG_TESTS/.." && pwd)/build
pypi=$build/pypi-eiger seconds=60
scratch
ended() {
	kill "$server"
	wait "$server"
	is "$1: no message" "$(sed '/images le[fa].* late/d' message)" ''
}
# client NAME MODULE OPTION...: NAME of eiger_clients.py, if its module is there
client() {
	name=$1 module=$2
	shift 2
	PYTHONPATH=$pypi/live "$pypi/bin/python3" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$module'))" 2>/dev/null || {
		skip "$name" "$module is missing: scripts/install-deps full"
		return 0
	}
	eiger "$@"
	check "$name" timeout "$seconds" "$pypi/bin/python3" "$BRAGG_TESTS/full/eiger_clients.py" "$name" "$(cat address)" "$v1" "$pypi/live"
	ended "$name"
}
eiger --initialized
check 'a request that does not end is given up after 10 s' timeout 60 /usr/bin/python3 "$BRAGG_TESTS/cli/eiger_client.py" endless "$(cat address)" "$v1" "$v2"
ended 'requests that do not end'
client fastcs fastcs_eiger
client libertem libertem_dectris --initialized
client dectris libertem_live
pypi=$build/pypi-libertem seconds=400
client live libertem --initialized
pypi=$build/pypi seconds=60
client om om --initialized

# A rotation series that PUT has set up, received over V1 and written from what the stream says
put() {
	curl -sSf -X PUT ${2:+-d "{\"value\": $2}"} "$(cat address)/$1" >>answers
}
if has curl dials.import python:bitshuffle python:numpy python:zmq; then
	sed 's/--ncells=15,/--ncells=15, --shape=gauss, --layers=1,/' "$BRAGG_TESTS/../pipelines/eiger.yaml" >plain.yaml # no side lobes
	eiger --initialized --detector=eiger2-1m --pipeline=plain.yaml
	for pair in nimages=16 frame_time=0.005 photon_energy=13000 detector_distance=0.12 beam_center_x=400 beam_center_y=700 \
		omega_start=10 omega_increment=0.5 mask_to_zero=true total_flux=1e13; do
		put "detector/api/1.8.0/config/${pair%%=*}" "${pair#*=}"
	done
	put filewriter/api/1.8.0/config/mode '"enabled"'
	put filewriter/api/1.8.0/config/nimages_per_file 10
	timeout 200 /usr/bin/python3 "$BRAGG_TESTS/full/dectris1_smv.py" "tcp://127.0.0.1:$v1" >smv.log 2>&1 &
	smv=$!
	check 'arm' put detector/api/1.8.0/command/arm
	check 'trigger' put detector/api/1.8.0/command/trigger
	status=0
	wait "$smv" || status=$?
	is 'a client writes the series' "$status $(cat smv.log)" '0 '
	check 'the filewriter is ready' soon sh -c "curl -s $(cat address)/filewriter/api/1.8.0/status/state | grep -q '\"value\":\"ready\"'"
	for name in data_000001 data_000002 master; do
		check "the file $name comes over HTTP" curl -sSf -O "$(cat address)/data/series_1_$name.h5"
	done
	ended 'the series'
	check 'DIALS imports the files' quiet dials.import series_1_master.h5 output.experiments=files.expt
	measure dials_models.py files.expt
	near 'files: the distance that was PUT' distance_mm 120 1e-6
	near 'files: the beam centre that was PUT, along fast' beam_fast_px 400 1e-3
	near 'files: the beam centre that was PUT, along slow' beam_slow_px 700 1e-3
	check 'DIALS imports the series' quiet dials.import r_*.img output.experiments=imported.expt
	check 'DIALS finds spots' find_spots
	check 'DIALS indexes with the cell unknown' quiet dials.index imported.expt strong.refl indexing.method=fft1d max_cell=100 \
		refinement_protocol.n_macro_cycles=2
	measure dials_models.py imported.expt
	near 'the distance that was PUT' distance_mm 120 1e-6
	near 'the beam centre that was PUT, along fast' beam_fast_px 400 1e-3
	near 'the beam centre that was PUT, along slow' beam_slow_px 700 1e-3
	measure dials_models.py indexed.expt indexed.refl
	# The sensor absorbs at its middle in depth, which DIALS does not know here.
	near 'indexed distance' distance_mm 120 0.3
	near 'indexed beam, along fast' beam_fast_px 400 0.2
	near 'indexed beam, along slow' beam_slow_px 700 0.2
	above 'nearly all spots are indexed' indexed 0.98
	/usr/bin/python3 -c '
import json, math
crystal = json.load(open("indexed.expt"))["crystal"][0]
edges = sorted(math.hypot(*crystal[f"real_space_{axis}"]) for axis in "abc")
for name, found, edge in zip("abc", edges, (30.517, 59.062, 68.451)):
    print(name, found / edge)' >figures
	for edge in a b c; do
		near "edge $edge of the cell within 0.5 %" $edge 1 0.005
	done
else
	skip 'DIALS' "$lack is missing"
fi
finish
