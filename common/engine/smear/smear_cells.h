/*
 * The weights with which subpixels of a thin image are added to the pixels of a smeared sensor, as
 * lists: for the engine of the GPU, and for reflections.  The CPU smears images with the kernels
 * themselves (smear_tiles.h).
 *
 * Kernels are computed at nodes, a few pixels apart (smear_nodes.h).  The pixels whose middles are
 * between four nodes are a cell.  Between nodes, weights are interpolated linearly along fast and
 * slow (smear_tap_weight in engine/prepared.h).
 */
#ifndef BRAGG_ENGINE_SMEAR_CELLS_H
#define BRAGG_ENGINE_SMEAR_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/prepared.h"
#include "engine/smear/smear_bands.h"
#include "engine/smear/smear_nodes.h"

/* The cells of a band and their taps. */
struct smear_cells {
    struct smear_grid grid;
    size_t *begin;           // owned: index in taps[] of the first tap of each cell, and the end
    struct smear_tap *taps;  // owned: those of a cell along slow and then along fast
};

/* Lists the taps of all cells of a band.  smear_cells_close frees the arrays. */
void smear_cells_open(struct smear_cells *c, const struct smear_band *b, int threads);
void smear_cells_close(struct smear_cells *c);

#endif
