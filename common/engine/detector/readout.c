#include "engine/detector/readout.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "physics/noise/poisson.h"

/* ---- dead time ----------------------------------------------------------------------------- */

/* Returns the mean number of counts of `photons` photons. */
static double mean_counts(const struct dead_time *d, double photons)
{
    const double missed = fmax(photons - 1.0, 0.0) * d->share;
    if (d->counter == COUNTER_PULSE)
        return fmin(photons, 1.0);
    return d->counter == COUNTER_PARALYSABLE ? photons * portable_exp(-missed)
                                             : photons / (1.0 + missed);
}

/* Returns the part of the variance of the counts that is not due to the variance of the photons,
 * for a Poisson beam. */
static double own_variance(const struct dead_time *d, double photons)
{
    const double r = fmax(photons - 1.0, 0.0) * d->share;
    if (d->counter == COUNTER_PULSE)
        return 0.0;
    if (d->counter == COUNTER_NONPARALYSABLE)
        return photons * r / ((1.0 + r) * (1.0 + r) * (1.0 + r) * (1.0 + r));
    const double through = portable_exp(-r);
    return photons * through * (1.0 - through * (1.0 + r * r));
}

/* Returns true if photons are missed so rarely that they are missed independently of each other. */
static bool misses_rarely(const struct dead_time *d, double photons)
{
    return d->counter != COUNTER_PULSE && photons * d->share < 0.1 &&
           photons - mean_counts(d, photons) < 10.0;
}

static double drawn(const struct dead_time *d, double photons, struct rng *random)
{
    if (misses_rarely(d, photons)) {
        const double counts = floor(photons + rng_uniform(random));
        const double missed = photons - mean_counts(d, photons);
        return fmax(counts - poisson_invert(missed, rng_uniform(random)), 0.0);
    }
    const double spread = sqrt(fmax(own_variance(d, photons), 0.0)) * rng_normal(random);
    const double counts = floor(mean_counts(d, photons) + spread + rng_uniform(random));
    return fmin(fmax(counts, 0.0), ceil(photons));
}

/* Computes the cumulative probabilities that poisson_invert uses. */
static void sum_up(double mean, double sums[DEAD_TIME_SUMS])
{
    double p = exp_fast(-mean);
    sums[0] = p;
    for (int k = 1; k < DEAD_TIME_SUMS; k++) {
        p = p * mean / k;
        sums[k] = sums[k - 1] + p;
    }
}

void dead_time_tabulate(const struct dead_time *d, struct dead_time_table *table)
{
    int n = 0;
    for (; n < DEAD_TIME_ROWS && misses_rarely(d, n); n++) {
        table->missed[n] = n - mean_counts(d, n);
        sum_up(table->missed[n], table->at_most[n]);
    }
    table->rows = n;
}

static void count_expected(const struct dead_time *d, struct noise_chunk *c, int count)
{
    for (int k = 0; k < count; k++) {
        const double photons = c->value[k];
        if (!(photons > 0.0))
            continue;
        if (d->counter == COUNTER_PULSE)
            c->value[k] = 1.0 - portable_exp(-photons);
        else  // each photon of a Poisson beam meets `photons` others, not one fewer
            c->value[k] = mean_counts(d, photons + 1.0) * (photons / (photons + 1.0));
    }
}

/* Returns how many of `photons` photons are counted, for the uniform number `u`: as drawn() does
 * with its second uniform number. */
static double left_of(const struct dead_time_table *t, int photons, double u)
{
    const double *at_most = t->at_most[photons];
    int missed = 0;
    for (int k = 0; k < DEAD_TIME_SUMS; k++)  // all: no branch to guess
        missed += u > at_most[k];
    const double all = missed < DEAD_TIME_SUMS ? missed : poisson_invert(t->missed[photons], u);
    return fmax(photons - all, 0.0);
}

