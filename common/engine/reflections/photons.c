#include "engine/reflections/photons.h"

#include <inttypes.h>
#include <math.h>

#include "base/hash.h"

enum { SUM_BLOCK = 4096 };  // pixels that are summed up while they are in the first cache

bool photons_add(const float *a, const float *b, size_t count, float *out, uint32_t *crc)
{
    bool finite = true;
    *crc = 0;
    for (size_t first = 0; first < count; first += SUM_BLOCK) {
        const size_t end = first + SUM_BLOCK < count ? first + SUM_BLOCK : count;
        for (size_t i = first; i < end; i++)
            out[i] = a[i] + b[i];
        finite = photons_are_finite(out + first, end - first) && finite;
        *crc = crc32c(*crc, out + first, (end - first) * sizeof *out);
    }
    return finite;
}

/* Returns the index of the panel that contains the pixel.  Panels may be in any order in memory. */
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
                     " (fast, slow) of panel %zu has %g photons; expected finite and not negative",
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
