/*
 * Photons of amorphous matter in one pixel, for loops and threads.  Of + - * / sqrt only, so
 * that the bits are the same everywhere when nothing is contracted.
 */
#ifndef BRAGG_PHYSICS_BACKGROUND_PIXEL_H
#define BRAGG_PHYSICS_BACKGROUND_PIXEL_H

#include "base/portable_math.h"
#include "model/experiment.h"
#include "physics/amorphous.h"
#include "physics/constants.h"
#include "physics/pixel.h"
#include "physics/polarization.h"

struct background_material {
    struct amorphous table;  // F per molecule
    double molecules;        // in the beam
};

/* What all pixels share; pointers are borrowed. */
struct background_scene {
    enum physics physics;
    double beam[3];          // unit vector of propagation
    double polarization[3];  // unit vector of the E field
    double kahn;             // polarization factor
    bool no_polarization;
    double fluence_ph_m2;
    const struct source *sources;
    size_t nsources;
    const struct background_material *materials;
    size_t nmaterials;
};

/* Logarithm of the share of photons along `diffracted` that pass the sensor, above -700. */
HD double background_passed(const struct panel *p, const double diffracted[3])
{
    const double parallax = fabs(vec_dot(diffracted, p->normal));
    const double depth = p->layers * p->layer_m * p->absorption_1_m;
    return depth < 700.0 * parallax ? -depth / parallax : -699.0;
}

/* Share of photons along `diffracted` that stop in the sensor, over all layers. */
HD double background_capture(const struct panel *p, const double diffracted[3])
{
    return p->thickness_m > 0.0 ? 1.0 - portable_exp(background_passed(p, diffracted)) : 1.0;
}

/* One source: molecules times intensity, with polarization and weight. */
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

/* Photons of a pixel of which `position` is the centre, in m from the sample. */
HD double background_photons(const struct background_scene *scene, const struct panel *p,
                             const double position[3])
{
    double diffracted[3], sum = 0.0;
    const double airpath = vec_unit(position, diffracted);
    for (size_t i = 0; i < scene->nsources; i++)
        sum += background_from_source(scene, &scene->sources[i], diffracted);
    return ELECTRON_RADIUS_SQR_M2 * scene->fluence_ph_m2 * (sum / (double)scene->nsources) *
           pixel_solid_angle(p, airpath) * background_capture(p, diffracted);
}

#endif
