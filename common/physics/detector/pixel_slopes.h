/*
 * The factors of a pixel, differentiated along a change of panel, beam or sensor: solid angle,
 * capture, polarization, and the depth of a layer.  See pixel.h and polarization.h for the
 * factors themselves.  Flat panels.
 */
#ifndef BRAGG_PHYSICS_PIXEL_SLOPES_H
#define BRAGG_PHYSICS_PIXEL_SLOPES_H

#include "physics/detector/pixel.h"

/* A change of a panel for one unit of a parameter. */
struct panel_move {
    double shift[3];    // m
    double tilt[3];     // rotation vector about `centre`, rad
    double centre[3];   // m
    double layer;       // of layer_m, m
    double absorption;  // of absorption_1_m, 1/m
};

/* Depth of the point that stands for a layer over its thickness, 1/x - 1/(e^x - 1) of
 * x = thickness times absorption, and its derivative by x. */
HD double layer_depth_share(double x, double *slope)
{
    if (x >= 0.5) {
        const double e = expm1(x);
        *slope = (1.0 / e) * (1.0 + 1.0 / e) - 1.0 / (x * x);
        return 1.0 / x - 1.0 / e;
    }
    const double z = x * x;
    *slope =
        -1.0 / 12.0 + z * (1.0 / 240.0 - z * (1.0 / 6048.0 - z * (1.0 / 172800.0 - z / 5322240.0)));
    return 0.5 - x * (1.0 / 12.0 - z * (1.0 / 720.0 - z * (1.0 / 30240.0 - z / 1209600.0)));
}

/* Returns how much the depth of the point that represents a layer changes, in m. */
HD double panel_move_deeper(const struct panel *p, const struct panel_move *m, int layer)
{
    double slope;
    const double x = p->layer_m * p->absorption_1_m;
    if (!(p->thickness_m > 0.0))
        return 0.0;
    const double share = layer_depth_share(x, &slope);
    return m->layer * (layer + share + x * slope) + m->absorption * p->layer_m * p->layer_m * slope;
}

/* Computes how a point of the panel moves in m, with the panel and with the depth of its layer. */
HD void panel_move_point(const struct panel *p, const struct panel_move *m, double deeper,
                         const double position[3], double moved[3])
{
    double arm[3];
    for (int i = 0; i < 3; i++)
        arm[i] = position[i] - m->centre[i];
    vec_cross(m->tilt, arm, moved);
    for (int i = 0; i < 3; i++)
        moved[i] += m->shift[i] + deeper * p->normal[i];
}

/* Computes how the unit vector `along` to a point turns if the panel changes. `inverse` is
 * 1/distance of the point. Returns the relative change of this distance. */
HD double panel_move_direction(const struct panel *p, const struct panel_move *m, int layer,
                               const double position[3], const double along[3], double inverse,
                               double turned[3])
{
    double moved[3];
    panel_move_point(p, m, panel_move_deeper(p, m, layer), position, moved);
    const double farther = vec_dot(along, moved);
    for (int i = 0; i < 3; i++)
        turned[i] = (moved[i] - farther * along[i]) * inverse;
    return farther * inverse;
}

/* Returns the relative change of the shortest distance to the plane. The distance is normal .
 * corner; the normal turns, and the corner moves. */
HD double panel_move_closer(const struct panel *p, const struct panel_move *m)
{
    double turned[3], corner[3], arm[3];
    vec_cross(m->tilt, p->normal, turned);
    for (int i = 0; i < 3; i++)
        arm[i] = pixel_plane(p)[i] - m->centre[i];
    vec_cross(m->tilt, arm, corner);
    for (int i = 0; i < 3; i++)
        corner[i] += m->shift[i];
    const double closer = vec_dot(p->normal, corner) + vec_dot(turned, pixel_plane(p));
    return closer / p->close_distance_m;
}

/* Returns the relative change of pixel_solid_angle, for a point whose distance changes by the
 * fraction `farther`, and panel_move_closer. */
HD double panel_move_solid_angle(const struct panel *p, double closer, double farther)
{
    return p->point_pixel ? -2.0 * farther : closer - 3.0 * farther;
}

/* Returns the change of pixel_capture_of if the unit vector `diffracted` changes by `turned`. */
HD double panel_move_capture(const struct panel *p, const struct panel_move *m, int layer,
                             double absorb, const double diffracted[3], const double turned[3])
{
    if (!(p->thickness_m > 0.0))
        return 0.0;
    double normal[3];
    vec_cross(m->tilt, p->normal, normal);
    const double parallax = vec_dot(diffracted, p->normal);
    const double more = vec_dot(turned, p->normal) + vec_dot(diffracted, normal);
    const double step = p->layer_m, mu = p->absorption_1_m * absorb;
    const double y = step * mu / parallax;
    const double dy =
        (m->layer * mu + step * (m->absorption * absorb)) / parallax - y * more / parallax;
    return dy * ((layer + 1) * exp(-(layer + 1) * y) - layer * exp(-layer * y));
}

/* Computes the change of polarization_axes if `incident` changes by `turned`. */
HD void polarization_axes_slopes(const double incident[3], const double turned[3],
                                 const double axis[3], double e_turned[3], double b_turned[3])
{
    double b[3], more[3];
    vec_cross(axis, incident, b);
    const double length = vec_unit(b, b);
    vec_cross(axis, turned, b_turned);
    const double along = vec_dot(b, b_turned);
    for (int i = 0; i < 3; i++)
        b_turned[i] = (b_turned[i] - along * b[i]) / length;
    vec_cross(turned, b, e_turned);
    vec_cross(incident, b_turned, more);
    for (int i = 0; i < 3; i++)
        e_turned[i] += more[i];
}

/* Returns the change of polarization_factor if `incident` changes by `swept` and `diffracted` by
 * `turned`. e[] and b[] are those of polarization_axes. */
HD double polarization_slope(double kahn, const double axis[3], const double incident[3],
                             const double diffracted[3], const double swept[3],
                             const double turned[3], const double e[3], const double b[3])
{
    double de[3], db[3];
    polarization_axes_slopes(incident, swept, axis, de, db);
    const double in = vec_dot(incident, diffracted);
    const double by_in = vec_dot(incident, turned) + vec_dot(swept, diffracted);
    const double by_e = vec_dot(e, turned) + vec_dot(de, diffracted);
    const double by_b = vec_dot(b, turned) + vec_dot(db, diffracted);
    return in * by_in - kahn * (vec_dot(e, diffracted) * by_e - vec_dot(b, diffracted) * by_b);
}

/* Returns the derivative of polarization_factor by `kahn`. */
HD double polarization_by_kahn(const double diffracted[3], const double e[3], const double b[3])
{
    const double along_e = vec_dot(e, diffracted), along_b = vec_dot(b, diffracted);
    return -0.5 * (along_e * along_e - along_b * along_b);
}

#endif
