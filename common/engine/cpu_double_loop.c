/*
 * The loop of the CPU engine in double precision throughout, for results within 1e-9
 * of the reference.  Compiled once per instruction set, see cpu_block.h.  What
 * bounds it: the multiplications of polynomials twice as long as those of
 * cpu_loop.c on half as many lanes.
 */
#include <string.h>

#include "engine/cpu_block.h"
#include "engine/cpu_cubic.h"
#include "engine/cpu_spots.h"
#include "physics/shape_fast.h"

/* Squared lattice factors of one step, from the offsets to the nearest lattice point, and
 * slots. */
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
        s->shape_double[i] = shape_at_offset_double(&l, shape, dh, dk, dl);
        s->slot[i] = table_slot(&t, h, k, m);
    }
}

static void shapes(const struct cpu_lattice *l, const double *step, int n, struct cpu_scratch *s)
{
    switch (l->shape) {
    case SHAPE_SQUARE:
        offset_shape(l, step, SHAPE_SQUARE, n, s);
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

static void square_cubic_factors(const struct cpu_table *t, const double *step, int n,
                                 struct cpu_scratch *s)
{
    const double unit = 1.0 / t->F_max;
    struct cubic_lanes lanes;
    double F[CPU_LANES];
    for (int first = 0; first < CPU_LANES * n; first += CPU_LANES) {
        cubic_factors(t, step, first, s, &lanes, F);
        for (int i = 0; i < CPU_LANES; i++)
            s->F_sqr_double[first + i] = lanes.base[i] < 0 ? t->F_sqr_double[s->slot[first + i]]
                                                           : (unit * F[i]) * (unit * F[i]);
    }
}

/* A loop of its own, as in cpu_loop.c. */
static void gather(const double *restrict F_sqr, int n, struct cpu_scratch *restrict s)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->F_sqr_double[i] = F_sqr[s->slot[i]];
}

/* What the trace reads, in the places of cpu_loop.c. */
static void trace_step(const struct cpu_job *job, size_t index, size_t step, struct cpu_scratch *s)
{
    s->shape[0] = (float)s->shape_double[0];
    s->F_sqr[0] = (float)s->F_sqr_double[0];
    s->sum[0] = (float)s->sum_double[0];
    cpu_trace_step(job, s, index, step);
}

static void add_lattice(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *s)
{
    const struct cpu_lattice *l = &job->lattices[index];
    const double scale = l->scale;
    memset(s->sum_double, 0, sizeof s->sum_double);
    for (size_t step = 0; step < l->nsteps; step++) {
        const double *cells = l->cells + 9 * step;
        shapes(l, cells, n, s);
        if (l->table->F)
            square_cubic_factors(l->table, cells, n, s);
        else
            gather(l->table->F_sqr_double, n, s);
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->sum_double[i] = fused(s->shape_double[i], s->F_sqr_double[i], s->sum_double[i]);
        if (job->trace)
            trace_step(job, index, step, s);
    }
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->total[i] = fused(s->factor[i] * scale, s->sum_double[i], s->total[i]);
}

const struct cpu_kernels NAME(cpu_kernels_double_, ISA) = {
    .name = TEXT_OF(ISA),
    .identity = "cpu-" ARITHMETIC "-double",
    .block = block,
    .scatter = NAME(cpu_scatter_, ISA),
    .rows = NAME(cpu_rows_, ISA),
};
