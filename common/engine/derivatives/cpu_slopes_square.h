/*
 * The squared lattice factor of SQUARE and its derivatives in single precision for LANES pixels, as
 * vectors: see shape_slopes.h for the formulas, and square_term for the same in double precision.
 * What bounds it: arithmetic, 30 of 72 multiplications being those of twelve polynomials.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_SQUARE_H
#define BRAGG_ENGINE_CPU_SLOPES_SQUARE_H

#include "engine/cpu/lanes.h"
#include "engine/derivatives/cpu_slopes.h"

#define LANES_NEAREST 0x1.8p24f  // of even numbers

/* sin(pi d)/(pi d), and cos(pi d) less that, from y = (2 d)^2, |d| <= 1/2, both times constants:
 * relative errors 7e-8 and 3e-7 before rounding.  The cosine is their sum, the first one times
 * SLOPES_SQUARE_SINE.  Both are products of quadratics, three of which differ by a constant less y
 * in this unit, so that two additions make one of another. */
LANES_INLINE void lanes_waves(floats y, floats *sine, floats *lean)
{
    const floats first = floats_fused(y + floats_of(-0x1.bf3df8p+3f), y, floats_of(0x1.400850p+5f));
    const floats second = first + (floats_of(0x1.942b7cp+7f) - y);
    const floats third = second + (floats_of(-0x1.767e0cp+6f) - y);
    *sine = first * second;
    *lean = ((y + floats_of(-0x1.cc062ep+2f)) * y) * third;
}

/* What sigma = sin(pi N d)/(N sin(pi d)) is made of along one axis: N d is a whole number n and a
 * fraction t. */
struct lanes_grating {
    floats above, below;   // numerator and denominator
    floats across, along;  // across - sigma along is the slope of sigma by d, times below/N
    floats by_N;           // that of N sigma by N, times below/N, up to the numerator's sign
};

/* `d` is twice the offset and not 0.  The slope has cosines of both angles, which at a spot, where
 * n is 0, differ from 1 by as much as they tell: there their sines are left out, which cancel. */
LANES_INLINE void lanes_grating(floats d, float N, bool cells, struct lanes_grating *g)
{
    const floats x = d * N, sine = floats_of(SLOPES_SQUARE_SINE);
    const floats n = (x + LANES_NEAREST) - LANES_NEAREST, t = floats_fused(floats_of(N), d, -n);
    floats sine_d, lean_d, sine_t, lean_t;
    lanes_waves(d * d, &sine_d, &lean_d);
    lanes_waves(t * t, &sine_t, &lean_t);
    const lanes_mask beside = lanes_nonzero(n);
    g->above = t * sine_t;
    g->below = x * sine_d;
    g->across = floats_fused_where(beside, sine_t, sine, lean_t);
    g->along = floats_fused_where(beside, sine_d, sine, lean_d);
    if (cells)
        g->by_N = floats_fused(sine_t, sine, lean_t) * d;
}

/* Slopes of F S by indices, and what is added to sums: F S, its slopes by cells; all over the
 * square of the number of cells, and slopes by indices over cells along the axis besides; slopes
 * lack a constant of cpu_slopes.h.  Of a single cell along an axis they are rubbish.  One division:
 * products of the numerators, of the denominators and of both take the place of quotients. */
LANES_INLINE void square_lanes(const struct lanes_grating axes[3], floats F, bool cells,
                               floats by_index[3], floats *value, floats by_N[3])
{
    const struct lanes_grating x = axes[0], y = axes[1], z = axes[2];
    const floats below = x.below * y.below, above = x.above * y.above;
    const floats inverse = 1.0f / (below * z.below), product = above * z.above * inverse;
    const floats part = F * product, slope = (part + part) * inverse;
    const floats e0 = y.above * z.above, e1 = x.above * z.above;
    const floats b0 = y.below * z.below * x.along, b1 = x.below * z.below * y.along;
    *value = floats_fused(part, product, *value);
    by_index[0] = slope * floats_fused(-product, b0, e0 * x.across);
    by_index[1] = slope * floats_fused(-product, b1, e1 * y.across);
    by_index[2] = slope * floats_fused(-product, below * z.along, above * z.across);
    if (!cells)
        return;
    by_N[0] = floats_fused(slope * e0, x.by_N, by_N[0]);
    by_N[1] = floats_fused(slope * e1, y.by_N, by_N[1]);
    by_N[2] = floats_fused(slope * above, z.by_N, by_N[2]);
}

#endif
