#!/bin/sh
# Stream V1 of Dectris with real clients (scripts/install-deps full): LiberTEM, mflow and dranspose read every part, and their pixels
# are those of bragg-write; DIALS indexes a series that a client received, with the geometry that the stream says.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/gateways.sh"
. "$BRAGG_TESTS/dials.sh"
python=$(cd "$BRAGG_TESTS/.." && pwd)/build/pypi-eiger/bin/python3
scratch

# pipeline NAME BITS OPTION...: a writer and a gateway behind the same stages, for six frames
pipeline() {
	name=$1 bits=$2
	shift 2
	bragg-geometry --detpixels=100,99 --pixel=1 --distance=120 --ncells=5 |
		bragg-orient --frames=6 --seed=7 --phi0=10 --osc=0.5 --phi-steps=8 --groups=2 | bragg-intensity --threads=1 |
		bragg-noise --seed=9 --bits="$bits" --adc-offset=0 --out=@ipc://"$PWD/$name.images" &
	serve_beside "$name" raw --protocol=dectris1 --bind=tcp://127.0.0.1:* --rate=50 --series=7 "$@" 2>message
}
# client NAME MODULE DETAIL: NAME of dectris1_clients.py, if its module is there
client() {
	timeout 60 "$python" "$BRAGG_TESTS/full/dectris1_clients.py" "$1" "$(cat endpoint)" "$name" "$2" "$bits"
}
# installed MODULE: prints why tests of a client are skipped, if they are
installed() {
	"$python" -c "import $1" 2>/dev/null || {
		skip "$1" "$1 is missing: scripts/install-deps full"
		return 1
	}
}

if installed libertem_dectris; then
	for bits in 16 32; do
		for coding in bslz4 lz4; do
			pipeline "libertem-$coding$bits" $bits --compression=$coding --header-detail=basic
			check "libertem-dectris: $bits bit, $coding" client libertem basic
			wait
		done
	done
fi
for detail in all basic none; do
	installed mflow || break
	pipeline "mflow-$detail" 16 --compression=none --header-detail=$detail --header-appendix='{"scan":1}' --image-appendix='{"image":true}'
	check "mflow: detail $detail" client mflow $detail
	wait
done
if installed dranspose; then
	pipeline dranspose 32 --compression=none --header-appendix='{"scan":1}' --image-appendix='{"image":1}'
	check 'dranspose' client dranspose all
	wait
fi

# A rotation series, received over V1 and written from what the stream says: DIALS finds the cell without being told.
if has dials.import python:bitshuffle python:numpy python:zmq; then
	bragg-geometry --detpixels=660,672 --pixel=0.172 --distance=80 --wavelength=1.54 --beam-center=57.3,55.9 \
		--shape=gauss --ncells=12,10,24 --oversample=2 --beam-size=0.001 --fluence=2e27 |
		bragg-orient --frames=12 --phi0=10 --osc=0.5 --phi-steps=5 --misset=10,5,3 --truth=truth.tsv | bragg-intensity |
		bragg-background --water=0.002 | bragg-noise --seed=3 --adc-offset=0 --psf=gauss --psf-fwhm=150 |
		bragg-serve --protocol=dectris1 --bind=ipc://"$PWD/s" --header-detail=basic --order >endpoint 2>message &
	check 'a client writes the series' timeout 200 /usr/bin/python3 "$BRAGG_TESTS/full/dectris1_smv.py" "ipc://$PWD/s"
	wait
	check 'DIALS imports the series' quiet dials.import r_*.img output.experiments=imported.expt
	check 'DIALS finds spots' find_spots
	check 'DIALS indexes with the cell unknown' quiet dials.index imported.expt strong.refl indexing.method=fft1d max_cell=100 \
		refinement_protocol.n_macro_cycles=2
	check 'DIALS refines' quiet dials.refine indexed.expt indexed.refl scan_varying=False
	measure dials_models.py imported.expt
	near 'the stream says the distance' distance_mm $distance_mm 1e-6
	near 'the stream says where the beam is, along fast' beam_fast_px $beam_fast_px 1e-3
	near 'the stream says where the beam is, along slow' beam_slow_px $beam_slow_px 1e-3
	measure dials_models.py refined.expt refined.refl
	near 'refined distance within 0.05 mm' distance_mm $distance_mm 0.05
	near 'refined beam within 0.1 px, along fast' beam_fast_px $beam_fast_px 0.1
	near 'refined beam within 0.1 px, along slow' beam_slow_px $beam_slow_px 0.1
	above 'over 90 % of the spots indexed' indexed 0.9
	measure dials_positions.py refined.expt indexed.refl refined.expt
	near 'orientation within 0.05 degrees' misorientation_deg 0 0.05
	near 'lengths of the cell within 0.1 %' strain 0 0.001
else
	skip 'DIALS' "$lack is missing"
fi
finish
