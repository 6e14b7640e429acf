/*
 * Lattice factors: the sum over the unit cells of a small crystal, for its four
 * shapes [3.7].  h, k, l are real-valued indices, N the cells along an axis.
 */
#ifndef BRAGG_PHYSICS_SHAPE_H
#define BRAGG_PHYSICS_SHAPE_H

#include <stdbool.h>

#include "base/vec.h"
#include "model/experiment.h"

/* --- properties of shapes -------------------------------------------------------
 *
 * Engines and stages ask for a property, not for a shape.  Each function states how many shapes it
 * knows, so that a new shape does not compile until each property is decided for it. */

/* Returns true if the lattice factor is a product of gratings, one along each axis.  Such spots
 * have side lobes, and no width factor. */
HD bool shape_is_grating(enum crystal_shape shape)
{
    CRYSTAL_SHAPES_ARE(4);
    return shape == SHAPE_SQUARE;
}

/* Returns true if the lattice factor is that of an ellipsoid: a function of the offset from the
 * nearest lattice point in units of 1/N, in both modes. */
HD bool shape_is_ellipsoid(enum crystal_shape shape)
{
    CRYSTAL_SHAPES_ARE(4);
    return shape == SHAPE_ROUND;
}

/* Returns true if the lattice factor is a Gaussian about each lattice point.  Only then is there a
 * closed form of the mean over orientations. */
HD bool shape_is_gaussian(enum crystal_shape shape)
{
    CRYSTAL_SHAPES_ARE(4);
    return shape == SHAPE_GAUSS;
}

/* Returns true if the lattice factor is 0, or negligible, beyond a distance from the lattice
 * points.  It is then a function of a quadratic form of the offset, see shape_form. */
HD bool shape_is_bounded(enum crystal_shape shape)
{
    CRYSTAL_SHAPES_ARE(4);
    return shape == SHAPE_GAUSS || shape == SHAPE_TOPHAT;
}

/* Returns the shape whose spots have the same width and no side lobes. */
HD enum crystal_shape shape_without_lobes(enum crystal_shape shape)
{
    return shape_is_grating(shape) ? SHAPE_GAUSS : shape;
}

/* Returns true if the lattice factor has useful derivatives. */
HD bool shape_has_slopes(enum crystal_shape shape)
{
    CRYSTAL_SHAPES_ARE(4);
    return shape != SHAPE_TOPHAT;
}

/* --- lattice factors ------------------------------------------------------------ */

/* Returns the nearest integer as nanoBragg defines it: halves are rounded down. */
HD double index_nearest(double h)
{
    return ceil(h - 0.5);
}

/* Returns sin(N x)/sin(x), and N only at x = 0. At other multiples of pi the quotient consists
 * of rounding errors, as in nanoBragg. */
HD double sincg_faithful(double x, double N)
{
    if (x == 0.0)
        return N;
    return sin(x * N) / sin(x);
}

/* Returns sin(pi t) for any t. The argument is reduced before the multiplication by pi. */
HD double sin_pi(double t)
{
    const double n = rint(t);
    const double s = sin(M_PI * (t - n));
    return fmod(n, 2.0) != 0.0 ? -s : s;
}

/* sin(pi N h)/sin(pi h) for whole N: with h = n + d, n whole and |d| <= 1/2, it is
 * (-1)^(n (N-1)) sin(pi N d)/sin(pi d), and N (-1)^(n (N-1)) at d = 0. */
HD double sincg(double h, double N)
{
    const double n = rint(h);
    const double d = h - n;
    const double ratio = d == 0.0 ? N : sin_pi(N * d) / sin(M_PI * d);
    const int odd = fmod(n, 2.0) != 0.0 && fmod(N, 2.0) == 0.0;
    return odd ? -ratio : ratio;
}

/* Returns the form factor of a sphere as nanoBragg computes it. Its difference loses all digits
 * near x = 0. */
HD double sinc3_faithful(double x)
{
    if (x == 0.0)
        return 1.0;
    return 3.0 * (sin(x) / x - cos(x)) / (x * x);
}

/* Form factor of a sphere, 3 (sin x/x - cos x)/x^2, by its power series up to 1. */
HD double sinc3(double x)
{
    if (x >= 1.0)
        return sinc3_faithful(x);
    double term = 1.0, sum = 1.0;
    for (int k = 1; k < 10; k++) {
        term *= -x * x / (2.0 * k * (2.0 * k + 3.0));
        sum += term;
    }
    return sum;
}

