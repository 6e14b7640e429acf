/* How a found lattice lies against a true one. */
#ifndef BRAGG_SCORE_LATTICES_H
#define BRAGG_SCORE_LATTICES_H

#include <stdbool.h>

#include "io/symmetry.h"

/* Matrices are row-major; those of lattices have columns a*, b*, c* in 1/A. */

/* All rotations with items -1, 0 and 1 that leave the reciprocal metric of a lattice as it is, to
 * 1e-4: what an analysis that knows the cell alone cannot tell apart.  As operators on h, k, l. */
void lattices_rotations(const double a_matrix[9], struct symmetry *y);

/* The same of a space group, whose operators act on x, y, z: Laue's rotations, each once. */
void lattices_group(const struct symmetry *group, struct symmetry *y);

struct lattices_turn {
    double angle_deg;      // least over the rotations
    double vector_deg[3];  // the rotation from the true to the found lattice
    int operator[9];       // true h = operator * found h
    double cell[6];        // of the found lattice by the true one's axes: A, deg
};

/* False for a lattice that cannot be: left-handed or flat. */
bool lattices_compare(const double truth[9], const double found[9], const struct symmetry *y,
                      struct lattices_turn *turn);

/* a, b, c in A and alpha, beta, gamma in deg; false for a flat lattice. */
bool lattices_cell(const double a_matrix[9], double cell[6]);

/* Whether the edges, in whatever order, are the same to `tolerance`. */
bool lattices_same_edges(const double a[6], const double b[6], double tolerance);

#endif