void dead_time_count(const struct dead_time *d, const struct dead_time_table *table,
                     const struct noise_kernels *kernels, bool expected, uint64_t seed, uint64_t id,
                     struct noise_chunk *c, int count)
{
    if (expected) {
        count_expected(d, c, count);
        return;
    }
    kernels->uniforms(&(struct noise_key){seed, id, RNG_DEAD_TIME}, c);
    for (int k = 0; k < count; k++) {
        const double photons = c->value[k];
        const int whole = photons < table->rows ? (int)photons : -1;
        if (whole == photons) {
            c->value[k] = left_of(table, whole, c->deviate[k]);
        } else if (photons > 0.0) {
            struct rng random = rng_stream(seed, RNG_DEAD_TIME, id, (uint32_t)(c->first + k));
            c->value[k] = drawn(d, photons, &random);
        }
    }
}

/* ---- gain stages ---------------------------------------------------------------------------- */

static const int BITS[GAIN_STAGES] = {0, 1, 3};

#define LEAST_FACTOR 0.1  // of what a pixel has to the average

/* What one map holds. */
struct map {
    double mean, spread, most;
    struct noise_key key;
};

/* Draws the values of the pixels of a chunk. */
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

/* ---- memory cells --------------------------------------------------------------------------- */

/* Standard deviations of the level of the gain in ADU: between pixels, between cells, and
 * between frames. */
#define LEVEL_PIXEL_ADU 100.0
#define LEVEL_CELL_ADU 30.0
#define LEVEL_NOISE_ADU 30.0

/* The properties of a memory cell, each with its own random numbers: the pedestal of each gain
 * stage, then the level of the gain. */
enum { CELL_LEVEL = GAIN_STAGES, CELL_KINDS };

static struct noise_key cell_key(const struct memory_cells *m, uint64_t cell, int kind)
{
    return (struct noise_key){m->seed, cell * CELL_KINDS + (uint64_t)kind, RNG_MEMORY_CELL};
}

/* Draws the deviates of the chunk that begins with pixel `first`. Returns its number of pixels. */
static int draw_deviates(const struct memory_cells *m, struct noise_key key, int64_t first,
                         int64_t count, struct noise_chunk *c)
{
    const int pixels = count - first < NOISE_CHUNK ? (int)(count - first) : NOISE_CHUNK;
    c->first = first;
    c->blocks = (pixels + NOISE_BATCH - 1) / NOISE_BATCH * (NOISE_BATCH / NOISE_BLOCK);
    m->kernels->normals(&key, c);
    return pixels;
}

enum status memory_cells_make(struct memory_cells *m, int64_t count, int threads, struct error *e)
{
    const struct noise_key key = {m->seed, 2 * GAIN_STAGES, RNG_GAIN};
    m->kernels = noise_kernels_choose(NULL, e);
    if (!m->kernels)
        return STATUS_FAILED;
    m->shift_adu = mem_array((size_t)count, sizeof *m->shift_adu);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < count; first += NOISE_CHUNK) {
        struct noise_chunk c;
        const int pixels = draw_deviates(m, key, first, count, &c);
        for (int i = 0; i < pixels; i++)
            m->shift_adu[first + i] = (float)(LEVEL_PIXEL_ADU * c.deviate[i]);
    }
    return STATUS_OK;
}

void memory_cells_free(struct memory_cells *m)
{
    mem_free(m->shift_adu);
    *m = (struct memory_cells){0};
}

static double within_adc(double adu)
{
    return fmin(fmax(adu, 0.0), GAIN_STAGES_ADC_MAX);
}

/* Returns the pedestal of a pixel and memory cell, rounded as the files have it. */
static float pedestal_of(const struct memory_cells *m, int stage, int64_t pixel, double deviate)
{
    const double adu = (double)m->stages->pedestal[stage][pixel] + m->spread_adu * deviate;
    return (float)within_adc(adu);
}

/* Returns the difference of the levels of a pixel and cell from the mean levels. */
static double shift_of(const struct memory_cells *m, int64_t pixel, double deviate)
{
    return (double)m->shift_adu[pixel] + LEVEL_CELL_ADU * deviate;
}

