/*
 * Contribution of anomalous scattering to structure factors [H 1991: Hendrickson, Science 254, 51].
 *
 * F(h) = F0(h) + sum over atoms of (f' + i f'') occ exp(-B s^2 / 4) exp(2 pi i h.x), with s = 1/d,
 * where F0 has the scattering factors without f' and f''.  F0(-h) is F0(h)*.  The contribution of
 * f'' does not obey this law of Friedel.
 */
#ifndef BRAGG_PHYSICS_ANOMALOUS_H
#define BRAGG_PHYSICS_ANOMALOUS_H

#include <stddef.h>

#include "base/error.h"
#include "model/atoms.h"

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
