#include "engine/reflections/photons.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/program.h"
#include "engine/cpu/threads.h"

enum {
    BLOCK = 1024,         // pixels that are summed up while they are in the first cache
    BLOCKS_AT_ONCE = 16,  // of a portion, so that few checksums are joined
    THREAD_PIXELS = 1 << 17,
};
static const double PIXEL_NS = 0.5;  // time of a pixel in one thread, limited by the memory

/* Adds the blocks `first` to `end` - 1. */
static bool add_blocks(const float *a, const float *b, size_t first, size_t end, size_t count,
                       float *out, struct crc32c_piece *piece)
{
    int bad = 0;
    for (size_t at = first * BLOCK; at < end * BLOCK && at < count; at += BLOCK) {
        const size_t below = at + BLOCK < count ? at + BLOCK : count;
        for (size_t i = at; i < below; i++) {
            out[i] = a[i] + b[i];
            bad |= photons_finite(out[i]) ? 0 : 1;
        }
        const size_t bytes = (below - at) * sizeof *out;
        *piece = (struct crc32c_piece){crc32c(piece->sum, out + at, bytes), piece->bytes + bytes};
    }
    return !bad;
}

int photons_threads(int threads, size_t count)
{
    const size_t useful = count / THREAD_PIXELS;
    return useful < 1 ? 1 : useful < (size_t)threads ? (int)useful : threads;
}

bool photons_add(const float *a, const float *b, size_t count, float *out, uint32_t *crc)
{
    const int threads = threads_for(program_threads(), PIXEL_NS * (double)count);
    struct bands bands;
    bands_open(&bands, (int64_t)((count + BLOCK - 1) / BLOCK), threads, BLOCKS_AT_ONCE);
    const size_t takes = (size_t)bands_takes(&bands);
    struct crc32c_piece *pieces = mem_array(takes, sizeof *pieces);
    int bad = 0;
#pragma omp parallel num_threads(bands.count) reduction(| : bad)
    {
        int64_t first, end;
        while (bands_take(&bands, omp_get_thread_num(), &first, &end))
            bad |= !add_blocks(a, b, (size_t)first, (size_t)end, count, out,
                               &pieces[first / bands.at_once]);
    }
    *crc = crc32c_join(pieces, takes);
    mem_free(pieces);
    bands_close(&bands);
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
