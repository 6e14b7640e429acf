#include "engine/gain_stages.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"

static const int BITS[GAIN_STAGES] = {0, 1, 3};

#define LEAST_FACTOR 0.1  // of what a pixel has to the average

/* Values about `mean`, one for each pixel, `most` at most. */
static void vary(float *to, size_t count, double mean, double spread, double most, uint64_t seed,
                 int which)
{
    for (size_t i = 0; i < count; i++) {
        struct rng random = rng_stream(seed, RNG_GAIN, (uint64_t)which, (uint32_t)i);
        const double factor = spread > 0.0 ? 1.0 + spread * rng_normal(&random) : 1.0;
        to[i] = (float)fmin(mean * fmax(factor, LEAST_FACTOR), most);
    }
}

enum status gain_stages_make(struct gain_stages *g, const struct gain_request *r, size_t count,
                             struct error *e)
{
    *g = (struct gain_stages){.count = count};
    for (int i = 0; i < GAIN_STAGES; i++) {
        g->gain[i] = mem_array(count, sizeof **g->gain);
        g->pedestal[i] = mem_array(count, sizeof **g->pedestal);
        if (!g->gain[i] || !g->pedestal[i])
            return error_memory(e, "gains and pedestals");
        vary(g->gain[i], count, r->gain_adu_keV[i], r->gain_spread, HUGE_VAL, r->seed, 2 * i);
        vary(g->pedestal[i], count, r->pedestal_adu[i], r->pedestal_spread, GAIN_STAGES_ADC_MAX,
             r->seed, 2 * i + 1);
    }
    return STATUS_OK;
}

void gain_stages_free(struct gain_stages *g)
{
    for (int i = 0; i < GAIN_STAGES; i++) {
        mem_free(g->gain[i]);
        mem_free(g->pedestal[i]);
    }
    *g = (struct gain_stages){0};
}

/* The word of a pixel. */
static double read_pixel(const struct gain_stages *g, size_t pixel, double keV, double noise_adu,
                         struct noise_cut *cut)
{
    for (int i = 0;; i++) {
        const double gain = (double)g->gain[i][pixel];
        const double adc = (double)g->pedestal[i][pixel] + gain * keV;
        const bool last = i + 1 == GAIN_STAGES;
        if (!last && (gain > 0.0 ? adc > GAIN_STAGES_TOP : adc < GAIN_STAGES_BOTTOM))
            continue;
        const double whole = floor(adc + noise_adu + 0.5);
        cut->saturated += last && (gain > 0.0 ? whole >= GAIN_STAGES_ADC_MAX : whole <= 0.0);
        return BITS[i] * (GAIN_STAGES_ADC_MAX + 1.0) + fmin(fmax(whole, 0.0), GAIN_STAGES_ADC_MAX);
    }
}

void gain_stages_read(const struct gain_stages *g, double energy_keV, double readout_adu,
                      struct noise_chunk *c, int count, struct noise_cut *cut)
{
    for (int i = 0; i < count; i++)
        c->value[i] = read_pixel(g, (size_t)(c->first + i), c->value[i] * energy_keV,
                                 readout_adu > 0.0 ? readout_adu * c->deviate[i] : 0.0, cut);
}
