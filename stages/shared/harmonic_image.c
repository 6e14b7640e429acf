#include "harmonic_image.h"

#include "base/alloc.h"
#include "engine/reflections/photons.h"

enum status harmonic_image_open(struct harmonic_image *h, const struct engine *engine,
                                const struct experiment *x, const struct engine_options *how,
                                struct error *e)
{
    struct engine_options its = *how;
    if (!(x->beam.harmonic_share > 0.0))
        return STATUS_OK;
    its.reflections = its.sums = false;
    h->engine = engine;
    h->pixels = mem_array((size_t)experiment_pixels(x), sizeof *h->pixels);
    if (!harmonic_open(&h->of, x) || !h->pixels)
        return error_memory(e, "the third harmonic");
    return engine->create(&h->plan, &h->of.x, &its, e);
}

enum status harmonic_image_photons(struct harmonic_image *h, const struct recipe *r, float *photons,
                                   double *all, uint32_t *crc, struct error *e)
{
    const size_t count = h->plan ? (size_t)experiment_pixels(&h->of.x) : 0;
    struct recipe its;
    uint32_t sum;
    *all = 0.0;
    if (!h->plan)
        return STATUS_OK;
    if (!harmonic_recipe(&h->of, r, &its))
        return error_memory(e, "the third harmonic");
    const enum status s = h->engine->run(h->plan, &its, h->pixels, NULL, e);
    if (s)
        return s;
    for (size_t i = 0; i < count; i++)
        *all += (double)h->pixels[i];
    return photons_add(photons, h->pixels, count, photons, crc ? crc : &sum)
               ? STATUS_OK
               : photons_check(&h->of.x, r->id, photons, e);
}

enum status harmonic_image_add(struct harmonic_image *h, struct frame *f, struct error *e)
{
    struct image *image = &f->image;
    double all;
    const enum status s =
        harmonic_image_photons(h, &f->recipe, image->pixels, &all, &image->sum, e);
    if (s)
        return s;
    image->has_sum = image->has_sum || h->plan;
    f->reflections.rest_photons += f->reflections.present ? all : 0.0;
    return STATUS_OK;
}

void harmonic_image_close(struct harmonic_image *h)
{
    if (h->plan)
        h->engine->destroy(&h->plan);
    harmonic_close(&h->of);
    mem_free(h->pixels);
    *h = (struct harmonic_image){0};
}
