/*
 * The weights with which subpixels of a thin image are added to the pixels of a smeared sensor, for
 * the engines of the CPU and of the GPU.
 *
 * Kernels are computed at nodes, a few pixels apart, which are counted from the foot of the normal
 * (physics/detector/smear.h).  The pixels whose middles are between four nodes are a cell.  Between
 * nodes, weights are interpolated linearly along fast and slow (smear_tap_weight in
 * engine/prepared.h).
 */
#ifndef BRAGG_ENGINE_SMEAR_CELLS_H
#define BRAGG_ENGINE_SMEAR_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/prepared.h"
#include "engine/smear/smear_bands.h"
#include "physics/detector/smear.h"

/* The cells of a band along fast and slow, and their taps.  A cell has the number of the node
 * before it. */
struct smear_cells {
    int64_t first[2], count[2];
    int64_t origin[2];       // first pixel of the first cell, which can be outside the panel
    size_t *begin;           // owned: index in taps[] of the first tap of each cell, and the end
    struct smear_tap *taps;  // owned: those of a cell along slow and then along fast
};

/* Sets the members `first`, `count` and `origin`. */
void smear_cells_place(struct smear_cells *c, const struct smear_band *b);

/* Lists the taps of all cells of a band.  `change`: those of the change of a panel, see
 * smear_kernel_change; NULL: those of the smear itself.  smear_cells_close frees the arrays. */
void smear_cells_open(struct smear_cells *c, const struct smear_band *b,
                      const struct smear_change *change, int threads);
void smear_cells_close(struct smear_cells *c);

#endif
