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
#include "engine/search_lanes.h"

/* Steps of the search between two looks whether all have found their count; pixels that are looked
 * at together; and that are prepared together, so that processors find enough to do. */
enum {
    SEARCH_STEPS = 5,
    GROUP_PIXELS = 32,
    SEARCH_PIXELS = NOISE_BATCH,
    SIDE = GROUP_PIXELS / LANES
};

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

/* Of each pixel the mean; its first probability, either end of what the uniform may be, and how
 * many sums of probabilities are below it. */
struct search {
    float mean[SEARCH_PIXELS], p[SEARCH_PIXELS], low[SEARCH_PIXELS], high[SEARCH_PIXELS];
    int32_t count_low[SEARCH_PIXELS], count_high[SEARCH_PIXELS];
};

/* Takes the means. */
INLINE void search_load(struct search *restrict s, const double *restrict mean)
{
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        s->mean[i] = (float)mean[i];
}

/* Bits of the pixels of the group from `at` with means of `limit` and more. */
INLINE uint32_t search_beyond(const struct search *s, int at, float limit)
{
    const lane_floats zero = {0}, limits = zero + limit;
    uint32_t below = 0;
#pragma GCC unroll 8
    for (int i = 0; i < GROUP_PIXELS; i += LANES) {
        lane_floats mean;
        memcpy(&mean, s->mean + at + i, sizeof mean);
        below |= lanes_below(mean, limits) << i;
    }
    return ~below;
}

/* Pixels of the group from `at` with means of `limit` and more get any count. */
INLINE void search_drop(struct search *s, int at, float limit)
{
    float *mean = s->mean + at;
    for (int i = 0; i < GROUP_PIXELS; i++)  // vectorised
        mean[i] = mean[i] < limit ? mean[i] : 0.0f;
}

INLINE void search_start(struct search *restrict s, const uint32_t *restrict word)
{
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const float u = (float)(int32_t)(word[i] >> 8) * (0x1p-24f * SEARCH_UNIT);
        s->low[i] = u - SEARCH_DOUBT * SEARCH_UNIT;
        s->high[i] = u + SEARCH_DOUBT * SEARCH_UNIT;
        s->mean[i] = s->mean[i] > SEARCH_MIN_MEAN ? s->mean[i] : SEARCH_MIN_MEAN;
        s->p[i] = poisson_exp_f(s->mean[i]);
    }
}

/* Searches for the counts of the group from `at`, whose chains of products and sums run side by
 * side; whether one is in doubt. */
INLINE bool search_group(struct search *s, int at)
{
    const lane_floats zero = {0};
    lane_floats low[SIDE], high[SIDE], mean[SIDE], p[SIDE], sum[SIDE];
    lane_ints count_low[SIDE], count_high[SIDE];
#pragma GCC unroll 8
    for (int v = 0; v < SIDE; v++) {
        const int from = at + v * LANES;
        memcpy(&low[v], s->low + from, sizeof low[v]);
        memcpy(&high[v], s->high + from, sizeof high[v]);
        memcpy(&mean[v], s->mean + from, sizeof mean[v]);
        memcpy(&p[v], s->p + from, sizeof p[v]);
        sum[v] = p[v];
        count_low[v] = count_high[v] = (lane_ints){0};
    }
    uint32_t left = 1;
    for (int k = 0; left && k < POISSON_SMALL_END; k += SEARCH_STEPS) {
        left = 0;
#pragma GCC unroll 8
        for (int v = 0; v < SIDE; v++) {
#pragma GCC unroll 5
            for (int j = 1; j <= SEARCH_STEPS; j++) {
                const lane_floats step = zero + inverse[k + j];
                count_low[v] = lanes_count(count_low[v], sum[v], low[v]);
                count_high[v] = lanes_count(count_high[v], sum[v], high[v]);
                p[v] = p[v] * (mean[v] * step);
                sum[v] = sum[v] + p[v];
            }
            left |= lanes_below(sum[v], high[v]);
        }
    }
    uint32_t doubts = 0;
#pragma GCC unroll 8
    for (int v = 0; v < SIDE; v++) {
        memcpy(s->count_low + at + v * LANES, &count_low[v], sizeof count_low[v]);
        memcpy(s->count_high + at + v * LANES, &count_high[v], sizeof count_high[v]);
        doubts |= lanes_differ(count_low[v], count_high[v]);
    }
    return doubts != 0;
}

/* The count of pixel number `pixel` of the image with all digits. */
static int32_t search_exactly(const struct noise_key *key, int64_t pixel, uint32_t word,
                              double mean)
{
    return (int32_t)noise_count_exactly(key, (uint32_t)pixel, word, mean);
}

/* Counts of the means that were loaded from value[], from pixel `first` of the image; those that
 * were dropped get any. */
INLINE void search_all(struct search *s, const struct noise_key *key, int64_t first,
                       const uint32_t *word, double *restrict value)
{
    search_start(s, word);
    for (int at = 0; at < SEARCH_PIXELS; at += GROUP_PIXELS)
        if (search_group(s, at))
            for (int i = at; i < at + GROUP_PIXELS; i++)
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

/* Lists those whose bits are set among GROUP_PIXELS from `first`. */
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
    struct search s;
    for (int at = 0; at < l->n; at += SEARCH_PIXELS) {
        const int n = l->n - at < SEARCH_PIXELS ? l->n - at : SEARCH_PIXELS;
        for (int i = n; i < SEARCH_PIXELS; i++) {
            l->mean[at + i] = 0.0;
            l->word[at + i] = 0;
        }
        search_load(&s, l->mean + at);
        search_start(&s, l->word + at);
        for (int i = 0; i < n; i += GROUP_PIXELS)
            (void)search_group(&s, i);
        for (int i = 0; i < n; i++) {
            const int pixel = l->pixel[at + i];
            value[pixel] =
                s.count_low[i] == s.count_high[i]
                    ? s.count_low[i]
                    : search_exactly(key, first + pixel, l->word[at + i], l->mean[at + i]);
        }
    }
}

#endif
