/*
 * What noise makes of one pixel, for threads that have one each: the operations of
 * noise_loop.c, so that the integers are those of its loops, bit for bit.  Nothing is fused
 * (see physics/poisson.h).
 */
#ifndef BRAGG_ENGINE_NOISE_PIXEL_H
#define BRAGG_ENGINE_NOISE_PIXEL_H

#if !defined(FASTMATH_UNFUSED) || defined(FASTMATH_FUSED)
#error "define FASTMATH_UNFUSED before anything is included"
#endif

#ifdef __CUDACC__
#include "engine/noise_inverse.h"
#endif
#include "engine/noise_loop.h"
#include "physics/poisson.h"

/* More than a sum of probabilities in single precision can be off by: three roundings of
 * 2^-24 a term, so 3 POISSON_SMALL_MEAN of them on the average, 1.2e-5, and 3e-6 of
 * adding up and e^-mean, SEARCH_MIN_MEAN included; 2.7e-6 found.  And the least mean that is
 * searched for. */
#define SEARCH_DOUBT 0x1p-16f
#define SEARCH_MIN_MEAN 1e-6f
#define SEARCH_UNIT 0x1p100f  // of probabilities: 2^POISSON_SCALE

/* Whether these are photons. */
HD bool noise_accepts(float photons)
{
    return photons >= 0.0f && photons <= 3.4e38f;
}

/* The four words of a counter: of a pixel, a pair or a quad. */
HD void noise_words(const struct noise_key *key, uint32_t of, uint32_t block, uint32_t word[4])
{
    const uint32_t halves[2] = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)};
    const uint32_t counter[4] = {of, (uint32_t)key->purpose << 24 | block, (uint32_t)key->frame,
                                 (uint32_t)(key->frame >> 32)};
    philox4x32(counter, halves, word);
}

/* The normal deviate of a pixel: one of those of its pair. */
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

/* The word of a pixel: one of those of its quad. */
HD uint32_t noise_word(const struct noise_key *key, uint32_t pixel)
{
    uint32_t word[4];
    const uint32_t at = pixel % NOISE_BLOCK;
    noise_words(key, pixel / NOISE_BLOCK * NOISE_QUADS + at % NOISE_PAIRS / 2, 0, word);
    const uint32_t even = at < NOISE_PAIRS ? word[0] : word[2];
    const uint32_t odd = at < NOISE_PAIRS ? word[1] : word[3];
    return at % 2 ? odd : even;
}

/* The count with all digits of a pixel whose first word is that one. */
HD double noise_count_exactly(const struct noise_key *key, uint32_t pixel, uint32_t word,
                              double mean)
{
    uint32_t more[4];
    noise_words(key, pixel, 1, more);
    return poisson_invert(mean, rng_uniform_of(word, more[0]));
}

/* 1/k, k > 0 and at most POISSON_SMALL_END. */
HD float inverse_of_count(int32_t k)
{
#ifdef __CUDA_ARCH__
    return inverse[k];
#else
    return 1.0f / (float)k;
#endif
}

/* Of a mean below POISSON_SMALL_MEAN: a search in single precision for either end of what
 * the uniform may be. */
HD double noise_count_small(const struct noise_key *key, uint32_t pixel, double value)
{
    const uint32_t word = noise_word(key, pixel);
    const float mean = (float)value > SEARCH_MIN_MEAN ? (float)value : SEARCH_MIN_MEAN;
    const float u = (float)(int32_t)(word >> 8) * (0x1p-24f * SEARCH_UNIT);
    const float low = u - SEARCH_DOUBT * SEARCH_UNIT, high = u + SEARCH_DOUBT * SEARCH_UNIT;
    int32_t count_low = 0, count_high = 0;
    float p = poisson_exp_f(mean), sum = p;
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
    while (high > sum && count_high < POISSON_SMALL_END) {
        count_low += low > sum;
        count_high++;
        p = p * (mean * inverse_of_count(count_high));
        sum = sum + p;
    }
    return count_low == count_high ? (double)count_low
                                   : noise_count_exactly(key, pixel, word, value);
}

/* Of a larger mean: tries until one is accepted. */
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

/* `value` with a relative error, never below 0. */
HD double noise_vary(double value, double sigma, double deviate)
{
    const double factor = 1.0 + sigma * deviate;
    return value * (factor > 0.0 ? factor : 0.0);
}

/* ADU of a pixel before they are rounded and cut to what fits, for photons that are accepted. */
HD double noise_value(const struct noise_pixels *n, uint32_t pixel, float photons)
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
        const struct noise_key key = {n->seed, n->frame, RNG_POISSON};
        value = (float)value < (float)POISSON_SMALL_MEAN ? noise_count_small(&key, pixel, value)
                                                         : noise_count_large(&key, pixel, value);
    }
    value = value * n->gain + n->offset_adu;
    if (n->readout_adu > 0.0) {
        const struct noise_key key = {n->seed, n->frame, RNG_READOUT};
        value = value + n->readout_adu * noise_normal(&key, pixel);
    }
    return value;
}

/* Whole ADU, at most n->largest_adu. */
HD uint32_t noise_adu(const struct noise_pixels *n, double value)
{
    const double bounded = value < n->largest_adu ? value : n->largest_adu;
    return (uint32_t)poisson_floor((bounded > 0.0 ? bounded : 0.0) + 0.5);
}

#endif
