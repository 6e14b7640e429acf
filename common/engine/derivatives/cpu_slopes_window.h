/*
 * Squared structure factors for LANES pixels without a look-up for each: neighbours see the same
 * few reflections, and so do the steps of a lattice, which differ by little.  What a window of two
 * by two by WINDOW_L reflections holds lies in a register, from which a shuffle takes it; where a
 * step leaves it there is a new one.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_WINDOW_H
#define BRAGG_ENGINE_CPU_SLOPES_WINDOW_H

#include "engine/cpu/lanes.h"
#include "engine/derivatives/cpu_slopes.h"
#include "engine/prepared.h"

enum { WINDOW_L = LANES >= 8 ? LANES / 4 : 1 };  // a power of two; 1: there is no shuffle

/* Whether any bit is set. */
LANES_INLINE bool words_any(words v)
{
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)v, (__m512i)v) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= v[i];
    return bits != 0;
#endif
}

/* Items at[i] < LANES of a vector. */
LANES_INLINE floats floats_shuffled(floats from, words at)
{
#if defined(__AVX512F__)
    return (floats)_mm512_permutexvar_ps((__m512i)at, (__m512)from);
#elif defined(__AVX2__)
    return (floats)_mm256_permutevar8x32_ps((__m256)from, (__m256i)at);
#else
    floats v;
    for (int i = 0; i < LANES; i++)
        v[i] = from[at[i]];
    return v;
#endif
}

struct lanes_window {
    words first[3];  // indices of its first reflection
    floats F_sqr;    // l fastest, then k, h
};

/* That of pixels i .. i + LANES - 1: they are much the same from point to point. */
LANES_INLINE struct lanes_window lanes_window_load(const struct cpu_slopes_gathered *g, int i)
{
    const struct lanes_window w = {
        {words_load(g->first[0] + i), words_load(g->first[1] + i), words_load(g->first[2] + i)},
        floats_load(g->F_sqr + i),
    };
    return w;
}

LANES_INLINE void lanes_window_store(struct cpu_slopes_gathered *g, int i, struct lanes_window w)
{
    floats_store(g->F_sqr + i, w.F_sqr);
    for (int k = 0; k < 3; k++)
        words_store(g->first[k] + i, w.first[k]);
}

/* As table_slot. */
LANES_INLINE words lanes_slot(const struct cpu_table *t, const words whole[3])
{
    const words a = whole[0] - (uint32_t)t->min[0], b = whole[1] - (uint32_t)t->min[1];
    const words c = whole[2] - (uint32_t)t->min[2];
    const uint32_t nb = (uint32_t)t->count[1], nc = (uint32_t)t->count[2];
    const words inside = (words)(a < (uint32_t)t->count[0]) & (words)(b < nb) & (words)(c < nc);
    return (((a * nb + b) * nc + c) & inside) | ((uint32_t)t->default_slot & ~inside);
}

/* Where the reflections of the window are that begins with the least of the outer lanes' indices:
 * items of the table; false where it reaches beyond the table. */
LANES_INLINE bool window_place(const struct cpu_table *t, const words whole[3], uint32_t first[3],
                               uint32_t *slot)
{
    static const uint32_t size[3] = {2, 2, WINDOW_L};
    uint32_t at[3];
    bool inside = true;
    for (int i = 0; i < 3; i++) {
        const int32_t one = (int32_t)whole[i][0], other = (int32_t)whole[i][LANES - 1];
        first[i] = (uint32_t)(one < other ? one : other);
        at[i] = first[i] - (uint32_t)t->min[i];
        const uint32_t count = (uint32_t)t->count[i];
        inside = inside && count >= size[i] && at[i] <= count - size[i];
    }
    *slot = (at[0] * (uint32_t)t->count[1] + at[1]) * (uint32_t)t->count[2] + at[2];
    return inside;
}

/* A window for these indices, if there is one. */
LANES_INLINE void window_move(const struct cpu_table *t, const words whole[3],
                              struct lanes_window *w)
{
    float known[LANES] = {0};
    uint32_t first[3], slot;
    if (!window_place(t, whole, first, &slot))
        return;
    for (uint32_t i = 0; i < 4; i++)
        memcpy(known + WINDOW_L * i,
               t->F_sqr + slot + (i / 2 * (uint32_t)t->count[1] + i % 2) * (uint32_t)t->count[2],
               WINDOW_L * sizeof *known);
    for (int i = 0; i < 3; i++)
        w->first[i] = (words){0} + first[i];
    w->F_sqr = floats_load(known);
}

/* Squared structure factors of the reflections whole[]. */
LANES_INLINE floats lanes_look_up(const struct cpu_table *t, const words whole[3],
                                  struct lanes_window *w)
{
    if (WINDOW_L == 1)
        return floats_gather(t->F_sqr, lanes_slot(t, whole));
    const words h = whole[0] - w->first[0], k = whole[1] - w->first[1], l = whole[2] - w->first[2];
    if (__builtin_expect(!words_any(((h | k) & ~1u) | (l & ~(WINDOW_L - 1u))), 1))
        return floats_shuffled(w->F_sqr, (h * 2u | k) * WINDOW_L | l);
    window_move(t, whole, w);
    return floats_gather(t->F_sqr, lanes_slot(t, whole));
}

#endif
