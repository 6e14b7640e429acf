/*
 * GAUSS and its derivatives in single precision for LANES pixels, as vectors: see shape_slopes.h
 * for the formulas, and gauss_term for the same in double precision.  What bounds it: arithmetic.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_GAUSS_H
#define BRAGG_ENGINE_CPU_SLOPES_GAUSS_H

#include "engine/cpu/lanes.h"
#include "engine/derivatives/cpu_slopes.h"
#include "physics/fastmath.h"

/* As exp2_negative_f of numbers in single precision. */
LANES_INLINE floats lanes_exp2_negative(floats t)
{
    const float magic = 0x1.8p23f;
    const floats limit = floats_of((float)EXP2_LIMIT);
    const ints lit = (ints)(t <= limit);
    const floats bounded = floats_select(lit, t, limit), n = (bounded + magic) - magic;
    const floats f = n - bounded;
    floats p = floats_fused(floats_of(0x1.41d332p-13f), f, floats_of(0x1.5f456ap-10f));
    p = floats_fused(p, f, floats_of(0x1.3b2dbcp-7f));
    p = floats_fused(p, f, floats_of(0x1.c6aed4p-5f));
    p = floats_fused(p, f, floats_of(0x1.ebfbdap-3f));
    p = floats_fused(p, f, floats_of(0x1.62e430p-1f));
    p = floats_fused(p, f, floats_of(1.0f));
    const words power = (words)(127 + EXP2_BIAS - ints_of_floats(n));
    return (floats)((ints)(p * (floats)(power << 23)) & lit);
}

/* V^2 exp(-2 fudge R/0.63), R = sum (N_i d_i)^2, from 2 d_i: slopes of F S by indices, over cells
 * along the axis, and what is added to sums: F S, its slopes by cells and by fudge. */
LANES_INLINE void gauss_lanes(const struct cpu_slopes_lattice *l, const floats d[3], floats F,
                              bool cells, floats by_index[3], floats *value, floats by_N[3],
                              floats *by_fudge)
{
    const double volume = l->N[0] * l->N[1] * l->N[2], steep = 2.0 * l->fudge / 0.63;
    const float top = (float)(volume * volume * 0x1p-100), exponent = (float)(steep * M_LOG2E);
    const float half[3] = {(float)(l->N[0] / 2.0), (float)(l->N[1] / 2.0), (float)(l->N[2] / 2.0)};
    const floats x[3] = {d[0] * half[0], d[1] * half[1], d[2] * half[2]};
    const floats R = floats_fused(x[0], x[0], floats_fused(x[1], x[1], x[2] * x[2]));
    const floats one = lanes_exp2_negative(R * exponent) * top * F;
    const floats lean = one * (float)-steep, slope = lean + lean;
    *value += one;
    *by_fudge = floats_fused(R * (float)(-2.0 / 0.63), one, *by_fudge);
    for (int i = 0; i < 3; i++) {
        by_index[i] = slope * x[i];
        if (cells)
            by_N[i] = floats_fused(floats_fused(lean * x[i], x[i], one), floats_of(1.0f / half[i]),
                                   by_N[i]);
    }
}

#endif
