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

/* What atoms and all their equivalents add to F(h) and F(-h): real and imaginary parts. */
struct anomalous_sum {
    double plus[2], minus[2];
};

/* For `count` reflections of indices hkl[count][3] within +-100000, into sums[count], in which
 * nothing need stand.  STATUS_FAILED when memory is out, STATUS_INPUT for angles that make no
 * cell. */
enum status anomalous_add(const struct atoms *atoms, const struct anomalous_cell *cell,
                          const int (*hkl)[3], size_t count, struct anomalous_sum *sums,
                          struct error *e);

/* |F(h)| and |F(-h)| of F0 = |F0| exp(i phase) and what is added. */
void anomalous_amplitudes(double F0, double phase_rad, const struct anomalous_sum *added,
                          double F[2]);

#endif
