/*
 * The loop of the CPU engine in mixed precision, for images that dense_loop.c does not compute:
 * curved panels, tricubic structure factors, very large crystals, indices or tables.  Indices are
 * in double precision and reduced to their fractions.  Lattice factors and short sums are in single
 * precision.  Compiled once per instruction set.
 */
#define CPU_DOUBLE 0
#include "engine/cpu/cpu_lattice.h"
#include "engine/dense/faint.h"
#include "engine/derivatives/cpu_slopes.h"

/* Computes the slots only if `indexed` is true. */
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
        s->terms.in_float.shape[i] = square_at(&l, wide, h, k, m);
        if (indexed)
            s->slot[i] = table_slot(&t, index_split_nearest(h), index_split_nearest(k),
                                    index_split_nearest(m));
    }
}

/* Each line has a constant combination, so that each becomes a loop of its own. */
static void square_shapes(const struct cpu_lattice *l, const double *step, int n,
                          struct cpu_scratch *s)
{
    if (l->wide)
        square_shape(l, step, true, true, n, s);
    else if (!l->table->flat)
        square_shape(l, step, false, true, n, s);
    else
        square_shape(l, step, false, false, n, s);
}

const struct cpu_kernels NAME(cpu_kernels_, ISA) = {
    .name = TEXT_OF(ISA),
    .identity = "cpu-" ARITHMETIC "-5",
    .block = block,
    .dense = NAME(cpu_dense_, ISA),
    .scatter = NAME(cpu_scatter_, ISA),
    .rows = NAME(cpu_rows_, ISA),
    .slopes = NAME(cpu_slopes_, ISA),
    .bounds = NAME(dense_bounds_, ISA),
};
