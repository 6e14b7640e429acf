/*
 * Squared lattice factors and their derivatives for blocks of pixels, in the precision of the file
 * that includes this: loops around slopes_shapes.h.  SQUARE and GAUSS have
 * files of their own.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_SHAPE_H
#define BRAGG_ENGINE_CPU_SLOPES_SHAPE_H

#include "engine/derivatives/cpu_slopes.h"
#include "engine/derivatives/slopes_shapes.h"

#if CPU_DOUBLE
#define TERMS(scratch) (&(scratch)->terms.in_double)
static const size_t TERMS_MOST = SIZE_MAX;  // summed up before they are weighted
#else
#define TERMS(scratch) (&(scratch)->terms.in_float)
static const size_t TERMS_MOST = SLOPES_TERMS;
#endif

INLINE struct shape_sums sums_at(bool cells, int i, const struct cpu_slopes_scratch *s)
{
    const real none = 0;
    const struct shape_sums sums = {
        TERMS(s)->sums[SLOPES_VALUE][i],
        {cells ? TERMS(s)->sums[SLOPES_CELLS][i] : none,
         cells ? TERMS(s)->sums[SLOPES_CELLS + 1][i] : none,
         cells ? TERMS(s)->sums[SLOPES_CELLS + 2][i] : none},
        TERMS(s)->sums[SLOPES_FUDGE][i],
    };
    return sums;
}

INLINE void set_sums(const struct shape_sums *sums, const real by_index[3], bool cells, int i,
                     struct cpu_slopes_scratch *s)
{
    TERMS(s)->by_index[0][i] = by_index[0];
    TERMS(s)->by_index[1][i] = by_index[1];
    TERMS(s)->by_index[2][i] = by_index[2];
    TERMS(s)->sums[SLOPES_VALUE][i] = sums->value;
    TERMS(s)->sums[SLOPES_FUDGE][i] = sums->by_fudge;
    if (cells) {
        TERMS(s)->sums[SLOPES_CELLS][i] = sums->by_cells[0];
        TERMS(s)->sums[SLOPES_CELLS + 1][i] = sums->by_cells[1];
        TERMS(s)->sums[SLOPES_CELLS + 2][i] = sums->by_cells[2];
    }
}

/* From offsets to the nearest lattice point: slopes by indices, sums of the rest. */
INLINE void round_slopes(const struct cpu_slopes_lattice *l, bool cells, int n,
                         struct cpu_slopes_scratch *s)
{
    const struct shape_of of = shape_of(SHAPE_ROUND, l->N, l->fudge);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real d[3] = {TERMS(s)->d[0][i], TERMS(s)->d[1][i], TERMS(s)->d[2][i]};
        struct shape_sums sums = sums_at(cells, i, s);
        real by_index[3];
        round_term(&of, d, TERMS(s)->F_sqr[i], cells, by_index, &sums);
        set_sums(&sums, by_index, cells, i, s);
    }
}

#endif
