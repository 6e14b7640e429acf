/*
 * The sum over phi steps and mosaic domains of one lattice for one direction: the
 * operations of cpu_loop.c and cpu_double_loop.c in the same order, for one pixel.
 * What bounds it on a card with half as many double units as single ones: the double
 * multiplications of h, k, l and their reduction, about 20 a step beside 60 single
 * ones, then the gather of F.  Whole numbers are read out of the bits of a sum, because
 * conversions from double run at an eighth of that rate.
 */
#ifndef BRAGG_GPU_LATTICE_H
#define BRAGG_GPU_LATTICE_H

#include "engine/cpu_point.h"
#include "gpu/frame.h"
#include "physics/shape_fast.h"

enum { GPU_FLOAT_TERMS = 64 };  // as CPU_FLOAT_TERMS

/* Scattering vector times INDEX_SCALE, 1/m. */
struct gpu_q {
    double x, y, z;
};

/* Indices of one step, times INDEX_SCALE. */
struct gpu_indices {
    double h, k, l;
};

INLINE struct gpu_indices gpu_indices(const double cell[9], struct gpu_q q)
{
    const struct gpu_indices i = {index_along(cell, q.x, q.y, q.z),
                                  index_along(cell + 3, q.x, q.y, q.z),
                                  index_along(cell + 6, q.x, q.y, q.z)};
    return i;
}

/* round_even(x), |x| < 2^31, and the same as an integer. */
INLINE double gpu_round(double x, int32_t *whole)
{
    const double sum = x + ROUND_MAGIC;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    *whole = (int32_t)(uint32_t)bits;
    return sum - ROUND_MAGIC;
}

/* As index_split. */
INLINE struct index_split gpu_split(double scaled)
{
    struct index_split s;
    s.rest = scaled - gpu_round(scaled, &s.fixed);
    return s;
}

/* As index_offset. */
INLINE double gpu_offset(double scaled, int32_t *nearest)
{
    const double h = scaled * (1.0 / INDEX_SCALE);
    const double d = h - gpu_round(h, nearest);
    *nearest -= d == -0.5;
    return d == -0.5 ? 0.5 : d;
}

/* ---- squared lattice factors of one step / shape_unit, and the slot of F ---------- */

INLINE float gpu_square(const struct cpu_lattice *l, const struct cpu_table *t,
                        struct gpu_indices at, int32_t *slot)
{
    const struct index_split h = gpu_split(at.h), k = gpu_split(at.k), m = gpu_split(at.l);
    float numerator = l->start, denominator = 1.0f;
    square_axis(h, l->N[0], l->turns[0], l->wide, &numerator, &denominator);
    square_axis(k, l->N[1], l->turns[1], l->wide, &numerator, &denominator);
    square_axis(m, l->N[2], l->turns[2], l->wide, &numerator, &denominator);
    const float ratio = numerator / denominator;
    *slot = table_slot(t, index_split_nearest(h), index_split_nearest(k), index_split_nearest(m));
    return ratio * ratio;
}

INLINE double gpu_square_double(const struct cpu_lattice *l, double dh, double dk, double dl)
{
    double numerator = (double)l->start, denominator = 1.0;
    square_axis_double(dh, (double)l->N[0], &numerator, &denominator);
    square_axis_double(dk, (double)l->N[1], &numerator, &denominator);
    square_axis_double(dl, (double)l->N[2], &numerator, &denominator);
    const double ratio = numerator / denominator;
    return ratio * ratio;
}

INLINE double gpu_round_shape(const struct cpu_lattice *l, double dh, double dk, double dl)
{
    return round_squared(fused(dh * dh, l->cells_fudge[0],
                               fused(dk * dk, l->cells_fudge[1], dl * dl * l->cells_fudge[2])));
}

/* Single precision, from double offsets where the shape wants them. */
INLINE float gpu_shape(const struct cpu_lattice *l, const struct cpu_table *t,
                       enum crystal_shape shape, struct gpu_indices at, int32_t *slot)
{
    if (shape == SHAPE_SQUARE)
        return gpu_square(l, t, at, slot);
    int32_t h, k, m;
    const double dh = gpu_offset(at.h, &h), dk = gpu_offset(at.k, &k), dl = gpu_offset(at.l, &m);
    *slot = table_slot(t, h, k, m);
    if (shape == SHAPE_ROUND)
        return (float)gpu_round_shape(l, dh, dk, dl);
    const double form = distance_of_form(l->form, dh, dk, dl);
    if (shape == SHAPE_GAUSS)
        return exp2_negative_f(form);
    return form < TOPHAT_LIMIT ? 1.0f : 0.0f;
}

INLINE double gpu_shape_double(const struct cpu_lattice *l, const struct cpu_table *t,
                               enum crystal_shape shape, struct gpu_indices at, int32_t *slot)
{
    int32_t h, k, m;
    const double dh = gpu_offset(at.h, &h), dk = gpu_offset(at.k, &k), dl = gpu_offset(at.l, &m);
    *slot = table_slot(t, h, k, m);
    if (shape == SHAPE_SQUARE)
        return gpu_square_double(l, dh, dk, dl);
    if (shape == SHAPE_ROUND)
        return gpu_round_shape(l, dh, dk, dl);
    const double form = distance_of_form(l->form, dh, dk, dl);
    if (shape == SHAPE_GAUSS)
        return exp2_negative(form);
    return form < TOPHAT_LIMIT ? 1.0 : 0.0;
}

/* ---- tricubic structure factors, as cpu_cubic.h ------------------------------------ */

/* The nodes along one axis: the first one, counted from the edge of the box, and weights
 * (Lagrange's of -1, 0, 1, 2). */
