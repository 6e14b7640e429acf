/*
 * The smear of a band: sums of the subpixels of its thin image, times the weights of its cells.
 * A cell is the pixels whose middles are between four nodes.  Between nodes, weights are
 * interpolated linearly along fast and slow (smear_tap_weight in engine/prepared.h).  Threads take
 * tiles, some cells that are next to each other, so that the sums stay in the cache.
 * The bytes are the same for any number of threads and any instruction set.
 */
#ifndef BRAGG_ENGINE_SMEAR_TILES_H
#define BRAGG_ENGINE_SMEAR_TILES_H

#include <stdbool.h>

#include "engine/smear/smear_bands.h"
#include "engine/smear/smear_nodes.h"

/* Where pixels are stored: those of the frame from number `first` on. */
struct smear_target {
    float *pixels;
    int64_t first;
};

/* Computes the pixels of a band from thin[] of all bands.  *kernels are those of
 * smear_kernels_open; NULL: each tile computes its own.  is_signed: `thin` is a derivative.
 * Otherwise sums below 0 become 0. */
void smear_band_add(const struct smear_band *b, const struct smear_kernels *kernels,
                    const float *thin, bool is_signed, int threads, struct smear_target to);

/* Adds to the pixels how much the smear of thin[] changes with the panel.  Rays move by less than a
 * subpixel more in the changed panels. */
void smear_band_change(const struct smear_band *b, const struct smear_change *change,
                       const float *thin, int threads, struct smear_target to);

#endif
