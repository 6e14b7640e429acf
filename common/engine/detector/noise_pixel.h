/*
 * Noise of one pixel, for GPU threads that compute one pixel each.  The operations are those of
 * noise_loop.c, so that the integers equal those of its loops, bit for bit.  No multiplication is
 * fused with an addition (see physics/noise/poisson.h).
 */
#ifndef BRAGG_ENGINE_NOISE_PIXEL_H
#define BRAGG_ENGINE_NOISE_PIXEL_H

#if !defined(FASTMATH_UNFUSED) || defined(FASTMATH_FUSED)
#error "define FASTMATH_UNFUSED before anything is included"
#endif

#include "engine/detector/noise_loop.h"
#include "physics/noise/poisson.h"

/* Inverses of counts, for searches through probabilities.  A table is faster than a division.  On a
 * GPU the table is in the memory that all threads read at once. */
enum { INVERSES = POISSON_NEAR_END + 8 };  // and ends of vectors

/* 1/k. */
#ifdef __CUDACC__
__constant__
#endif
    static const float count_inverse[INVERSES] = {
#define I(k) 1.0f / (k)
#define I10(k) \
    I(k), I(k + 1), I(k + 2), I(k + 3), I(k + 4), I(k + 5), I(k + 6), I(k + 7), I(k + 8), I(k + 9)
        0.0f, I10(1), I10(11), I10(21), I10(31), I10(41),
#undef I10
#undef I
};

/* An upper bound of the error of a sum of probabilities in single precision. Its parts are
 * 1.5e-6 from three roundings of 2^-24 per term (3 POISSON_NEAR_MEAN of them on average), 0.3e-6
 * from e^-mean, 0.7e-6 from the additions, and SEARCH_MIN_MEAN, the smallest mean for which a
 * search is made. */
#define SEARCH_DOUBT 0x1p-18f
#define SEARCH_MIN_MEAN 1e-7f

/* Returns true if the number is a valid number of photons. */
HD bool noise_accepts(float photons)
{
    return photons >= 0.0f && photons <= 3.4e38f;
}

/* Computes the four random words of a block. `of` is the number of a pixel, a pair or an octet. */
HD void noise_words(const struct noise_key *key, uint32_t of, uint32_t block, uint32_t word[4])
{
    const uint32_t halves[2] = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)};
    const uint32_t counter[4] = {of, (uint32_t)key->purpose << 24 | block, (uint32_t)key->frame,
                                 (uint32_t)(key->frame >> 32)};
    philox4x32(counter, halves, word);
}

/* Returns the normal deviate of a pixel, one of the two deviates of its pair. */
HD double noise_normal(const struct noise_key *key, uint32_t pixel)
{
    uint32_t word[4];
    double first, second;
    const uint32_t at = pixel % NOISE_BLOCK;
    noise_words(key, pixel / NOISE_BLOCK * NOISE_PAIRS + at % NOISE_PAIRS, 0, word);
    normal_pair(rng_uniform_of(word[0], word[1]), rng_uniform_of(word[2], word[3]), &first,
                &second);
    return at < NOISE_PAIRS ? first : second;
}

/* The first 16 bits of the uniform numbers of pixels 4 i to 4 i + 3. */
struct noise_four {
    uint32_t low, high;  // of pixels 4 i and 4 i + 1; of pixels 4 i + 2 and 4 i + 3
};

/* Returns these bits for the four pixels that contain `pixel`, from a block of their octet. */
HD struct noise_four noise_four(const struct noise_key *key, uint32_t pixel, enum noise_draw draw)
{
    uint32_t word[4];
    const uint32_t at = pixel % NOISE_BLOCK;
    const uint32_t octet = pixel / NOISE_BLOCK * NOISE_OCTETS + at % NOISE_PAIRS / 4;
    noise_words(key, 2 * octet + (uint32_t)draw, 0, word);
    const struct noise_four four = {at < NOISE_PAIRS ? word[0] : word[2],
                                    at < NOISE_PAIRS ? word[1] : word[3]};
    return four;
}

/* Returns the bits of one of these pixels. */
HD uint32_t noise_bits(struct noise_four four, uint32_t pixel)
{
    return (pixel / 2 % 2 ? four.high : four.low) >> pixel % 2 * 16 & 0xffff;
}

/* Returns the count of the rest of a mean from the uniform number with all its digits. `bits`
 * are its first bits. */
HD int32_t noise_rest_exactly(const struct noise_key *key, uint32_t pixel, uint32_t bits,
                              float rest)
{
    uint32_t more[4];
    noise_words(key, pixel, 1, more);
    return (int32_t)poisson_invert(
        (double)rest, rng_uniform_of(bits << 16 | more[0] >> 16, more[0] << 16 | more[1] >> 16));
}

/* Like noise_rest_exactly, for the whole part of a mean, from entry number `at` of the table. */
HD int32_t noise_whole_exactly(const struct noise_key *key, uint32_t pixel, uint32_t bits,
                               const struct poisson_table *table, uint32_t at)
{
    uint32_t more[4];
    const uint32_t digits = bits & (POISSON_DIGITS - 1);
    noise_words(key, pixel, 1, more);
    const double share = ((double)digits + rng_uniform_of(more[2], more[3])) / POISSON_DIGITS;
    return (int32_t)poisson_outcome((&table->entry[0][0])[at], share < (&table->chance[0][0])[at]);
}