struct gpu_nodes {
    int32_t first;
    int room;  // whether the box has room for them
    double weight[4];
};

INLINE struct gpu_nodes gpu_nodes(const struct cpu_table *t, int axis, double h)
{
    struct gpu_nodes n;
    const double floor = floor_fast(h), at = h - floor;
    const double below = at + 1.0, above = at - 1.0, far = at - 2.0;
    n.room = (h - t->min[axis] + 3.0 <= t->count[axis]) & (h - 2.0 >= t->min[axis]);
    n.first = n.room ? (int32_t)floor - 1 - t->min[axis] : 0;
    n.weight[0] = at * above * far * (-1.0 / 6.0);
    n.weight[1] = below * above * far * 0.5;
    n.weight[2] = below * at * far * -0.5;
    n.weight[3] = below * at * above * (1.0 / 6.0);
    return n;
}

/* Sets *F in electrons; false where there is no room for the nodes. */
INLINE bool gpu_tricubic(const struct cpu_table *t, struct gpu_indices at, double *F)
{
    const struct gpu_nodes h = gpu_nodes(t, 0, at.h * (1.0 / INDEX_SCALE));
    const struct gpu_nodes k = gpu_nodes(t, 1, at.k * (1.0 / INDEX_SCALE));
    const struct gpu_nodes l = gpu_nodes(t, 2, at.l * (1.0 / INDEX_SCALE));
    if (!(h.room & k.room & l.room))
        return false;
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            const int64_t row = (int64_t)(h.first + a) * t->count[1] + (k.first + b);
            const double *node = t->F + row * t->count[2] + l.first;
            const double weight = h.weight[a] * k.weight[b];
            for (int j = 0; j < 4; j++)
                sum[j] = fused(weight, node[j], sum[j]);
        }
    const double low = fused(l.weight[0], sum[0], l.weight[1] * sum[1]);
    *F = low + fused(l.weight[2], sum[2], l.weight[3] * sum[3]);
    return true;
}

/* Squared tricubic factor relative to F_max squared; the nearest one where there is no
 * room. */
INLINE double gpu_tricubic_sqr(const struct cpu_table *t, struct gpu_indices at, double nearest)
{
    double F;
    if (!gpu_tricubic(t, at, &F))
        return nearest;
    const double unit = 1.0 / t->F_max;
    return (unit * F) * (unit * F);
}

/* ---- sums ------------------------------------------------------------------------- */

/* What a lattice of that shape adds for one source and subpixel, to *total; `factor`
 * multiplies all its terms.  `shape` and `cubic` are constants where it is called. */
INLINE void gpu_add_mixed(const struct cpu_lattice *lattice, enum crystal_shape shape, bool cubic,
                          struct gpu_q q, double factor, double *total)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *l.table;
    const double *cell = l.cells;
    for (size_t left = l.nsteps; left > 0;) {
        const int terms = left > GPU_FLOAT_TERMS ? GPU_FLOAT_TERMS : (int)left;
        float sum = 0.0f;
        for (int i = 0; i < terms; i++, cell += 9) {
            int32_t slot;
            const struct gpu_indices at = gpu_indices(cell, q);
            const float value = gpu_shape(&l, &t, shape, at, &slot);
            float F_sqr = t.F_sqr[slot];
            if (cubic)
                F_sqr = (float)gpu_tricubic_sqr(&t, at, (double)F_sqr);
            sum = fused_f(value, F_sqr, sum);
        }
        *total = fused(factor * l.scale, (double)sum, *total);
        left -= (size_t)terms;
    }
}

INLINE void gpu_add_double(const struct cpu_lattice *lattice, enum crystal_shape shape, bool cubic,
                           struct gpu_q q, double factor, double *total)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *l.table;
    double sum = 0.0;
    for (size_t i = 0; i < l.nsteps; i++) {
        int32_t slot;
        const struct gpu_indices at = gpu_indices(l.cells + 9 * i, q);
        const double value = gpu_shape_double(&l, &t, shape, at, &slot);
        double F_sqr = t.F_sqr_double[slot];
        if (cubic)
            F_sqr = gpu_tricubic_sqr(&t, at, F_sqr);
        sum = fused(value, F_sqr, sum);
    }
    *total = fused(factor * l.scale, sum, *total);
}

INLINE void gpu_add_shape(const struct cpu_lattice *l, enum crystal_shape shape,
                          struct gpu_kind kind, struct gpu_q q, double factor, double *total)
{
    if (kind.cubic && l->table->F) {
        if (kind.precise)
            gpu_add_double(l, shape, true, q, factor, total);
        else
            gpu_add_mixed(l, shape, true, q, factor, total);
    } else if (kind.precise) {
        gpu_add_double(l, shape, false, q, factor, total);
    } else {
        gpu_add_mixed(l, shape, false, q, factor, total);
    }
}

/* One constant shape per line, so that each becomes a loop of its own; which one is the
 * same for all threads. */
INLINE void gpu_add_lattice(const struct cpu_lattice *l, struct gpu_kind kind, struct gpu_q q,
                            double factor, double *total)
{
    switch (l->shape) {
    case SHAPE_SQUARE:
        gpu_add_shape(l, SHAPE_SQUARE, kind, q, factor, total);
        break;
    case SHAPE_ROUND:
        gpu_add_shape(l, SHAPE_ROUND, kind, q, factor, total);
        break;
    case SHAPE_GAUSS:
        gpu_add_shape(l, SHAPE_GAUSS, kind, q, factor, total);
        break;
    case SHAPE_TOPHAT:
        gpu_add_shape(l, SHAPE_TOPHAT, kind, q, factor, total);
        break;
    }
}

#endif
