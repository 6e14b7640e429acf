/* Random rotations: nanoBragg's mosaic domains [3.6, 5.3] and random misset [3.3],
 * and misset angles from a matrix [5.4].  Matrices are row-major. */
#ifndef BRAGG_PHYSICS_MOSAIC_H
#define BRAGG_PHYSICS_MOSAIC_H

#include <stddef.h>
#include <stdint.h>

#include "physics/noise/ran1.h"

/* `count` rotations (count x 9) from one stream of *random, `seed` as ran1 keeps
 * it (negative); the first draws too, then becomes the identity. */
void mosaic_domains(struct ran1 *random, int64_t seed, double spread_rad, size_t count,
                    double *domains);

/* Rotations about lab x, y, z in rad that, applied in that order, make `rotation`. */
void rotation_to_misset(const double rotation[9], double misset_rad[3]);

/* The matrix of those three rotations. */
void misset_to_rotation(const double misset_rad[3], double rotation[9]);

/* nanoBragg's random misset: a rotation by at most 90 rad, as three angles. */
void misset_random(struct ran1 *random, int64_t seed, double misset_rad[3]);

#endif
