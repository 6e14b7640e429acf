/*
 * Derivatives of SQUARE and GAUSS in mixed precision, LANES pixels at a time through all steps of a
 * lattice.  The slopes of all terms come first, then one sum after the other, so that each sum
 * stays in registers.  This file is a part of the loops of cpu_slopes.h, written as vectors.  The
 * formulas are those of physics/crystal/shape_slopes.h.  square_term and gauss_term of
 * slopes_shapes.h compute the same in double precision.
 *
 * Arithmetic limits the speed, and most of it belongs to the shape.  With derivatives by rotations
 * and cell, a term of SQUARE takes 102 multiplications, most of which are fused with an addition,
 * 70 separate additions and a division.  The shape alone takes 72 of the multiplications, and
 * twelve polynomials take 30 of these.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_LANES_H
#define BRAGG_ENGINE_CPU_SLOPES_LANES_H

#include <string.h>

#include "engine/cpu/lanes.h"
#include "engine/derivatives/cpu_slopes.h"
#include "engine/prepared.h"
#include "physics/fastmath.h"

/* ---- the shape GAUSS -------------------------------------------------------------------- */

/* Returns the same as exp2_negative_f. */
LANES_INLINE floats lanes_exp2_negative(floats t)
{
    const float magic = 0x1.8p23f;
    const floats limit = floats_of((float)EXP2_LIMIT);
    const ints lit = (ints)(t <= limit);
    const floats bounded = floats_select(lit, t, limit), n = (bounded + magic) - magic;
    const floats f = n - bounded;
    floats p = floats_fused(floats_of(0x1.41d332p-13f), f, floats_of(0x1.5f456ap-10f));
    p = floats_fused(p, f, floats_of(0x1.3b2dbcp-7f));
    p = floats_fused(p, f, floats_of(0x1.c6aed4p-5f));
    p = floats_fused(p, f, floats_of(0x1.ebfbdap-3f));
    p = floats_fused(p, f, floats_of(0x1.62e430p-1f));
    p = floats_fused(p, f, floats_of(1.0f));
    const words power = (words)(127 + EXP2_BIAS - ints_of_floats(n));
    return (floats)((ints)(p * (floats)(power << 23)) & lit);
}

/* V^2 exp(-2 fudge R/0.63), R = sum (N_i d_i)^2, from 2 d_i: slopes of F S by indices, over cells
 * along the axis, and what is added to sums: F S, its slopes by cells and by fudge. */
LANES_INLINE void gauss_lanes(const struct cpu_slopes_lattice *l, const floats d[3], floats F,
                              bool cells, floats by_index[3], floats *value, floats by_N[3],
                              floats *by_fudge)
{
    const double volume = l->N[0] * l->N[1] * l->N[2], steep = 2.0 * l->fudge / 0.63;
    const float top = (float)(volume * volume * 0x1p-100), exponent = (float)(steep * M_LOG2E);
    const float half[3] = {(float)(l->N[0] / 2.0), (float)(l->N[1] / 2.0), (float)(l->N[2] / 2.0)};
    const floats x[3] = {d[0] * half[0], d[1] * half[1], d[2] * half[2]};
    const floats R = floats_fused(x[0], x[0], floats_fused(x[1], x[1], x[2] * x[2]));
    const floats one = lanes_exp2_negative(R * exponent) * top * F;
    const floats lean = one * (float)-steep, slope = lean + lean;
    *value += one;
    *by_fudge = floats_fused(R * (float)(-2.0 / 0.63), one, *by_fudge);
    for (int i = 0; i < 3; i++) {
        by_index[i] = slope * x[i];
        if (cells)
            by_N[i] = floats_fused(floats_fused(lean * x[i], x[i], one), floats_of(1.0f / half[i]),
                                   by_N[i]);
    }
}

/* ---- the shape SQUARE ------------------------------------------------------------------- */

#define LANES_NEAREST 0x1.8p24f  // of even numbers

/* sin(pi d)/(pi d), and cos(pi d) less that, from y = (2 d)^2, |d| <= 1/2, both times constants:
 * relative errors 7e-8 and 3e-7 before rounding.  The cosine is their sum, the first one times
 * SLOPES_SQUARE_SINE.  Both are products of quadratics, three of which differ by a constant less y
 * in this unit, so that two additions make one of another. */
