#include "engine/dead_time.h"

#include <math.h>

#include "physics/poisson.h"

/* Mean number of counts of so many photons. */
static double mean_counts(const struct dead_time *d, double photons)
{
    const double missed = fmax(photons - 1.0, 0.0) * d->share;
    if (d->counter == COUNTER_PULSE)
        return fmin(photons, 1.0);
    return d->counter == COUNTER_PARALYSABLE ? photons * portable_exp(-missed)
                                             : photons / (1.0 + missed);
}

/* The variance of a Poisson beam's counts that the variance of its photons does not explain. */
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

/* Few misses of many photons come independently of one another. */
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

void dead_time_count(const struct dead_time *d, bool expected, uint64_t seed, uint64_t id,
                     struct noise_chunk *c, int count)
{
    for (int k = 0; k < count; k++) {
        const double photons = c->value[k];
        if (!(photons > 0.0))
            continue;
        struct rng random = rng_stream(seed, RNG_DEAD_TIME, id, (uint32_t)(c->first + k));
        if (!expected)
            c->value[k] = drawn(d, photons, &random);
        else if (d->counter == COUNTER_PULSE)
            c->value[k] = 1.0 - portable_exp(-photons);
        else  // the photon itself is no part of a mean
            c->value[k] = mean_counts(d, photons + 1.0) * (photons / (photons + 1.0));
    }
}
