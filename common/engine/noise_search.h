/*
 * Counts of small means: a search through the sums of their probabilities.  A part of
 * noise_loop.c, compiled once per instruction set; loops marked "vectorised" must be.
 *
 * A uniform is drawn digit by digit: a word decides in single precision, unless the
 * uniform is within SEARCH_DOUBT of a sum of probabilities; then a second word and double
 * precision do.  The counts are those of poisson_invert.  A group of pixels goes on until
 * the last one has its count; so that a few bright pixels do not hold up dark ones,
 * a few of NEAR_MEAN and more are listed and searched for in groups of their own.
 */
#ifndef BRAGG_ENGINE_NOISE_SEARCH_H
#define BRAGG_ENGINE_NOISE_SEARCH_H

#include "engine/noise_large.h"
#include "engine/noise_pixel.h"

/* Steps of the search between two looks whether all have found their count, and pixels
 * that are looked at together. */
enum { SEARCH_STEPS = 5, SEARCH_PIXELS = 32 };

/* Means of so much and more are far, and so many of them in a group are a few. */
#define NEAR_MEAN 12.0f
enum { FEW_PIXELS = 10 };

/* 1/k. */
static const float inverse[POISSON_SMALL_END + SEARCH_STEPS + 1] = {
#define I(k) 1.0f / (k)
#define I10(k) \
    I(k), I(k + 1), I(k + 2), I(k + 3), I(k + 4), I(k + 5), I(k + 6), I(k + 7), I(k + 8), I(k + 9)
    0.0f,    I10(1),  I10(11),  I10(21),  I10(31),  I10(41),  I10(51),  I10(61),  I10(71),
    I10(81), I10(91), I10(101), I10(111), I10(121), I10(131), I10(141), I10(151),
#undef I10
#undef I
};

/* Of each pixel, for sets of them. */
static const uint32_t bit[SEARCH_PIXELS] = {
#define B8(i) \
    1u << (i), 2u << (i), 4u << (i), 8u << (i), 16u << (i), 32u << (i), 64u << (i), 128u << (i)
    B8(0), B8(8), B8(16), B8(24)
#undef B8
};

/* Where SEARCH_PIXELS are: the probabilities of the count at hand and of all up to it,
 * and how many sums are below either end of what the uniform may be. */
struct search {
    float low[SEARCH_PIXELS], high[SEARCH_PIXELS];
    float mean[SEARCH_PIXELS], p[SEARCH_PIXELS], sum[SEARCH_PIXELS];
    int32_t count_low[SEARCH_PIXELS], count_high[SEARCH_PIXELS];
};

/* Takes the means; whether one of them is NEAR_MEAN or more. */
INLINE bool search_load(struct search *restrict s, const double *restrict mean)
{
    int far = 0;
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        s->mean[i] = (float)mean[i];
        far |= s->mean[i] < NEAR_MEAN ? 0 : 1;
    }
    return far != 0;
}

/* Bits of the pixels with means of `limit` and more. */
INLINE uint32_t search_beyond(const struct search *restrict s, float limit)
{
    uint32_t beyond = 0;
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        beyond |= s->mean[i] < limit ? 0 : bit[i];
    return beyond;
}

/* Pixels with means of `limit` and more get any count. */
INLINE void search_start(struct search *restrict s, const uint32_t *restrict word, float limit)
{
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const float small = s->mean[i] < limit ? s->mean[i] : 0.0f;
        s->mean[i] = small > SEARCH_MIN_MEAN ? small : SEARCH_MIN_MEAN;
    }
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const float u = (float)(int32_t)(word[i] >> 8) * (0x1p-24f * SEARCH_UNIT);
        s->low[i] = u - SEARCH_DOUBT * SEARCH_UNIT;
        s->high[i] = u + SEARCH_DOUBT * SEARCH_UNIT;
    }
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        s->sum[i] = s->p[i] = poisson_exp_f(s->mean[i]);
}

