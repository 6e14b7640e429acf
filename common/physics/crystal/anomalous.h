/*
 * What anomalous scattering adds to structure factors [H 1991: Hendrickson, Science 254, 51].
 *
 * F(h) = F0(h) + sum over atoms of (f' + i f'') occ exp(-B s^2 / 4) exp(2 pi i h.x), with s = 1/d,
 * and F0 from scattering factors without f' and f''.  F0(-h) is F0(h)*, but f'' breaks Friedel's
 * law for what is added.
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

/* Of F0 alone, |F0| and its phase at h. */
struct friedel_pair friedel_pair_of(double F0, double phase_rad);

/* Adds what atoms and all their equivalents scatter for `count` reflections of indices
 * hkl[count][3] within +-100000 to pairs[count].  STATUS_FAILED when memory is out, STATUS_INPUT
 * for angles that make no cell. */
enum status anomalous_add(const struct atoms *atoms, const struct anomalous_cell *cell,
                          const int (*hkl)[3], size_t count, struct friedel_pair *pairs,
                          struct error *e);

#endif