/* Returns 1/k for k > 0 and k <= POISSON_NEAR_END. */
HD float inverse_of_count(int32_t k)
{
#ifdef __CUDA_ARCH__
    return count_inverse[k];
#else
    return 1.0f / (float)k;
#endif
}

/* Draws the count for a mean below POISSON_NEAR_MEAN from the bits for NOISE_REST.  Searches in
 * single precision with both ends of the interval that contains the uniform number.  If the two
 * counts differ, noise_rest_exactly decides. */
HD int32_t noise_count_rest(const struct noise_key *key, uint32_t pixel, uint32_t bits, float rest)
{
    const float mean = rest > SEARCH_MIN_MEAN ? rest : SEARCH_MIN_MEAN;
    const float u = (float)(int32_t)bits * 0x1p-16f;
    const float low = u - SEARCH_DOUBT;
    const float high = u + (0x1p-16f + SEARCH_DOUBT);
    int32_t count_low = 0, count_high = 0;
    float p = poisson_exp_f(mean), sum = p;
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
    while (high > sum && count_high < POISSON_NEAR_END) {
        count_low += low > sum;
        count_high++;
        p = p * (mean * inverse_of_count(count_high));
        sum = sum + p;
    }
    return count_low == count_high ? count_low : noise_rest_exactly(key, pixel, bits, rest);
}

HD int32_t noise_count_whole(const struct noise_key *key, uint32_t pixel, uint32_t whole,
                             const struct poisson_table *table)
{
    const uint32_t bits = noise_bits(noise_four(key, pixel, NOISE_WHOLE), pixel);
    const uint32_t at = poisson_entry(poisson_row(whole), bits), entry = (&table->entry[0][0])[at];
    return poisson_ties(entry, bits) ? noise_whole_exactly(key, pixel, bits, table, at)
                                     : (int32_t)poisson_decide(entry, bits);
}

/* Draws the count of a mean below POISSON_SMALL_MEAN.  `rest`: bits for NOISE_REST of the four
 * pixels that contain this one. */
HD double noise_count_small(const struct noise_key *key, uint32_t pixel, struct noise_four rest,
                            double mean, const struct poisson_table *table)
{
    const struct poisson_parts parts = poisson_parts((float)mean);
    int32_t count = noise_count_rest(key, pixel, noise_bits(rest, pixel), parts.rest);
    if (parts.whole)
        count += noise_count_whole(key, pixel, (uint32_t)parts.whole, table);
    return (double)count;
}

/* Draws the count of a larger mean: tries until one is accepted. */
HD double noise_count_large(const struct noise_key *key, uint32_t pixel, double mean)
{
    for (uint32_t block = 1;; block++) {
        uint32_t word[4];
        noise_words(key, pixel, block, word);
        const double u = rng_uniform_of(word[0], word[1]), v = rng_uniform_of(word[2], word[3]);
        if (mean > POISSON_LARGE_MEAN) {
            double z, other;
            normal_pair(u, v, &z, &other);
            return poisson_normal(mean, z);
        }
        const struct poisson_try t = poisson_attempt(mean, u, v);
        if (poisson_accepts(&t, mean) && t.k >= 0.0)
            return t.k;
    }
}

/* Multiplies `value` by 1 + sigma deviate, but at least by 0. */
HD double noise_vary(double value, double sigma, double deviate)
{
    const double factor = 1.0 + sigma * deviate;
    return value * (factor > 0.0 ? factor : 0.0);
}

/* Returns the key of the random numbers for counts. */
HD struct noise_key noise_poisson_key(const struct noise_pixels *n)
{
    const struct noise_key key = {n->seed, n->frame, RNG_POISSON};
    return key;
}

/* Returns the ADU of a pixel before rounding and before the limits are applied.  Requires
 * noise_accepts.  `rest`: see noise_count_small; not used if n->poisson is false. */
HD double noise_value(const struct noise_pixels *n, uint32_t pixel, struct noise_four rest,
                      float photons)
{
    double value = (double)photons;
    if (n->flicker > 0.0) {
        const struct noise_key key = {n->seed, n->frame, RNG_FLICKER};
        value = noise_vary(value, n->flicker, noise_normal(&key, pixel));
    }
    if (n->calibration > 0.0) {
        const struct noise_key key = {n->calibration_seed, 0, RNG_CALIBRATION};
        value = value * (double)(float)noise_vary(1.0, n->calibration, noise_normal(&key, pixel));
    }
    if (n->poisson) {
        const struct noise_key key = noise_poisson_key(n);
        value = (float)value < (float)POISSON_SMALL_MEAN
                    ? noise_count_small(&key, pixel, rest, value, n->table)
                    : noise_count_large(&key, pixel, value);
    }
    value = value * n->gain + n->offset_adu;
    if (n->readout_adu > 0.0) {
        const struct noise_key key = {n->seed, n->frame, RNG_READOUT};
        value = value + n->readout_adu * noise_normal(&key, pixel);
    }
    return value;
}

/* Rounds to whole ADU between 0 and n->largest_adu. */
HD uint32_t noise_adu(const struct noise_pixels *n, double value)
{
    const double bounded = value < n->largest_adu ? value : n->largest_adu;
    return (uint32_t)poisson_floor((bounded > 0.0 ? bounded : 0.0) + 0.5);
}

#endif
