#include "engine/smear/smear_frame.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/engine.h"
#include "engine/reflections/photons.h"
#include "engine/smear/smear_bands.h"
#include "engine/smear/smear_nodes.h"
#include "engine/smear/smear_tiles.h"

enum {
    AT_ONCE = 1 << 22,  // subpixels of the thin images that are in memory together
    PART = 1 << 14,     // pixels that a thread gives to a taker at once
};
_Static_assert(PART % ENGINE_PART == 0, "parts begin at multiples of ENGINE_PART");

/* Kernels are kept for the next frame if all of them need at most this memory. */
static const size_t KEPT_BYTES = (size_t)1 << 28;

/* The kernels of a band of the last frame. */
struct kept {
    struct smear_band band;
    double absorption_1_m;         // of its panel
    struct smear_kernels kernels;  // bytes is 0: there are none
};

/* The pixels of a frame that were computed and are not yet given to a taker. */
struct window {
    int64_t first, end;  // their numbers in the frame
    size_t room;         // items of `pixels`
    float *pixels;       // owned
};

struct smear_frame {
    int threads;
    struct smear_bands bands;
    size_t room;  // items of `thin`
    float *thin;  // owned
    size_t nkept, capacity;
    struct kept *kept;  // owned
    size_t kept_bytes;
    struct window window;
    size_t npieces, pieces_capacity;
    struct crc32c_piece *pieces;  // owned: checksums of what a taker has made
};

/* Arguments of smear_frame_run and smear_frame_parts, for the functions that compute one frame. */
struct pass {
    struct smear_frame *s;
    const struct experiment *x;
    const struct recipe *recipe;
    smear_thin *thin;
    void *engine;
    float *pixels;                     // of the whole image; NULL: to the taker
    const struct engine_taker *taker;  // NULL: into the image
    atomic_uint_fast64_t *rows;
    size_t band;  // number of the next band
};

enum status smear_frame_create(struct smear_frame **s, const struct experiment *x, int threads,
                               struct error *e)
{
    *s = NULL;
    if (!x->sampling.smears)
        return STATUS_OK;
    if (smear_bands_check(x, e))
        return STATUS_INPUT;
    *s = mem_array(1, sizeof **s);
    (*s)->threads = threads < 1 ? 1 : threads;
    (*s)->bands.at_once = AT_ONCE;
    return STATUS_OK;
}