/* SEARCH_STEPS counts more from k; whether any pixel has to go on. */
INLINE bool search_on(struct search *restrict s, int k)
{
    int left = 0;
    float step[SEARCH_STEPS];
    for (int j = 0; j < SEARCH_STEPS; j++)
        step[j] = inverse[k + 1 + j];
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const float mean = s->mean[i], low = s->low[i], high = s->high[i];
        float p = s->p[i], sum = s->sum[i];
        int32_t count_low = k ? s->count_low[i] : 0, count_high = k ? s->count_high[i] : 0;
#pragma GCC unroll 5
        for (int j = 0; j < SEARCH_STEPS; j++) {
            count_low += low > sum;
            count_high += high > sum;
            p = p * (mean * step[j]);
            sum = sum + p;
        }
        s->p[i] = p;
        s->sum[i] = sum;
        s->count_low[i] = count_low;
        s->count_high[i] = count_high;
        left |= high > sum ? 1 : 0;
    }
    return left != 0;
}

/* Whether a count is in doubt. */
INLINE bool search_doubts(const struct search *s)
{
    int32_t doubts = 0;
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        doubts |= s->count_low[i] - s->count_high[i];
    return doubts != 0;
}

/* Searches for the counts of the means that were loaded, into s->count_low; whether some
 * are in doubt.  The first step is taken apart so that counts need not be set to 0. */
INLINE bool search_all(struct search *s, const uint32_t *word, float limit)
{
    search_start(s, word, limit);
    if (search_on(s, 0))
        for (int k = SEARCH_STEPS; k < POISSON_SMALL_END && search_on(s, k); k += SEARCH_STEPS)
            continue;
    return search_doubts(s);
}

/* The count of pixel number `pixel` of the image with all digits. */
static int32_t search_exactly(const struct noise_key *key, int64_t pixel, uint32_t word,
                              double mean)
{
    return (int32_t)noise_count_exactly(key, (uint32_t)pixel, word, mean);
}

/* Counts of SEARCH_PIXELS in a row, whose means were loaded from value[], from pixel
 * `first` of the image; those of `limit` and more get any. */
INLINE void search_row(struct search *s, const struct noise_key *key, int64_t first,
                       const uint32_t *word, double *restrict value, float limit)
{
    if (search_all(s, word, limit))
        for (int i = 0; i < SEARCH_PIXELS; i++)
            if (s->count_low[i] != s->count_high[i])
                s->count_low[i] = search_exactly(key, first + i, word[i], value[i]);
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        value[i] = (double)s->count_low[i];
}

/* The few of a chunk with means from NEAR_MEAN to POISSON_SMALL_MEAN. */
struct listed {
    int n;
    uint32_t word[NOISE_CHUNK];
    double mean[NOISE_CHUNK];
    int16_t pixel[NOISE_CHUNK];  // within the chunk
};

/* Lists those whose bits are set among SEARCH_PIXELS from `first`. */
INLINE void listed_add(struct listed *l, int first, uint32_t which, const uint32_t *word,
                       const double *mean)
{
    for (; which; which &= which - 1) {
        const int i = __builtin_ctz(which);
        l->word[l->n] = word[i];
        l->mean[l->n] = mean[i];
        l->pixel[l->n++] = (int16_t)(first + i);
    }
}

/* Counts of the listed ones, into value[] of the chunk from pixel `first` of the image. */
static void listed_search(const struct noise_key *key, int64_t first, struct listed *l,
                          double *value)
{
    for (int at = 0; at < l->n; at += SEARCH_PIXELS) {
        const int n = l->n - at < SEARCH_PIXELS ? l->n - at : SEARCH_PIXELS;
        for (int i = n; i < SEARCH_PIXELS; i++) {
            l->mean[at + i] = 0.0;
            l->word[at + i] = 0;
        }
        struct search s;
        (void)search_load(&s, l->mean + at);
        const bool doubts = search_all(&s, l->word + at, (float)POISSON_SMALL_MEAN);
        for (int i = 0; i < n; i++) {
            const int pixel = l->pixel[at + i];
            value[pixel] =
                doubts && s.count_low[i] != s.count_high[i]
                    ? search_exactly(key, first + pixel, l->word[at + i], l->mean[at + i])
                    : s.count_low[i];
        }
    }
}

#endif
