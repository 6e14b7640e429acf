#include "engine/reflections/photons.h"

#include <inttypes.h>
#include <math.h>

#include "base/hash.h"
#include "base/program.h"

enum {
    SUM_BLOCK = 1024,         // pixels that are summed up while they are in the first cache
    THREAD_PIXELS = 1 << 17,  // fewest pixels of a thread: fewer are added before it is awake
    THREADS_MAX = 64,
    LINE = 16,  // pixels of a cache line
};

/* Does the work of photons_add for one thread. */
static bool add_part(const float *a, const float *b, size_t count, float *out,
                     struct crc32c_piece *piece)
{
    int bad = 0;
    for (size_t first = 0; first < count; first += SUM_BLOCK) {
        const size_t end = first + SUM_BLOCK < count ? first + SUM_BLOCK : count;
        for (size_t i = first; i < end; i++) {
            out[i] = a[i] + b[i];
            bad |= photons_finite(out[i]) ? 0 : 1;
        }
        piece->sum = crc32c(piece->sum, out + first, (end - first) * sizeof *out);
    }
    piece->bytes = count * sizeof *out;
    return !bad;
}

bool photons_add(const float *a, const float *b, size_t count, float *out, uint32_t *crc)
{
    struct crc32c_piece pieces[THREADS_MAX] = {0};
    const size_t useful = count / THREAD_PIXELS, most = (size_t)program_threads();
    size_t parts = useful < most ? useful : most;
    parts = parts < 1 ? 1 : parts > THREADS_MAX ? THREADS_MAX : parts;
    int bad = 0;
#pragma omp parallel for num_threads((int)parts) schedule(static) reduction(| : bad) if (parts > 1)
    for (size_t i = 0; i < parts; i++) {
        const size_t lines = count / LINE, first = lines * i / parts * LINE;
        const size_t end = i + 1 == parts ? count : lines * (i + 1) / parts * LINE;
        bad |= !add_part(a + first, b + first, end - first, out + first, &pieces[i]);
    }
    *crc = crc32c_join(pieces, parts);
    return !bad;
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
