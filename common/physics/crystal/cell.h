/* Set-up of the crystal: from a cell [3.1] or a matrix [3.2] to reciprocal and
 * direct vectors [3.3], and its size [3.4]. */
#ifndef BRAGG_PHYSICS_CELL_H
#define BRAGG_PHYSICS_CELL_H

#include "base/error.h"
#include "model/experiment.h"
#include "physics/request.h"

/* Volume in A^3 of a cell with edges a, b, c in A and angles in rad; 0 or NaN for
 * angles that make none. */
double cell_volume(const double cell_A[3], const double cell_rad[3]);

/* Direct vectors (rows a, b, c in A) of *c for reciprocal vectors already turned by
 * the misset, which are then derived again from the direct ones.  In faithful mode
 * the lengths come from the cell where one was given. */
void cell_direct(const struct crystal *c, bool faithful, double reciprocal_A[9],
                 double direct_A[9]);

/* Edges and angles of the cell of a MOSFLM matrix, as `cell_setup` makes them.  STATUS_INPUT for
 * one that is singular or of the wrong size. */
enum status cell_of_matrix(const double matrix[9], double wavelength_m, double cell_A[3],
                           double cell_rad[3], struct error *e);

/* Fills *c from the request; the table's ownership moves to it.  `wavelength_m`
 * scales a matrix, `beam_size_m` clips the edges along b and c [2.1]. */
enum status cell_setup(const struct crystal_request *r, enum physics physics, double wavelength_m,
                       double beam_size_m, struct crystal *c, struct error *e);

#endif