LANES_INLINE void lanes_waves(floats y, floats *sine, floats *lean)
{
    const floats first = floats_fused(y + floats_of(-0x1.bf3df8p+3f), y, floats_of(0x1.400850p+5f));
    const floats second = first + (floats_of(0x1.942b7cp+7f) - y);
    const floats third = second + (floats_of(-0x1.767e0cp+6f) - y);
    *sine = first * second;
    *lean = ((y + floats_of(-0x1.cc062ep+2f)) * y) * third;
}

/* The parts of sigma = sin(pi N d)/(N sin(pi d)) along one axis. N d is the sum of a whole
 * number n and a fraction t. */
struct lanes_grating {
    floats above, below;   // numerator and denominator
    floats across, along;  // across - sigma along is the slope of sigma by d, times below/N
    floats by_N;           // that of N sigma by N, times below/N, up to the numerator's sign
};

/* Sets *g for `d`, twice the offset, which is not 0.  The slope contains the cosines of both
 * angles.  At a spot, where n is 0, a cosine is close to 1, and only its difference from 1 matters.
 * The sines are left out there, because they cancel. */
LANES_INLINE void lanes_grating(floats d, float N, bool cells, struct lanes_grating *g)
{
    const floats x = d * N, sine = floats_of(SLOPES_SQUARE_SINE);
    const floats n = (x + LANES_NEAREST) - LANES_NEAREST, t = floats_fused(floats_of(N), d, -n);
    floats sine_d, lean_d, sine_t, lean_t;
    lanes_waves(d * d, &sine_d, &lean_d);
    lanes_waves(t * t, &sine_t, &lean_t);
    const lanes_mask beside = lanes_nonzero(n);
    g->above = t * sine_t;
    g->below = x * sine_d;
    g->across = floats_fused_where(beside, sine_t, sine, lean_t);
    g->along = floats_fused_where(beside, sine_d, sine, lean_d);
    if (cells)
        g->by_N = floats_fused(sine_t, sine, lean_t) * d;
}

/* Sets by_index[] to the slopes of F S by indices, and adds F S to *value and its slopes by cells
 * to by_N[].  All results are divided by the square of the number of cells, and slopes by indices
 * also by the number of cells along the axis.  Slopes are without the constant factors of struct
 * cpu_slopes_lattice.  For a single cell along an axis the slopes by it are meaningless.  There is
 * only one division: products of the numerators, of the denominators and of both replace the
 * quotients. */
LANES_INLINE void square_lanes(const struct lanes_grating axes[3], floats F, bool cells,
                               floats by_index[3], floats *value, floats by_N[3])
{
    const struct lanes_grating x = axes[0], y = axes[1], z = axes[2];
    const floats below = x.below * y.below, above = x.above * y.above;
    const floats inverse = 1.0f / (below * z.below), product = above * z.above * inverse;
    const floats part = F * product, slope = (part + part) * inverse;
    const floats e0 = y.above * z.above, e1 = x.above * z.above;
    const floats b0 = y.below * z.below * x.along, b1 = x.below * z.below * y.along;
    *value = floats_fused(part, product, *value);
    by_index[0] = slope * floats_fused(-product, b0, e0 * x.across);
    by_index[1] = slope * floats_fused(-product, b1, e1 * y.across);
    by_index[2] = slope * floats_fused(-product, below * z.along, above * z.across);
    if (!cells)
        return;
    by_N[0] = floats_fused(slope * e0, x.by_N, by_N[0]);
    by_N[1] = floats_fused(slope * e1, y.by_N, by_N[1]);
    by_N[2] = floats_fused(slope * above, z.by_N, by_N[2]);
}

/* ---- windows of structure factors -------------------------------------------------------
 *
 * Neighbouring pixels see the same few reflections, and so do the steps of a lattice, which differ
 * by little.  The structure factors of a window of two by two by WINDOW_L reflections are kept in a
 * register, from which a shuffle takes them.  A step that leaves the window gets a new one. */

enum { WINDOW_L = LANES >= 8 ? LANES / 4 : 1 };  // a power of two; 1: there is no shuffle

/* Returns true if any bit is set. */
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

/* Returns the items at[i] < LANES of a vector. */
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

/* Finds a window of reflections in the table.  The window begins at the smallest indices of the
 * outer lanes.  Returns false if the window reaches beyond the table. */
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

/* Looks up the squared structure factors of the reflections whole[]. */
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

/* ---- terms ------------------------------------------------------------------------------ */

/* What the loop computes. All members except the last one are constants at each call. */
struct lanes_kind {
    enum crystal_shape shape;  // SQUARE or GAUSS
    bool cell, cells;
    const struct cpu_slopes *job;
};

