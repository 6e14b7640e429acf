/*
 * Rotations that are uniform on SO(3): a unit quaternion uniform on the
 * 3-sphere (G. Marsaglia, "Choosing a point from the surface of a sphere",
 * Ann. Math. Stat. 43 (1972) 645-646, section on four dimensions).  No sine or
 * cosine is needed.
 */
#ifndef BRAGG_PHYSICS_RANDOM_ROTATION_H
#define BRAGG_PHYSICS_RANDOM_ROTATION_H

#include "base/portable_math.h"
#include "base/rng.h"

/* Row-major rotation matrix of the unit quaternion q = (w, x, y, z). */
HD void rotation_from_quaternion(const double q[4], double rotation[9])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    rotation[0] = 1.0 - 2.0 * (y * y + z * z);
    rotation[1] = 2.0 * (x * y - w * z);
    rotation[2] = 2.0 * (x * z + w * y);
    rotation[3] = 2.0 * (x * y + w * z);
    rotation[4] = 1.0 - 2.0 * (x * x + z * z);
    rotation[5] = 2.0 * (y * z - w * x);
    rotation[6] = 2.0 * (x * z - w * y);
    rotation[7] = 2.0 * (y * z + w * x);
    rotation[8] = 1.0 - 2.0 * (x * x + y * y);
}

/* A point uniform in the unit disc, its squared radius in *s (0 < s < 1). */
HD void random_disc_point(struct rng *r, double *u, double *v, double *s)
{
    do {
        *u = 2.0 * rng_uniform(r) - 1.0;
        *v = 2.0 * rng_uniform(r) - 1.0;
        *s = *u * *u + *v * *v;
    } while (*s >= 1.0 || *s == 0.0);
}

/* The next uniform random rotation of the stream, row-major. */
HD void random_rotation(struct rng *r, double rotation[9])
{
    double q[4], s1, s2;
    random_disc_point(r, &q[0], &q[1], &s1);
    random_disc_point(r, &q[2], &q[3], &s2);
    const double scale = __builtin_sqrt((1.0 - s1) / s2);
    q[2] = q[2] * scale;
    q[3] = q[3] * scale;
    rotation_from_quaternion(q, rotation);
}

#endif
