/* Set-up of the crystal: from a cell [3.1] or a matrix [3.2] to reciprocal and
 * direct vectors [3.3], and its size [3.4]. */
#ifndef BRAGG_PHYSICS_CELL_H
#define BRAGG_PHYSICS_CELL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/portable_math.h"
#include "base/rng.h"
#include "model/experiment.h"
#include "physics/noise/ran1.h"
#include "physics/request.h"

/* Checks that edges in A and angles in rad give a cell with a volume.  A margin keeps all quotients
 * finite.  STATUS_INPUT: they do not. */
enum status cell_check(const double cell_A[3], const double cell_rad[3], struct error *e);

/* Returns the volume in A^3 of a cell with edges a, b, c in A and angles in rad.  Returns 0 or NaN
 * if the angles make no cell. */
double cell_volume(const double cell_A[3], const double cell_rad[3]);

/* Sets metric[] to the scalar products of the edges of a cell in A^2, row by row. */
void cell_metric(const double cell_A[3], const double cell_rad[3], double metric[9]);

/* Sets reciprocal[] to the inverse of a metric with this determinant, the square of the volume: the
 * scalar products of the reciprocal vectors. */
void metric_reciprocal(const double metric[9], double determinant, double reciprocal[9]);

/* Sets direct_A[] to the direct vectors (rows a, b, c in A) of *c for reciprocal vectors that are
 * already rotated by the misset.  The reciprocal vectors are then derived again from the direct
 * ones.  In faithful mode the lengths come from the cell, if a cell was given. */
void cell_direct(const struct crystal *c, bool faithful, double reciprocal_A[9],
                 double direct_A[9]);

/* Sets the edges and angles of the cell of a MOSFLM matrix, as cell_setup makes them.
 * STATUS_INPUT: the matrix is singular or of the wrong size. */
enum status cell_of_matrix(const double matrix[9], double wavelength_m, double cell_A[3],
                           double cell_rad[3], struct error *e);

/* Fills in *c from the request.  The ownership of the table of structure factors moves to *c.
 * `wavelength_m` scales a matrix, and `beam_size_m` limits the edges along b and c [2.1]. */
enum status cell_setup(const struct crystal_request *r, enum physics physics, double wavelength_m,
                       double beam_size_m, struct crystal *c, struct error *e);

/*
 * Orientations of crystals and of their mosaic domains.  Matrices are row-major.
 *
 * Random orientations are uniform on SO(3) in physical mode (random_rotation), and those of
 * nanoBragg in faithful mode [3.3].  Mosaic domains come from the random numbers of nanoBragg in
 * both modes [3.6, 5.3].  Misset angles follow from a matrix as nanoBragg derives them [5.4].
 */

/* Sets domains[] to `count` rotations (count x 9) from one stream of *random, with `seed` as ran1
 * keeps it (negative).  The first rotation is drawn like the others, and is then replaced by the
 * identity. */
void mosaic_domains(struct ran1 *random, int64_t seed, double spread_rad, size_t count,
                    double *domains);

/* Sets misset_rad[] to the rotations about x, y, z of the laboratory frame in rad that, applied in
 * this order, make `rotation`. */
void rotation_to_misset(const double rotation[9], double misset_rad[3]);

/* Sets rotation[] to the matrix of those three rotations. */
void misset_to_rotation(const double misset_rad[3], double rotation[9]);

/* Draws the random misset of nanoBragg: a rotation by at most 90 rad, as three angles. */
void misset_random(struct ran1 *random, int64_t seed, double misset_rad[3]);

/* --- uniform rotations ------------------------------------------------------------ */

/*
 * Rotations that are uniform on SO(3): a unit quaternion uniform on the
 * 3-sphere (G. Marsaglia, "Choosing a point from the surface of a sphere",
 * Ann. Math. Stat. 43 (1972) 645-646, section on four dimensions).  No sine or
 * cosine is needed.
 */

/* Computes the row-major rotation matrix of the unit quaternion q = (w, x, y, z). */
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

/* Draws a uniform point in the unit disc. Sets *s to its squared radius (0 < s < 1). */
HD void random_disc_point(struct rng *r, double *u, double *v, double *s)
{
    do {
        *u = 2.0 * rng_uniform(r) - 1.0;
        *v = 2.0 * rng_uniform(r) - 1.0;
        *s = *u * *u + *v * *v;
    } while (*s >= 1.0 || *s == 0.0);
}

/* Draws the next uniform random rotation of the stream, row-major. */
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
