/* Compares two NXmx files of bragg-write. */
#ifndef BRAGG_STAGES_COMPARE_NXMX_H
#define BRAGG_STAGES_COMPARE_NXMX_H

#include <stdbool.h>

#include "base/error.h"
#include "comparison.h"

/* Compares the frames that have the same number, and prints a line for each.  Detectors that differ
 * are described in a table: size, resolution, photons and overloads.  Frames of detectors with
 * different numbers of pixels are not compared, and *within is false then, or if a frame is in only
 * one of the files.
 * STATUS_INPUT: a file cannot be read, or is not from bragg-write. */
enum status compare_nxmx(const struct compare_options *o, const struct percentile_limit *limits,
                         const char *const paths[2], bool *within, struct error *e);

#endif
