#include "engine/photons.h"

#include <inttypes.h>
#include <math.h>

/* Of several panels, in any order of memory, the one that holds the pixel. */
static size_t panel_of(const struct experiment *x, int64_t pixel)
{
    size_t at = 0;
    for (size_t i = 1; i < x->npanels; i++)
        if (x->panels[i].first_pixel <= pixel &&
            (x->panels[at].first_pixel > pixel ||
             x->panels[i].first_pixel > x->panels[at].first_pixel))
            at = i;
    return at;
}

enum status photons_refuse(const struct experiment *x, uint64_t id, int64_t pixel, float photons,
                           struct error *e)
{
    const size_t panel = panel_of(x, pixel);
    const struct panel *p = &x->panels[panel];
    const int64_t within = pixel - p->first_pixel;
    return error_set(e, STATUS_INPUT,
                     "frame %" PRIu64 ": pixel %" PRId64 ",%" PRId64
                     " (fast, slow) of panel %zu has %g photons, must be finite and not negative",
                     id, within % p->fast_pixels, within / p->fast_pixels, panel, (double)photons);
}

enum status photons_check(const struct experiment *x, uint64_t id, const float *photons,
                          struct error *e)
{
    const int64_t count = experiment_pixels(x);
    if (photons_are_finite(photons, (size_t)count))
        return STATUS_OK;
    int64_t pixel = 0;
    while (isfinite(photons[pixel]))
        pixel++;
    return photons_refuse(x, id, pixel, photons[pixel], e);
}
