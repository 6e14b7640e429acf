/*
 * Scattering of amorphous matter: a radial table of F against sin(theta)/lambda,
 * interpolated as nonBragg does [4.3].  F is in electrons per molecule, its
 * square the coherent intensity of one molecule; a negative F stands for a
 * negative intensity.  Below are the materials that need no file: liquid water, air and
 * powder of ice.
 */
#ifndef BRAGG_PHYSICS_AMORPHOUS_H
#define BRAGG_PHYSICS_AMORPHOUS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"
#include "physics/crystal/hkl.h"

/* Rows added before the first and after the last, far away, so that four nodes
 * can always be found. */
enum { AMORPHOUS_PADDING = 2 };

struct amorphous {
    size_t count;      // rows with the padding
    double *stol_1_m;  // owned; sin(theta)/lambda, strictly increasing
    double *F;         // owned; electrons
    bool hold_ends;    // beyond the table: the end value; else a straight line on
};

/* Makes a padded copy of a table of `rows` >= 1 rows, `stol` strictly increasing.
 * nonBragg's way is hold_ends = false, which can run into negative F.  Free it with
 * amorphous_free.  STATUS_INPUT for an unusable table. */
enum status amorphous_make(struct amorphous *a, const double *stol_1_m, const double *F,
                           size_t rows, bool hold_ends, struct error *e);

void amorphous_free(struct amorphous *a);

/* Returns the number of molecules in a box of x by y by z m, from the density in g/cm^3 and the
 * molar mass in g/mol. */
double amorphous_molecules(const double size_m[3], double density_g_cm3, double mass_g_mol);

/* Returns the index of the last row at or below `stol`. There are two rows of padding on either
 * side. */
HD size_t amorphous_row(const struct amorphous *a, double stol_1_m)
{
    size_t low = 1, high = a->count - 2;  // stol of low <= stol < stol of high
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (a->stol_1_m[middle] <= stol_1_m)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The range of the table. F is constant beyond its ends. */
struct amorphous_ends {
    double first_1_m, last_1_m, F_first, F_last;
};

HD struct amorphous_ends amorphous_ends(const struct amorphous *a)
{
    const size_t first = AMORPHOUS_PADDING, last = a->count - AMORPHOUS_PADDING - 1;
    const struct amorphous_ends held = {a->stol_1_m[first], a->stol_1_m[last], a->F[first],
                                        a->F[last]};
    const struct amorphous_ends open = {-INFINITY, INFINITY, 0.0, 0.0};
    return a->hold_ends ? held : open;
}

/* Returns F of the cubic, or F at an end of the table. */
HD double amorphous_within(const struct amorphous_ends *ends, double stol_1_m, double F)
{
    const double below = stol_1_m >= ends->last_1_m ? ends->F_last : F;
    return stol_1_m <= ends->first_1_m ? ends->F_first : below;
}

/* Returns F squared, with the sign of F. */
HD double amorphous_square(double F)
{
    return (F < 0.0 ? -1.0 : 1.0) * F * F;
}

/* Returns F at sin(theta)/lambda = `stol`, from the cubic through the four rows around it. */
HD double amorphous_F(const struct amorphous *a, double stol_1_m)
{
    const struct amorphous_ends ends = amorphous_ends(a);
    const size_t n = amorphous_row(a, stol_1_m) - 1;
    return amorphous_within(&ends, stol_1_m, cubic_lagrange(a->stol_1_m + n, a->F + n, stol_1_m));
}

/* Returns the coherent intensity of one molecule in electrons squared, with the sign of F. */
HD double amorphous_intensity(const struct amorphous *a, double stol_1_m)
{
    return amorphous_square(amorphous_F(a, stol_1_m));
}

/* sin(theta)/lambda in 1/m from unit vectors of the incident and the diffracted
 * beam: half the length of the scattering vector. */
HD double amorphous_stol(const double incident[3], const double diffracted[3], double wavelength_m)
{
    double q[3];
    for (int i = 0; i < 3; i++)
        q[i] = (diffracted[i] - incident[i]) / wavelength_m;
    return 0.5 * vec_length(q);
}

/*
 * Liquid water and air, as F in electrons per molecule, with F^2 the coherent intensity of one
 * molecule.  Compton scattering is left out.  The tables are our own; they follow from
 *
 *   s = sin(theta)/lambda, Q = 4 pi s
 *   free-atom form factors of H, N, O and Ar: physics/crystal/structure_factors.h
 *   a molecule, averaged over orientations (P. Debye, Ann. Phys. 351 (1915) 809):
 *     I(Q) = sum_ij f_i f_j sin(Q r_ij)/(Q r_ij)
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

#define WATER_DENSITY_G_CM3 0.997  // 25 C
#define WATER_MOLAR_MASS_G_MOL 18.0153
#define AIR_DENSITY_G_CM3 1.2041e-3  // dry, 20 C, 101325 Pa
#define AIR_MOLAR_MASS_G_MOL 28.965

/* Rows of the tables below: s = 0, 0.005, ... 6.0 1/A. */
enum { WATER_TABLE_ROWS = 1201 };
#define WATER_TABLE_STEP_1_A 0.005

/* Returns the structure factor of the centres of water molecules at Q >= 0 in 1/A. */
double water_structure_factor(double Q_1_A);

/* Returns F of a water molecule in the liquid in electrons, at s >= 0 in 1/A. */
double water_F(double stol_1_A);

/* Returns F of a mean molecule of air in electrons. */
double air_F(double stol_1_A);

/* Fills WATER_TABLE_ROWS rows: s in 1/A and F = value(s) in electrons. */
void water_table(double (*value)(double stol_1_A), double *stol_1_A, double *F);

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

#define ICE_LEAST_A 0.85
#define ICE_CELL_A3 128.23
#define ICE_MOLECULES 4.0
#define ICE_MOLAR_MASS_G_MOL 18.0153
/* n m / (V N_A) */
#define ICE_DENSITY_G_CM3 (ICE_MOLECULES * ICE_MOLAR_MASS_G_MOL / (ICE_CELL_A3 * 0.602214076))

/* Returns the full width at half maximum in 1/A of the rings of crystals of this size (Scherrer:
 * 0.9/L). */
double ice_width_1_A(double crystal_A);

/* Returns the number of rows of the table for rings of the width `width_1_A`. */
size_t ice_rows(double width_1_A);

/* Fills them: sin(theta)/lambda in 1/m, F in electrons per molecule; 0 away from rings. */
void ice_table(double width_1_A, double *stol_1_m, double *F);

#endif
