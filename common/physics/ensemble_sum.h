/*
 * Spots of an ensemble (physics/ensemble.h) summed over a spectrum, at several points side by side:
 * loops over lanes vectorise.  With q = k g, k the wave number, a Gaussian spot of inverse moments
 * M about c is along k a Gaussian again, about g M c / g M g with the moment 1 / g M g.  Who
 * includes this defines FASTMATH_UNFUSED, so that all instruction sets give the same bytes.
 */
#ifndef BRAGG_PHYSICS_ENSEMBLE_SUM_H
#define BRAGG_PHYSICS_ENSEMBLE_SUM_H

#include <math.h>

#include "physics/ensemble.h"
#include "physics/fastmath.h"

enum { ENSEMBLE_LANES = 8 };

/* The first channel that is not below per_A. */
static inline size_t ensemble_first(const struct ensemble_channel *channels, size_t count,
                                    double per_A)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        if (channels[middle].per_A < per_A)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* sums[]: mean squared lattice factor summed over `count` channels, by ascending per_A, with their
 * weights, where the scattering vector is per_A times g, g = diffracted - incident as unit vectors.
 * 0 where all channels are dark; false where they are at all points. */
static inline bool ensemble_sum(const struct ensemble_spot *spot, const double g[3][ENSEMBLE_LANES],
                                const struct ensemble_channel *channels, size_t count,
                                double sums[ENSEMBLE_LANES])
{
    const double *m = spot->inverse, *pull = spot->pull;
    double across[ENSEMBLE_LANES], nearest[ENSEMBLE_LANES], miss[ENSEMBLE_LANES];
    double from[ENSEMBLE_LANES], to[ENSEMBLE_LANES], low = INFINITY, high = -INFINITY;
    for (int i = 0; i < ENSEMBLE_LANES; i++) {
        const double x = g[0][i], y = g[1][i], z = g[2][i];
        const double a = x * (m[0] * x + 2.0 * (m[1] * y + m[2] * z)) +
                         y * (m[4] * y + 2.0 * m[5] * z) + z * z * m[8];
        const double to_centre = (x * pull[0] + y * pull[1] + z * pull[2]) / a;
        const double left = 2.0 * ENSEMBLE_LIMIT - spot->self + a * to_centre * to_centre;
        const bool lit = a > 0.0 && left > 0.0;
        const double window = sqrt(lit ? left / a : 0.0);
        across[i] = lit ? -0.5 * a : 0.0;
        nearest[i] = lit ? to_centre : 0.0;
        miss[i] = lit ? 0.5 * left - ENSEMBLE_LIMIT : -1e4;
        from[i] = lit ? to_centre - window : INFINITY;
        to[i] = lit ? to_centre + window : -INFINITY;
        sums[i] = 0.0;
    }
    for (int i = 0; i < ENSEMBLE_LANES; i++) {
        low = from[i] < low ? from[i] : low;
        high = to[i] > high ? to[i] : high;
    }
    size_t c = ensemble_first(channels, count, low);
    if (!(low <= high) || c == count || channels[c].per_A > high)
        return false;
    for (; c < count && channels[c].per_A <= high; c++) {
        const double per_A = channels[c].per_A, weight = channels[c].weight;
        for (int i = 0; i < ENSEMBLE_LANES; i++) {
            const double off = per_A - nearest[i];
            sums[i] += weight * exp_fast(miss[i] + across[i] * (off * off));
        }
    }
    for (int i = 0; i < ENSEMBLE_LANES; i++)
        sums[i] *= spot->peak;
    return true;
}

#endif
