/*
 * Derivatives of SQUARE and GAUSS in mixed precision, LANES pixels at a time through all steps of a
 * lattice: first the slopes of all terms, then one sum after the other, so that each stays in
 * registers.  A part of the loops of cpu_slopes.h, written as vectors.  What bounds it: arithmetic,
 * most of it the shape's.  By rotations and cell a term of SQUARE takes 102 multiplications, most
 * with a sum, 70 sums of their own and a division, for which a core of Zen 5 with AVX-512 needs 51
 * cycles and takes 75; 20 more are what is done once a point and once a pixel, for a still of 10
 * domains.  Of an image all that is 50 multiplications, a division and 43 cycles.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_LANES_H
#define BRAGG_ENGINE_CPU_SLOPES_LANES_H

#include "engine/cpu/lanes.h"
#include "engine/derivatives/cpu_slopes.h"
#include "engine/derivatives/cpu_slopes_gauss.h"
#include "engine/derivatives/cpu_slopes_square.h"
#include "engine/derivatives/cpu_slopes_window.h"

/* What is asked for; constants where the loop is called, but for the last. */
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

/* Twice the offset of the index along one cell vector, told by its opposite, which is never 0 but
 * for half of what it is a whole number of, and the nearest whole number. */
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

/* c[0] x + c[1] y + c[2] z. */
LANES_INLINE floats lanes_along(const float c[3], const floats x[3])
{
    return floats_fused(floats_of(c[0]), x[0], floats_fused(floats_of(c[1]), x[1], x[2] * c[2]));
}

enum { LANES_TERMS = 16 };  // terms at a time: what the first cache holds of them

/* Of each term along three axes: slopes by indices, or indices. */
typedef floats lanes_terms[LANES_TERMS][3];

/* Terms at hand. */
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

/* g_i times what the indices change by. */
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

/* g_i times the direct vectors as they lie. */
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

/* Indices and structure factors of steps as LANES pixels see them. */
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

/* Slopes of the terms, and what is summed up beside them.  Of SQUARE first what is told axis by
 * axis: a term is a chain so long that processors do not see the next one. */
LANES_INLINE void lanes_shape(const struct cpu_slopes_lattice *l, size_t count,
                              struct lanes_kind kind, struct lanes_batch *b,
                              struct lanes_sums *sums)
{
    floats value = sums->value;
    floats by_N[3] = {sums->cells[0], sums->cells[1], sums->cells[2]};
    if (kind.shape == SHAPE_SQUARE) {
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

/* Sums, times what multiplies them, go to those that are kept: `fresh`, there are none yet. */
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

/* Adds LANES_TERMS steps at most: one sum after the other, because there are not registers enough
 * for all at once. */
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

/* Sums of steps first .. end - 1 for pixels i .. i + LANES - 1. */
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

/* A function of its own for each, because compilers run out of registers in larger ones. */
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

/* Whether the lattice is summed here. */
INLINE bool is_in_lanes(const struct cpu_slopes_lattice *l)
{
    return l->shape == SHAPE_SQUARE || l->shape == SHAPE_GAUSS;
}

/* What a sum of such a lattice lacks. */
INLINE double lanes_lack(const struct cpu_slopes_lattice *l, int sum)
{
    if (sum < SLOPES_CELLS)
        return l->top * l->per_index[(sum - SLOPES_CELL) / 3] / 2.0;
    if (sum < SLOPES_RATE)
        return l->per_index[sum - SLOPES_CELLS] > 0.0 ? l->top * l->per_N : 0.0;
    return l->top;
}

/* Sets those sums of steps first .. end - 1 of such a lattice, for CPU_LANES n pixels, that differ
 * from source to source, and gathers the others. */
static void add_lanes(const struct cpu_slopes *job, const struct cpu_slopes_lattice *l,
                      size_t first, size_t end, int n, struct cpu_slopes_scratch *s,
                      struct cpu_slopes_gathered *to)
{
    static lanes_function *const all[2][2][2] = {
        {{square_plain, square_plain_cells}, {square_cell, square_cell_cells}},
        {{gauss_plain, gauss_plain_cells}, {gauss_cell, gauss_cell_cells}},
    };
    all[l->shape == SHAPE_GAUSS][job->cell][job->cells](job, l, first, end, n, s, to);
}

#endif
