/*
 * Derivatives of SQUARE and GAUSS in mixed precision, LANES pixels at a time through all steps of a
 * lattice: first the slopes of all terms, then one sum after the other, so that each stays in
 * registers.  A part of the loops of cpu_slopes.h, written as vectors.  What bounds it: arithmetic,
 * most of it the shape's.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_LANES_H
#define BRAGG_ENGINE_CPU_SLOPES_LANES_H

#include "engine/cpu_slopes.h"
#include "engine/cpu_slopes_gauss.h"
#include "engine/cpu_slopes_square.h"
#include "engine/cpu_slopes_window.h"
#include "engine/lanes.h"

/* What is asked for; constants where the loop is called, but for the last two. */
struct lanes_kind {
    enum crystal_shape shape;  // SQUARE or GAUSS
    bool cell, turned, cells;
    bool v;
    const bool *rate;  // [SLOPES_RATES]
};

/* As enum slopes_sum. */
struct lanes_sums {
    floats cell[9], cells[3], rate[SLOPES_RATES], fudge, value, v[3];
};

/* Fixed point: the low half of FIXED_MAGIC - h is what h is off the nearest whole number, halves
 * down, in 2^-32 and but for a half; the high half is FIXED_HIGH less that number.  |h| < 2^19. */
#define FIXED_MAGIC (0x1.8p20 + 0.5)
#define FIXED_HIGH 0x41380000u

/* Offset of the index along one cell vector, which is never 0 but for half of what it is a whole
 * number of, and the nearest whole number. */
LANES_INLINE floats lanes_offset(const double c[3], const struct doubles_pair q[3], words *whole)
{
    const doubles x = doubles_of(-c[0]), y = doubles_of(-c[1]), z = doubles_of(-c[2]);
    const doubles magic = doubles_of(FIXED_MAGIC);
    const long_words first = (long_words)doubles_fused(
        x, q[0].first, doubles_fused(y, q[1].first, doubles_fused(z, q[2].first, magic)));
    const long_words second = (long_words)doubles_fused(
        x, q[0].second, doubles_fused(y, q[1].second, doubles_fused(z, q[2].second, magic)));
    *whole = FIXED_HIGH - words_high(first, second);
    const floats off = floats_of_ints(words_low(first, second) ^ 0x80000000u);
    return floats_fused(off, floats_of(-0x1p-32f), floats_of(-0x1p-33f));
}

/* c[0] x + c[1] y + c[2] z. */
LANES_INLINE floats lanes_along(const float c[3], const floats x[3])
{
    return floats_fused(floats_of(c[0]), x[0], floats_fused(floats_of(c[1]), x[1], x[2] * c[2]));
}

/* Slopes of the terms by indices. */
typedef floats lanes_slopes[SLOPES_TERMS][3];

/* g_i q_j, q turned back to phi 0. */
LANES_INLINE void lanes_cell(const struct cpu_slopes_step *step, size_t count, bool turned,
                             const floats q[3], const lanes_slopes g, floats sums[9])
{
    for (size_t k = 0; k < count; k++) {
        floats at[3] = {q[0], q[1], q[2]};
        if (turned)
            for (int j = 0; j < 3; j++)
                at[j] = lanes_along(step[k].in_A.back + 3 * j, q);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sums[3 * i + j] = floats_fused(g[k][i], at[j], sums[3 * i + j]);
    }
}

/* g_i times what the indices change by. */
LANES_INLINE void lanes_rate(const struct cpu_slopes_step *step, size_t count, int which,
                             const floats q[3], const lanes_slopes g, floats *sum)
{
    for (size_t k = 0; k < count; k++) {
        const float *rate = step[k].in_A.rate[which];
        *sum += floats_fused(
            g[k][0], lanes_along(rate, q),
            floats_fused(g[k][1], lanes_along(rate + 3, q), g[k][2] * lanes_along(rate + 6, q)));
    }
}

/* g_i times the direct vectors as they lie. */
LANES_INLINE void lanes_v(const struct cpu_slopes_step *step, size_t count, const lanes_slopes g,
                          floats sums[3])
{
    for (size_t k = 0; k < count; k++)
        for (int j = 0; j < 3; j++) {
            const float *cell = step[k].in_A.cell;
            sums[j] +=
                floats_fused(g[k][0], floats_of(cell[j]),
                             floats_fused(g[k][1], floats_of(cell[3 + j]), g[k][2] * cell[6 + j]));
        }
}

/* One step as LANES pixels see it. */
LANES_INLINE void lanes_term(const struct cpu_slopes_lattice *l, const struct cpu_slopes_step *step,
                             struct lanes_kind kind, const struct doubles_pair q[3],
                             struct lanes_window *window, floats g[3], struct lanes_sums *sums)
{
    floats d[3];
    words whole[3];
    for (int i = 0; i < 3; i++)
        d[i] = lanes_offset(step->cell + 3 * i, q, &whole[i]);
    const floats F_sqr =
        l->table->flat ? floats_of(l->table->F_sqr[0]) : lanes_look_up(l->table, whole, window);
    if (kind.shape == SHAPE_SQUARE)
        square_lanes(l, d, F_sqr, kind.cells, g, &sums->value, sums->cells);
    else
        gauss_lanes(l, d, F_sqr, kind.cells, g, &sums->value, sums->cells, &sums->fudge);
}