/* SQUARE: a box of N[0] x N[1] x N[2] cells.  `faithful` keeps the argument of the
 * sine unreduced. */
HD double shape_square(const double hkl[3], const double N[3], int faithful)
{
    double F = 1.0;
    for (int i = 0; i < 3; i++)
        if (N[i] > 1.0)
            F *= faithful ? sincg_faithful(M_PI * hkl[i], N[i]) : sincg(hkl[i], N[i]);
    return F;
}

/* Squared offset from the nearest lattice point, each index in units of 1/N, the width of a
 * spot along its axis. */
HD double shape_offset_sqr(const double hkl[3], const double N[3])
{
    const double dh = hkl[0] - index_nearest(hkl[0]);
    const double dk = hkl[1] - index_nearest(hkl[1]);
    const double dl = hkl[2] - index_nearest(hkl[2]);
    return dh * dh * N[0] * N[0] + dk * dk * N[1] * N[1] + dl * dl * N[2] * N[2];
}

/* ROUND: an ellipsoid; the factor scales its volume to that of the box.  `faithful` keeps
 * the loss of digits near lattice points. */
HD double shape_round(const double hkl[3], const double N[3], double fudge, int faithful)
{
    const double x = M_PI * sqrt(shape_offset_sqr(hkl, N) * fudge);
    return N[0] * N[1] * N[2] * 0.723601254558268 * (faithful ? sinc3_faithful(x) : sinc3(x));
}

/* Returns the squared distance from the nearest lattice point in 1/A^2, times (Na Nb Nc)^2.
 * nanoBragg uses it for GAUSS and TOPHAT instead of shape_offset_sqr.  The rows of `reciprocal_A`
 * are a*, b*, c*. */
HD double shape_distance_sqr(const double hkl[3], const double N[3], const double reciprocal_A[9])
{
    const double dh = hkl[0] - index_nearest(hkl[0]);
    const double dk = hkl[1] - index_nearest(hkl[1]);
    const double dl = hkl[2] - index_nearest(hkl[2]);
    double d[3];
    for (int i = 0; i < 3; i++)
        d[i] = dh * reciprocal_A[i] + dk * reciprocal_A[3 + i] + dl * reciprocal_A[6 + i];
    return (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) * N[0] * N[0] * N[1] * N[1] * N[2] * N[2];
}

/* GAUSS and TOPHAT at such a squared offset.  Squared and integrated over the indices about a
 * lattice point, both give (0.63 pi/2)^(3/2) = 0.984 Na Nb Nc; SQUARE and ROUND 1 Na Nb Nc. */
HD double shape_gauss(double offset_sqr, const double N[3], double fudge)
{
    return N[0] * N[1] * N[2] * exp(-(offset_sqr / 0.63 * fudge));
}

/* Squared radius of the ellipsoid that TOPHAT lights: 0.63 pi/2 (3/(4 pi))^(2/3), and
 * nanoBragg's, 0.63^2. */
#define TOPHAT_RADIUS_SQR 0.38083309913639096
#define TOPHAT_RADIUS_SQR_FAITHFUL 0.3969

HD double shape_tophat(double offset_sqr, const double N[3], double fudge, int faithful)
{
    const double limit = faithful ? TOPHAT_RADIUS_SQR_FAITHFUL : TOPHAT_RADIUS_SQR;
    return offset_sqr * fudge < limit ? N[0] * N[1] * N[2] : 0.0;
}

/* The lattice factor F_latt of crystal *c at indices hkl; reciprocal_A as in
 * struct lattice (missetted, not turned by phi or mosaic).  `faithful`: as nanoBragg. */
HD double shape_factor(const struct crystal *c, const double hkl[3], const double reciprocal_A[9],
                       int faithful)
{
    const double *N = c->cells;
    CRYSTAL_SHAPES_ARE(4);
    if (shape_is_grating(c->shape))
        return shape_square(hkl, N, faithful);
    if (shape_is_ellipsoid(c->shape))
        return shape_round(hkl, N, c->fudge, faithful);
    const double offset_sqr =
        faithful ? shape_distance_sqr(hkl, N, reciprocal_A) : shape_offset_sqr(hkl, N);
    return shape_is_gaussian(c->shape) ? shape_gauss(offset_sqr, N, c->fudge)
                                       : shape_tophat(offset_sqr, N, c->fudge, faithful);
}

#endif
