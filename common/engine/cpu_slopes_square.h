/*
 * The squared lattice factor of SQUARE and its derivatives in single precision for LANES pixels, as
 * vectors: see shape_slopes.h for the formulas, and square_term for the same in double precision.
 * What bounds it: arithmetic, 42 of 101 multiplications being those of twelve polynomials.
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

/* What sin(pi N d)/sin(pi d) is made of along one axis: N d is a whole number n and a fraction t.
 */
struct lanes_grating {
    floats d, above, below;  // above, below: numerator and denominator, over pi
    floats cosine;           // of pi N d, up to the sign that the numerator lacks
    floats slope;            // of the quotient by d, times the square of the denominator
};

/* `d` is not 0.  The slope is
 *     a(d) (n a(t) + N d t^2 b(t)) - t a(t) d^2 b(d)
 * which loses no digits: at a spot n is 0, and the rest is a difference of one part and one that
 * is N^2 times as large. */
LANES_INLINE struct lanes_grating lanes_grating(floats d, float N)
{
    struct lanes_grating g;
    const floats x = d * N;
    const floats n = (x + LANES_NEAREST) - LANES_NEAREST, t = floats_fused(floats_of(N), d, -n);
    floats a_d, b_d, a_t, b_t;
    const floats d_sqr = d * d, t_sqr = t * t;
    lanes_waves(d_sqr, &a_d, &b_d);
    lanes_waves(t_sqr, &a_t, &b_t);
    const floats lean = t_sqr * b_t;
    g.d = d;
    g.above = t * a_t;
    g.below = d * a_d;
    g.cosine = lean + a_t;
    g.slope = floats_fused(a_d, floats_fused(n, a_t, x * lean), -(g.above * (d_sqr * b_d)));
    if (!(N > 1.0f))
        g.slope = g.d = (floats){0};  // one cell is no grating
    return g;
}

/* Slopes of F S by indices, and what is added to sums: F S, its slopes by cells.  One division for
 * three axes. */
LANES_INLINE void square_lanes(const struct cpu_slopes_lattice *l, const floats d[3], floats F,
                               bool cells, floats by_index[3], floats *value, floats by_N[3])
{
    const struct lanes_grating x = lanes_grating(d[0], (float)l->N[0]);
    const struct lanes_grating y = lanes_grating(d[1], (float)l->N[1]);
    const struct lanes_grating z = lanes_grating(d[2], (float)l->N[2]);
    const floats pair = x.below * y.below, inverse = 1.0f / (pair * z.below);
    const floats rest = inverse * z.below;
    const floats two = x.above * y.above * inverse, third = z.above * inverse;
    const floats product = two * z.above, twice = (F + F) * product, most = third * twice;
    /* of each axis what multiplies its slope and 1/below; 1/(x y z) is the product of all three */
    const floats e0 = most * y.above, e1 = most * x.above, e2 = two * twice;
    *value = floats_fused(F * product, product, *value);
    by_index[0] = e0 * (x.slope * (rest * y.below));
    by_index[1] = e1 * (y.slope * (rest * x.below));
    by_index[2] = e2 * (z.slope * (inverse * pair));
    if (!cells)
        return;
    by_N[0] = floats_fused(e0, x.cosine * x.d, by_N[0]);
    by_N[1] = floats_fused(e1, y.cosine * y.d, by_N[1]);
    by_N[2] = floats_fused(e2, z.cosine * z.d, by_N[2]);
}

#endif