/* As enum slopes_sum. */
struct lanes_sums {
    floats cell[9], cells[3], rate[SLOPES_RATES], fudge, value, v[3];
};

/* Fixed point: the low half of FIXED_MAGIC - h is what h is off the nearest whole number, halves
 * down, in 2^-32 and but for a half; the high half is FIXED_HIGH less that number.  |h| < 2^19. */
#define FIXED_MAGIC (0x1.8p20 + 0.5)
#define FIXED_HIGH 0x41380000u

/* Returns twice the offset of the index along a cell vector, and sets *whole to the nearest whole
 * number.  `c` is the opposite of the cell vector.  The result is an odd multiple of 2^-32, and
 * therefore never 0. */
LANES_INLINE floats lanes_offset(const double c[3], const struct doubles_pair q[3], words *whole)
{
    const doubles x = doubles_of(c[0]), y = doubles_of(c[1]), z = doubles_of(c[2]);
    const doubles magic = doubles_of(FIXED_MAGIC);
    const long_words first = (long_words)doubles_fused(
        x, q[0].first, doubles_fused(y, q[1].first, doubles_fused(z, q[2].first, magic)));
    const long_words second = (long_words)doubles_fused(
        x, q[0].second, doubles_fused(y, q[1].second, doubles_fused(z, q[2].second, magic)));
    *whole = FIXED_HIGH - words_high(first, second);
    const floats off = floats_of_ints(words_low(first, second) ^ 0x80000000u);
    return floats_fused(off, floats_of(-0x1p-31f), floats_of(-0x1p-32f));
}

/* Returns c[0] x + c[1] y + c[2] z. */
LANES_INLINE floats lanes_along(const float c[3], const floats x[3])
{
    return floats_fused(floats_of(c[0]), x[0], floats_fused(floats_of(c[1]), x[1], x[2] * c[2]));
}

enum { LANES_TERMS = 16 };  // terms at a time: what the first cache holds of them

/* For each term and three axes: slopes by indices, or indices. */
typedef floats lanes_terms[LANES_TERMS][3];

/* The current terms. */
struct lanes_batch {
    lanes_terms d, g, h;  // twice the offsets of indices, slopes by them, twice the indices
    words whole[LANES_TERMS][3];
    floats F_sqr[LANES_TERMS];
    struct lanes_grating axes[LANES_TERMS][3];  // SQUARE
};

/* g_i h_k and, with `which`, their sum by that rate: products are of both.  Several sums of the
 * rate, because one would wait for itself. */
LANES_INLINE void lanes_cell(const struct cpu_slopes_step *step, size_t count, int which,
                             const lanes_terms g, const lanes_terms h, struct lanes_sums *sums)
{
    floats cell[9], rate[5] = {{0}};
    for (int i = 0; i < 9; i++)
        cell[i] = sums->cell[i];
    for (size_t k = 0; k < count; k++)
        for (int i = 0; i < 9; i++) {
            const floats a = g[k][i / 3], b = h[k][i % 3];
            const floats product = a * b;
            cell[i] = which < 0 ? floats_fused(a, b, cell[i]) : cell[i] + product;
            if (which >= 0)
                rate[i % 5] =
                    floats_fused(product, floats_of(step[k].rate_f[which][i]), rate[i % 5]);
        }
    for (int i = 0; i < 9; i++)
        sums->cell[i] = cell[i];
    if (which >= 0)
        sums->rate[which] += ((rate[0] + rate[1]) + (rate[2] + rate[3])) + rate[4];
}

/* Adds g_i times the changes of the indices. */
LANES_INLINE void lanes_rate(const struct cpu_slopes_step *step, size_t count, int which,
                             const lanes_terms g, const lanes_terms h, floats *sum)
{
    for (size_t k = 0; k < count; k++) {
        const float *rate = step[k].rate_f[which];
        *sum += floats_fused(g[k][0], lanes_along(rate, h[k]),
                             floats_fused(g[k][1], lanes_along(rate + 3, h[k]),
                                          g[k][2] * lanes_along(rate + 6, h[k])));
    }
}

/* Adds g_i times the rotated direct vectors. */
LANES_INLINE void lanes_v(const struct cpu_slopes_step *step, size_t count, const lanes_terms g,
                          floats sums[3])
{
    for (size_t k = 0; k < count; k++)
        for (int j = 0; j < 3; j++) {
            const float *cell = step[k].cell_A;
            sums[j] +=
                floats_fused(g[k][0], floats_of(cell[j]),
                             floats_fused(g[k][1], floats_of(cell[3 + j]), g[k][2] * cell[6 + j]));
        }
}

