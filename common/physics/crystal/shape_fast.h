/*
 * The lattice factors of shape.h in a form that vectorises: no branches, one
 * division, no trigonometry beyond fastmath.h.  Values are squared, because only
 * the intensity is wanted, and divided by (Na Nb Nc)^2, so that they fit single
 * precision for any crystal.
 */
#ifndef BRAGG_PHYSICS_SHAPE_FAST_H
#define BRAGG_PHYSICS_SHAPE_FAST_H

#include "model/experiment.h"
#include "physics/crystal/shape.h"
#include "physics/fastmath.h"

/* Indices travel multiplied by 2^16: the whole part of the product is a fixed-point
 * number with 16 fraction bits in an int32_t, so |h| < 2^15. */
#define INDEX_SCALE 65536.0
#define INDEX_LIMIT 32000.0

/* N from which the phase is formed in double precision: the remainder of the
 * fixed-point form, N 2^-17, has to stay small against the half turn. */
enum { WIDE_CELLS = 1000 };

/* TOPHAT is not 0 where its form is below this limit. */
#define TOPHAT_LIMIT 1.0

/* Added to fractions so that they are never 0: 0/0 becomes N. */
#define FRACTION_FLOOR 1e-24f

/* An index h split exactly: h 2^16 = fixed + rest, |rest| <= 1/2. */
struct index_split {
    int32_t fixed;
    double rest;
};

HD struct index_split index_split(double scaled)
{
    const double whole = round_even(scaled);
    return (struct index_split){(int32_t)whole, scaled - whole};
}

/* ceil(h - 0.5), halves down, exact: the rest decides where the 16 bits say one half
 * (there |h| >= 1/2, so that no rest is lost in single precision). */
HD int32_t index_split_nearest(struct index_split h)
{
    return (h.fixed + 32767 + ((float)h.rest > 0.0f)) >> 16;
}

/* Multiplies *numerator by sin(pi N h) and *denominator by sin(pi h), each up to its
 * sign and a common scale.  h is reduced to its fraction d, |d| <= 1/2, before pi
 * enters; N h modulo 1 is an exact integer product (wrapping) plus N times the
 * rest.  `turns` is N 2^16 modulo 2^32. */
HD void square_axis(struct index_split h, float N, uint32_t turns, int wide, float *numerator,
                    float *denominator)
{
    const float rest = fused_f((float)h.rest, 0x1p-16f, FRACTION_FLOOR);
    const float d = fused_f((float)(int32_t)((uint32_t)h.fixed << 16), 0x1p-32f, rest);
    const int32_t phase = (int32_t)((uint32_t)h.fixed * turns);
    float x;
    if (wide) {
        const double p = fused((double)phase, 0x1p-32, (double)N * (h.rest * 0x1p-16 + 1e-24));
        x = (float)(p - round_even(p));
    } else {
        x = fused_f((float)phase, 0x1p-32f, N * rest);
    }
    *numerator *= x * sinc_scaled_f(x * x);
    *denominator *= d * sinc_scaled_f(d * d);
}

/* h - ceil(h - 0.5) for an index times 2^16, and that nearest index. */
HD double index_offset(double scaled, int32_t *nearest)
{
    const double h = scaled * (1.0 / INDEX_SCALE);
    const double n = round_even(h);
    const double d = h - n;
    *nearest = (int32_t)(d == -0.5 ? n - 1.0 : n);
    return d == -0.5 ? 0.5 : d;
}

/* square_axis in double precision, for the offset d of an index from a whole one; relative
 * error 1e-14 away from zeros. */
HD void square_axis_double(double d, double N, double *numerator, double *denominator)
{
    const double offset = d + 1e-30;  // never 0: 0/0 becomes N
    const double x = fused(N, offset, -round_even(N * offset));
    *numerator *= sinpi_reduced(x);
    *denominator *= sinpi_reduced(offset);
}

