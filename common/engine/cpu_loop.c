/*
 * The loop of the CPU engine in its usual precision for what cpu_dense_loop.c does not take,
 * curved panels, ROUND, GAUSS and TOPHAT, tricubic structure factors, very large crystals,
 * indices and tables: indices in double, reduced to
 * their fractions; lattice factors and short sums in float.  Compiled once per
 * instruction set, see cpu_block.h.  What bounds it: arithmetic, never memory.
 */
#include <string.h>

#include "engine/cpu_block.h"
#include "engine/cpu_cubic.h"
#include "engine/cpu_spots.h"
#include "physics/shape_fast.h"

/* SQUARE: squared lattice factors of one step, and slots where `indexed`; bounded by
 * multiplications. */
INLINE void square_shape(const struct cpu_lattice *lattice, const double *step, bool wide,
                         bool indexed, int n, struct cpu_scratch *s)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *lattice->table;
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double qx = s->qx[i], qy = s->qy[i], qz = s->qz[i];
        const struct index_split h = index_split(index_along(c, qx, qy, qz));
        const struct index_split k = index_split(index_along(c + 3, qx, qy, qz));
        const struct index_split m = index_split(index_along(c + 6, qx, qy, qz));
        s->shape[i] = square_at(&l, wide, h, k, m);
        if (indexed)
            s->slot[i] = table_slot(&t, index_split_nearest(h), index_split_nearest(k),
                                    index_split_nearest(m));
    }
}

/* ROUND, GAUSS and TOPHAT: from the offsets to the nearest lattice point. */
INLINE void offset_shape(const struct cpu_lattice *lattice, const double *step,
                         enum crystal_shape shape, int n, struct cpu_scratch *s)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *lattice->table;
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double qx = s->qx[i], qy = s->qy[i], qz = s->qz[i];
        int32_t h, k, m;
        const double dh = index_offset(index_along(c, qx, qy, qz), &h);
        const double dk = index_offset(index_along(c + 3, qx, qy, qz), &k);
        const double dl = index_offset(index_along(c + 6, qx, qy, qz), &m);
        s->shape[i] = shape_at_offset(&l, shape, dh, dk, dl);
        s->slot[i] = table_slot(&t, h, k, m);
    }
}

/* One constant combination per line, so that each becomes a loop of its own. */
static void shapes(const struct cpu_lattice *l, const double *step, int n, struct cpu_scratch *s)
{
    const bool indexed = !l->table->flat;
    switch (l->shape) {
    case SHAPE_SQUARE:
        if (l->wide)
            square_shape(l, step, true, true, n, s);
        else if (indexed)
            square_shape(l, step, false, true, n, s);
        else
            square_shape(l, step, false, false, n, s);
        break;
    case SHAPE_ROUND:
        offset_shape(l, step, SHAPE_ROUND, n, s);
        break;
    case SHAPE_GAUSS:
        offset_shape(l, step, SHAPE_GAUSS, n, s);
        break;
    case SHAPE_TOPHAT:
        offset_shape(l, step, SHAPE_TOPHAT, n, s);
        break;
    }
}

/* Squared tricubic structure factors of one step, nearest where there is no room. */
static void square_cubic_factors(const struct cpu_table *t, const double *step, int n,
                                 struct cpu_scratch *s)
{
    const double unit = 1.0 / t->F_max;
    struct cubic_lanes lanes;
    double F[CPU_LANES];
    for (int first = 0; first < CPU_LANES * n; first += CPU_LANES) {
        cubic_factors(t, step, first, s, &lanes, F);
        for (int i = 0; i < CPU_LANES; i++)
            s->F_sqr[first + i] = lanes.base[i] < 0 ? t->F_sqr[s->slot[first + i]]
                                                    : (float)((unit * F[i]) * (unit * F[i]));
    }
}

/* A loop of its own, because gcc does not vectorise a gather beside what computes its
 * index; unconditional, because default_F has a slot. */
static void add_gathered(const float *restrict F_sqr, int n, struct cpu_scratch *restrict s)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->sum[i] = fused_f(s->shape[i], F_sqr[s->slot[i]], s->sum[i]);
}

/* Adds shape times structure factor of one step to the short sums. */
static void add_step(const struct cpu_lattice *l, const double *step, int n, struct cpu_scratch *s)
{
    if (l->table->F) {
        square_cubic_factors(l->table, step, n, s);
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->sum[i] = fused_f(s->shape[i], s->F_sqr[i], s->sum[i]);
    } else if (l->table->flat) {
        const float F = l->table->F_sqr[0];
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->sum[i] = fused_f(s->shape[i], F, s->sum[i]);
    } else {
        add_gathered(l->table->F_sqr, n, s);
    }
}

static void add_lattice(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *s)
{
    const struct cpu_lattice *l = &job->lattices[index];
    const double scale = l->scale;
    for (size_t first = 0; first < l->nsteps; first += CPU_FLOAT_TERMS) {
        const size_t end =
            l->nsteps - first > CPU_FLOAT_TERMS ? first + CPU_FLOAT_TERMS : l->nsteps;
        memset(s->sum, 0, sizeof s->sum);
        for (size_t step = first; step < end; step++) {
            shapes(l, l->cells + 9 * step, n, s);
            add_step(l, l->cells + 9 * step, n, s);
            if (job->trace)
                cpu_trace_step(job, s, index, step);
        }
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] = fused(s->factor[i] * scale, (double)s->sum[i], s->total[i]);
    }
}

const struct cpu_kernels NAME(cpu_kernels_, ISA) = {
    .name = TEXT_OF(ISA),
    .identity = "cpu-" ARITHMETIC "-2",
    .block = block,
    .dense = NAME(cpu_dense_, ISA),
    .scatter = NAME(cpu_scatter_, ISA),
    .rows = NAME(cpu_rows_, ISA),
};
