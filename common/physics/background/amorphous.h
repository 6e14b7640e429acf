/*
 * Scattering of amorphous matter: a radial table of F against sin(theta)/lambda,
 * interpolated as nonBragg does [4.3].  F is in electrons per molecule, its
 * square the coherent intensity of one molecule; a negative F stands for a
 * negative intensity.
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

/* Molecules in a box of x by y by z m, with the density in g/cm^3 and the molar
 * mass in g/mol. */
double amorphous_molecules(const double size_m[3], double density_g_cm3, double mass_g_mol);

/* Index of the last row at or below `stol`, between two rows of padding. */
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

/* Where F is held, and at what. */
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

/* F of the cubic, or that of an end. */
HD double amorphous_within(const struct amorphous_ends *ends, double stol_1_m, double F)
{
    const double below = stol_1_m >= ends->last_1_m ? ends->F_last : F;
    return stol_1_m <= ends->first_1_m ? ends->F_first : below;
}

/* F squared, with the sign of F. */
HD double amorphous_square(double F)
{
    return (F < 0.0 ? -1.0 : 1.0) * F * F;
}

/* F at sin(theta)/lambda = `stol`, by the cubic through the four rows around it. */
HD double amorphous_F(const struct amorphous *a, double stol_1_m)
{
    const struct amorphous_ends ends = amorphous_ends(a);
    const size_t n = amorphous_row(a, stol_1_m) - 1;
    return amorphous_within(&ends, stol_1_m, cubic_lagrange(a->stol_1_m + n, a->F + n, stol_1_m));
}

/* Coherent intensity of one molecule in electrons squared, with the sign of F. */
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

#endif
