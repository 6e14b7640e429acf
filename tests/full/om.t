#!/bin/sh
# OM, the live monitor (scripts/install-deps full), finds hits and spots in files of bragg-write by our geometry.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
om=$(realpath -m "$BRAGG_TESTS/../build/pypi/bin/om_monitor.py")
[ -x "$om" ] || om=om_monitor.py
needs 'a live monitor' "$om" mandoc
page=$(cd "$BRAGG_TESTS/.." && pwd)/stages/pages/braggpipe-loop.7
scratch
# What the page says turns OM's list of peaks into a table for bragg-score.
mandoc -T utf8 -O width=78 "$page" | col -bx | sed -n '/^ *awk -F/,/>peaks.tsv/p' >convert.sh
is 'the page has the line' "$(grep -c 'peaks.tsv' convert.sh)" 1

# monitor FORMAT DETECTOR MM FILES [OPTION]: OM counts hits in twenty frames of which eleven are, and bragg-score agrees
monitor() {
	layer=$1 detector=$2 distance=$3 files=$4 option=${5-}
	mkdir "$detector" && cd "$detector" || exit 1
	bragg-geometry --detector="$detector" --distance="$distance" --energy=12400 --ncells=15 --fluence=1e27 --write-geom=om.geom 2>upstream |
		bragg-orient --quiet --frames=20 --random --seed=3 --hit-rate=0.6 | bragg-intensity --quiet --reflections |
		bragg-background --quiet --water=0.1 | bragg-noise --quiet --bits=32 --adc-offset=0 | bragg-tap --quiet --record=truth.rec
	# shellcheck disable=SC2086 # none or one
	bragg-replay truth.rec | bragg-write $option "$files"
	find "$PWD" -name '*.cbf' -o -name '*_master.h5' | sort >files
	mkdir out
	cat >monitor.yaml <<-END
		om: {parallelization_layer: MultiprocessingParallelization, data_retrieval_layer: $layer, processing_layer: CheetahProcessing}
		cheetah:
		  {processed_directory: out, processed_filename_prefix: p, processed_filename_extension: cxi, write_class_sums: true,
		  status_file_update_interval: 5, class_sums_update_interval: 50, class_sums_sending_interval: 50,
		  hdf5_fields: {detector_data: /data, event_id: /event, peak_list: /peaks}}
		crystallography: {geometry_file: om.geom, min_num_peaks_for_hit: 15, max_num_peaks_for_hit: 2000, peakfinding_algorithm: peakfinder8}
		data_retrieval_layer:
		  {required_data: [timestamp, event_id, detector_data, beam_energy, detector_distance],
		  fallback_beam_energy_in_eV: 12400.0, fallback_detector_distance_in_mm: $distance.0}
		peakfinder8_peak_detection:
		  {max_num_peaks: 500, adc_threshold: 10, minimum_snr: 5, min_pixel_count: 2, max_pixel_count: 40, local_bg_radius: 3,
		  min_res: 30, max_res: 1000, fast_mode: false}
	END
	status=0
	timeout 60 "$om" -n 2 -c monitor.yaml files >log 2>&1 || status=$?
	is "$detector: OM takes the frames" "$status" 0
	is "$detector: OM finds the hits" "$(sed -n 's/^Frames processed: //p; s/^Number of hits: //p' out/status.txt | tr '\n' ' ')" '20 11 '
	sh ../convert.sh
	bragg-score --json=score.json truth.rec peaks.tsv >score
	check "$detector: the number of lattices and the spots agree with the ground truth" /usr/bin/python3 "$BRAGG_TESTS/cli/score_figures.py" score.json \
		hits.true_positive=11 hits.false_positive=0 hits.false_negative=0 hits.true_negative=9 found_px.fast=0~0.05 found_px.slow=0~0.05
	note "$(grep -E '^(spots|found_px) ' score | tr -s ' ')"
	cd ..
}
monitor PilatusFilesDataRetrieval pilatus-1m 150 om_%04d.cbf --cbf-header=pilatus
monitor EigerFilesDataRetrieval eiger-1m 120 om_master.h5
finish
