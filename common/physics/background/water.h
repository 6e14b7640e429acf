/*
 * Amorphous materials that ship with the project: liquid water and air, as F in
 * electrons per molecule, with F^2 the coherent intensity of one molecule.
 * Compton scattering is left out.  The tables are our own; they follow from
 *
 *   s = sin(theta)/lambda, Q = 4 pi s
 *   free-atom form factors of H, N, O and Ar: four Gaussians and a constant
 *     (D. T. Cromer and J. B. Mann, Acta Cryst. A24 (1968) 321-324;
 *     International Tables for Crystallography C, table 6.1.1.4)
 *   a molecule, averaged over orientations (P. Debye, Ann. Phys. 351 (1915) 809):
 *     I(Q) = sum_ij f_i f_j sin(Q r_ij)/(Q r_ij)
 *
 * Up to s = 2 1/A, where these end; from there to 6 1/A five Gaussians and a constant (D. Waasmaier
 * and A. Kirfel, Acta Cryst. A51 (1995) 416-431), in proportion.
 *
 * Water: r(OH) = 0.9572 A, angle 104.52 degrees.  Neighbouring molecules are correlated by their
 * centres (Narten and Levy, Science 165 (1969) 447):
 *     F^2 = I(Q) + F_o(Q)^2 (S(Q) - 1),   F_o = f_O + 2 f_H sin(Q r)/(Q r)
 * S(Q) is what makes F^2 the measured intensity of liquid water at 25 C, so that charge that
 * molecules in the liquid have elsewhere than free atoms is in it: a spline through the 214 points
 * of Hura, Russo, Glaeser, Head-Gordon, Krack and Parrinello, Phys. Chem. Chem. Phys. 5 (2003)
 * 1981, from Q = 0.15 to 10.8 1/A, which are absolute, and from which Compton scattering is
 * subtracted; weighed by their errors, with less curvature than these leave.  At Q = 0 it has the
 * limit of the compressibility, 6.4 electrons^2 for a molecule; from 11 1/A on it is 1.  The
 * spline is within 2 % of the measured intensity from 0.5 to 8 1/A, whose own error is 11 % at
 * 0.3, 8 % at 0.7, 3 % at 1.2 and 1 to 2 % from 1.5 1/A on.  Small-angle scattering that others
 * measured (Clark, Hura, Teixeira, Soper and Head-Gordon, PNAS 107 (2010) 14003) is met within 4 %.
 *
 * Air: dry, 78.08 % N2, 20.95 % O2, 0.93 % Ar by volume, an ideal gas (S = 1); bond
 * lengths 1.098 A (N2) and 1.208 A (O2).
 */
#ifndef BRAGG_PHYSICS_WATER_H
#define BRAGG_PHYSICS_WATER_H

#define WATER_DENSITY_G_CM3 0.997  // 25 C
#define WATER_MOLAR_MASS_G_MOL 18.0153
#define AIR_DENSITY_G_CM3 1.2041e-3  // dry, 20 C, 101325 Pa
#define AIR_MOLAR_MASS_G_MOL 28.965

/* Rows of the tables below: s = 0, 0.005, ... 6.0 1/A. */
enum { WATER_TABLE_ROWS = 1201 };
#define WATER_TABLE_STEP_1_A 0.005

/* Structure factor of the centres of water molecules; Q >= 0 in 1/A. */
double water_structure_factor(double Q_1_A);

/* F of a water molecule in the liquid, electrons; s >= 0 in 1/A. */
double water_F(double stol_1_A);

/* F of a mean molecule of air, electrons. */
double air_F(double stol_1_A);

/* Fills WATER_TABLE_ROWS rows: s in 1/A and F = value(s) in electrons. */
void water_table(double (*value)(double stol_1_A), double *stol_1_A, double *F);

#endif
