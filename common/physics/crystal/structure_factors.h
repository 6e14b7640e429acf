/*
 * Structure factors from atoms: form factors of free atoms, random F of a crystal whose atoms are
 * not known, and the contribution of anomalous scattering.
 */
#ifndef BRAGG_PHYSICS_STRUCTURE_FACTORS_H
#define BRAGG_PHYSICS_STRUCTURE_FACTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/atoms.h"

/* --- form factors -----------------------------------------------------------------
 *
 * Form factors of free atoms, in electrons, at s = sin(theta)/lambda.
 *
 * Up to s = 2 1/A they are four Gaussians and a constant (D. T. Cromer and J. B. Mann, Acta
 * Cryst. A24 (1968) 321-324; International Tables for Crystallography C, table 6.1.1.4).  From
 * there to 6 1/A they are five Gaussians and a constant (D. Waasmaier and A. Kirfel, Acta Cryst.
 * A51 (1995) 416-431), scaled so that both agree at 2 1/A.
 */

/* The Gaussians of one element; f(s) = c + sum a exp(-b s^2). */
struct scatterer {
    double a[4], b[4], c;              // to 2 1/A
    double far_a[5], far_b[5], far_c;  // beyond
};

extern const struct scatterer HYDROGEN, CARBON, NITROGEN, OXYGEN, SULFUR, ARGON;

/* Returns the form factor in electrons, for s >= 0 in 1/A. */
double form_factor(const struct scatterer *f, double s);

/* --- Wilson statistics ------------------------------------------------------------
 *
 * Structure factors of a crystal whose atoms are not known (A. J. C. Wilson, Acta Cryst. 2 (1949)
 * 318-321).  The atoms are those of a mean protein, at random places.  The mean of F^2 at one
 * resolution follows from their number and their B.  F^2 of a reflection has an exponential
 * distribution about this mean.  F of a centric reflection has a normal distribution.
 */

/* Volume of the cell per non-hydrogen atom, in A^3: 17.5 A^3 of protein and as much of solvent. */
#define WILSON_ATOM_A3 35.0

/* Returns the mean of F^2 in electrons^2 of general reflections of d spacing d_A, for a cell with
 * this number of non-hydrogen atoms of a protein. */
double wilson_mean_sqr(double atoms, double B_A2, double d_A);

/* Returns the random F of a reflection in electrons.  `mean_sqr` is the mean of F^2 of its class.
 * F is a pure function of the seed and the indices, which must be within +-100000. */
double wilson_F(double mean_sqr, bool centric, uint64_t seed, const int hkl[3]);

/* --- anomalous scattering ---------------------------------------------------------
 *
 * Contribution of anomalous scattering to structure factors [H 1991: Hendrickson, Science 254, 51].
 *
 * F(h) = F0(h) + sum over atoms of (f' + i f'') occ exp(-B s^2 / 4) exp(2 pi i h.x), with s = 1/d,
 * where F0 has the scattering factors without f' and f''.  F0(-h) is F0(h)*.  The contribution of
 * f'' does not obey this law of Friedel.
 */

struct anomalous_cell {
    double cell_A[3], cell_rad[3];
    size_t noperators;
    const struct symmetry_operator *operators;  // borrowed
};

/* F(h) and F(-h): real and imaginary parts. */
struct friedel_pair {
    double plus[2], minus[2];
};

/* Returns F(h) and F(-h) without anomalous scattering.  `F0` is |F0|, and `phase_rad` its phase at
 * h. */
struct friedel_pair friedel_pair_of(double F0, double phase_rad);

/* Adds to pairs[count] the contribution of atoms and all their symmetry equivalents, for `count`
 * reflections with indices hkl[count][3] within +-100000.  STATUS_FAILED: memory cannot be
 * allocated.  STATUS_INPUT: the angles make no cell. */
enum status anomalous_add(const struct atoms *atoms, const struct anomalous_cell *cell,
                          const int (*hkl)[3], size_t count, struct friedel_pair *pairs,
                          struct error *e);

#endif
