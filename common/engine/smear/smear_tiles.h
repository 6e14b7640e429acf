/*
 * The smear of a band: sums of the subpixels of its thin image, times the weights of its cells.
 * Threads take tiles, some cells that are next to each other, so that the sums stay in the cache.
 * The bytes are the same for any number of threads and any instruction set.
 */
#ifndef BRAGG_ENGINE_SMEAR_TILES_H
#define BRAGG_ENGINE_SMEAR_TILES_H

#include <stdbool.h>

#include "engine/smear/smear_bands.h"
#include "engine/smear/smear_cells.h"

/* Where pixels are stored: those of the frame from number `first` on. */
struct smear_target {
    float *pixels;
    int64_t first;
};

/* Computes the pixels of a band from thin[] of all bands.  *cells are those of smear_cells_open.
 * is_signed: `thin` is a derivative.  Otherwise sums below 0 become 0. */
void smear_band_add(const struct smear_band *b, const struct smear_cells *cells, const float *thin,
                    bool is_signed, int threads, struct smear_target to);

/* Adds to the pixels how much the smear of thin[] changes with the panel.  Rays move by less than a
 * subpixel more in the changed panels. */
void smear_band_change(const struct smear_band *b, const struct smear_change *change,
                       const float *thin, int threads, struct smear_target to);

#endif
