/*
 * The squared lattice factors of SQUARE and GAUSS and their derivatives in double precision: see
 * shape_slopes.h for the formulas, and cpu_slopes_lanes.h for mixed precision.  What bounds them:
 * arithmetic, for SQUARE twelve polynomials and a division.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_DOUBLE_H
#define BRAGG_ENGINE_CPU_SLOPES_DOUBLE_H

#include "engine/cpu_slopes_shape.h"

#define OFFSET_FLOOR 1e-30

/* What sin(pi N d)/sin(pi d) is made of along one axis: N d is a whole number n and a fraction t.
 */
struct grating {
    real d, t, n, a_d, b_d, a_t, b_t;
    real below;  // sin(pi d)/pi
};

INLINE struct grating grating(real offset, real N)
{
    const real none = 0;
    const real size = offset < none ? -offset : offset;
    struct grating g;
    g.d = size < OFFSET_FLOOR ? OFFSET_FLOOR : offset;
    g.n = (N * g.d + NEAREST_WHOLE) - NEAREST_WHOLE;
    g.t = FUSED(N, g.d, -g.n);
    waves(g.d * g.d, &g.a_d, &g.b_d);
    waves(g.t * g.t, &g.a_t, &g.b_t);
    g.below = g.d * g.a_d;
    return g;
}

/* The quotient and its derivatives, all three up to one common sign; r = 1/below.  The numerator
 * of the derivative by d is
 *     n a(d) a(t) + d t (N t a(d) b(t) - d a(t) b(d))
 * which loses no digits: at a spot n is 0, and both parts are small. */
INLINE real grating_value(const struct grating *g, real r)
{
    return g->t * g->a_t * r;
}

INLINE real grating_by_d(const struct grating *g, real N, real r)
{
    const real small = N * g->t * (g->a_d * g->b_t) - g->d * (g->a_t * g->b_d);  // 0 for N = 1
    return FUSED(g->n * g->a_d, g->a_t, g->d * g->t * small) * r * r;
}

INLINE real grating_by_N(const struct grating *g, real r)
{
    return FUSED(g->t * g->t, g->b_t, g->a_t) * g->d * r;
}

/* SQUARE from offsets to the nearest lattice point, times F_sqr: slopes by indices, sums of the
 * rest.  One division for three axes. */
INLINE void square_slopes(const struct cpu_slopes_lattice *l, bool cells, int n,
                          struct cpu_slopes_scratch *s)
{
    const real N0 = (real)l->N[0], N1 = (real)l->N[1], N2 = (real)l->N[2], one = 1;
    const real all[3] = {l->N[0] > 1, l->N[1] > 1, l->N[2] > 1};  // one cell is no grating
    for (int i = 0; i < CPU_LANES * n; i++) {                     // vectorised
        const struct grating x = grating(TERMS(s)->d[0][i], N0);
        const struct grating y = grating(TERMS(s)->d[1][i], N1);
        const struct grating z = grating(TERMS(s)->d[2][i], N2);
        const real pair = x.below * y.below, inverse = one / (pair * z.below);
        const real rest = inverse * z.below;
        const real r0 = rest * y.below, r1 = rest * x.below, r2 = inverse * pair;
        const real s0 = grating_value(&x, r0), s1 = grating_value(&y, r1);
        const real s2 = grating_value(&z, r2), s01 = s0 * s1;
        const real product = s01 * s2, F = TERMS(s)->F_sqr[i], twice = (F + F) * product;
        const real e0 = twice * s1 * s2, e1 = twice * s0 * s2, e2 = twice * s01;
        TERMS(s)->sums[SLOPES_VALUE][i] =
            FUSED(F * product, product, TERMS(s)->sums[SLOPES_VALUE][i]);
        TERMS(s)->by_index[0][i] = e0 * grating_by_d(&x, N0, r0);
        TERMS(s)->by_index[1][i] = e1 * grating_by_d(&y, N1, r1);
        TERMS(s)->by_index[2][i] = e2 * grating_by_d(&z, N2, r2);
        if (cells) {
            TERMS(s)->sums[SLOPES_CELLS + 0][i] =
                FUSED(e0 * all[0], grating_by_N(&x, r0), TERMS(s)->sums[SLOPES_CELLS + 0][i]);
            TERMS(s)->sums[SLOPES_CELLS + 1][i] =
                FUSED(e1 * all[1], grating_by_N(&y, r1), TERMS(s)->sums[SLOPES_CELLS + 1][i]);
            TERMS(s)->sums[SLOPES_CELLS + 2][i] =
                FUSED(e2 * all[2], grating_by_N(&z, r2), TERMS(s)->sums[SLOPES_CELLS + 2][i]);
        }
    }
}

/* GAUSS from offsets to the nearest lattice point, times F_sqr: slopes by indices, sums of the
 * rest: V^2 exp(-2 fudge R/0.63), R = sum (N_i d_i)^2. */
INLINE void gauss_slopes(const struct cpu_slopes_lattice *l, bool cells, int n,
                         struct cpu_slopes_scratch *s)
{
    const double volume = l->N[0] * l->N[1] * l->N[2], steep = 2.0 * l->fudge / 0.63;
    const real top = (real)(volume * volume * 0x1p-100), exponent = (real)(steep * M_LOG2E);
    const real by_R = (real)-steep, by_fudge = (real)(-2.0 / 0.63), two = 2;
    const real N0 = (real)l->N[0], N1 = (real)l->N[1], N2 = (real)l->N[2];
    const real per0 = two / N0, per1 = two / N1, per2 = two / N2;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real x = TERMS(s)->d[0][i] * N0, y = TERMS(s)->d[1][i] * N1;
        const real z = TERMS(s)->d[2][i] * N2;
        const real R = FUSED(x, x, FUSED(y, y, z * z));
        const real value = exp2_negative(R * exponent) * top * TERMS(s)->F_sqr[i];
        const real lean = value * by_R, slope = lean + lean;
        TERMS(s)->sums[SLOPES_VALUE][i] += value;
        TERMS(s)->by_index[0][i] = slope * x * N0;
        TERMS(s)->by_index[1][i] = slope * y * N1;
        TERMS(s)->by_index[2][i] = slope * z * N2;
        TERMS(s)->sums[SLOPES_FUDGE][i] =
            FUSED(by_fudge * R, value, TERMS(s)->sums[SLOPES_FUDGE][i]);
        if (cells) {
            TERMS(s)->sums[SLOPES_CELLS + 0][i] =
                FUSED(per0, FUSED(lean * x, x, value), TERMS(s)->sums[SLOPES_CELLS + 0][i]);
            TERMS(s)->sums[SLOPES_CELLS + 1][i] =
                FUSED(per1, FUSED(lean * y, y, value), TERMS(s)->sums[SLOPES_CELLS + 1][i]);
            TERMS(s)->sums[SLOPES_CELLS + 2][i] =
                FUSED(per2, FUSED(lean * z, z, value), TERMS(s)->sums[SLOPES_CELLS + 2][i]);
        }
    }
}

#endif
