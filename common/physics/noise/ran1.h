/*
 * The random numbers of nanoBragg, nonBragg and noisify, to the last bit: the
 * minimal standard generator of Park and Miller with the shuffle of Bays and
 * Durham, and the Gaussian and Poisson deviates built on it in single
 * precision.  For faithful mode only.
 *
 * The originals keep their tables in static variables; here they are a struct.
 * One struct per run, shared by all seeds of that run, repeats the originals:
 * the table and the spare Gaussian belong to the run, never to a seed.
 */
#ifndef BRAGG_PHYSICS_RAN1_H
#define BRAGG_PHYSICS_RAN1_H

#include <stdbool.h>

enum { RAN1_TABLE = 32 };

/* A zeroed struct is the state of a program that has just started. */
struct ran1 {
    long iy;              // last output of the shuffle, 0 = not initialised
    long iv[RAN1_TABLE];  // shuffle table
    bool has_spare;
    float spare;  // second Gaussian of a pair
    bool has_mean;
    float mean, g, sq, alxm;  // of the last Poisson mean
};

/* Returns a uniform number in (0, 1) and updates *seed.  If the seed is not positive, the table is
 * filled again from its negative (0 counts as 1).  On first use any seed fills the table, and a
 * positive seed acts like 1.  Callers negate the seed of a user. */
float ran1_uniform(struct ran1 *r, long *seed);

/* Draws a normal deviate with mean 0 and variance 1. The polar method makes them in pairs. */
float ran1_gauss(struct ran1 *r, long *seed);

/* Draws a Poisson deviate with this mean: from products of uniform numbers below 12, by
 * rejection up to 1e6, and as a Gaussian above 1e6, which is not rounded to a whole number. A
 * mean of 0 or less draws one number and gives 0. NaN gives NaN. */
float ran1_poisson(struct ran1 *r, float mean, long *seed);

/* Draws a random rotation by at most `cap_rad` as a row-major matrix. It takes three uniform
 * numbers. The rotations are not uniform on SO(3) for any cap. */
void ran1_rotation(struct ran1 *r, float cap_rad, long *seed, double rotation[9]);

#endif
