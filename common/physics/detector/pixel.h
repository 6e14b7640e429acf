/*
 * Where a subpixel is and what it catches: position [1.8], solid angle [1.9],
 * capture fraction of a sensor layer [1.10].
 */
#ifndef BRAGG_PHYSICS_PIXEL_H
#define BRAGG_PHYSICS_PIXEL_H

#include <stdint.h>

#include "base/vec.h"
#include "model/experiment.h"

/* Returns true if pixel (fast, slow) is inside the region of interest and is not masked. */
HD int pixel_is_computed(const struct panel *p, int64_t fast, int64_t slow)
{
    const struct roi *roi = &p->roi;
    if (fast < roi->fast_min || fast > roi->fast_max || slow < roi->slow_min ||
        slow > roi->slow_max)
        return 0;
    return !p->mask || p->mask[slow * p->fast_pixels + fast];
}

/* Returns the outer corner of pixel (0,0) of the plane that the panel is a part of, in m. */
HD const double *pixel_plane(const struct panel *p)
{
    return p->grid_fast || p->grid_slow ? p->grid_m : p->origin_m;
}

/* Returns the depth in the sensor, in m along the normal, of the point that represents a layer. */
HD double pixel_layer_depth(const struct panel *p, int layer)
{
    return layer * p->layer_m + p->layer_depth_m;
}

/* Computes the point at `fast_m` and `slow_m` along the axes of the plane that the panel is a
 * part of, at the depth `depth_m` in the sensor, in m from the sample. */
HD void pixel_flat_point(const struct panel *p, double fast_m, double slow_m, double depth_m,
                         double position[3])
{
    const double *corner = pixel_plane(p);
    for (int i = 0; i < 3; i++)
        position[i] =
            fast_m * p->fast[i] + slow_m * p->slow[i] + depth_m * p->normal[i] + corner[i];
}

/* Computes the centre of subpixel (sub_fast, sub_slow) of pixel (fast, slow) in sensor layer
 * `layer` of a flat panel, in m from the sample. */
HD void pixel_flat_position(const struct panel *p, int64_t fast, int64_t slow, int layer,
                            int sub_fast, int sub_slow, int oversample, double position[3])
{
    const double edge = p->pixel_m / oversample;
    const double f = edge * (double)((fast + p->grid_fast) * oversample + sub_fast) + edge / 2.0;
    const double s = edge * (double)((slow + p->grid_slow) * oversample + sub_slow) + edge / 2.0;
    pixel_flat_point(p, f, s, pixel_layer_depth(p, layer), position);
}

/* Computes a position on the curved panel of nanoBragg: the beam is turned about slow and fast
 * by laboratory y and z of the flat position. This is right only in the coordinate system of
 * nanoBragg (beam along x). */
HD void pixel_curve_faithful(const struct panel *p, const double beam[3], double position[3])
{
    const double about_slow = position[1] / p->distance_m;
    const double about_fast = position[2] / p->distance_m;
    vec_scale(beam, p->distance_m, position);
    vec_rotate_axis(position, p->slow, about_slow);
    vec_rotate_axis(position, p->fast, about_fast);
}

/* Sets the axes of a curved panel, which are unit vectors perpendicular to the beam. The first
 * one is as near to `fast` as possible; the second one is perpendicular to it, on the side of
 * `slow`. A tilt of the panel turns them only about the beam. */
HD void pixel_curve_axes(const struct panel *p, const double beam[3], double fast[3],
                         double slow[3])
{
    const double along = vec_dot(p->fast, beam);
    for (int i = 0; i < 3; i++)
        fast[i] = p->fast[i] - along * beam[i];
    vec_unit(fast, fast);
    vec_cross(beam, fast, slow);
    if (vec_dot(slow, p->slow) < 0.0)
        vec_scale(slow, -1.0, slow);
}

/* A point of a curved panel in m from the sample: the flat panel's distances from the beam
 * spot along fast and slow are laid on the sphere of radius distance_m as arcs, the
 * one along slow on the equator, then the one along fast on a meridian. */
HD void pixel_curve(const struct panel *p, const double beam[3], double along_fast,
                    double along_slow, double position[3])
{
    double fast[3], slow[3];
    pixel_curve_axes(p, beam, fast, slow);
    const double a = along_fast / p->distance_m, b = along_slow / p->distance_m;
    const double to_beam = p->distance_m * cos(a) * cos(b);
    const double to_fast = p->distance_m * sin(a), to_slow = p->distance_m * cos(a) * sin(b);
    for (int i = 0; i < 3; i++)
        position[i] = to_beam * beam[i] + to_fast * fast[i] + to_slow * slow[i];
}

/* Position of a subpixel, flat or curved.  All layers of a curved panel lie on one
 * sphere.  `beam` is the unit vector of propagation. */
HD void pixel_position(const struct panel *p, enum physics physics, const double beam[3],
                       int64_t fast, int64_t slow, int layer, int sub_fast, int sub_slow,
                       int oversample, double position[3])
{
    pixel_flat_position(p, fast, slow, layer, sub_fast, sub_slow, oversample, position);
    if (!p->curved)
        return;
    const double edge = p->pixel_m / oversample;
    const double f = edge * (double)(fast * oversample + sub_fast) + edge / 2.0;
    const double s = edge * (double)(slow * oversample + sub_slow) + edge / 2.0;
    if (physics == PHYSICS_FAITHFUL)
        pixel_curve_faithful(p, beam, position);
    else
        pixel_curve(p, beam, f - p->beam_fast_m, s - p->beam_slow_m, position);
}

/* Returns the solid angle in sr of a whole pixel at `airpath` m from the sample; 1/airpath^2 for
 * point pixels. */
HD double pixel_solid_angle(const struct panel *p, double airpath)
{
    if (p->point_pixel)
        return 1.0 / airpath / airpath;
    return p->pixel_m * p->pixel_m / airpath / airpath * p->close_distance_m / airpath;
}

/* Returns the fraction of the photons along the unit vector `diffracted` that `layer` absorbs.
 * The absorption coefficient is `absorb` times that for the wavelength of the beam. */
HD double pixel_capture_of(const struct panel *p, const double diffracted[3], int layer,
                           double absorb)
{
    if (!(p->thickness_m > 0.0))
        return 1.0;
    const double parallax = vec_dot(diffracted, p->normal);
    const double step = p->layer_m, mu = p->absorption_1_m * absorb;
    return exp(-layer * step * mu / parallax) - exp(-(layer + 1) * step * mu / parallax);
}

/* Returns this fraction for the wavelength of the beam. */
HD double pixel_capture(const struct panel *p, const double diffracted[3], int layer)
{
    return pixel_capture_of(p, diffracted, layer, 1.0);
}

#endif
