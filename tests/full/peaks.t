#!/bin/sh
# Peaks of bragg-serve in blanks of 10^8 pixels: a few.
PEAKS_MEGAPIXELS=105 exec "$(dirname "$0")/../../${BUILD:-build}/tests/unit/peaks.t"
