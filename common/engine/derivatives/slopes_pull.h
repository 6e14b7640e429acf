/*
 * Derivatives of a lattice: terms add to a few sums for one scattering vector, which become the
 * derivative by any parameter.  For CPUs and for CUDA.
 */
#ifndef BRAGG_ENGINE_SLOPES_PULL_H
#define BRAGG_ENGINE_SLOPES_PULL_H

#include <stdbool.h>

#include "base/vec.h"
#include "engine/derivatives/parameter.h"
#include "physics/fastmath.h"

/* Sums over phi steps and domains of one lattice, for one scattering vector q in 1/m.  With
 * g_i = d(F^2 S)/dh_i, v = sum of g_i times the direct vectors as they lie, all in m. */
struct pull {
    double value;       // F^2 S
    double by_cell[9];  // g_i q_j, q turned back to phi 0: by row i of the direct vectors, 1/m
    double v[3];
    double by_wave;    // -v.q: by ln wavelength
    double by_mosaic;  // by ln spread
    double by_phi, by_osc;
    double by_cells[3], by_fudge;
};

/* One phi step of one mosaic domain. */
struct slopes_step {
    double cell[9];     // direct vectors as they lie, m
    double back[9];     // turns a vector back to phi 0
    double spindle[3];  // as it lies, unit vector
    double axis[3];     // rotation vector of the domain, rad
    double part;        // of the width of the slice that this step has turned
};

/* Adds a term with the slopes g[] by its indices: all but its value and what shapes know. */
HD void pull_add(struct pull *sum, const struct slopes_step *step, const double q[3],
                 const double g[3])
{
    double v[3], torque[3];
    const double *back = step->back, *cell = step->cell;
    for (int j = 0; j < 3; j++) {
        const double at =
            fused(back[3 * j], q[0], fused(back[3 * j + 1], q[1], back[3 * j + 2] * q[2]));
        for (int i = 0; i < 3; i++)
            sum->by_cell[3 * i + j] = fused(g[i], at, sum->by_cell[3 * i + j]);
        v[j] = fused(g[0], cell[j], fused(g[1], cell[3 + j], g[2] * cell[6 + j]));
        sum->v[j] += v[j];
    }
    vec_cross(v, q, torque);
    const double by_phi = vec_dot(step->spindle, torque);
    sum->by_wave -= vec_dot(v, q);
    sum->by_mosaic += vec_dot(step->axis, torque);
    sum->by_phi += by_phi;
    sum->by_osc = fused(by_phi, step->part, sum->by_osc);
}

/* Returns true if a parameter moves points of panels or changes their sensors. */
HD bool parameter_moves_points(enum parameter_kind kind)
{
    return kind >= PARAMETER_DISTANCE;
}

/* Changes by one unit of a parameter, except for factors of the pixel. */
struct pull_change {
    enum parameter_kind kind;
    int axis;
    double unit_SI;
    const double *cell;    // [9]: of the direct vectors at phi 0, m
    double ln_wave;        // of the wavelength of the source
    const double *swept;   // [3]: of the direction of the source
    const double *turned;  // [3]: of the direction to the point
    double wavelength_m;
};

/* Returns the derivative of F^2 S by that parameter. */
HD double pull_slope(const struct pull *sum, const struct pull_change *by)
{
    double slope = 0.0;
    switch (by->kind) {
    case PARAMETER_ROTATION:
    case PARAMETER_CELL:
        for (int i = 0; i < 9; i++)
            slope += sum->by_cell[i] * by->cell[i];
        return slope;
    case PARAMETER_CELLS:
        return by->axis == 0   ? sum->by_cells[0]
               : by->axis == 1 ? sum->by_cells[1]
                               : sum->by_cells[2];
    case PARAMETER_FUDGE:
        return sum->by_fudge;
    case PARAMETER_MOSAIC:
        return sum->by_mosaic;
    case PARAMETER_PHI0:
        return sum->by_phi * by->unit_SI;
    case PARAMETER_OSC:
        return sum->by_osc * by->unit_SI;
    case PARAMETER_WAVELENGTH:
    case PARAMETER_DISPERSION:
        return sum->by_wave * by->ln_wave;
    case PARAMETER_DIVERGENCE:
        return -vec_dot(by->swept, sum->v) / by->wavelength_m;
    case PARAMETER_SCALE:
    case PARAMETER_SHARE:
    case PARAMETER_POLARIZATION:
        return 0.0;
    case PARAMETER_DISTANCE:
    case PARAMETER_CENTRE:
    case PARAMETER_SHIFT:
    case PARAMETER_TILT:
    case PARAMETER_THICKNESS:
    case PARAMETER_ABSORPTION:
        return vec_dot(by->turned, sum->v) / by->wavelength_m;
    }
    return 0.0;
}

/* Factors of terms. */
struct slopes_factors {
    double capture, solid_angle, polarization;  // of this term, 1 where the pixel has one
    bool each_solid_angle, each_polarization;
};

/* Changes of the factors of a point by a parameter. */
struct factor_slopes {
    double capture, solid_angle, polarization;
};

/* Returns the derivative of the product of the factors of a term by a parameter. */
HD double factors_slope(const struct slopes_factors *f, struct factor_slopes by)
{
    double slope = by.capture * f->polarization * f->solid_angle;
    if (f->each_polarization)
        slope += f->capture * by.polarization * f->solid_angle;
    if (f->each_solid_angle)
        slope += f->capture * f->polarization * by.solid_angle;
    return slope;
}

/* Returns the derivative of the intensity of a pixel by a parameter, from `intensity`, the sum
 * of its terms, and `sum`, the sum of the derivatives of its terms. *f contains the factors of
 * the pixel. */
HD double pixel_slope(const struct slopes_factors *f, struct factor_slopes by, double intensity,
                      double sum)
{
    double slope = sum * f->polarization * f->solid_angle;
    if (!f->each_polarization)
        slope += intensity * by.polarization * f->solid_angle;
    if (!f->each_solid_angle)
        slope += intensity * f->polarization * by.solid_angle;
    return slope;
}

#endif
