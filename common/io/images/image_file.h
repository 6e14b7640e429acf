/*
 * Image files of one frame, written by any program: pixels and headers are read; raw pixels are
 * also written.  Formats are SMV of 16 or 32 bits, mini-CBF, and raw float32 without a header.
 */
#ifndef BRAGG_IO_IMAGES_IMAGE_FILE_H
#define BRAGG_IO_IMAGES_IMAGE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/frame.h"

/* --- pixels ------------------------------------------------------------------- */

struct image_file {
    int64_t fast, slow;  // pixels; 0: not known, because a raw file has no header
    struct image image;  // owned; freed by image_free
};

/* Reads `path`: SMV when it begins with '{' and HEADER_BYTES, mini-CBF (byte offsets) when with
 * "###CBF", else raw float32 (little-endian).  The type of SMV pixels is that of TYPE or
 * Data_type, unsigned_short where neither is said, and the file must be exactly as long as that
 * makes it.  *f is overwritten.  STATUS_INPUT for everything that cannot be read, for a file that
 * contradicts itself, and for known formats and text that are none of the three. */
enum status image_file_read(const char *path, struct image_file *f, struct error *e);

/* --- headers: SMV and mini-CBF ------------------------------------------------ */

/* What a header says of detector and beam.  0 for what it does not say, where 0 is no value. */
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

/* Reads the header of `path`, an image of one panel.
 *
 * In SMV the beam is at DENZO_X_BEAM and DENZO_Y_BEAM if they are there (braggpipe, nanoBragg),
 * else at BEAM_CENTER_X and BEAM_CENTER_Y, in mm from the outer corner of the first pixel.  X goes
 * along slow and Y along fast, as in files of ADSC detectors.  In files with BEAMLINE=fake
 * (nonBragg, noisify) X goes along fast, and Y from the far edge against slow.
 *
 * STATUS_INPUT for a file that is neither SMV nor mini-CBF, for
 * values that are no numbers with a known unit, for keys with two values, and for numbers that
 * cannot be; STATUS_FAILED when it cannot be opened. */
enum status image_header_read(const char *path, struct image_header *h, struct error *e);

/* --- raw pixels --------------------------------------------------------------- */

/* Writes all pixels as little-endian float32 without a header, in their own unit; whole numbers are
 * exact up to 2^24. STATUS_FAILED when a write fails; `path` is for the message. */
enum status raw_write(FILE *out, const struct image *image, const char *path, struct error *e);

#endif
