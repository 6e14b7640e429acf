/*
 * The pieces of Poisson deviates, each without a branch so that loops of them
 * vectorise, and of + - * / sqrt only, so that they give the same bits on every
 * machine (a source that includes this defines FASTMATH_UNFUSED).  The mean chooses the method:
 *
 * - Below POISSON_NEAR_MEAN: inversion, which adds up the probabilities.
 * - Below POISSON_SMALL_MEAN: the count of the whole part of the mean, from a table, and that of
 *   the rest by inversion.
 * - Up to POISSON_LARGE_MEAN: transformed rejection with squeeze, algorithm PTRS of W. Hormann,
 *   "The transformed rejection method for generating Poisson random variables", Insurance:
 *   Mathematics and Economics 12 (1993) 39-45.
 * - Above: a normal deviate with the first Cornish-Fisher term, whose distribution function is off
 *   by less than 1e-7.
 *
 * All but the last are exact but for the rounding of doubles (1e-15 in a probability
 * of a small mean, 1e-9 relative at a million); uniforms have 52 bits, so tails reach
 * 2e-16.
 */
#ifndef BRAGG_PHYSICS_POISSON_H
#define BRAGG_PHYSICS_POISSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/portable_math.h"
#include "physics/fastmath.h"

#define POISSON_NEAR_MEAN 8.0     // below: inversion
#define POISSON_SMALL_MEAN 64.0   // from here on PTRS, which needs at least 10
#define POISSON_LARGE_MEAN 1e6    // above: normal
#define POISSON_LEAST_COUNT 10.0  // of POISSON_SMALL_MEAN and more: chances below are 1e-17

enum { POISSON_NEAR_END = 48 };

/* Returns the largest integer <= x for |x| < 2^51. CPUs without an instruction for it, and
 * compilers that would call a function, get the same number from round_even. */
HD double poisson_floor(double x)
{
#ifdef __SSE4_1__
    return __builtin_floor(x);
#else
    const double n = round_even(x);
    return n > x ? n - 1.0 : n;
#endif
}

/* Returns ln k! less Stirling's formula, for k >= 10.  The next term of the series is below
 * 1e-12. */
HD double poisson_stirling(double k)
{
    const double r = 1.0 / k, r2 = r * r;
    return r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 / 1680)));
}

/* A mean below POISSON_SMALL_MEAN as a sum: whole, 0 where it is near; and the rest. */
struct poisson_parts {
    int32_t whole;
    float rest;
};

HD struct poisson_parts poisson_parts(float mean)
{
    const int32_t whole = mean < (float)POISSON_NEAR_MEAN ? 0 : (int32_t)mean;
    const struct poisson_parts parts = {whole, mean - (float)whole};
    return parts;
}

/* The count of a near mean for a uniform: how many sums of probabilities it exceeds.
 * The reference of the vectorised search; no probability is left beyond 48 in 53 bits. */
HD double poisson_invert(double mean, double u)
{
    double k = 0.0, p = exp_fast(-mean), sum = p;
    while (u > sum && k < POISSON_NEAR_END) {
        k = k + 1.0;
        p = p * mean / k;
        sum = sum + p;
    }
    return k;
}

/* e^-x for 0 <= x <= 80 in single precision, relative error 3e-7.  The polynomial is off by 1e-7 at
 * most; its terms stand in pairs, which need not wait for each other. */