void smear_frame_destroy(struct smear_frame **s)
{
    if (*s) {
        for (size_t i = 0; i < (*s)->nkept; i++)
            smear_kernels_close(&(*s)->kept[i].kernels);
        mem_free((*s)->kept);
        mem_free((*s)->thin);
        mem_free((*s)->window.pixels);
        mem_free((*s)->pieces);
    }
    mem_free(*s);
    *s = NULL;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* Returns true if these are the kernels of a band.  Their structs have no padding. */
static bool are_kernels_of(const struct kept *k, const struct smear_band *b)
{
    _Static_assert(sizeof(struct smear) == 14 * 8, "padding");
    _Static_assert(sizeof(struct smear_band) == sizeof(struct smear) + 10 * 8, "padding");
    return k->kernels.bytes && !memcmp(&k->band, b, sizeof *b) &&
           k->absorption_1_m == b->panel->absorption_1_m;
}

/* Returns the kernels of band number `number` of a frame: those of the last frame, if the panel has
 * not moved.  NULL: they need too much memory. */
static const struct smear_kernels *find_kernels(struct smear_frame *s, size_t number,
                                                const struct smear_band *b)
{
    while (s->nkept <= number) {
        s->kept = mem_grow(s->kept, s->nkept, 1, sizeof *s->kept, &s->capacity);
        s->kept[s->nkept++] = (struct kept){0};
    }
    struct kept *k = &s->kept[number];
    if (are_kernels_of(k, b))
        return &k->kernels;
    s->kept_bytes -= k->kernels.bytes;
    smear_kernels_close(&k->kernels);
    if (s->kept_bytes + smear_kernels_bytes(b) > KEPT_BYTES)
        return NULL;
    k->band = *b;
    k->absorption_1_m = b->panel->absorption_1_m;
    smear_kernels_open(&k->kernels, b, s->threads);
    s->kept_bytes += k->kernels.bytes;
    return &k->kernels;
}

/* ---- a taker -------------------------------------------------------------------------------- */

/* Enlarges the window to pixel number `end` of the frame.  Pixels from `begin` on will be computed,
 * those before are not and have no photons. */
static void extend_window(struct window *w, int64_t begin, int64_t end)
{
    const size_t size = (size_t)(end - w->first), used = (size_t)(w->end - w->first);
    if (w->room < size) {
        float *more = mem_room(size * sizeof *more);
        if (used)
            memcpy(more, w->pixels, used * sizeof *more);
        mem_free(w->pixels);
        w->pixels = more;
        w->room = size;
    }
    memset(w->pixels + used, 0, (size_t)(begin - w->end) * sizeof *w->pixels);
    w->end = end;
}

/* Gives the first `count` pixels of the window to the taker. */
static bool give_pixels(struct pass *f, int64_t count)
{
    struct smear_frame *s = f->s;
    struct window *w = &s->window;
    const int64_t parts = (count + PART - 1) / PART;
    bool good = true;
    s->pieces =
        mem_grow(s->pieces, s->npieces, (size_t)parts, sizeof *s->pieces, &s->pieces_capacity);
#pragma omp parallel for schedule(dynamic) num_threads(s->threads) reduction(&& : good)
    for (int64_t i = 0; i < parts; i++) {
        struct crc32c_piece sum = {0};
        const int64_t first = i * PART;
        good = f->taker->take(f->taker->context, w->first + first, smaller(PART, count - first),
                              w->pixels + first, &sum) &&
               good;
        s->pieces[s->npieces + (size_t)i] = sum;
    }
    s->npieces += (size_t)parts;
    w->first += count;
    memmove(w->pixels, w->pixels + count, (size_t)(w->end - w->first) * sizeof *w->pixels);
    return good;
}

/* Returns true if all pixels of the rows of a band are computed: its ROI is the whole panel. */
static bool is_whole(const struct smear_band *b)
{
    const struct panel *p = b->panel;
    return b->begin[0] == p->grid_fast && b->end[0] == p->grid_fast + p->fast_pixels;
}

/* Smears a band into the window, and gives to the taker what is complete. */
static enum status smear_to_taker(struct pass *f, const struct smear_band *b,
                                  const struct smear_kernels *kernels)
{
    struct smear_frame *s = f->s;
    struct window *w = &s->window;
    const struct panel *p = b->panel;
    const int64_t begin = p->first_pixel + (b->begin[1] - p->grid_slow) * p->fast_pixels;
    const int64_t end = p->first_pixel + (b->end[1] - p->grid_slow) * p->fast_pixels;
    extend_window(w, is_whole(b) ? begin : end, end);
    smear_band_add(b, kernels, s->thin, false, s->threads,
                   (struct smear_target){w->pixels, w->first});
    return give_pixels(f, (w->end - w->first) / ENGINE_PART * ENGINE_PART) ? STATUS_OK
                                                                           : STATUS_INPUT;
}

/* ---- a frame -------------------------------------------------------------------------------- */

/* Computes the pixels of a band. */
static enum status run_band(struct pass *f, const struct smear_band *b)
{
    struct smear_frame *s = f->s;
    const struct smear_kernels *kernels = find_kernels(s, f->band++, b);
    enum status status = STATUS_OK;
    if (f->taker)
        status = smear_to_taker(f, b, kernels);
    else
        smear_band_add(b, kernels, s->thin, false, s->threads,
                       (struct smear_target){.pixels = f->pixels});
    if (f->rows)
        atomic_fetch_add_explicit(f->rows, (uint_fast64_t)(b->end[1] - b->begin[1]),
                                  memory_order_relaxed);
    return status;
}

/* Computes the pixels of some bands, see smear_compute. */
static enum status run_bands(void *context, const struct smear_bands *bands, struct error *e)
{
    struct pass *f = context;
    struct smear_frame *s = f->s;
    if ((size_t)bands->subpixels > s->room) {
        mem_free(s->thin);
        s->room = (size_t)bands->subpixels;
        s->thin = mem_array(s->room, sizeof *s->thin);
    }
    const struct experiment thin = smear_bands_thin(bands, f->x);
    enum status status = f->thin(f->engine, &thin, f->recipe, s->thin, e);
    if (status == STATUS_INPUT)
        status = smear_bands_refuse(bands, f->x, f->recipe, s->thin, status, e);
    for (size_t i = 0; i < bands->count && !status; i++)
        status = run_band(f, &bands->band[i]);
    return status;
}

enum status smear_frame_run(struct smear_frame *s, const struct experiment *x,
                            const struct recipe *r, smear_thin *thin, void *engine, float *pixels,
                            atomic_uint_fast64_t *rows, struct error *e)
{
    struct pass f = {.s = s,
                     .x = x,
                     .recipe = r,
                     .thin = thin,
                     .engine = engine,
                     .pixels = pixels,
                     .rows = rows};
    memset(pixels, 0, (size_t)experiment_pixels(x) * sizeof *pixels);
    const enum status status = smear_bands_each(&s->bands, x, run_bands, &f, e);
    return status ? status : photons_check(x, r->id, pixels, e);
}

bool smear_frame_parts(struct smear_frame *s, const struct experiment *x, const struct recipe *r,
                       smear_thin *thin, void *engine, const struct engine_taker *taker,
                       uint32_t *sum, atomic_uint_fast64_t *rows)
{
    struct error none;
    struct pass f = {
        .s = s, .x = x, .recipe = r, .thin = thin, .engine = engine, .taker = taker, .rows = rows};
    s->window.first = s->window.end = 0;
    s->npieces = 0;
    if (smear_bands_each(&s->bands, x, run_bands, &f, &none))
        return false;
    const int64_t end = experiment_pixels(x);
    extend_window(&s->window, end, end);
    if (!give_pixels(&f, end - s->window.first))
        return false;
    *sum = crc32c_join(s->pieces, s->npieces);
    return true;
}
