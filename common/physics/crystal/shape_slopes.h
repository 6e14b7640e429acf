/*
 * Derivatives of the factors of a term: of the squared lattice factor of SQUARE, ROUND and GAUSS by
 * indices, cells and fudge, and of tricubic F by indices.  They are for physical mode only.  TOPHAT
 * has no useful derivatives: they are 0 almost everywhere and infinite at its rim.
 */
#ifndef BRAGG_PHYSICS_SHAPE_SLOPES_H
#define BRAGG_PHYSICS_SHAPE_SLOPES_H

#include "physics/crystal/hkl.h"
#include "physics/crystal/shape.h"

/* A squared lattice factor and its derivatives. */
struct shape_slopes {
    double value;
    double by_index[3], by_cells[3], by_fudge;
};

/* sin(y)/y. */
HD double sinc1(double y)
{
    return y == 0.0 ? 1.0 : sin(y) / y;
}

/* Its derivative over y, (cos y - sin y/y)/y^2, by its power series up to 1/2. */
HD double sinc1_slope(double y)
{
    if (fabs(y) >= 0.5)
        return (cos(y) - sin(y) / y) / (y * y);
    const double z = y * y;
    return -1.0 / 3.0 *
           (1.0 -
            z / 10.0 * (1.0 - z / 28.0 * (1.0 - z / 54.0 * (1.0 - z / 88.0 * (1.0 - z / 130.0)))));
}

/* s = sin(pi N d)/sin(pi d), and its derivatives by d and by N, for |d| <= 1/2 and any N.
 * Nothing is divided by s or d: the difference of cotangents that a textbook has loses all
 * digits at d = 0, where a spot is brightest. */
HD void sincg_slopes(double d, double N, double *s, double *by_d, double *by_N)
{
    const double x = M_PI * d;
    const double below = sinc1(x), above = sinc1(N * x);
    *s = N * above / below;
    *by_N = cos(N * x) / below;
    *by_d = M_PI * N * x * (N * N * sinc1_slope(N * x) * below - above * sinc1_slope(x)) /
            (below * below);
}

HD void shape_slopes_square(const double d[3], const double N[3], struct shape_slopes *out)
{
    double s[3] = {1.0, 1.0, 1.0}, by_d[3] = {0}, by_N[3] = {0};
    for (int i = 0; i < 3; i++)
        if (N[i] > 1.0)
            sincg_slopes(d[i], N[i], &s[i], &by_d[i], &by_N[i]);
    out->value = s[0] * s[0] * s[1] * s[1] * s[2] * s[2];
    for (int i = 0; i < 3; i++) {
        const double one = s[(i + 1) % 3], two = s[(i + 2) % 3];
        const double rest = 2.0 * s[i] * one * one * two * two;
        out->by_index[i] = rest * by_d[i];
        out->by_cells[i] = rest * by_N[i];
    }
    out->by_fudge = 0.0;
}

/* The derivative of sinc3 over x, by its power series up to 1. */
HD double sinc3_slope(double x)
{
    if (x >= 1.0)
        return (3.0 * sin(x) / x - 3.0 * sinc3(x)) / (x * x);
    double term = 1.0, sum = 0.0;  // of sinc3: term_k x^2k
    for (int k = 1; k < 10; k++) {
        term *= -1.0 / (2.0 * k * (2.0 * k + 3.0));
        sum += 2.0 * k * term;
        term *= x * x;
    }
    return sum;
}

HD void shape_slopes_round(const double d[3], const double N[3], double fudge,
                           struct shape_slopes *out)
{
    double offset_sqr = 0.0;
    for (int i = 0; i < 3; i++)
        offset_sqr += N[i] * N[i] * d[i] * d[i];
    const double x = M_PI * sqrt(fudge * offset_sqr);
    const double j = sinc3(x), volume = 0.723601254558268 * N[0] * N[1] * N[2];
    const double steep = 2.0 * volume * volume * j * sinc3_slope(x) * M_PI * M_PI;
    out->value = volume * volume * j * j;
    for (int i = 0; i < 3; i++) {
        out->by_index[i] = steep * fudge * N[i] * N[i] * d[i];
        out->by_cells[i] = 2.0 * out->value / N[i] + steep * fudge * N[i] * d[i] * d[i];
    }
    out->by_fudge = 0.5 * steep * offset_sqr;
}

HD void shape_slopes_gauss(const double d[3], const double N[3], double fudge,
                           struct shape_slopes *out)
{
    double offset_sqr = 0.0;
    for (int i = 0; i < 3; i++)
        offset_sqr += N[i] * N[i] * d[i] * d[i];
    const double F = shape_gauss(offset_sqr, N, fudge);
    out->value = F * F;
    for (int i = 0; i < 3; i++) {
        out->by_index[i] = -(4.0 * fudge / 0.63) * out->value * N[i] * N[i] * d[i];
        out->by_cells[i] =
            2.0 * out->value / N[i] * (1.0 - 2.0 * fudge * N[i] * N[i] * d[i] * d[i] / 0.63);
    }
    out->by_fudge = -2.0 / 0.63 * offset_sqr * out->value;
}

/* Sets *out to the squared lattice factor of crystal *c, which is not TOPHAT, and its derivatives
 * at indices hkl. */
HD void shape_slopes(const struct crystal *c, const double hkl[3], struct shape_slopes *out)
{
    double d[3];
    for (int i = 0; i < 3; i++)
        d[i] = hkl[i] - index_nearest(hkl[i]);
    CRYSTAL_SHAPES_ARE(4);
    if (shape_is_grating(c->shape))
        shape_slopes_square(d, c->cells, out);
    else if (shape_is_ellipsoid(c->shape))
        shape_slopes_round(d, c->cells, c->fudge, out);
    else
        shape_slopes_gauss(d, c->cells, c->fudge, out);
}

/* The weights of the four nodes of Lagrange's cubic, -1 .. 2, at 0 <= at <= 1; and those of its
 * derivative. */
HD void cubic_weights(double at, double weight[4], double slope[4])
{
    const double t = at, u = at - 1.0, v = at - 2.0, w = at + 1.0;
    weight[0] = -t * u * v / 6.0;
    weight[1] = w * u * v / 2.0;
    weight[2] = -w * t * v / 2.0;
    weight[3] = w * t * u / 6.0;
    slope[0] = -(u * v + t * v + t * u) / 6.0;
    slope[1] = (u * v + w * v + w * u) / 2.0;
    slope[2] = -(t * v + w * v + w * t) / 2.0;
    slope[3] = (t * u + w * u + w * t) / 6.0;
}

/* The gradient of hkl_tricubic, where hkl_can_interpolate. */
HD void hkl_tricubic_slopes(const struct hkl_table *t, const double hkl[3], double by_index[3])
{
    double weight[3][4], slope[3][4];
    long first[3];
    for (int i = 0; i < 3; i++) {
        first[i] = (long)floor(hkl[i]) - 1;
        cubic_weights(hkl[i] - floor(hkl[i]), weight[i], slope[i]);
        by_index[i] = 0.0;
    }
    for (int i = 0; i < 64; i++) {
        const int h = i / 16, k = i / 4 % 4, l = i % 4;
        const double F = hkl_at(t, first[0] + h, first[1] + k, first[2] + l);
        by_index[0] += F * slope[0][h] * weight[1][k] * weight[2][l];
        by_index[1] += F * weight[0][h] * slope[1][k] * weight[2][l];
        by_index[2] += F * weight[0][h] * weight[1][k] * slope[2][l];
    }
}

#endif
