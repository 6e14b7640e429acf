/*
 * Pictures for people: 8-bit gray, dark spots on white as beamline viewers show
 * them, reduced by a whole factor.  Not for measuring.
 */
#ifndef BRAGG_IO_PICTURE_H
#define BRAGG_IO_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/frame.h"

struct picture {
    int64_t width, height;  // pixels
    int64_t factor;         // edge of the block of pixels that became one
    uint8_t *gray;          // owned; height x width, 255 = white
};

/* Makes the picture of an image of fast x slow pixels whose longer edge is at most
 * `edge_max` (0: no reduction).  A block shows its largest pixel, so that spots
 * stay.  White is the 1st percentile.  Black, on the linear scale, is the
 * larger of the 99.5th percentile and the median plus ten times the spread
 * (half the distance of the 16th and 84th percentiles); on the `logarithmic` scale
 * it is the maximum.  *p is overwritten; picture_free frees it. */
enum status picture_make(struct picture *p, const struct image *image, int64_t fast, int64_t slow,
                         int64_t edge_max, bool logarithmic, struct error *e);

void picture_free(struct picture *p);

/* Writes PNG (libpng) or binary PGM; STATUS_FAILED with `path` when that fails. */
enum status picture_write_png(FILE *out, const struct picture *p, const char *path,
                              struct error *e);
enum status picture_write_pgm(FILE *out, const struct picture *p, const char *path,
                              struct error *e);

#endif
