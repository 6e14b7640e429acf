/*
 * Photons that a counter misses.  For the dead time tau after a photon, the counter sees no other
 * photon.  If N photons fall on a pixel evenly over the exposure T, with r = N tau/T, the mean
 * number of counts is
 *
 *     non-paralysable   N / (1 + r)    photons during the dead time change nothing
 *     paralysable       N exp(-r)      photons during the dead time start it again
 *     pulse             1              all photons come at once, and at most one is seen
 *
 * where r does not include the photon itself: (N - 1) tau/T.  Counts spread around this mean so
 * that the counts of a Poisson beam have the variances known for long exposures (T far above tau),
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
    double share;  // fraction of the exposure, tau/T, below 1
};

enum { DEAD_TIME_ROWS = 1024, DEAD_TIME_SUMS = 16 };

/* Tables for numbers of photons below `rows`, where photons are missed independently of one
 * another: for each number, the mean number of missed photons, and the probabilities that at most
 * 0, 1, ...  photons are missed. */
struct dead_time_table {
    int rows;
    double missed[DEAD_TIME_ROWS], at_most[DEAD_TIME_ROWS][DEAD_TIME_SUMS];
};

void dead_time_tabulate(const struct dead_time *d, struct dead_time_table *table);

/* Converts the photons of the first `count` pixels of *c to counts of frame `id`.  If `expected` is
 * false, the photons are whole numbers, and counts are drawn.  If `expected` is true, the photons
 * are expected values, and the counts are mean values.  Overwrites c->deviate. */
void dead_time_count(const struct dead_time *d, const struct dead_time_table *table,
                     const struct noise_kernels *kernels, bool expected, uint64_t seed, uint64_t id,
                     struct noise_chunk *c, int count);

#endif
