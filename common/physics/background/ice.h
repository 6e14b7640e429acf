/*
 * Powder rings of hexagonal ice (P 63/m m c, a = 4.497 A, c = 7.322 A, four molecules), as a table
 * like those of amorphous matter, whose F squared is per molecule:
 *
 *     F^2(s) = sum over rings  m F_ring^2 g(s - 1/d) / (4 pi s^2 V n),   s = 2 sin(theta)/lambda
 *
 * m is the multiplicity, V the volume of the cell, n its molecules, and g a Gaussian with an area
 * of 1.  Rings are smooth, as many crystals make them.  F_ring follows from oxygen in 4f, z =
 * 0.0623, and half hydrogens in 4f, z = 0.1963, and 12k, x = 0.4551 and z = 0.0183 (as Kuhs and
 * Lehmann, J. Phys. Chem. 87, 4312, 1983, have them), down to ICE_LEAST_A.
 */
#ifndef BRAGG_PHYSICS_ICE_H
#define BRAGG_PHYSICS_ICE_H

#include <stddef.h>

#define ICE_LEAST_A 0.85
#define ICE_CELL_A3 128.23
#define ICE_MOLECULES 4.0
#define ICE_MOLAR_MASS_G_MOL 18.0153
/* n m / (V N_A) */
#define ICE_DENSITY_G_CM3 (ICE_MOLECULES * ICE_MOLAR_MASS_G_MOL / (ICE_CELL_A3 * 0.602214076))

/* Full width at half maximum, in 1/A, of rings of crystals that are so large (Scherrer's 0.9/L). */
double ice_width_1_A(double crystal_A);

/* Rows of the table for rings `width_1_A` wide: to be computed first. */
size_t ice_rows(double width_1_A);

/* Fills them: sin(theta)/lambda in 1/m, F in electrons per molecule; 0 away from rings. */
void ice_table(double width_1_A, double *stol_1_m, double *F);

#endif
