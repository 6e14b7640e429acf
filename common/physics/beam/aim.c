#include "physics/beam/aim.h"

#include <math.h>

#include "physics/detector/pixel.h"

/* The inverse of pixel_curve. */
static bool aim_curved(const struct panel *p, const double beam[3], const double direction[3],
                       double *fast, double *slow)
{
    double across_fast[3], across_slow[3], unit[3];
    vec_unit(direction, unit);
    pixel_curve_axes(p, beam, across_fast, across_slow);
    const double a = asin(vec_dot(unit, across_fast));
    const double b = atan2(vec_dot(unit, across_slow), vec_dot(unit, beam));
    *fast = (p->beam_fast_m + p->distance_m * a) / p->pixel_m;
    *slow = (p->beam_slow_m + p->distance_m * b) / p->pixel_m;
    return p->distance_m > 0.0;
}

bool aim_panel(const struct panel *p, const double beam[3], const double direction[3], double *fast,
               double *slow)
{
    if (p->curved)
        return aim_curved(p, beam, direction, fast, slow);
    const double length = vec_dot(p->origin_m, p->normal) / vec_dot(direction, p->normal);
    if (!(length > 0.0) || !isfinite(length))
        return false;
    double on[3];
    for (int i = 0; i < 3; i++)
        on[i] = length * direction[i] - p->origin_m[i];
    *fast = vec_dot(on, p->fast) / p->pixel_m;
    *slow = vec_dot(on, p->slow) / p->pixel_m;
    return true;
}

void aim_cone(const double beam[3], double twotheta_rad, double azimuth_rad, double direction[3])
{
    const double other[3] = {fabs(beam[0]) < 0.5, fabs(beam[0]) >= 0.5, 0.0};
    double u[3], v[3];
    vec_cross(beam, other, u);
    vec_unit(u, u);
    vec_cross(beam, u, v);
    for (int i = 0; i < 3; i++)
        direction[i] = cos(twotheta_rad) * beam[i] +
                       sin(twotheta_rad) * (cos(azimuth_rad) * u[i] + sin(azimuth_rad) * v[i]);
}
