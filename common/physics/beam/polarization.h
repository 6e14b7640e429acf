/* Kahn's polarization factor [2.6]: K = 0 is unpolarized, 1 fully polarized along
 * the E vector. */
#ifndef BRAGG_PHYSICS_POLARIZATION_H
#define BRAGG_PHYSICS_POLARIZATION_H

#include "base/vec.h"

/* Computes the factor as nanoBragg does, with the azimuth as an angle. `incident` and
 * `diffracted` are normalised again in place, because nanoBragg uses the results for the next
 * source. `axis` is the E vector. */
HD double polarization_faithful(double kahn, double incident[3], double diffracted[3],
                                const double axis[3])
{
    double unit_axis[3];
    vec_unit(incident, incident);
    vec_unit(diffracted, diffracted);
    vec_unit(axis, unit_axis);
    const double cos2theta = vec_dot(incident, diffracted);
    const double cos2theta_sqr = cos2theta * cos2theta;
    const double sin2theta_sqr = 1.0 - cos2theta_sqr;
    double psi = 0.0;
    if (kahn != 0.0) {
        double b[3], e[3];
        vec_cross(unit_axis, incident, b);
        vec_unit(b, b);
        vec_cross(incident, b, e);
        vec_unit(e, e);
        psi = -atan2(vec_dot(diffracted, b), vec_dot(diffracted, e));
    }
    return 0.5 * (1.0 + cos2theta_sqr - kahn * cos(2.0 * psi) * sin2theta_sqr);
}

/* Returns the factor without trigonometric functions: cos(2 psi) sin^2(2 theta) = E^2 - B^2,
 * where E and B are the components of the diffracted direction. e[] and b[] are those of
 * polarization_axes. */
HD double polarization_factor(double kahn, const double incident[3], const double diffracted[3],
                              const double e[3], const double b[3])
{
    const double c = vec_dot(incident, diffracted);
    const double along_e = vec_dot(diffracted, e);
    const double along_b = vec_dot(diffracted, b);
    return 0.5 * (1.0 + c * c - kahn * (along_e * along_e - along_b * along_b));
}

/* Sets the unit vectors of the E and B fields perpendicular to the unit vector `incident`. */
HD void polarization_axes(const double incident[3], const double axis[3], double e[3], double b[3])
{
    vec_cross(axis, incident, b);
    vec_unit(b, b);
    vec_cross(incident, b, e);
    vec_unit(e, e);
}

#endif
