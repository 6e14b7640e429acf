/*
 * Detectors that switch their gain and keep the pulses of a train in memory cells until it has
 * passed, as the AGIPD does.  A pixel gives two numbers of 14 bits, analog and gain, in one word:
 *
 *     word   = gain << 16 | analog,
 *     analog = pedestal + cell N1 + gain_s E + readout noise
 *     gain   = level_s + pixel N2 + cell N3 + noise N4
 *
 * with the stage s as in engine/detector/gain_stages.h.  N1 is a normal deviate of pixel, cell and
 * stage, N2 of the pixel, N3 of pixel and cell, N4 of pixel and frame.  Of these only the pixel's
 * own are kept in memory: what a cell has is a function of the seed, and computed where it is
 * needed.
 */
#ifndef BRAGG_ENGINE_MEMORY_CELLS_H
#define BRAGG_ENGINE_MEMORY_CELLS_H

#include <stdint.h>

#include "base/error.h"
#include "engine/detector/gain_stages.h"
#include "engine/detector/noise_loop.h"

enum { MEMORY_CELLS_MAX = 352, MEMORY_CELLS_SHIFT = 16 };

struct memory_cells {
    const struct gain_stages *stages;
    const struct noise_kernels *kernels;
    uint64_t seed;
    double spread_adu;              // of pedestals, from cell to cell: standard deviation
    double level_adu[GAIN_STAGES];  // of the gain, ascending
    float *shift_adu;               // of each pixel's levels: pixel N2; owned
};

/* Words of one frame. */
struct cell_frame {
    uint64_t seed, id;
    uint64_t cell;
    double energy_keV;  // of a photon
    double readout_adu;
};

/* Sets kernels, and shift_adu for `count` pixels, by `threads`; the rest of *m is set before.  To
 * be freed by memory_cells_free, also after an error: STATUS_FAILED when memory is out. */
enum status memory_cells_make(struct memory_cells *m, int64_t count, int threads, struct error *e);
void memory_cells_free(struct memory_cells *m);

/* As gain_stages_read. */
void memory_cells_read(const struct memory_cells *m, const struct cell_frame *f,
                       struct noise_chunk *c, int count, struct noise_cut *cut);

/* What a correction needs of a cell, `count` pixels each, by `threads`: pedestals of a stage, and
 * the gain above which a pixel is in `stage`, 1 or 2, or beyond. */
void memory_cells_pedestals(const struct memory_cells *m, int stage, uint64_t cell, float *to,
                            int64_t count, int threads);
void memory_cells_thresholds(const struct memory_cells *m, int stage, uint64_t cell, float *to,
                             int64_t count, int threads);

#endif
