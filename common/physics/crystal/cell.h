/* Set-up of the crystal: from a cell [3.1] or a matrix [3.2] to reciprocal and
 * direct vectors [3.3], and its size [3.4]. */
#ifndef BRAGG_PHYSICS_CELL_H
#define BRAGG_PHYSICS_CELL_H

#include "base/error.h"
#include "model/experiment.h"
#include "physics/request.h"

/* Returns the volume in A^3 of a cell with edges a, b, c in A and angles in rad.  Returns 0 or NaN
 * if the angles make no cell. */
double cell_volume(const double cell_A[3], const double cell_rad[3]);

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

#endif