/* ROUND squared, for r = (dh Na)^2 + (dk Nb)^2 + (dl Nc)^2 times the fudge factor: the
 * form factor of a sphere at pi sqrt(r), by its series up to 1, where the difference
 * of the closed form cancels.  Relative error 1e-14 away from zeros. */
HD double round_squared(double r)
{
    const double s = sqrt(r);
    const double f = s - round_even(s);
    const double x_sqr = M_PI * M_PI * r;
    const double closed = 3.0 * (sinpi_reduced(f) / (M_PI * s) - cospi_reduced(f)) / x_sqr;
    double p = 0x1.1a7d048170c21p-35;
    p = fused(p, x_sqr, -0x1.8d48e25ef6017p-28);
    p = fused(p, x_sqr, 0x1.937e110d00e0dp-21);
    p = fused(p, x_sqr, -0x1.1566abc00c07cp-14);
    p = fused(p, x_sqr, 0x1.d41d41d41d3c8p-9);
    p = fused(p, x_sqr, -0.1);
    p = fused(p, x_sqr, 1.0);
    const double factor = x_sqr < 1.0 ? p : closed;
    return factor * factor;
}

/* The quadratic form m = {hh, kk, ll, 2hk, 2hl, 2kl} that makes |dh a* + dk b* + dl c*|^2
 * times `factor` of the offsets; rows of reciprocal_A: a*, b*, c* in 1/A. */
HD void distance_form(const double reciprocal_A[9], double factor, double m[6])
{
    const double *a = reciprocal_A, *b = a + 3, *c = a + 6;
    m[0] = factor * (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    m[1] = factor * (b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
    m[2] = factor * (c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
    m[3] = 2.0 * factor * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
    m[4] = 2.0 * factor * (a[0] * c[0] + a[1] * c[1] + a[2] * c[2]);
    m[5] = 2.0 * factor * (b[0] * c[0] + b[1] * c[1] + b[2] * c[2]);
}

/* The form of offsets whose GAUSS, squared, is 2^-form, and whose TOPHAT is compared with
 * TOPHAT_LIMIT; arguments as shape_factor. */
HD void shape_form(const struct crystal *c, const double reciprocal_A[9], int faithful, double m[6])
{
    CRYSTAL_SHAPES_ARE(4);
    const double *N = c->cells, cells = N[0] * N[1] * N[2];
    const double radius_sqr = faithful ? TOPHAT_RADIUS_SQR_FAITHFUL : TOPHAT_RADIUS_SQR;
    const double factor =
        c->fudge * (shape_is_gaussian(c->shape) ? 2.0 / 0.63 * M_LOG2E : TOPHAT_LIMIT / radius_sqr);
    if (faithful) {
        distance_form(reciprocal_A, cells * cells * factor, m);
        return;
    }
    for (int i = 0; i < 3; i++) {
        m[i] = N[i] * N[i] * factor;
        m[3 + i] = 0.0;
    }
}

/* Returns what the kernels divide the square of a lattice factor by, so that it fits single
 * precision.  `cells`: Na Nb Nc; `start`: the power of two at which the numerator of SQUARE
 * begins. */
HD double shape_square_unit(enum crystal_shape shape, double cells, double start)
{
    switch (shape) {
    case SHAPE_SQUARE:
        return 1.0 / (start * start);
    case SHAPE_ROUND:
        return cells * cells * 0.723601254558268 * 0.723601254558268;
    case SHAPE_GAUSS:
        return ldexp(cells * cells, -EXP2_BIAS);
    case SHAPE_TOPHAT:
        return cells * cells;
    }
    return cells * cells;
}

HD double distance_of_form(const double m[6], double dh, double dk, double dl)
{
    const double h = fused(m[0], dh, fused(m[3], dk, m[4] * dl));
    const double k = fused(m[1], dk, m[5] * dl);
    return fused(h, dh, fused(k, dk, m[2] * dl * dl));
}

#endif
