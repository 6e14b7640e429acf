/*
 * Vectors of three doubles, and row-major 3x3 matrices.  The order of the terms of every sum
 * must not change, because faithful images depend on the last bit.
 */
#ifndef BRAGG_BASE_VEC_H
#define BRAGG_BASE_VEC_H

#include <math.h>

#include "base/portable_math.h"

HD void vec_set(double out[3], double x, double y, double z)
{
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

HD void vec_copy(double out[3], const double v[3])
{
    vec_set(out, v[0], v[1], v[2]);
}

HD double vec_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

HD double vec_length(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* out = a x b; out may not be a or b. */
HD void vec_cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* out = v * factor; out may be v. */
HD void vec_scale(const double v[3], double factor, double out[3])
{
    vec_set(out, factor * v[0], factor * v[1], factor * v[2]);
}

/* Sets out to the part of v that is perpendicular to the unit vector z; out may be v. */
HD void vec_across(const double v[3], const double z[3], double out[3])
{
    const double along = vec_dot(v, z);
    vec_set(out, v[0] - along * z[0], v[1] - along * z[1], v[2] - along * z[2]);
}

/* out = v / |v|, or the zero vector for |v| = 0.  Returns |v|.  out may be v. */
HD double vec_unit(const double v[3], double out[3])
{
    const double length = vec_length(v);
    if (length > 0.0)
        vec_set(out, v[0] / length, v[1] / length, v[2] / length);
    else
        vec_set(out, 0.0, 0.0, 0.0);
    return length;
}

/* Rotates v in place about the laboratory axes x, then y, then z, by right-handed angles in rad.
 * A rotation by 0 is skipped, so that v stays exact [1.6]. */
HD void vec_rotate(double v[3], const double angles[3])
{
    if (angles[0] != 0.0) {
        const double c = cos(angles[0]), s = sin(angles[0]);
        vec_set(v, v[0], v[1] * c - v[2] * s, v[1] * s + v[2] * c);
    }
    if (angles[1] != 0.0) {
        const double c = cos(angles[1]), s = sin(angles[1]);
        vec_set(v, v[0] * c + v[2] * s, v[1], -v[0] * s + v[2] * c);
    }
    if (angles[2] != 0.0) {
        const double c = cos(angles[2]), s = sin(angles[2]);
        vec_set(v, v[0] * c - v[1] * s, v[0] * s + v[1] * c, v[2]);
    }
}

/* Rotates v in place about the unit vector u by phi, in rad (Rodrigues' formula).  The rotation
 * is also computed for phi = 0 [1.6]. */
HD void vec_rotate_axis(double v[3], const double u[3], double phi)
{
    const double c = cos(phi), s = sin(phi);
    const double d = vec_dot(u, v) * (1.0 - c);
    vec_set(v, u[0] * d + v[0] * c + (-u[2] * v[1] + u[1] * v[2]) * s,
            u[1] * d + v[1] * c + (u[2] * v[0] - u[0] * v[2]) * s,
            u[2] * d + v[2] * c + (-u[1] * v[0] + u[0] * v[1]) * s);
}

/* out = m v; out may not be v. */
HD void mat_apply(const double m[9], const double v[3], double out[3])
{
    out[0] = m[0] * v[0] + m[1] * v[1] + m[2] * v[2];
    out[1] = m[3] * v[0] + m[4] * v[1] + m[5] * v[2];
    out[2] = m[6] * v[0] + m[7] * v[1] + m[8] * v[2];
}

HD double mat_determinant(const double m[9])
{
    double c[3];
    vec_cross(m + 3, m + 6, c);
    return vec_dot(m, c);
}

/* out = a b. */
HD void mat_multiply(const double a[9], const double b[9], double out[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

/* out = the inverse of m, from the cross products of the rows of m.  out may not be m. */
HD void mat_invert(const double m[9], double out[9])
{
    const double volume = mat_determinant(m);
    for (int i = 0; i < 3; i++) {
        double column[3];
        vec_cross(m + 3 * ((i + 1) % 3), m + 3 * ((i + 2) % 3), column);
        for (int j = 0; j < 3; j++)
            out[3 * j + i] = column[j] / volume;
    }
}

#endif
