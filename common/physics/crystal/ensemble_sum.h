/*
 * Spots of an ensemble (physics/crystal/ensemble.h) summed over a spectrum, at several points side
 * by side, so that loops over lanes vectorise.
 *
 * With q = k g and the wave number k, a Gaussian spot of inverse moments M about c is again a
 * Gaussian along k, about g M c / g M g with the moment 1 / g M g.  A file that includes this
 * header must define FASTMATH_UNFUSED, so that all instruction sets give the same bytes.
 */
#ifndef BRAGG_PHYSICS_ENSEMBLE_SUM_H
#define BRAGG_PHYSICS_ENSEMBLE_SUM_H

#include <math.h>

#include "physics/crystal/ensemble.h"
#include "physics/fastmath.h"

/* Define ENSEMBLE_ONE in code that computes one point at a time, such as a thread of a GPU. */
#ifdef ENSEMBLE_ONE
enum { ENSEMBLE_LANES = 1 };
#else
enum { ENSEMBLE_LANES = 8 };
#endif

/* Data of the points for sums over wavelengths. */
struct ensemble_lanes {
    double half[ENSEMBLE_LANES];     // minus half the inverse moment along the wave number
    double nearest[ENSEMBLE_LANES];  // wave number at which the spot is brightest
    double miss[ENSEMBLE_LANES];     // logarithm of the brightness there
    double low, high;                // range of wave numbers with light at any of the points
};

/* Returns the sum of the lanes. Halves are added first, then quarters, in the order of vector
 * instructions. */
HD double ensemble_least(const double v[ENSEMBLE_LANES])
{
#ifdef ENSEMBLE_ONE
    return v[0];
#else
    double four[4], two[2];
    for (int i = 0; i < 4; i++)
        four[i] = v[i] < v[i + 4] ? v[i] : v[i + 4];
    for (int i = 0; i < 2; i++)
        two[i] = four[i] < four[i + 2] ? four[i] : four[i + 2];
    return two[0] < two[1] ? two[0] : two[1];
#endif
}

/* Returns the number of the first channel that is not below per_A. */
HD size_t ensemble_first(const struct ensemble_channel *channels, size_t count, double per_A)
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

/* Adds the channels that are not dark to sums[]. */
HD void ensemble_add_channels(const struct ensemble_waves *w, const struct ensemble_lanes *l,
                              double sums[ENSEMBLE_LANES])
{
    const struct ensemble_channel *channels = w->channels;
    for (size_t c = ensemble_first(channels, w->count, l->low);
         c < w->count && channels[c].per_A <= l->high; c++) {
        const double per_A = channels[c].per_A, weight = channels[c].weight;
        for (int i = 0; i < ENSEMBLE_LANES; i++) {
            const double off = per_A - l->nearest[i];
            sums[i] += weight * exp_fast(l->miss[i] + l->half[i] * (off * off));
        }
    }
}

/* Like the function above, for groups up to `end`, each with a width of at most `width`. */
HD void ensemble_add_groups(const struct ensemble_group *groups, const struct ensemble_group *end,
                            double width, const struct ensemble_lanes *l,
                            double sums[ENSEMBLE_LANES])
{
    for (; groups < end && groups->per_A <= l->high + width; groups++) {
        const double *m = groups->moment, per_A = groups->per_A;
        if (per_A < l->low - width)
            continue;
        for (int i = 0; i < ENSEMBLE_LANES; i++) {
            const double off = per_A - l->nearest[i], a = -2.0 * l->half[i], aa = a * a;
            const double s = a * (off * off), m2 = a * m[2], m4 = aa * m[4], m6 = aa * a * m[6];
            const double odd = off * aa * (m[3] * (s - 3.0) + a * m[5] * (s * (s - 10.0) + 15.0));
            const double even = m[0] + m2 * (s - 1.0) + m4 * (s * (s - 6.0) + 3.0) +
                                m6 * (s * (s * (s - 15.0) + 45.0) - 15.0);
            sums[i] += (even - odd) * exp_fast(l->miss[i] - 0.5 * s);
        }
    }
}

/* sums[]: mean squared lattice factor summed over the channels of a beam with their weights, where
 * the scattering vector is per_A times g, g = diffracted - incident as unit vectors.  0 where all
 * channels are dark; false where they are at all points. */
HD bool ensemble_sum(const struct ensemble_spot *spot, const double g[3][ENSEMBLE_LANES],
                     const struct ensemble_waves *w, double sums[ENSEMBLE_LANES])
{
    const double *m = spot->inverse, *pull = spot->pull;
    double from[ENSEMBLE_LANES], minus_to[ENSEMBLE_LANES];
    struct ensemble_lanes l;
    for (int i = 0; i < ENSEMBLE_LANES; i++) {
        const double x = g[0][i], y = g[1][i], z = g[2][i];
        const double a = x * (m[0] * x + 2.0 * (m[1] * y + m[2] * z)) +
                         y * (m[4] * y + 2.0 * m[5] * z) + z * z * m[8];
        const double to_centre = (x * pull[0] + y * pull[1] + z * pull[2]) / a;
        const double left = 2.0 * ENSEMBLE_LIMIT - spot->self + a * to_centre * to_centre;
        const bool lit = a > 0.0 && left > 0.0;
        const double window = sqrt(lit ? left / a : 0.0);
        l.half[i] = lit ? -0.5 * a : 0.0;
        l.nearest[i] = lit ? to_centre : 0.0;
        l.miss[i] = lit ? 0.5 * left - ENSEMBLE_LIMIT : -1e4;
        from[i] = lit ? to_centre - window : INFINITY;
        minus_to[i] = lit ? -to_centre - window : INFINITY;
        sums[i] = 0.0;
    }
    l.low = ensemble_least(from);
    l.high = -ensemble_least(minus_to);
    if (!(l.low <= l.high) || l.high < w->channels[0].per_A ||
        l.low > w->channels[w->count - 1].per_A)
        return false;
    const double sharpest = -2.0 * ensemble_least(l.half), most = ENSEMBLE_GROUP_WIDTH;
    double width = w->range;
    int level = 0;
    while (level < w->levels && sharpest * (width * width) > most * most) {
        width *= 0.5;
        level++;
    }
    if (level < w->levels)
        ensemble_add_groups(w->groups + w->begin[level], w->groups + w->begin[level + 1], width, &l,
                            sums);
    else
        ensemble_add_channels(w, &l, sums);
    for (int i = 0; i < ENSEMBLE_LANES; i++)
        sums[i] *= spot->peak;
    return true;
}

#endif
