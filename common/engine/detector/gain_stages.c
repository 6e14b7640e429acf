#include "engine/detector/gain_stages.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"

static const int BITS[GAIN_STAGES] = {0, 1, 3};

#define LEAST_FACTOR 0.1  // of what a pixel has to the average

/* What one map holds. */
struct map {
    double mean, spread, most;
    struct noise_key key;
};

/* Values of the pixels of a chunk. */
static void vary_chunk(const struct map *m, const struct noise_kernels *kernels,
                       struct noise_chunk *c, float *to, int count)
{
    c->blocks = (count + NOISE_BATCH - 1) / NOISE_BATCH * (NOISE_BATCH / NOISE_BLOCK);
    kernels->normals(&m->key, c);
    for (int i = 0; i < count; i++)
        to[i] = (float)fmin(m->mean * fmax(1.0 + m->spread * c->deviate[i], LEAST_FACTOR), m->most);
}

static void vary(const struct map *m, const struct noise_kernels *kernels, int threads, float *to,
                 int64_t count)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < count; first += NOISE_CHUNK) {
        struct noise_chunk c;
        c.first = first;
        vary_chunk(m, kernels, &c, to + first,
                   count - first < NOISE_CHUNK ? (int)(count - first) : NOISE_CHUNK);
    }
}

enum status gain_stages_make(struct gain_stages *g, const struct gain_request *r, int64_t count,
                             int threads, struct error *e)
{
    *g = (struct gain_stages){.top_adu = r->top_adu, .bottom_adu = r->bottom_adu};
    const struct noise_kernels *kernels = noise_kernels_choose(NULL, e);
    if (!kernels)
        return STATUS_FAILED;
    for (int i = 0; i < GAIN_STAGES; i++) {
        g->gain[i] = mem_array((size_t)count, sizeof **g->gain);
        g->pedestal[i] = mem_array((size_t)count, sizeof **g->pedestal);
        if (!g->gain[i] || !g->pedestal[i])
            return error_memory(e, "gains and pedestals");
        const struct map gain = {
            r->gain_adu_keV[i], r->gain_spread, HUGE_VAL, {r->seed, 2 * (uint64_t)i, RNG_GAIN}};
        const struct map pedestal = {r->pedestal_adu[i],
                                     r->pedestal_spread,
                                     GAIN_STAGES_ADC_MAX,
                                     {r->seed, 2 * (uint64_t)i + 1, RNG_GAIN}};
        vary(&gain, kernels, threads, g->gain[i], count);
        vary(&pedestal, kernels, threads, g->pedestal[i], count);
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
        if (!last && gain_stages_leaves(g, gain, adc))
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
