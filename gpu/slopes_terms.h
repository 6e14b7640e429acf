/*
 * The sums over phi steps and mosaic domains of one lattice for one direction that derivatives are
 * made of.  Lattice factors are in the precision of the file that includes this (CPU_DOUBLE), their
 * sums in double precision.
 */
#ifndef BRAGG_GPU_SLOPES_TERMS_H
#define BRAGG_GPU_SLOPES_TERMS_H

#include "engine/derivatives/slopes_shapes.h"
#include "gpu/lattice.h"
#include "gpu/slopes_frame.h"

/* One step. */
INLINE void gpu_add_term(const struct gpu_slopes_lattice *l, const struct shape_of *of,
                         const struct cpu_table *t, const struct slopes_step *step,
                         const double q[3], struct shape_sums *sums, struct pull *pull)
{
    int32_t whole[3];
    real d[3], by_index[3];
    for (int i = 0; i < 3; i++)
        d[i] = (real)gpu_nearest(index_along(step->cell + 3 * i, q[0], q[1], q[2]), &whole[i]);
    const real F = F_SQR(t)[table_slot(t, whole[0], whole[1], whole[2])];
    if (l->shape == SHAPE_SQUARE)
        square_term(of, d, F, true, by_index, sums);
    else if (l->shape == SHAPE_ROUND)
        round_term(of, d, F, true, by_index, sums);
    else
        gauss_term(of, d, F, true, by_index, sums);
    const double g[3] = {by_index[0], by_index[1], by_index[2]};
    pull_add(pull, step, q, g);
}

/* All steps, for q in 1/m; what is summed in single precision goes to double after
 * GPU_FLOAT_TERMS terms. */
INLINE void gpu_pull(const struct gpu_slopes_lattice *l, const double q[3], struct pull *pull)
{
    const struct shape_of of = shape_of(l->shape, l->N, l->fudge);
    const struct cpu_table t = *l->table;
    const struct slopes_step *step = l->steps;
    memset(pull, 0, sizeof *pull);
    pull->value = l->value;
    for (size_t left = l->nsteps; left > 0;) {
        const int terms = left > GPU_FLOAT_TERMS ? GPU_FLOAT_TERMS : (int)left;
        struct shape_sums sums = {0, {0, 0, 0}, 0};
        for (int i = 0; i < terms; i++, step++)
            gpu_add_term(l, &of, &t, step, q, &sums, pull);
        pull->value += (double)sums.value;
        pull->by_fudge += (double)sums.by_fudge;
        for (int i = 0; i < 3; i++)
            pull->by_cells[i] += (double)sums.by_cells[i];
        left -= (size_t)terms;
    }
}

#endif
