/*
 * Photons of amorphous matter in one pixel, for loops and threads.  Of + - * / sqrt only, so
 * that the bits are the same everywhere when nothing is contracted.
 */
#ifndef BRAGG_PHYSICS_BACKGROUND_PIXEL_H
#define BRAGG_PHYSICS_BACKGROUND_PIXEL_H

#include "base/portable_math.h"
#include "base/units.h"
#include "model/experiment.h"
#include "physics/background/amorphous.h"
#include "physics/beam/polarization.h"
#include "physics/detector/pixel.h"

struct background_material {
    struct amorphous table;  // F per molecule
    double molecules;        // in the beam
};

/* The data that all pixels share; pointers are borrowed. */
struct background_scene {
    enum physics physics;
    double beam[3];          // unit vector of propagation
    double polarization[3];  // unit vector of the E field
    double kahn;             // polarization factor
    bool no_polarization;
    double fluence_ph_m2;
    const struct source *sources;
    size_t nsources;
    const double *absorb;  // what a sensor absorbs of each source in parts of that of the beam's
                           // wavelength, see physics/detector/sensor.h; NULL: all alike
    const struct background_material *materials;
    size_t nmaterials;
};

/* The mean depth at which photons stop in the whole sensor, for a ray that meets the plane of the
 * panel at `front`.  The depth along the normal is the thickness of the sensor times 1/x - 1/(e^x -
 * 1), where x is the thickness along the ray in attenuation depths.  The depth does not depend on
 * the number of layers.  background_path returns x, which is below 700, and background_depth
 * returns the depth in m from x and e^x.  They are two functions because compilers do not vectorise
 * a single one. */
HD double background_path(const struct panel *p, const double front[3])
{
    const double thick = p->layers * p->layer_m * p->absorption_1_m;
    const double along = fabs(vec_dot(front, p->normal)), r = sqrt(vec_dot(front, front));
    const double path = thick * r / along;
    return path < 699.0 ? path : 699.0;
}

HD double background_depth(const struct panel *p, double x, double exp_x)
{
    const double near = 0.5 - x / 12.0, far = 1.0 / x - 1.0 / (exp_x - 1.0);
    return (x < 1e-3 ? near : far) * (p->layers * p->layer_m);
}

/* The point at that depth behind `fast_m`, `slow_m` along the axes of the plane that a flat panel
 * is cut from, in m from the sample; at the front in faithful mode. */
HD void background_flat_point(const struct panel *p, double fast_m, double slow_m,
                              double position[3])
{
    pixel_flat_point(p, fast_m, slow_m, 0.0, position);
    if (!(p->layer_depth_m > 0.0))
        return;
    const double x = background_path(p, position);
    pixel_flat_point(p, fast_m, slow_m, background_depth(p, x, portable_exp(x)), position);
}

/* Returns the point at which the background of a pixel of a flat panel is computed: the point at
 * its middle. */
HD void background_flat_position(const struct panel *p, int64_t fast, int64_t slow,
                                 double position[3])
{
    const double edge = p->pixel_m;
    const double f = edge * (double)(fast + p->grid_fast) + edge / 2.0;
    const double s = edge * (double)(slow + p->grid_slow) + edge / 2.0;
    background_flat_point(p, f, s, position);
}

/* The same of a pixel of a flat or curved panel.  `beam` is the unit vector of propagation.  Rings,
 * streaks and halos all stand at this point, so that they meet spots of the same angle. */
HD void background_point(const struct panel *p, enum physics physics, const double beam[3],
                         int64_t fast, int64_t slow, double position[3])
{
    if (p->curved)
        pixel_position(p, physics, beam, fast, slow, 0, 0, 0, 1, position);
    else
        background_flat_position(p, fast, slow, position);
}

/* Logarithm of the share of photons along `diffracted` that pass the sensor, above -700. */
HD double background_passed(const struct panel *p, const double diffracted[3], double absorb)
{
    const double parallax = fabs(vec_dot(diffracted, p->normal));
    const double depth = p->layers * p->layer_m * (p->absorption_1_m * absorb);
    return depth < 700.0 * parallax ? -depth / parallax : -699.0;
}

/* Returns the fraction of photons along `diffracted` that all layers of the sensor absorb. */
HD double background_capture(const struct panel *p, const double diffracted[3], double absorb)
{
    return p->thickness_m > 0.0 ? 1.0 - portable_exp(background_passed(p, diffracted, absorb))
                                : 1.0;
}

/* Returns the contribution of one source: molecules times intensity, with polarization and
 * weight. */
HD double background_from_source(const struct background_scene *scene, const struct source *source,
                                 const double diffracted[3])
{
    double incident[3], e[3], b[3], sum = 0.0;
    vec_scale(source->direction, -1.0, incident);
    const double stol = amorphous_stol(incident, diffracted, source->wavelength_m);
    for (size_t i = 0; i < scene->nmaterials; i++) {
        const double intensity = amorphous_intensity(&scene->materials[i].table, stol);
        sum += intensity > 0.0 ? scene->materials[i].molecules * intensity : 0.0;
    }
    if (scene->no_polarization)
        return source->weight * sum;
    polarization_axes(incident, scene->polarization, e, b);
    return source->weight * sum * polarization_factor(scene->kahn, incident, diffracted, e, b);
}

/* Returns the photons of a pixel that is represented by `position`, in m from the sample. */
HD double background_photons(const struct background_scene *scene, const struct panel *p,
                             const double position[3])
{
    double diffracted[3], sum = 0.0;
    const double airpath = vec_unit(position, diffracted);
    for (size_t i = 0; i < scene->nsources; i++)
        sum += background_from_source(scene, &scene->sources[i], diffracted) *
               (scene->absorb ? background_capture(p, diffracted, scene->absorb[i]) : 1.0);
    return ELECTRON_RADIUS_SQR_M2 * scene->fluence_ph_m2 * (sum / (double)scene->nsources) *
           pixel_solid_angle(p, airpath) *
           (scene->absorb ? 1.0 : background_capture(p, diffracted, 1.0));
}

#endif