LANES_INLINE void lanes_store(const floats *from, int count, int sum, int i,
                              struct cpu_slopes_scratch *s)
{
    for (int k = 0; k < count; k++)
        floats_store(s->terms.in_float.sums[sum + k] + i, from[k]);
}

/* Sums of steps first .. end - 1 for pixels i .. i + LANES - 1: one after the other, because there
 * are not registers enough for all at once. */
LANES_INLINE void lanes_steps(const struct cpu_slopes_lattice *l, size_t first, size_t end,
                              struct lanes_kind kind, int i, struct cpu_slopes_scratch *s)
{
    struct lanes_sums sums = {0};
    const struct cpu_slopes_step *const steps = l->steps + first;
    const size_t count = end - first;
    lanes_slopes g;
    struct lanes_window window = lanes_window_none();
    struct doubles_pair q[3];
    floats q_A[3];
    for (int k = 0; k < 3; k++) {
        q[k] = doubles_pair_load(s->q[k] + i, true);
        q_A[k] = floats_load(s->terms.in_float.q[k] + i);
    }
    for (size_t k = 0; k < count; k++)
        lanes_term(l, &steps[k], kind, q, &window, g[k], &sums);
    if (kind.cell)
        lanes_cell(steps, count, kind.turned, q_A, g, sums.cell);
    for (int k = 0; k < SLOPES_RATES; k++)
        if (kind.rate[k])
            lanes_rate(steps, count, k, q_A, g, &sums.rate[k]);
    if (kind.v)
        lanes_v(steps, count, g, sums.v);
    lanes_store(&sums.value, 1, SLOPES_VALUE, i, s);
    lanes_store(&sums.fudge, 1, SLOPES_FUDGE, i, s);
    lanes_store(sums.rate, SLOPES_RATES, SLOPES_RATE, i, s);
    lanes_store(sums.v, 3, SLOPES_V, i, s);
    if (kind.cell)
        lanes_store(sums.cell, 9, SLOPES_CELL, i, s);
    if (kind.cells)
        lanes_store(sums.cells, 3, SLOPES_CELLS, i, s);
}

/* A function of its own for each, because compilers run out of registers in larger ones. */
#define LANES_FUNCTION(name, shape, is_cell, is_turned, is_cells)                                \
    __attribute__((noinline)) static void name(const struct cpu_slopes *job,                     \
                                               const struct cpu_slopes_lattice *l, size_t first, \
                                               size_t end, int n, struct cpu_slopes_scratch *s)  \
    {                                                                                            \
        const struct lanes_kind kind = {shape,      (is_cell), (is_turned),                      \
                                        (is_cells), job->v,    job->rate};                       \
        for (int i = 0; i < CPU_LANES * n; i += LANES)                                           \
            lanes_steps(l, first, end, kind, i, s);                                              \
    }
#define LANES_FUNCTIONS(name, shape)                              \
    LANES_FUNCTION(name##_plain, shape, false, false, false)      \
    LANES_FUNCTION(name##_plain_cells, shape, false, false, true) \
    LANES_FUNCTION(name##_still, shape, true, false, false)       \
    LANES_FUNCTION(name##_still_cells, shape, true, false, true)  \
    LANES_FUNCTION(name##_turned, shape, true, true, false)       \
    LANES_FUNCTION(name##_turned_cells, shape, true, true, true)
LANES_FUNCTIONS(square, SHAPE_SQUARE)
LANES_FUNCTIONS(gauss, SHAPE_GAUSS)

typedef void lanes_function(const struct cpu_slopes *job, const struct cpu_slopes_lattice *l,
                            size_t first, size_t end, int n, struct cpu_slopes_scratch *s);

/* Sets the sums of steps first .. end - 1 of a lattice for CPU_LANES n pixels; false for a shape
 * that is not here. */
static bool add_lanes(const struct cpu_slopes *job, const struct cpu_slopes_lattice *l,
                      size_t first, size_t end, int n, struct cpu_slopes_scratch *s)
{
    static lanes_function *const all[2][3][2] = {
        {{square_plain, square_plain_cells},
         {square_still, square_still_cells},
         {square_turned, square_turned_cells}},
        {{gauss_plain, gauss_plain_cells},
         {gauss_still, gauss_still_cells},
         {gauss_turned, gauss_turned_cells}},
    };
    if (l->shape != SHAPE_SQUARE && l->shape != SHAPE_GAUSS)
        return false;
    const int turned = l->turned ? 2 : 1;
    all[l->shape == SHAPE_GAUSS][job->cell ? turned : 0][job->cells](job, l, first, end, n, s);
    return true;
}

#endif
