#include "engine/detector/dead_time.h"

#include <math.h>

#include "physics/noise/poisson.h"

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
        else  // the photon itself is no part of a mean
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
