/*
 * What the header of an image of one panel tells of detector and beam, whoever wrote it: SMV and
 * mini-CBF.
 *
 * SMV: the beam by DENZO_X_BEAM and DENZO_Y_BEAM where they are (braggpipe, nanoBragg), else by
 * BEAM_CENTER_X and BEAM_CENTER_Y, mm from the outer corner of the first pixel, X along slow and Y
 * along fast as ADSC detectors have them, but for BEAMLINE=fake (nonBragg, noisify), where X goes
 * along fast and Y from the far edge against slow.
 */
#ifndef BRAGG_IO_IMAGE_HEADER_H
#define BRAGG_IO_IMAGE_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* 0 for what is not said, where 0 is no value. */
struct image_header {
    int64_t fast, slow;  // pixels
    double pixel_m, distance_m, wavelength_m;
    bool has_beam;  // where the beam hits, from the outer corner of the first pixel, is said:
    double beam_fast_m, beam_slow_m;
    double phi_rad, osc_rad;
    double twotheta_rad;
    double adc_offset;  // value of a pixel without photons
    double saturation;  // largest value that is trusted
};

/* Reads the header of `path`.  STATUS_INPUT for a file that is neither SMV nor mini-CBF, for
 * values that are no numbers with a known unit, for keys with two values, and for numbers that
 * cannot be; STATUS_FAILED when it cannot be opened. */
enum status image_header_read(const char *path, struct image_header *h, struct error *e);

#endif
