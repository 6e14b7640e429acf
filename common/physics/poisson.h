/*
 * Poisson deviates with the same bits on every machine (+ - * / and square
 * root only).  Exact to rounding up to a mean of 1e6; above, a normal deviate
 * with the first Cornish-Fisher term, whose distribution function is off by
 * less than 1e-6.
 */
#ifndef BRAGG_PHYSICS_POISSON_H
#define BRAGG_PHYSICS_POISSON_H

#include "base/hd.h"
#include "base/portable_math.h"
#include "base/rng.h"

#define POISSON_SMALL_MEAN 10.0  // below: inversion; PTRS needs at least 10
#define POISSON_LARGE_MEAN 1e6   // above: normal

/* ln k! for whole k >= 0.  Stirling's series from 10 on (its next term is below
 * 1e-12); below, ln k! = ln (k+10)! - ln((k+1)...(k+10)), a product that is exact. */
HD double poisson_log_factorial(double k)
{
    double shift = 0.0;
    if (k < 10.0) {
        double product = 1.0;
        for (int i = 1; i <= 10; i++)
            product = product * (k + i);
        shift = portable_log(product);
        k = k + 10.0;
    }
    const double r = 1.0 / k, r2 = r * r;
    const double series = r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 / 1680)));
    const double half_log_2pi = 0.91893853320467274178;
    return (k + 0.5) * portable_log(k) - k + half_log_2pi + series - shift;
}

/* Inversion by adding up the probabilities; one uniform.  For 0 <= mean < 10. */
HD double poisson_invert(double mean, struct rng *r)
{
    const double u = rng_uniform(r);
    double k = 0.0, p = portable_exp(-mean), sum = p;
    while (u > sum && k < 200.0) {
        k = k + 1.0;
        p = p * mean / k;
        sum = sum + p;
    }
    return k;
}

/* Transformed rejection with squeeze, algorithm PTRS of W. Hormann, "The
 * transformed rejection method for generating Poisson random variables",
 * Insurance: Mathematics and Economics 12 (1993) 39-45.  For mean >= 10. */
HD double poisson_ptrs(double mean, struct rng *r)
{
    const double b = 0.931 + 2.53 * __builtin_sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double v_r = 0.9277 - 3.6224 / (b - 2.0);
    for (;;) {
        const double u = rng_uniform(r) - 0.5, v = rng_uniform(r);
        const double us = 0.5 - (u < 0.0 ? -u : u);
        const double k = __builtin_floor((2.0 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= v_r)
            return k;
        if (k < 0.0 || (us < 0.013 && v > us))
            continue;
        if (portable_log(v * inverse_alpha / (a / (us * us) + b)) <=
            k * portable_log(mean) - mean - poisson_log_factorial(k))
            return k;
    }
}

/* A whole number of photons for a finite mean >= 0. */
HD double poisson_draw(double mean, struct rng *r)
{
    if (mean < POISSON_SMALL_MEAN)
        return poisson_invert(mean, r);
    if (mean <= POISSON_LARGE_MEAN)
        return poisson_ptrs(mean, r);
    const double z = rng_normal(r);
    return __builtin_floor(mean + __builtin_sqrt(mean) * z + (z * z - 1.0) / 6.0 + 0.5);
}

#endif
