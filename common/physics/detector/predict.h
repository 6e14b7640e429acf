/* Predicted reflections: the lattice points that scatter in a frame, and their directions. */
#ifndef BRAGG_PHYSICS_PREDICT_H
#define BRAGG_PHYSICS_PREDICT_H

#include <stddef.h>

#include "base/vec.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/crystal/hkl.h"

struct reflection {
    size_t lattice;  // index in the recipe
    int hkl[3];
    double off;           // distance from the Ewald sphere, in half widths of a spot; at most 1
    double direction[3];  // unit vector of the diffracted beam
};

struct reflections {
    size_t count;
    size_t capacity;
    struct reflection *all;  // owned
};

/* Lists the reflections of the recipe up to resolution `dmin_m` whose lattice point is within half
 * the width of a spot from the Ewald sphere of any source at any step of the rotation.  Each
 * reflection of a lattice is listed once, where it is nearest to a sphere.  The width comes from
 * the number of cells of the crystal and from the spread of the mosaic domains.  The list is sorted
 * by lattice, h, k, l.  Overwrites *list; predict_free frees it, also after an error. */
void predict(const struct experiment *x, const struct recipe *r, double dmin_m,
             struct reflections *list);

void predict_free(struct reflections *list);

/* --- the facts of a reflection other than its photons: its lattice point, and its F --- */

/* Sets q[] to the lattice point hkl in 1/m.  The rows of `cell` are a, b, c in m, with a volume
 * that is not 0. */
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

/* Returns how far inside the Ewald sphere that point is, in 1/A; negative outside.  `incident`:
 * unit vector of propagation. */
HD double reflection_inside_1_A(const double cell[9], const int32_t hkl[3],
                                const double incident[3], double wavelength_m)
{
    double exit[3];
    reflection_point(cell, hkl, exit);
    for (int j = 0; j < 3; j++)
        exit[j] += incident[j] / wavelength_m;
    return (1.0 / wavelength_m - vec_length(exit)) * 1e-10;
}

/* Returns F squared for whole indices in electrons^2, as the engines use it without
 * interpolation. */
HD double reflection_F2(const struct hkl_table *t, const int32_t hkl[3])
{
    const double at[3] = {hkl[0], hkl[1], hkl[2]};
    const double F = hkl_nearest(t, at);
    return F * F;
}

#endif
