/*
 * Water in a beam of electrons, as a table of F against sin(theta)/lambda [4.3].  F is in
 * equivalent electrons per molecule, and its square is the sum of two parts.
 *
 * Elastic: the intensity of a molecule in the liquid (physics/background/amorphous.h), with
 * scattering factors of free atoms for electrons by the formula of Mott and Bethe:
 *     f_e = (Z - f_x)/(8 pi^2 a_0 s^2),   s = sin(theta)/lambda
 *
 * Inelastic, for all energy losses together (F. Lenz, Z. Naturforsch. 9a (1954) 185), per atom:
 *     d sigma/d Omega = 4 gamma^2 Z/(a_0^2 q^4) (1 - 1/(1 + q^2 r^2)^2)
 *     q^2 = Q^2 + (2 pi theta_E/lambda)^2,  r = a_0 Z^(-1/3),  theta_E = E gamma/((gamma + 1) e V)
 * E is 20 eV.  The formula has the shape, but gives free atoms too much: it is scaled so that the
 * mean free path of inelastic scattering is 300 nm (beta/0.7765)^2 in vitreous ice of 0.93 g/cm^3,
 * which is 300 nm at 300 kV and 240 nm at 200 kV.
 */
#ifndef BRAGG_PHYSICS_ELECTRON_WATER_H
#define BRAGG_PHYSICS_ELECTRON_WATER_H

enum { ELECTRON_WATER_ROWS = 600 };

/* Fills ELECTRON_WATER_ROWS rows for electrons of this wavelength: sin(theta)/lambda in 1/A, from 0
 * to 2.2, and F in equivalent electrons.  Rows are dense near the beam, where F is steep. */
void electron_water_table(double wavelength_m, double *stol_1_A, double *F);

/* Returns the elastic and the inelastic d sigma/d Omega of a molecule, in A^2. */
double electron_water_elastic_A2(double wavelength_m, double stol_1_A);
double electron_water_inelastic_A2(double wavelength_m, double stol_1_A);

#endif
