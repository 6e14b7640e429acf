/*
 * The squared lattice factors of SQUARE and GAUSS and their derivatives in double precision: a part
 * of cpu_slopes_terms.h.  It is a file of its own because scripts/check-vectorised asks for each
 * marked loop of a header; cpu_slopes_lanes.h has these shapes in mixed precision.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_DOUBLE_H
#define BRAGG_ENGINE_CPU_SLOPES_DOUBLE_H

INLINE void square_slopes(const struct cpu_slopes_lattice *l, bool cells, int n,
                          struct cpu_slopes_scratch *s)
{
    const struct shape_of of = shape_of(SHAPE_SQUARE, l->N, l->fudge);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real d[3] = {TERMS(s)->d[0][i], TERMS(s)->d[1][i], TERMS(s)->d[2][i]};
        struct shape_sums sums = sums_at(cells, i, s);
        real by_index[3];
        square_term(&of, d, TERMS(s)->F_sqr[i], cells, by_index, &sums);
        set_sums(&sums, by_index, cells, i, s);
    }
}

INLINE void gauss_slopes(const struct cpu_slopes_lattice *l, bool cells, int n,
                         struct cpu_slopes_scratch *s)
{
    const struct shape_of of = shape_of(SHAPE_GAUSS, l->N, l->fudge);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real d[3] = {TERMS(s)->d[0][i], TERMS(s)->d[1][i], TERMS(s)->d[2][i]};
        struct shape_sums sums = sums_at(cells, i, s);
        real by_index[3];
        gauss_term(&of, d, TERMS(s)->F_sqr[i], cells, by_index, &sums);
        set_sums(&sums, by_index, cells, i, s);
    }
}

#endif
