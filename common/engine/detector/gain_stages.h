/*
 * Detectors that integrate charge and switch their gain, as the Jungfrau does: each pixel keeps
 * the most sensitive of three stages that can hold its charge, and its word tells which:
 *
 *     word = bits << 14 | ADC,     ADC = pedestal + gain * E + noise,    bits 0, 1, 3
 *
 * with E in keV and a gain and a pedestal of each pixel and stage.  A stage is left where the ADC
 * without noise would pass a top, or a bottom for one whose gain is negative.
 */
#ifndef BRAGG_ENGINE_GAIN_STAGES_H
#define BRAGG_ENGINE_GAIN_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/detector/noise_loop.h"

enum {
    GAIN_STAGES = 3,
    GAIN_STAGES_SHIFT = 14,  // the ADC's bits
    GAIN_STAGES_ADC_MAX = (1 << GAIN_STAGES_SHIFT) - 1,
};

/* What pixels have on average, and how much they differ (relative standard deviations). */
struct gain_request {
    double gain_adu_keV[GAIN_STAGES], pedestal_adu[GAIN_STAGES];  // no gain is 0
    double gain_spread, pedestal_spread;
    double top_adu, bottom_adu;
    uint64_t seed;
};

/* Of every pixel, the same in all frames. */
struct gain_stages {
    float *gain[GAIN_STAGES];      // ADU/keV; owned
    float *pedestal[GAIN_STAGES];  // ADU; owned
    double top_adu, bottom_adu;    // where a stage is left
};

/* Whether a pixel leaves a stage of this gain, with this ADC, for the next. */
static inline bool gain_stages_leaves(const struct gain_stages *g, double gain, double adc)
{
    return gain > 0.0 ? adc > g->top_adu : adc < g->bottom_adu;
}

/* Makes them for `count` pixels; a gain keeps the sign of the average one, a pedestal fits the ADC.
 * *g is to be freed by gain_stages_free, also after an error: STATUS_FAILED when memory is out. */
enum status gain_stages_make(struct gain_stages *g, const struct gain_request *r, int64_t count,
                             int threads, struct error *e);
void gain_stages_free(struct gain_stages *g);

/* Words of the `count` pixels in *c: value[] goes from photons of `energy_keV` to words.  deviate[]
 * is read where readout_adu > 0.  Adds to *cut those whose charge no stage holds. */
void gain_stages_read(const struct gain_stages *g, double energy_keV, double readout_adu,
                      struct noise_chunk *c, int count, struct noise_cut *cut);

/* ---- memory cells ---------------------------------------------------------------------------
 *
 * Detectors that switch their gain and keep the pulses of a train in memory cells until it has
 * passed, as the AGIPD does.  A pixel gives two numbers of 14 bits, analog and gain, in one word:
 *
 *     word   = gain << 16 | analog,
 *     analog = pedestal + cell N1 + gain_s E + readout noise
 *     gain   = level_s + pixel N2 + cell N3 + noise N4
 *
 * with the stage s as in above.  N1 is a normal deviate of pixel, cell and
 * stage, N2 of the pixel, N3 of pixel and cell, N4 of pixel and frame.  Of these only the pixel's
 * own are kept in memory: what a cell has is a function of the seed, and computed where it is
 * needed.
 */

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
