/* Predicted reflections: which lattice points the beam lights in a frame, and where they go. */
#ifndef BRAGG_PHYSICS_PREDICT_H
#define BRAGG_PHYSICS_PREDICT_H

#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/crystal/hkl.h"

struct reflection {
    size_t lattice;  // index into the recipe's
    int hkl[3];
    double off;           // from the Ewald sphere, in halves of a spot's width; at most 1
    double direction[3];  // unit vector of the diffracted beam
};

struct reflections {
    size_t count;
    size_t capacity;
    struct reflection *all;  // owned
};

/* All reflections of the recipe up to resolution `dmin_m` whose lattice point is within half a
 * spot's width of the Ewald sphere of some source at some step of the rotation; each of a lattice
 * once, where it is nearest to a sphere.  The width is that of a lattice of so many cells, and the
 * spread of the mosaic domains.  Sorted by lattice, h, k, l.  *list is overwritten and freed by
 * predict_free, also after STATUS_FAILED for lack of memory. */
enum status predict(const struct experiment *x, const struct recipe *r, double dmin_m,
                    struct reflections *list, struct error *e);

void predict_free(struct reflections *list);

/* --- the facts of a reflection other than its photons: its lattice point, and its F --- */

/* Lattice point hkl in 1/m; rows of `cell`: a, b, c in m, of some volume. */
HD void reflection_point(const double cell[9], const int32_t hkl[3], double q[3])
{
    const double volume = mat_determinant(cell);
    for (int j = 0; j < 3; j++)
        q[j] = 0.0;
    for (int i = 0; i < 3; i++) {
        double axis[3];
        vec_cross(cell + 3 * ((i + 1) % 3), cell + 3 * ((i + 2) % 3), axis);
        for (int j = 0; j < 3; j++)
            q[j] += hkl[i] * axis[j] / volume;
    }
}

/* How far inside the Ewald sphere that point lies, in 1/A: negative outside.  `incident`: unit
 * vector of propagation. */
HD double reflection_inside_1_A(const double cell[9], const int32_t hkl[3],
                                const double incident[3], double wavelength_m)
{
    double exit[3];
    reflection_point(cell, hkl, exit);
    for (int j = 0; j < 3; j++)
        exit[j] += incident[j] / wavelength_m;
    return (1.0 / wavelength_m - vec_length(exit)) * 1e-10;
}

/* F squared of whole indices, electrons^2: as the engines take it without interpolation. */
HD double reflection_F2(const struct hkl_table *t, const int32_t hkl[3])
{
    const double at[3] = {hkl[0], hkl[1], hkl[2]};
    const double F = hkl_nearest(t, at);
    return F * F;
}

#endif