/* Computes the indices and structure factors of steps for LANES pixels. */
LANES_INLINE void lanes_look(const struct cpu_slopes_lattice *l, const struct cpu_slopes_step *step,
                             size_t count, const struct doubles_pair q[3],
                             struct lanes_window *window, struct lanes_batch *b)
{
    for (size_t k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) {
            b->d[k][i] = lanes_offset(step[k].opposite + 3 * i, q, &b->whole[k][i]);
            b->h[k][i] = floats_of_ints(b->whole[k][i] + b->whole[k][i]) + b->d[k][i];
        }
    if (l->table->flat)
        for (size_t k = 0; k < count; k++)
            b->F_sqr[k] = floats_of(l->table->F_sqr[0]);
    else
        for (size_t k = 0; k < count; k++)
            b->F_sqr[k] = lanes_look_up(l->table, b->whole[k], window);
}

/* Computes the slopes of the terms, and the other sums.  For SQUARE, everything that belongs to one
 * axis comes first, axis by axis.  The chain of operations of a term is so long that a CPU would
 * not reach the next term before the end of the chain. */
LANES_INLINE void lanes_shape(const struct cpu_slopes_lattice *l, size_t count,
                              struct lanes_kind kind, struct lanes_batch *b,
                              struct lanes_sums *sums)
{
    floats value = sums->value;
    floats by_N[3] = {sums->cells[0], sums->cells[1], sums->cells[2]};
    if (shape_is_grating(kind.shape)) {
        for (int i = 0; i < 3; i++)
            for (size_t k = 0; k < count; k++)
                lanes_grating(b->d[k][i], (float)l->N[i], kind.cells, &b->axes[k][i]);
        for (size_t k = 0; k < count; k++)
            square_lanes(b->axes[k], b->F_sqr[k], kind.cells, b->g[k], &value, by_N);
    } else {
        for (size_t k = 0; k < count; k++)
            gauss_lanes(l, b->d[k], b->F_sqr[k], kind.cells, b->g[k], &value, by_N, &sums->fudge);
    }
    sums->value = value;
    for (int i = 0; i < 3; i++)
        sums->cells[i] = by_N[i];
}

/* Adds sums, times a factor, to the gathered sums. `fresh`: the gathered sums are still empty. */
LANES_INLINE void lanes_gather(const floats *from, int count, int sum, int i, floats factor,
                               bool fresh, struct cpu_slopes_gathered *g)
{
    for (int k = 0; k < count; k++) {
        float *to = g->sums[sum + k] + i;
        floats_store(to, fresh ? factor * from[k] : floats_fused(factor, from[k], floats_load(to)));
    }
}

LANES_INLINE void lanes_give(const struct lanes_sums *sums, struct lanes_kind kind, int i,
                             bool fresh, struct cpu_slopes_scratch *s,
                             struct cpu_slopes_gathered *g)
{
    const floats factor = floats_load(s->factor_f + i);
    floats_store(s->terms.in_float.sums[SLOPES_VALUE] + i, sums->value);
    for (int k = 0; k < 3 && kind.job->v; k++)
        floats_store(s->terms.in_float.sums[SLOPES_V + k] + i, sums->v[k]);
    if (kind.cell)
        lanes_gather(sums->cell, 9, SLOPES_CELL, i, factor, fresh, g);
    if (kind.cells)
        lanes_gather(sums->cells, 3, SLOPES_CELLS, i, factor, fresh, g);
    for (int k = 0; k < SLOPES_RATES; k++)
        if (kind.job->rate[k])
            lanes_gather(&sums->rate[k], 1, SLOPES_RATE + k, i, factor, fresh, g);
    if (kind.job->fudge)
        lanes_gather(&sums->fudge, 1, SLOPES_FUDGE, i, factor, fresh, g);
    if (kind.job->share)
        lanes_gather(&sums->value, 1, SLOPES_VALUE, i, factor, fresh, g);
}

/* Adds at most LANES_TERMS steps. One sum is computed after the other, because there are not
 * enough registers for all sums at once. */
