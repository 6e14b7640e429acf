#include "physics/background/background.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "physics/background/background_loop.h"
#include "physics/detector/sensor.h"

double *background_absorb(const struct experiment *x, const struct source *sources, size_t nsources,
                          enum status *s, struct error *e)
{
    double *absorb = mem_array(nsources, sizeof *absorb);
    bool differ = false;
    *s = absorb ? sensor_ratios(x, sources, nsources, absorb, &differ, e)
                : error_memory(e, "the background");
    if (!*s && differ)
        return absorb;
    mem_free(absorb);
    return NULL;
}

struct background_scene background_scene(const struct experiment *x, const struct source *sources,
                                         size_t nsources, const double *absorb,
                                         const struct background_material *materials,
                                         size_t nmaterials)
{
    struct background_scene scene = {.physics = x->physics,
                                     .kahn = x->beam.kahn,
                                     .no_polarization = x->beam.no_polarization,
                                     .fluence_ph_m2 = x->beam.fluence_ph_m2,
                                     .sources = sources,
                                     .nsources = nsources,
                                     .absorb = absorb,
                                     .materials = materials,
                                     .nmaterials = nmaterials};
    memcpy(scene.beam, x->beam.direction, sizeof scene.beam);
    memcpy(scene.polarization, x->beam.polarization, sizeof scene.polarization);
    return scene;
}

/* Longest over shortest wavelength, minus 1. */
static double width_of(const struct recipe *r)
{
    double shortest_m = INFINITY, longest_m = 0.0;
    for (size_t i = 0; i < r->nsources; i++) {
        shortest_m = fmin(shortest_m, r->sources[i].wavelength_m);
        longest_m = fmax(longest_m, r->sources[i].wavelength_m);
    }
    return longest_m / shortest_m - 1.0;
}

const struct source *background_sources(const struct beam *beam, const struct recipe *r,
                                        struct source *gathered, size_t *n)
{
    const size_t channels = beam->nsources ? r->nsources / beam->nsources : 0;
    *n = r->nsources;
    if (channels < 2 || channels * beam->nsources != r->nsources || width_of(r) > BACKGROUND_NARROW)
        return r->sources;
    *n = beam->nsources;
    for (size_t i = 0; i < beam->nsources; i++) {
        const struct source *of = r->sources + i * channels;
        double weights = 0.0, sum_m = 0.0;
        for (size_t c = 0; c < channels; c++) {
            weights += of[c].weight;
            sum_m += of[c].weight * of[c].wavelength_m;
        }
        gathered[i] = *of;
        gathered[i].weight = weights / (double)channels;
        if (weights > 0.0)
            gathered[i].wavelength_m = sum_m / weights;
    }
    return gathered;
}

static void fill_row(const struct background_kernels *kernels, const struct background_scene *scene,
                     const struct panel *p, int64_t slow, float *photons)
{
    const struct roi *roi = &p->roi;
    const bool crossed = slow >= roi->slow_min && slow <= roi->slow_max;
    const int64_t end = crossed ? roi->fast_max + 1 : 0;
    for (int64_t fast = roi->fast_min; fast < end; fast += BACKGROUND_RUN) {
        const int64_t left = end - fast;
        kernels->run(scene, p, fast, slow, left < BACKGROUND_RUN ? (int)left : BACKGROUND_RUN,
                     photons + fast);
    }
    for (int64_t fast = 0; fast < p->fast_pixels; fast++)
        if (!pixel_is_computed(p, fast, slow))
            photons[fast] = 0.0f;
}

enum status background_image(const struct experiment *x, const struct source *sources,
                             size_t nsources, const struct background_material *materials,
                             size_t nmaterials, int threads, float *photons, struct error *e)
{
    enum status s;
    double *absorb = background_absorb(x, sources, nsources, &s, e);
    if (s)
        return s;
    static const struct background_kernels *const all[ISA_COUNT] = ISA_TABLE(background_kernels_);
    const struct background_kernels *kernels = all[isa_best()];
    const struct background_scene scene =
        background_scene(x, sources, nsources, absorb, materials, nmaterials);
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            fill_row(kernels, &scene, p, slow, photons + p->first_pixel + slow * p->fast_pixels);
    }
    mem_free(absorb);
    return STATUS_OK;
}