HD float poisson_exp_f(float x)
{
    const float shifted = x * 0x1.715476p+0f + 0x1.8p23f;  // x/ln 2 rounded, in the low bits
    const float n = shifted - 0x1.8p23f;
    const float r = (n * 0x1.62ep-1f - x) + n * 0x1.0bfbe8p-15f;  // ln 2 in two parts
    const float r2 = r * r;
    const float p = ((1.0f + r) + (0x1.fffdfcp-2f + 0x1.5557bp-3f * r) * r2) +
                    (0x1.572a64p-5f + 0x1.106252p-7f * r) * (r2 * r2);
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (127 - bits) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* Makes one attempt of PTRS for a mean >= 10 and two uniform numbers. */
struct poisson_try {
    double k;       // the candidate
    double us;      // distance of u from the ends
    double log_of;  // argument of the logarithm
    bool sure;      // accepted by the squeeze
    bool hopeless;  // refused without a logarithm
};

HD struct poisson_try poisson_attempt(double mean, double uniform, double v)
{
    struct poisson_try t;
    const double b = 0.931 + 2.53 * sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double u = uniform - 0.5;
    t.us = 0.5 - (u < 0.0 ? -u : u);
    t.k = poisson_floor((2.0 * a / t.us + b) * u + mean + 0.43);
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    t.log_of = v * inverse_alpha / (a / (t.us * t.us) + b);
    t.sure = (t.us >= 0.07) & ((0.9277 - v) * (b - 2.0) >= 3.6224);
    t.hopeless = (t.k < POISSON_LEAST_COUNT) | ((t.us < 0.013) & (v > t.us));
    return t;
}

/* The whole test of an attempt: ln log_of <= k ln mean - mean - ln k!, with Stirling's formula
 * for ln k! = k ln k - k + ln(2 pi k)/2 + ... so that no large numbers are subtracted. */
HD bool poisson_accepts(const struct poisson_try *t, double mean)
{
    const double k = t->k < POISSON_LEAST_COUNT ? POISSON_LEAST_COUNT : t->k;
    const double two_pi = 6.28318530717958647693;
    const bool fits = 0.5 * portable_log(t->log_of * t->log_of * (two_pi * k)) <=
                      (k - mean) - k * portable_log(k / mean) - poisson_stirling(k);
    return t->sure | (!t->hopeless & fits);
}

/* Two independent normal deviates of mean 0 and variance 1 from two uniforms: the
 * transform of Box and Muller, with the angle 2 pi (v - 1/2). */
HD void normal_pair(double u, double v, double *first, double *second)
{
    const double radius = sqrt(-2.0 * portable_log(u));
    const double half_turns = 2.0 * v - 1.0;
    const double n = round_even(half_turns);
    const double signed_radius = n == 0.0 ? radius : -radius;
    *first = signed_radius * cospi_reduced(half_turns - n);
    *second = signed_radius * sinpi_reduced(half_turns - n);
}

/* Returns the count for a mean above POISSON_LARGE_MEAN and a normal deviate z. */
HD double poisson_normal(double mean, double z)
{
    return floor(mean + sqrt(mean) * z + (z * z - 1.0) / 6.0 + 0.5);
}

/* --- counts of whole means ------------------------------------------------------- */

/*
 * Counts of whole means by Walker's method of aliases (A. J. Walker, ACM Trans. Math. Softw. 3
 * (1977) 253-256): a place is drawn, which has two outcomes, then which of them it is.  16 bits
 * decide unless the digits of that chance tie with those of its place's; then 52 more do.
 *
 * The outcomes are the likeliest counts; what is left out is below 5e-16.
 */

enum {
    POISSON_WHOLE_LEAST = (int)POISSON_NEAR_MEAN,  // means of the first table; below there is none
    POISSON_WHOLES = (int)POISSON_SMALL_MEAN - POISSON_WHOLE_LEAST,
    POISSON_PLACES = 128,
    POISSON_DIGIT_BITS = 9,  // of 16; the others choose the place
    POISSON_DIGITS = 1 << POISSON_DIGIT_BITS,
};

struct poisson_table {
    /* For each place: its own count << 10, the other count << 18, and the first digits of the
     * chance of its own count, 0 to POISSON_DIGITS. */
    uint32_t entry[1 + POISSON_WHOLES][POISSON_PLACES];  // the first one's counts are 0
    double chance[1 + POISSON_WHOLES][POISSON_PLACES];   // all digits
};

/* Returns the table, which has the same numbers on every machine. The first call makes it. */
const struct poisson_table *poisson_table(void);

/* Number of the first entry of a whole mean, which may be 0; and of that for 16 bits. */
HD uint32_t poisson_row(uint32_t whole)
{
    const uint32_t row = whole ? whole - (POISSON_WHOLE_LEAST - 1) : 0;
    return row * POISSON_PLACES;
}
HD uint32_t poisson_entry(uint32_t row, uint32_t bits)
{
    return row + (bits >> POISSON_DIGIT_BITS);
}

/* Returns true if these bits do not decide between the two outcomes. */
HD bool poisson_ties(uint32_t entry, uint32_t bits)
{
    return (entry & 1023) == (bits & (POISSON_DIGITS - 1));
}

/* Returns one of the two counts of an entry.  is_own: the count of the place of the entry. */
HD uint32_t poisson_outcome(uint32_t entry, bool is_own)
{
    return (is_own ? entry >> 10 : entry >> 18) & 255;
}

/* Returns the count that the bits select.  poisson_ties must be false for them. */
HD uint32_t poisson_decide(uint32_t entry, uint32_t bits)
{
    return poisson_outcome(entry, (bits & (POISSON_DIGITS - 1)) < (entry & 1023));
}

#endif
