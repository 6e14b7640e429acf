/*
 * The squared lattice factor of SQUARE and its derivatives in single precision for LANES pixels, as
 * vectors: see shape_slopes.h for the formulas, and square_term for the same in double precision.
 * What bounds it: arithmetic, 42 of 98 multiplications being those of twelve polynomials.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_SQUARE_H
#define BRAGG_ENGINE_CPU_SLOPES_SQUARE_H

#include "engine/cpu_slopes.h"
#include "engine/lanes.h"

#define LANES_NEAREST 0x1.8p23f

/* a*b + c, b and c the same for all. */
LANES_INLINE floats lanes_poly(floats a, floats b, float c)
{
    return floats_fused(a, b, floats_of(c));
}

/* As waves; errors 2e-7 and, of 3, 7e-7. */
LANES_INLINE void lanes_waves(floats z, floats *a, floats *b)
{
    floats p = lanes_poly(floats_of(0x1.9409a0p-6f), z, -0x1.85fa48p-3f);
    p = lanes_poly(p, z, 0x1.9f98ccp-1f);
    p = lanes_poly(p, z, -0x1.a51a58p+0f);
    *a = lanes_poly(p, z, 1.0f);
    p = lanes_poly(floats_of(0x1.94ffd8p-3f), z, -0x1.248a94p+0f);
    p = lanes_poly(p, z, 0x1.9f99d0p+1f);
    *b = lanes_poly(p, z, -0x1.a51a60p+1f);
}

/* What sigma = sin(pi N d)/(N sin(pi d)) is made of along one axis: N d is a whole number n and a
 * fraction t. */
struct lanes_grating {
    floats above, below;   // numerator and denominator, over pi
    floats across, along;  // across - sigma along is the slope of sigma by d, times below/N
    floats by_N;           // that of N sigma by N, times below/N, up to the numerator's sign
};

/* `d` is not 0.  The slope has cosines of both angles, which at a spot, where n is 0, differ from 1
 * by as much as they tell: there their ones are left out, which cancel. */
LANES_INLINE void lanes_grating(floats d, float N, bool cells, struct lanes_grating *g)
{
    const floats x = d * N;
    const floats n = (x + LANES_NEAREST) - LANES_NEAREST, t = floats_fused(floats_of(N), d, -n);
    floats a_d, b_d, a_t, b_t;
    const floats d_sqr = d * d, t_sqr = t * t;
    lanes_waves(d_sqr, &a_d, &b_d);
    lanes_waves(t_sqr, &a_t, &b_t);
    const floats lean_t = t_sqr * b_t, lean_d = d_sqr * b_d;
    const lanes_mask beside = lanes_nonzero(n);
    g->above = t * a_t;
    g->below = x * a_d;
    g->across = floats_add_where(beside, a_t, lean_t);
    g->along = floats_add_where(beside, a_d, lean_d);
    if (cells)
        g->by_N = (lean_t + a_t) * d;
}

/* Numerators over denominators, and 1 over these.  One division for three axes. */
LANES_INLINE void lanes_quotients(struct lanes_grating axes[3])
{
    const floats x = axes[0].below, y = axes[1].below, z = axes[2].below;
    const floats pair = x * y, inverse = 1.0f / (pair * z), rest = inverse * z;
    axes[0].below = rest * y;
    axes[1].below = rest * x;
    axes[2].below = inverse * pair;
    for (int i = 0; i < 3; i++)
        axes[i].above *= axes[i].below;
}

/* Slopes of F S by indices, and what is added to sums: F S, its slopes by cells; all over the
 * square of the number of cells, and slopes by indices over cells along the axis besides.  Of a
 * single cell along an axis they are rubbish. */
LANES_INLINE void square_lanes(const struct lanes_grating axes[3], floats F, bool cells,
                               floats by_index[3], floats *value, floats by_N[3])
{
    const struct lanes_grating x = axes[0], y = axes[1], z = axes[2];
    const floats r0 = x.below, r1 = y.below, r2 = z.below;
    const floats s0 = x.above, s1 = y.above, s2 = z.above;
    const floats s01 = s0 * s1, product = s01 * s2, part = F * product, twice = part + part;
    const floats third = twice * s2;
    const floats e0 = third * (s1 * r0), e1 = third * (s0 * r1), e2 = twice * (s01 * r2);
    *value = floats_fused(part, product, *value);
    by_index[0] = e0 * floats_fused(-s0, x.along, x.across);
    by_index[1] = e1 * floats_fused(-s1, y.along, y.across);
    by_index[2] = e2 * floats_fused(-s2, z.along, z.across);
    if (!cells)
        return;
    by_N[0] = floats_fused(e0, x.by_N, by_N[0]);
    by_N[1] = floats_fused(e1, y.by_N, by_N[1]);
    by_N[2] = floats_fused(e2, z.by_N, by_N[2]);
}

#endif
