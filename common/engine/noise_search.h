/*
 * Counts of small means: a search through the sums of their probabilities.  A part of
 * noise_loop.c, compiled once per instruction set; loops marked "vectorised" must be.
 *
 * A uniform is drawn digit by digit: a word decides in single precision, unless the
 * uniform is within SEARCH_DOUBT of a sum of probabilities; then a second word and double
 * precision do.  The counts are those of poisson_invert.  A group of pixels goes on until
 * the last one has its count; so that a few bright pixels do not hold up dark ones,
 * a few of NEAR_MEAN and more are listed and searched for in groups of their own.  Bright
 * groups begin about their mean, up or down from there: the sum up to it is a polynomial,
 * with half the roundings a term that SEARCH_DOUBT allows for.
 */
#ifndef BRAGG_ENGINE_NOISE_SEARCH_H
#define BRAGG_ENGINE_NOISE_SEARCH_H

#include "engine/lanes.h"
#include "engine/noise_inverse.h"
#include "engine/noise_large.h"
#include "engine/noise_pixel.h"

/* Steps of the search between two looks whether all have found their count; pixels that are looked
 * at together; and that are prepared together, so that processors find enough to do. */
enum {
    SEARCH_STEPS = 4,
    GROUP_PIXELS = 32,
    SEARCH_PIXELS = NOISE_BATCH,
    SIDE = GROUP_PIXELS / LANES
};

/* Means of so much and more are far; from half of it on a pixel is bright, and so many of them
 * in a group are a few. */
#define NEAR_MEAN 12.0f
#define BRIGHT_MEAN (0.5f * NEAR_MEAN)
enum { FEW_PIXELS = 10 };

/* Terms that are summed up at once where a search begins in the middle, and the least mean for
 * it. */
enum { LEAP = 4 };
#define MIDDLE_MEAN 16.0f

/* Of k, k + LEAP, ...: products of 1/(k+1), 1/(k+2) ... */
static const float leap[(int)POISSON_SMALL_MEAN / LEAP][LEAP] = {
#define L1(k) 1.0 / ((k) + 1)
#define L2(k) L1(k) / ((k) + 2)
#define L3(k) L2(k) / ((k) + 3)
#define L(k)                                                                       \
    {                                                                              \
        (float)(L1(k)), (float)(L2(k)), (float)(L3(k)), (float)(L3(k) / ((k) + 4)) \
    }
    L(0),  L(4),  L(8),  L(12), L(16), L(20), L(24), L(28),
    L(32), L(36), L(40), L(44), L(48), L(52), L(56), L(60),
#undef L
#undef L3
#undef L2
#undef L1
};

/* Of each pixel the mean; its first probability, either end of what the uniform may be, and how
 * many sums of probabilities are below it. */
