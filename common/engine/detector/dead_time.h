/*
 * What a counter misses: for the dead time tau after a photon it sees no other.  Of N photons that
 * fall on a pixel evenly over the exposure T, with r = N tau/T, are counted
 *
 *     non-paralysable   N / (1 + r)    photons in the dead time change nothing
 *     paralysable       N exp(-r)      they begin it anew
 *     pulse             1              all come at once: at most one is seen
 *
 * on average, r being without the photon itself: (N - 1) tau/T.  Counts spread about that so that
 * those of a Poisson beam have the variances known for long exposures (T far above tau),
 * n T/(1 + n tau)^3 and n T exp(-n tau) (1 - 2 n tau exp(-n tau)).
 */
#ifndef BRAGG_ENGINE_DEAD_TIME_H
#define BRAGG_ENGINE_DEAD_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/detector/noise_loop.h"

enum counter { COUNTER_PERFECT, COUNTER_NONPARALYSABLE, COUNTER_PARALYSABLE, COUNTER_PULSE };

struct dead_time {
    enum counter counter;
    double share;  // of the exposure, tau/T, below 1
};

enum { DEAD_TIME_ROWS = 1024, DEAD_TIME_SUMS = 16 };

/* Photons, below `rows`, that are missed independently of one another: by the number of photons,
 * how many on average, and the probabilities that at most 0, 1, ... are. */
struct dead_time_table {
    int rows;
    double missed[DEAD_TIME_ROWS], at_most[DEAD_TIME_ROWS][DEAD_TIME_SUMS];
};

void dead_time_tabulate(const struct dead_time *d, struct dead_time_table *table);

/* Turns the photons of the first `count` pixels of *c into counts of frame `id`: whole ones that
 * are drawn, or, where the photons are `expected` ones, their mean.  Spoils c->deviate. */
void dead_time_count(const struct dead_time *d, const struct dead_time_table *table,
                     const struct noise_kernels *kernels, bool expected, uint64_t seed, uint64_t id,
                     struct noise_chunk *c, int count);

#endif
