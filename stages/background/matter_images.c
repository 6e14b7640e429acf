#include "matter_images.h"

#include <stdint.h>

#include "base/alloc.h"
#include "physics/background/background.h"

/* What is constant during a call. */
struct making {
    struct materials *materials;
    const struct experiment *x;
    const struct source *sources;
    size_t nsources;
    int threads;
};

/* Computes the image of one metre of a material, or of one in the amount of the options. */
static enum status make_image(const struct making *of, enum matter_part part, double ice_crystal_A,
                              double *photons, struct error *e)
{
    const struct amounts one = {.water_m = part == MATTER_WATER,
                                .air_m = part == MATTER_AIR,
                                .ice_m = part == MATTER_ICE,
                                .ice_crystal_A = ice_crystal_A,
                                .powder = part == MATTER_POWDER,
                                .other = part == MATTER_OTHER};
    struct blend blend;
    const enum status s = materials_blend(of->materials, &one, &blend, e);
    return s ? s
             : background_image_double(of->x, of->sources, of->nsources, blend.items, blend.count,
                                       of->threads, photons, e);
}

/* Computes the image of a part, unless it exists. */
static enum status need_image(struct matter_images *m, const struct making *of,
                              enum matter_part part, double ice_crystal_A, struct error *e)
{
    const bool same = part != MATTER_ICE || m->ice_crystal_A == ice_crystal_A;
    if (m->photons[part] && same)
        return STATUS_OK;
    if (!m->photons[part])
        m->photons[part] = mem_array((size_t)experiment_pixels(of->x), sizeof(double));
    if (part == MATTER_ICE)
        m->ice_crystal_A = 0.0;  // if an error leaves half an image
    const enum status s = make_image(of, part, ice_crystal_A, m->photons[part], e);
    if (!s && part == MATTER_ICE)
        m->ice_crystal_A = ice_crystal_A;
    return s;
}

/* Fills photons[] with the sum of `count` images, each times its share. */
static void add_up(const double *const images[], const double shares[], int count, int64_t pixels,
                   int threads, float *photons)
{
    enum { RUN = 1024 };
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < pixels; first += RUN) {
        const int length = pixels - first < RUN ? (int)(pixels - first) : RUN;
        double sum[RUN] = {0};
        for (int k = 0; k < count; k++) {
            const double *image = images[k] + first, share = shares[k];
            for (int i = 0; i < length; i++)
                sum[i] += share * image[i];
        }
        for (int i = 0; i < length; i++)
            photons[first + i] = (float)sum[i];
    }
}

enum status matter_images_sum(struct matter_images *m, struct materials *materials,
                              const struct experiment *x, const struct source *sources,
                              size_t nsources, int threads, const struct amounts *a, float *photons,
                              struct error *e)
{
    const struct making of = {materials, x, sources, nsources, threads};
    const double amount[MATTER_PARTS] = {a->water_m, a->air_m, a->ice_m, a->powder, a->other};
    const double *images[MATTER_PARTS];
    double shares[MATTER_PARTS];
    int count = 0;
    for (enum matter_part part = 0; part < MATTER_PARTS; part++) {
        if (!(amount[part] > 0.0))
            continue;
        const enum status s = need_image(m, &of, part, a->ice_crystal_A, e);
        if (s)
            return s;
        images[count] = m->photons[part];
        shares[count++] = amount[part];
    }
    add_up(images, shares, count, experiment_pixels(x), threads, photons);
    return STATUS_OK;
}

void matter_images_free(struct matter_images *m)
{
    for (enum matter_part part = 0; part < MATTER_PARTS; part++)
        mem_free(m->photons[part]);
}