struct search {
    float mean[SEARCH_PIXELS], p[SEARCH_PIXELS], low[SEARCH_PIXELS], high[SEARCH_PIXELS];
    int32_t count[SEARCH_PIXELS];
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
    const floats zero = {0}, limits = zero + limit;
    uint32_t below = 0;
#pragma GCC unroll 4
    for (int i = 0; i < GROUP_PIXELS; i += LANES) {
        floats mean;
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

/* About the mean of the group from `at`, where the search had better begin there; else 0. */
INLINE int32_t search_middle(const struct search *s, int at)
{
    if (~search_beyond(s, at, MIDDLE_MEAN))
        return 0;
    int32_t total = 0;
    for (int i = 0; i < GROUP_PIXELS; i++)  // vectorised
        total += (int32_t)s->mean[at + i];
    return total / GROUP_PIXELS / LEAP * LEAP;
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

/* A vector of a search: the distance to be gone, from either end of what the uniform may be, the
 * probability of the next count and those that were passed, how many are below the low end, and
 * the first sum that is not. */
struct walk {
    floats low, high, p, sum, first;
    ints count;
};

/* One count on, where p changes by `factor`. */
INLINE void walk_on(struct walk *w, floats factor)
{
    const lanes_mask below = lanes_less(w->sum, w->low);
    w->sum = w->sum + w->p;
    w->count = ints_count(w->count, below);
    w->first = floats_raise_where(below, w->first, w->sum);
    w->p = w->p * factor;
}

/* From count 0 up; `next` the probability of 0. */
INLINE void walk_start(struct walk *w, const struct search *s, int at)
{
    memcpy(&w->low, s->low + at, sizeof w->low);
    memcpy(&w->high, s->high + at, sizeof w->high);
    memcpy(&w->p, s->p + at, sizeof w->p);
    w->sum = w->first = (floats){0};
    w->count = (ints){0};
}

/* Goes to count `middle`, a multiple of LEAP: lanes whose uniform is above the sum up to there go
 * up from it, the others (all bits of the result) down; low and high become distances. */
INLINE ints walk_leap(struct walk *w, floats mean, int32_t middle)
{
    const floats mean_2 = mean * mean, mean_4 = mean_2 * mean_2;
    for (int k = 0; k < middle; k += LEAP) {
        const float *by = leap[k / LEAP];
        w->sum = w->sum + w->p * (mean * (mean * (mean * by[2] + by[1]) + by[0]) + 1.0f);
        w->p = w->p * (mean_4 * by[3]);
    }
    const floats whole = w->sum + w->p, low = w->low, high = w->high;
    const ints down = (ints)(whole >= low);
    w->low = floats_select(down, whole - high, low - whole);
    w->high = floats_select(down, whole - low, high - whole);
    w->sum = (floats){0};
    return down;
}

/* Stores what was found; bits of the lanes in doubt, whose high end is beyond that sum. */
INLINE uint32_t walk_end(const struct walk *w, struct search *s, int at)
{
    memcpy(s->count + at, &w->count, sizeof w->count);
    return lanes_below(w->first, w->high);
}

/* Searches for the counts of the group from `at`, from 0 up, whose vectors run side by side;
 * bits of those in doubt. */
INLINE uint32_t search_up(struct search *s, int at)
{
    const floats zero = {0};
    struct walk w[SIDE];
    floats mean[SIDE];
#pragma GCC unroll 4
    for (int v = 0; v < SIDE; v++) {
        walk_start(&w[v], s, at + v * LANES);
        memcpy(&mean[v], s->mean + at + v * LANES, sizeof mean[v]);
        w[v].sum = w[v].first = w[v].p;
        w[v].p = w[v].p * mean[v];
    }
    uint32_t left = 1;
    for (int k = 1; left && k < POISSON_SMALL_END; k += SEARCH_STEPS) {
        left = 0;
#pragma GCC unroll 4
        for (int v = 0; v < SIDE; v++) {
#pragma GCC unroll 4
            for (int j = 1; j <= SEARCH_STEPS; j++)
                walk_on(&w[v], mean[v] * (zero + inverse[k + j]));
            left |= lanes_below(w[v].sum, w[v].high);
        }
    }
    uint32_t doubts = 0;
#pragma GCC unroll 4
    for (int v = 0; v < SIDE; v++)
        doubts |= walk_end(&w[v], s, at + v * LANES) << (v * LANES);
    return doubts;
}

/* The same from the middle, up or down. */
INLINE uint32_t search_both(struct search *s, int at, int32_t middle)
{
    const floats zero = {0};
    struct walk w[SIDE];
    floats unit[SIDE];
    ints down[SIDE];
#pragma GCC unroll 4
    for (int v = 0; v < SIDE; v++) {
        floats mean;
        memcpy(&mean, s->mean + at + v * LANES, sizeof mean);
        walk_start(&w[v], s, at + v * LANES);
        down[v] = walk_leap(&w[v], mean, middle);
        unit[v] = floats_select(down[v], 1.0f / mean, mean);
        w[v].p = floats_select(down[v], w[v].p, w[v].p * (mean * inverse[middle + 1]));
    }
    uint32_t left = 1;
    for (int k = 1; left && k < POISSON_SMALL_END; k += SEARCH_STEPS) {
        left = 0;
#pragma GCC unroll 4
        for (int v = 0; v < SIDE; v++) {
#pragma GCC unroll 4
            for (int j = 0; j < SEARCH_STEPS; j++) {
                const int less = middle + 1 - k - j;
                const floats up = zero + inverse[middle + k + j + 1],
                             back = zero + (float)(less > 0 ? less : 0);
                walk_on(&w[v], unit[v] * floats_select(down[v], back, up));
            }
            left |= lanes_below(w[v].sum, w[v].high);
        }
    }
    uint32_t doubts = 0;
#pragma GCC unroll 4
    for (int v = 0; v < SIDE; v++) {
        w[v].count = middle - down[v] + ((w[v].count ^ down[v]) - down[v]);
        doubts |= walk_end(&w[v], s, at + v * LANES) << (v * LANES);
    }
    return doubts;
}

/* From where it is nearest. */
static uint32_t search_group(struct search *s, int at)
{
    const int32_t middle = search_middle(s, at);
    return middle ? search_both(s, at, middle) : search_up(s, at);
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
        for (uint32_t doubts = search_group(s, at); doubts; doubts &= doubts - 1) {
            const int i = at + __builtin_ctz(doubts);
            s->count[i] = search_exactly(key, first + i, word[i], value[i]);
        }
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        value[i] = (double)s->count[i];
}

/* The few of a chunk with means from NEAR_MEAN to POISSON_SMALL_MEAN. */
struct listed {
    int n;
    uint32_t word[NOISE_CHUNK];
    double mean[NOISE_CHUNK];
    int16_t pixel[NOISE_CHUNK];  // within the chunk
};

/* Lists those whose bits are set among GROUP_PIXELS from `first`; their words are still to come. */
INLINE void listed_add(struct listed *l, int first, uint32_t which, const double *mean)
{
    for (; which; which &= which - 1) {
        const int i = __builtin_ctz(which);
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
            l->mean[at + i] = l->mean[at];
            l->word[at + i] = 1u << 31;  // the middle: soon found, hardly ever in doubt
            l->pixel[at + i] = l->pixel[at];
        }
        search_load(&s, l->mean + at);
        search_start(&s, l->word + at);
        for (int group = 0; group < n; group += GROUP_PIXELS)
            for (uint32_t doubts = search_group(&s, group); doubts; doubts &= doubts - 1) {
                const int i = group + __builtin_ctz(doubts);
                s.count[i] =
                    search_exactly(key, first + l->pixel[at + i], l->word[at + i], l->mean[at + i]);
            }
        for (int i = 0; i < n; i++)
            value[l->pixel[at + i]] = s.count[i];
    }
}

#endif
