#include "engine/reflections/footprint.h"

#include <string.h>

#include "base/alloc.h"
#include "physics/crystal/illuminated_volume.h"

enum status footprint_create(struct footprint **f, const struct experiment *x, int threads,
                             struct error *e)
{
    *f = NULL;
    if (!footprint_is_wanted(x))
        return STATUS_OK;
    struct footprint *made = mem_array(1, sizeof *made);
    if (!made)
        return error_memory(e, "the footprint");
    made->x = x;
    made->threads = threads < 1 ? 1 : threads;
    made->panel = mem_array(x->npanels, sizeof *made->panel);
    made->photons = mem_array((size_t)experiment_pixels(x), sizeof *made->photons);
    *f = made;
    if (made->panel && made->photons)
        return STATUS_OK;
    footprint_destroy(f);
    return error_memory(e, "the footprint");
}

void footprint_destroy(struct footprint **f)
{
    struct footprint *made = *f;
    *f = NULL;
    if (!made)
        return;
    for (size_t i = 0; made->panel && i < made->x->npanels; i++)
        footprint_panel_free(&made->panel[i]);
    mem_free(made->panel);
    mem_free(made->photons);
    mem_free(made);
}

/* Whether some kernel acts at all, by the largest variance of the lit part in pixels squared: as
 * seen along a ray that meets its pixel squarely, and no less elsewhere. */
static bool is_seen(const struct experiment *x, const double lit[9])
{
    const double trace = lit[0] + lit[4] + lit[8];
    for (size_t i = 0; i < x->npanels; i++)
        if (trace > FOOTPRINT_LEAST_VARIANCE * x->panels[i].pixel_m * x->panels[i].pixel_m)
            return true;
    return false;
}

float *footprint_begin(struct footprint *f, const struct recipe *r, float *pixels, struct error *e)
{
    double lit[9];
    if (!f || !illuminated_covariance(f->x, r, lit) || !is_seen(f->x, lit)) {
        if (f)
            f->is_seen = false;
        return pixels;
    }
    if (f->is_seen && memcmp(f->lit, lit, sizeof lit) == 0 &&
        memcmp(f->shift_m, r->shift_m, sizeof f->shift_m) == 0)
        return f->photons;
    memcpy(f->lit, lit, sizeof lit);
    memcpy(f->shift_m, r->shift_m, sizeof f->shift_m);
    f->is_seen = false;
    for (size_t i = 0; i < f->x->npanels; i++)
        if (footprint_panel_make(f, i, e))
            return NULL;
    f->is_seen = true;
    return f->photons;
}
