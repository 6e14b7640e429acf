/*
 * All steps of a lattice for a block of pixels, in the precision of the file that includes this: a
 * part of cpu_loop.c and, where CPU_DOUBLE is 1, of cpu_double_loop.c.  Compiled once per
 * instruction set, see cpu_block.h.  The multiplications of polynomials limit the speed, never
 * memory.
 */
#ifndef BRAGG_ENGINE_CPU_LATTICE_H
#define BRAGG_ENGINE_CPU_LATTICE_H

#include <string.h>

#include "engine/cpu/cpu_block.h"
#include "engine/spots/cpu_spots.h"
#include "physics/crystal/shape_fast.h"

#if CPU_DOUBLE
typedef double real;
#define TERMS(scratch) (&(scratch)->terms.in_double)
#define F_SQR(table) ((table)->F_sqr_double)
#define FUSED fused
#define AT_OFFSET shape_at_offset_double
static const size_t TERMS_MOST = SIZE_MAX;  // summed up before they are weighted
#else
typedef float real;
#define TERMS(scratch) (&(scratch)->terms.in_float)
#define F_SQR(table) ((table)->F_sqr)
#define FUSED fused_f
#define AT_OFFSET shape_at_offset
static const size_t TERMS_MOST = CPU_FLOAT_TERMS;
#endif

/* Computes the squared lattice factors of SQUARE at one step, and the slots. The file that
 * includes this header defines it. */
static void square_shapes(const struct cpu_lattice *l, const double *step, int n,
                          struct cpu_scratch *s);

/* Computes the squared lattice factors of any shape from the offsets to the nearest lattice
 * point, and the slots. */
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
        TERMS(s)->shape[i] = AT_OFFSET(&l, shape, dh, dk, dl);
        s->slot[i] = table_slot(&t, h, k, m);
    }
}

INLINE void shapes_of(const struct cpu_lattice *l, const double *step, enum crystal_shape shape,
                      int n, struct cpu_scratch *s)
{
    if (shape_is_grating(shape))
        square_shapes(l, step, n, s);
    else
        offset_shape(l, step, shape, n, s);
}

/* Each line has a constant shape, so that each shape becomes a loop of its own. */
static void shapes(const struct cpu_lattice *l, const double *step, int n, struct cpu_scratch *s)
{
#define SHAPES_OF(shape)                 \
    case shape:                          \
        shapes_of(l, step, shape, n, s); \
        break;
    switch (l->shape) {
        CRYSTAL_SHAPES(SHAPES_OF)
    }
#undef SHAPES_OF
}

/* Computes the squared tricubic structure factors of one step. Where the table has too few
 * neighbours, the nearest structure factor is used. */
static void square_cubic_factors(const struct cpu_table *t, const double *step, int n,
                                 struct cpu_scratch *s)
{
    const double unit = 1.0 / t->F_max;
    struct cubic_lanes lanes;
    double F[CPU_LANES];
    for (int first = 0; first < CPU_LANES * n; first += CPU_LANES) {
        cubic_factors(t, step, first, s, &lanes, F);
        for (int i = 0; i < CPU_LANES; i++)
            TERMS(s)->F_sqr[first + i] = lanes.base[i] < 0 ? F_SQR(t)[s->slot[first + i]]
                                                           : (real)((unit * F[i]) * (unit * F[i]));
    }
}

/* This is a separate loop, because gcc does not vectorise a gather in the loop that computes its
 * index.  The loop has no condition, because default_F has a slot. */
static void add_gathered(const real *restrict F_sqr, const int32_t *restrict slot,
                         const real *restrict shape, int n, real *restrict sum)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        sum[i] = FUSED(shape[i], F_sqr[slot[i]], sum[i]);
}

/* Adds shape times structure factor of one step to the short sums. */
static void add_step(const struct cpu_lattice *l, const double *step, int n, struct cpu_scratch *s)
{
    if (l->table->F) {
        square_cubic_factors(l->table, step, n, s);
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            TERMS(s)->sum[i] = FUSED(TERMS(s)->shape[i], TERMS(s)->F_sqr[i], TERMS(s)->sum[i]);
    } else if (l->table->flat) {
        const real F = F_SQR(l->table)[0];
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            TERMS(s)->sum[i] = FUSED(TERMS(s)->shape[i], F, TERMS(s)->sum[i]);
    } else {
        add_gathered(F_SQR(l->table), s->slot, TERMS(s)->shape, n, TERMS(s)->sum);
    }
}

static void add_lattice(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *s)
{
    const struct cpu_lattice *l = &job->lattices[index];
    const double scale = l->scale;
    for (size_t first = 0; first < l->nsteps; first += TERMS_MOST) {
        const size_t left = l->nsteps - first, end = left > TERMS_MOST ? TERMS_MOST : left;
        memset(TERMS(s)->sum, 0, sizeof TERMS(s)->sum);
        for (size_t step = first; step < first + end; step++) {
            shapes(l, l->cells + 9 * step, n, s);
            add_step(l, l->cells + 9 * step, n, s);
            if (job->trace)
                cpu_trace_step(job, s, index, step,
                               &(struct cpu_term){(float)TERMS(s)->shape[0],
                                                  (float)TERMS(s)->F_sqr[0],
                                                  (float)TERMS(s)->sum[0]});
        }
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] = fused(s->factor[i] * scale, (double)TERMS(s)->sum[i], s->total[i]);
    }
}

#endif