/* The values of the pixels of a chunk, and their gain stages. The stage is -1 for pixels that
 * have not been read. */
struct reading {
    double keV[NOISE_CHUNK], noise_adu[NOISE_CHUNK], analog[NOISE_CHUNK];
    int8_t stage[NOISE_CHUNK];
    int left;  // of -1
};

static void read_stage(const struct memory_cells *m, int stage, const struct noise_chunk *c,
                       int count, struct reading *r, struct noise_cut *cut)
{
    const bool last = stage + 1 == GAIN_STAGES;
    for (int i = 0; i < count; i++) {
        if (r->stage[i] >= 0)
            continue;
        const int64_t pixel = c->first + i;
        const double gain = (double)m->stages->gain[stage][pixel];
        const double adc = (double)pedestal_of(m, stage, pixel, c->deviate[i]) + gain * r->keV[i];
        if (!last && gain_stages_leaves(m->stages, gain, adc))
            continue;
        const double whole = floor(adc + r->noise_adu[i] + 0.5);
        cut->saturated += last && (gain > 0.0 ? whole >= GAIN_STAGES_ADC_MAX : whole <= 0.0);
        r->analog[i] = within_adc(whole);
        r->stage[i] = (int8_t)stage;
        r->left--;
    }
}

/* Puts the gain above what was read. */
static void put_gain(const struct memory_cells *m, const struct cell_frame *f,
                     const struct reading *r, struct noise_chunk *c, int count)
{
    const struct noise_key cell = cell_key(m, f->cell, CELL_LEVEL);
    double gain[NOISE_CHUNK];
    m->kernels->normals(&cell, c);
    for (int i = 0; i < count; i++)
        gain[i] = m->level_adu[r->stage[i]] + shift_of(m, c->first + i, c->deviate[i]);
    m->kernels->normals(&(struct noise_key){f->seed, f->id, RNG_GAIN_LEVEL}, c);
    for (int i = 0; i < count; i++) {
        const double whole = floor(gain[i] + LEVEL_NOISE_ADU * c->deviate[i] + 0.5);
        c->value[i] = within_adc(whole) * (1 << MEMORY_CELLS_SHIFT) + r->analog[i];
    }
}

void memory_cells_read(const struct memory_cells *m, const struct cell_frame *f,
                       struct noise_chunk *c, int count, struct noise_cut *cut)
{
    struct reading r = {.left = count};
    for (int i = 0; i < count; i++) {
        r.keV[i] = c->value[i] * f->energy_keV;
        r.noise_adu[i] = f->readout_adu > 0.0 ? f->readout_adu * c->deviate[i] : 0.0;
        r.stage[i] = -1;
    }
    for (int stage = 0; stage < GAIN_STAGES && r.left; stage++) {
        const struct noise_key key = cell_key(m, f->cell, stage);
        m->kernels->normals(&key, c);
        read_stage(m, stage, c, count, &r, cut);
    }
    put_gain(m, f, &r, c, count);
}

void memory_cells_pedestals(const struct memory_cells *m, int stage, uint64_t cell, float *to,
                            int64_t count, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < count; first += NOISE_CHUNK) {
        struct noise_chunk c;
        const int pixels = draw_deviates(m, cell_key(m, cell, stage), first, count, &c);
        for (int i = 0; i < pixels; i++)
            to[first + i] = pedestal_of(m, stage, first + i, c.deviate[i]);
    }
}

void memory_cells_thresholds(const struct memory_cells *m, int stage, uint64_t cell, float *to,
                             int64_t count, int threads)
{
    const double middle = 0.5 * (m->level_adu[stage - 1] + m->level_adu[stage]);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < count; first += NOISE_CHUNK) {
        struct noise_chunk c;
        const int pixels = draw_deviates(m, cell_key(m, cell, CELL_LEVEL), first, count, &c);
        for (int i = 0; i < pixels; i++)
            to[first + i] = (float)(middle + shift_of(m, first + i, c.deviate[i]));
    }
}
