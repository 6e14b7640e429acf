/*
 * Counts of small means: a search through the sums of their probabilities, and a table for what is
 * whole of them.  A part of noise_loop.c, compiled once per instruction set; loops marked
 * "vectorised" must be.
 *
 * A uniform is drawn digit by digit: 16 bits decide in single precision, unless a sum of
 * probabilities is within SEARCH_DOUBT of what the uniform may be; then further digits and double
 * precision do.  The counts are those of noise_count_small.  A group of pixels goes on until the
 * last one has its count.
 */
#ifndef BRAGG_ENGINE_NOISE_SEARCH_H
#define BRAGG_ENGINE_NOISE_SEARCH_H

#include "engine/cpu/lanes.h"
#include "engine/detector/noise_inverse.h"
#include "engine/detector/noise_large.h"
#include "engine/detector/noise_pixel.h"

/* Steps of the search between two looks whether all have found their count; pixels that go
 * together; and whose bits are drawn together. */
enum {
    SEARCH_STEPS = 4,
    GROUP_PIXELS = 32,
    SEARCH_PIXELS = NOISE_BATCH,
    SIDE = GROUP_PIXELS / LANES
};

/* Of each pixel the mean that is searched for and its first probability, the row of the table, and
 * the count. */
struct search {
    float mean[SEARCH_PIXELS], p[SEARCH_PIXELS];
    uint32_t row[SEARCH_PIXELS];
    int32_t count[SEARCH_PIXELS];
};

/* The parts of a mean; a large one has none. */
INLINE struct poisson_parts search_parts(double mean)
{
    const float all = (float)mean;
    return poisson_parts(all < (float)POISSON_SMALL_MEAN ? all : 0.0f);
}

/* Takes means; `far`: some have a whole part. */
INLINE void search_load(struct search *restrict s, const double *restrict mean, bool far)
{
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const struct poisson_parts parts = search_parts(mean[i]);
        const float all = (float)mean[i], near = all < (float)POISSON_NEAR_MEAN ? all : 0.0f;
        const float rest = far ? parts.rest : near;
        const float searched = rest > SEARCH_MIN_MEAN ? rest : SEARCH_MIN_MEAN;
        s->mean[i] = searched;
        s->p[i] = poisson_exp_f(searched);
        if (far)
            s->row[i] = poisson_row((uint32_t)parts.whole);
    }
}

/* Bits of the pixels of a group with means of `limit` and more. */
INLINE uint32_t search_beyond(const double *value, float limit)
{
    const floats zero = {0}, limits = zero + limit;
    uint32_t below = 0;
#pragma GCC unroll 8
    for (int i = 0; i < GROUP_PIXELS; i += LANES)
        below |= lanes_below(floats_of_doubles(doubles_pair_load(value + i, false)), limits) << i;
    return ~below;
}

/* A vector of a search: either end of what the uniform may be, the next probability and the sum of
 * those that were passed, how many sums are below the low end, and the first that is not. */
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

/* At count 0 of the pixels from `at`, whose uniforms begin with `bits`. */
INLINE void walk_start(struct walk *w, const struct search *s, int at, words bits, floats mean)
{
    const floats u = floats_of_ints(bits) * 0x1p-16f;
    w->low = u - SEARCH_DOUBT;
    w->high = u + (0x1p-16f + SEARCH_DOUBT);
    w->sum = w->first = floats_load(s->p + at);
    w->p = w->sum * mean;
    w->count = (ints){0};
}

/* Searches for the counts of the group from `at`, whose vectors run side by side; bits of those in
 * doubt, whose high end is beyond the first sum. */
INLINE uint32_t search_group(struct search *s, int at, const uint16_t *bits)
{
    struct walk w[SIDE];
    floats mean[SIDE];
#pragma GCC unroll 8
    for (int v = 0; v < SIDE; v++) {
        const int from = at + v * LANES;
        mean[v] = floats_load(s->mean + from);
        walk_start(&w[v], s, from, words_of_shorts(bits + from), mean[v]);
    }
    uint32_t left = 1;
    for (int k = 1; left && k < POISSON_NEAR_END; k += SEARCH_STEPS) {
        left = 0;
#pragma GCC unroll 8
        for (int v = 0; v < SIDE; v++) {
#pragma GCC unroll 4
            for (int j = 1; j <= SEARCH_STEPS; j++)
                walk_on(&w[v], mean[v] * floats_of(inverse[k + j]));
            left |= lanes_below(w[v].sum, w[v].high);
        }
    }
    uint32_t doubts = 0;
#pragma GCC unroll 8
    for (int v = 0; v < SIDE; v++) {
        memcpy(s->count + at + v * LANES, &w[v].count, sizeof w[v].count);
        doubts |= lanes_below(w[v].first, w[v].high) << (v * LANES);
    }
    return doubts;
}

/* Counts of the rests of means, from pixel `first` of the image; `far`: some have a whole part. */
INLINE void search_rests(struct search *s, const struct noise_key *key, int64_t first,
                         const uint16_t *bits, const double *mean, bool far)
{
    if (far)
        search_load(s, mean, true);
    else
        search_load(s, mean, false);
    for (int at = 0; at < SEARCH_PIXELS; at += GROUP_PIXELS)
        for (uint32_t doubts = search_group(s, at, bits); doubts; doubts &= doubts - 1) {
            const int i = at + __builtin_ctz(doubts);
            s->count[i] =
                noise_rest_exactly(key, (uint32_t)(first + i), bits[i], search_parts(mean[i]).rest);
        }
}

/* Adds the counts of the whole parts of a group: poisson_decide; bits of those that tie. */
INLINE uint32_t search_decide(int32_t *counts, const uint32_t *entries, const uint16_t *bits)
{
    uint32_t ties = 0;
#pragma GCC unroll 8
    for (int i = 0; i < GROUP_PIXELS; i += LANES) {
        words entry, count;
        memcpy(&entry, entries + i, sizeof entry);
        memcpy(&count, counts + i, sizeof count);
        const words digits = words_of_shorts(bits + i) & (POISSON_DIGITS - 1);
        const words first = entry & 1023, own = entry >> 10 & 255, other = entry >> 18;
        count += other ^ ((own ^ other) & (words)(digits < first));
        memcpy(counts + i, &count, sizeof count);
        ties |= lanes_bits(lanes_equal(digits, first)) << i;
    }
    return ties;
}

/* Adds those of all. */
INLINE void search_wholes(struct search *s, const struct noise_key *key, int64_t first,
                          const uint16_t *restrict bits, const struct poisson_table *table)
{
    uint32_t at[SEARCH_PIXELS], entry[SEARCH_PIXELS];
    volatile uint32_t *const one_by_one = entry;  // faster than what gathers
    const uint32_t *entries = &table->entry[0][0];
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        at[i] = poisson_entry(s->row[i], bits[i]);
#pragma GCC unroll 8
    for (int i = 0; i < SEARCH_PIXELS; i++)
        one_by_one[i] = entries[at[i]];
    for (int from = 0; from < SEARCH_PIXELS; from += GROUP_PIXELS)
        for (uint32_t ties = search_decide(s->count + from, entry + from, bits + from); ties;
             ties &= ties - 1) {
            const int i = from + __builtin_ctz(ties);
            s->count[i] += noise_whole_exactly(key, (uint32_t)(first + i), bits[i], table, at[i]) -
                           (int32_t)poisson_decide(entry[i], bits[i]);
        }
}

#endif