LANES_INLINE void lanes_steps(const struct cpu_slopes_lattice *l,
                              const struct cpu_slopes_step *step, size_t count,
                              struct lanes_kind kind, const struct doubles_pair q[3],
                              struct lanes_window *window, struct lanes_sums *sums)
{
    struct lanes_batch b;
    lanes_look(l, step, count, q, window, &b);
    lanes_shape(l, count, kind, &b, sums);
    const bool both = kind.cell && kind.job->rate[SLOPES_MOSAIC];
    if (both)
        lanes_cell(step, count, SLOPES_MOSAIC, b.g, b.h, sums);
    else if (kind.cell)
        lanes_cell(step, count, -1, b.g, b.h, sums);
    for (int k = both ? SLOPES_PHI : 0; k < SLOPES_RATES; k++)
        if (kind.job->rate[k])
            lanes_rate(step, count, k, b.g, b.h, &sums->rate[k]);
    if (kind.job->v)
        lanes_v(step, count, b.g, sums->v);
}

/* Computes the sums of the steps first .. end - 1 for the pixels i .. i + LANES - 1. */
LANES_INLINE void lanes_pixels(const struct cpu_slopes_lattice *l, size_t first, size_t end,
                               struct lanes_kind kind, int i, struct cpu_slopes_scratch *s,
                               struct cpu_slopes_gathered *to)
{
    struct lanes_sums sums = {0};
    struct lanes_window window = lanes_window_load(to, i);
    struct doubles_pair q[3];
    for (int k = 0; k < 3; k++)
        q[k] = doubles_pair_load(s->q[k] + i, true);
    for (; first < end; first += LANES_TERMS) {
        const size_t left = end - first;
        lanes_steps(l, l->steps + first, left < LANES_TERMS ? left : LANES_TERMS, kind, q, &window,
                    &sums);
    }
    lanes_window_store(to, i, window);
    if (to->terms)
        lanes_give(&sums, kind, i, false, s, to);
    else
        lanes_give(&sums, kind, i, true, s, to);
}

/* Each combination of constants has a function of its own, because compilers run out of
 * registers in larger functions. */
#define LANES_FUNCTION(name, shape, is_cell, is_cells)                                   \
    __attribute__((noinline)) static void name(                                          \
        const struct cpu_slopes *job, const struct cpu_slopes_lattice *l, size_t first,  \
        size_t end, int n, struct cpu_slopes_scratch *s, struct cpu_slopes_gathered *to) \
    {                                                                                    \
        const struct lanes_kind kind = {shape, (is_cell), (is_cells), job};              \
        for (int i = 0; i < CPU_LANES * n; i += LANES)                                   \
            lanes_pixels(l, first, end, kind, i, s, to);                                 \
    }
#define LANES_FUNCTIONS(name, shape)                       \
    LANES_FUNCTION(name##_plain, shape, false, false)      \
    LANES_FUNCTION(name##_plain_cells, shape, false, true) \
    LANES_FUNCTION(name##_cell, shape, true, false)        \
    LANES_FUNCTION(name##_cell_cells, shape, true, true)
LANES_FUNCTIONS(square, SHAPE_SQUARE)
LANES_FUNCTIONS(gauss, SHAPE_GAUSS)

typedef void lanes_function(const struct cpu_slopes *job, const struct cpu_slopes_lattice *l,
                            size_t first, size_t end, int n, struct cpu_slopes_scratch *s,
                            struct cpu_slopes_gathered *to);

/* Returns true if this file sums lattices of that shape. */
INLINE bool is_in_lanes(enum crystal_shape shape)
{
    return shape_is_grating(shape) || shape_is_gaussian(shape);
}

/* Returns the factor that this file omits from a sum of such a lattice. */
INLINE double lanes_lack(const struct cpu_slopes_lattice *l, int sum)
{
    if (sum < SLOPES_CELLS)
        return l->top * l->per_index[(sum - SLOPES_CELL) / 3] / 2.0;
    if (sum < SLOPES_RATE)
        return l->per_index[sum - SLOPES_CELLS] > 0.0 ? l->top * l->per_N : 0.0;
    return l->top;
}

/* Adds the steps first .. end - 1 of such a lattice for CPU_LANES n pixels. It sets the sums
 * that differ between sources, and gathers the other sums. */
static void add_lanes(const struct cpu_slopes *job, const struct cpu_slopes_lattice *l,
                      size_t first, size_t end, int n, struct cpu_slopes_scratch *s,
                      struct cpu_slopes_gathered *to)
{
    static lanes_function *const all[2][2][2] = {
        {{square_plain, square_plain_cells}, {square_cell, square_cell_cells}},
        {{gauss_plain, gauss_plain_cells}, {gauss_cell, gauss_cell_cells}},
    };
    all[shape_is_gaussian(l->shape)][job->cell][job->cells](job, l, first, end, n, s, to);
}

#endif
