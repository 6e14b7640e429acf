#include "physics/background.h"

#include <math.h>

#include "base/portable_math.h"
#include "physics/constants.h"
#include "physics/pixel.h"
#include "physics/polarization.h"

struct scene {
    const struct experiment *x;
    const struct source *sources;
    size_t nsources;
    const struct background_material *materials;
    size_t nmaterials;
};

/* Share of photons along `diffracted` that stop in the sensor, over all layers. */
static double capture(const struct panel *p, const double diffracted[3])
{
    if (!(p->thickness_m > 0.0))
        return 1.0;
    const double parallax = fabs(vec_dot(diffracted, p->normal));
    const double depth = p->layers * p->layer_m * p->absorption_1_m;
    return depth < 700.0 * parallax ? 1.0 - portable_exp(-depth / parallax) : 1.0;
}

/* One source: molecules times intensity, with polarization and weight. */
static double from_source(const struct scene *scene, const struct source *source,
                          const double diffracted[3])
{
    const struct beam *beam = &scene->x->beam;
    double incident[3], e[3], b[3], sum = 0.0;
    vec_scale(source->direction, -1.0, incident);
    const double stol = amorphous_stol(incident, diffracted, source->wavelength_m);
    for (size_t i = 0; i < scene->nmaterials; i++) {
        const double intensity = amorphous_intensity(&scene->materials[i].table, stol);
        sum += intensity > 0.0 ? scene->materials[i].molecules * intensity : 0.0;
    }
    if (beam->no_polarization)
        return source->weight * sum;
    polarization_axes(incident, beam->polarization, e, b);
    return source->weight * sum * polarization_factor(beam->kahn, incident, diffracted, e, b);
}

static double pixel_photons(const struct scene *scene, const struct panel *p, int64_t fast,
                            int64_t slow)
{
    const struct beam *beam = &scene->x->beam;
    double position[3], diffracted[3], sum = 0.0;
    pixel_position(p, scene->x->physics, beam->direction, fast, slow, 0, 0, 0, 1, position);
    const double airpath = vec_unit(position, diffracted);
    for (size_t i = 0; i < scene->nsources; i++)
        sum += from_source(scene, &scene->sources[i], diffracted);
    return ELECTRON_RADIUS_SQR_M2 * beam->fluence_ph_m2 * (sum / (double)scene->nsources) *
           pixel_solid_angle(p, airpath) * capture(p, diffracted);
}

void background_image(const struct experiment *x, const struct source *sources, size_t nsources,
                      const struct background_material *materials, size_t nmaterials, int threads,
                      float *photons)
{
    const struct scene scene = {x, sources, nsources, materials, nmaterials};
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const struct roi *roi = &p->roi;
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            for (int64_t fast = 0; fast < p->fast_pixels; fast++) {
                const int64_t k = slow * p->fast_pixels + fast;
                const bool lit = fast >= roi->fast_min && fast <= roi->fast_max &&
                                 slow >= roi->slow_min && slow <= roi->slow_max &&
                                 (!p->mask || p->mask[k]);
                photons[p->first_pixel + k] =
                    lit ? (float)pixel_photons(&scene, p, fast, slow) : 0.0f;
            }
        }
    }
}
