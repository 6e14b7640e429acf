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

#endif
