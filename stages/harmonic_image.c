#include "harmonic_image.h"

#include "base/alloc.h"
#include "engine/photons.h"

enum status harmonic_image_open(struct harmonic_image *h, const struct engine *engine,
                                const struct experiment *x, const struct engine_options *how,
                                struct error *e)
{
    struct engine_options its = *how;
    its.reflections = its.sums = false;
    h->engine = engine;
    h->pixels = mem_array((size_t)experiment_pixels(x), sizeof *h->pixels);
    if (!harmonic_open(&h->of, x) || !h->pixels)
        return error_memory(e, "the third harmonic");
    return engine->create(&h->plan, &h->of.x, &its, e);
}

enum status harmonic_image_add(struct harmonic_image *h, struct frame *f, struct error *e)
{
    struct image *image = &f->image;
    struct recipe its;
    if (!harmonic_recipe(&h->of, &f->recipe, &its))
        return error_memory(e, "the third harmonic");
    const enum status s = h->engine->run(h->plan, &its, h->pixels, NULL, e);
    if (s)
        return s;
    double all = 0.0;
    for (size_t i = 0; i < image->count && f->reflections.present; i++)
        all += (double)h->pixels[i];
    f->reflections.rest_photons += all;
    image->has_sum = true;
    return photons_add(image->pixels, h->pixels, image->count, image->pixels, &image->sum)
               ? STATUS_OK
               : photons_check(&h->of.x, f->recipe.id, image->pixels, e);
}

void harmonic_image_close(struct harmonic_image *h)
{
    if (h->plan)
        h->engine->destroy(&h->plan);
    harmonic_close(&h->of);
    mem_free(h->pixels);
    *h = (struct harmonic_image){0};
}
