/* The footprint in single precision, tile by tile, so that the data of a pass stay in the cache. */
#include <string.h>

#include <omp.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "engine/reflections/footprint.h"
#include "engine/reflections/photons.h"
#include "physics/detector/pixel.h"

enum { TILE_FAST = 256, TILE_SLOW = 128, PAD = 16 };

/* A part of a panel, with all pixels from which photons can reach this part. The tile has `rows`
 * rows of `spans` spans between nodes, two images that passes use in turn, and room at both ends
 * of a row for photons that leave the tile. */
struct tile {
    const struct footprint_panel *panel;
    const struct footprint_kernels *kernels;
    int64_t fast, slow;  // first pixel of the tile; `fast` is the column of a node
    int64_t spans, rows, pad, stride;
    float *image[2];
    float *trash;   // row for photons that leave the tile across its first or last row
    float *weight;  // weights of the nodes at one row
    float **before, **after;
};

/* Sets t->weight to the weights of a pass at row `slow`, for all columns of nodes of the tile. */
static void interpolate(const struct tile *t, const struct footprint_pass *pass, int64_t slow)
{
    const struct footprint_panel *p = t->panel;
    const int64_t size = pass->reach + 1;
    const int64_t node = (slow - (slow < 0 ? FOOTPRINT_NODE - 1 : 0)) / FOOTPRINT_NODE;
    const float y = (float)(slow - node * FOOTPRINT_NODE) * (1.0f / FOOTPRINT_NODE);
    const int64_t row = footprint_within(node, p->rows), next = footprint_within(node + 1, p->rows);
    const int64_t first = t->fast / FOOTPRINT_NODE, last = first + t->spans;
    const int64_t begin = footprint_within(first, p->columns);
    const int64_t end = footprint_within(last, p->columns) + 1;
    const float *restrict from = pass->weight + (row * p->columns + begin) * size;
    const float *restrict to = pass->weight + (next * p->columns + begin) * size;
    float *restrict weight = t->weight + (begin - first) * size;
    for (int64_t i = 0; i < (end - begin) * size; i++)
        weight[i] = from[i] + y * (to[i] - from[i]);
    for (int64_t column = first; column <= last; column++)
        if (column < begin || column >= end)
            memcpy(t->weight + (column - first) * size,
                   weight + (footprint_within(column, p->columns) - begin) * size,
                   (size_t)size * sizeof *weight);
}

/* Returns the address of pixel 0 of a row of `image`. For rows outside the tile, returns the
 * address in the row t->trash. */
static float *row_of(const struct tile *t, float *image, int64_t row)
{
    return (row >= 0 && row < t->rows ? image + row * t->stride : t->trash) + t->pad;
}

static void apply_pass(const struct tile *t, const struct footprint_pass *pass, float *from,
                       float *to)
{
    memset(to, 0, (size_t)(t->rows * t->stride) * sizeof *to);
    for (int64_t row = 0; row < t->rows; row++) {
        for (int n = 0; n <= pass->reach; n++) {
            t->before[n] = row_of(t, to, row - n * pass->slow) - n * pass->fast;
            t->after[n] = row_of(t, to, row + n * pass->slow) + n * pass->fast;
        }
        interpolate(t, pass, t->slow + row);
        t->kernels->row(&(struct footprint_row){row_of(t, from, row), t->spans, t->weight,
                                                pass->reach, t->before, t->after});
    }
}

/* Copies the photons of the tile to image[0]. Returns false if all pixels are 0. */
static bool load(const struct tile *t, const struct panel *p, const float *photons)
{
    const int64_t begin = t->fast < 0 ? -t->fast : 0, width = t->spans * FOOTPRINT_NODE;
    const int64_t room = p->fast_pixels - t->fast, end = width < room ? width : room;
    bool lit = false;
    memset(t->image[0], 0, (size_t)(t->rows * t->stride) * sizeof *t->image[0]);
    for (int64_t row = 0; row < t->rows; row++) {
        const int64_t slow = t->slow + row;
        if (slow < 0 || slow >= p->slow_pixels || end <= begin)
            continue;
        const float *from = photons + p->first_pixel + slow * p->fast_pixels + t->fast;
        float *to = row_of(t, t->image[0], row);
        memcpy(to + begin, from + begin, (size_t)(end - begin) * sizeof *to);
        for (int64_t i = begin; i < end && !lit; i++)
            lit = from[i] != 0.0f;
    }
    return lit;
}

/* Returns true if all pixels of a panel are computed: there is no mask, and the ROI is the whole
 * panel. */
static bool is_whole(const struct panel *p)
{
    return !p->mask && p->roi.fast_min == 0 && p->roi.fast_max == p->fast_pixels - 1 &&
           p->roi.slow_min == 0 && p->roi.slow_max == p->slow_pixels - 1;
}

/* Copies the pixels of `part` from `image` to pixels[]; pixels that are masked or outside the
 * ROI become 0. Returns false if a pixel is not finite. */
static bool store(const struct tile *t, const struct roi *part, const struct panel *p,
                  const float *image, float *pixels)
{
    bool finite = true;
    for (int64_t slow = part->slow_min; slow <= part->slow_max; slow++) {
        const float *from = image + (slow - t->slow) * t->stride + t->pad - t->fast;
        float *to = pixels + p->first_pixel + slow * p->fast_pixels;
        const size_t count = (size_t)(part->fast_max - part->fast_min + 1);
        memcpy(to + part->fast_min, from + part->fast_min, count * sizeof *to);
        for (int64_t fast = part->fast_min; fast <= part->fast_max && !is_whole(p); fast++)
            to[fast] = pixel_is_computed(p, fast, slow) ? to[fast] : 0.0f;
        finite = photons_are_finite(to + part->fast_min, count) && finite;
    }
    return finite;
}

/* The data that all tiles of a panel share, and memory for one tile per thread. */
struct work {
    struct tile tile;  // tile of the largest size
    int64_t width, height;
    size_t floats, pointers;  // numbers of items of a thread
    float *memory;            // owned: [threads x floats]
    float **row;              // owned: [threads x pointers]
};

static void open_work(struct work *w, const struct footprint *f, size_t index,
                      const struct footprint_kernels *kernels)
{
    const struct footprint_panel *p = &f->panel[index];
    struct tile *t = &w->tile;
    int64_t reach = 0;
    for (size_t i = 0; i < p->npasses; i++)
        reach = p->pass[i].reach > reach ? p->pass[i].reach : reach;
    *t = (struct tile){.panel = p, .kernels = kernels};
    t->pad = (p->margin + PAD - 1) / PAD * PAD;
    w->width = TILE_FAST + p->margin / FOOTPRINT_NODE * FOOTPRINT_NODE;
    w->height = TILE_SLOW + p->margin;
    t->spans = (w->width + 2 * p->margin) / FOOTPRINT_NODE + 3;
    t->rows = w->height + 2 * p->margin;
    t->stride = t->spans * FOOTPRINT_NODE + 2 * t->pad;
    const int64_t weights = ((t->spans + 1) * (reach + 1) + PAD - 1) / PAD * PAD;
    w->floats = (size_t)(2 * t->rows * t->stride + t->stride + weights);
    w->pointers = 2 * ((size_t)reach + 1);
    w->memory = mem_array(w->floats * (size_t)f->threads, sizeof *w->memory);
    w->row = mem_array(w->pointers * (size_t)f->threads, sizeof *w->row);
}

static void close_work(struct work *w)
{
    mem_free(w->memory);
    mem_free(w->row);
}

/* Prepares the tile around `part` in the memory of this thread. */
static struct tile tile_of(const struct work *w, const struct roi *part)
{
    struct tile t = w->tile;
    const int64_t margin = t.panel->margin, first = part->fast_min - margin;
    t.fast = (first - (first < 0 ? FOOTPRINT_NODE - 1 : 0)) / FOOTPRINT_NODE * FOOTPRINT_NODE;
    t.slow = part->slow_min - margin;
    t.spans = (part->fast_max + margin - t.fast) / FOOTPRINT_NODE + 1;
    t.rows = part->slow_max - part->slow_min + 1 + 2 * margin;
    t.stride = t.spans * FOOTPRINT_NODE + 2 * t.pad;
    float *memory = w->memory + w->floats * (size_t)omp_get_thread_num();
    t.image[0] = memory;
    t.image[1] = t.image[0] + t.rows * t.stride;
    t.trash = t.image[1] + t.rows * t.stride;
    t.weight = t.trash + t.stride;
    t.before = w->row + w->pointers * (size_t)omp_get_thread_num();
    t.after = t.before + w->pointers / 2;
    return t;
}

/* Applies all passes to the tile of `part`, and stores its pixels in pixels[]. Returns false if
 * a pixel is not finite. */
static bool run_part(const struct footprint *f, const struct work *w, const struct panel *p,
                     const struct roi *part, float *pixels)
{
    const struct tile t = tile_of(w, part);
    const int64_t column = t.fast / FOOTPRINT_NODE, row = t.slow / FOOTPRINT_NODE - 1;
    const int64_t last_row = (t.slow + t.rows) / FOOTPRINT_NODE + 1;
    const bool lit = load(&t, p, f->photons);
    int at = 0;
    for (size_t i = 0; i < t.panel->npasses && lit; i++) {
        const struct footprint_pass *pass = &t.panel->pass[i];
        if (!footprint_pass_acts(t.panel, pass, column, column + t.spans, row, last_row))
            continue;
        apply_pass(&t, pass, t.image[at], t.image[!at]);
        at = !at;
    }
    return store(&t, part, p, t.image[at], pixels);
}

static void run_panel(const struct footprint *f, size_t index,
                      const struct footprint_kernels *kernels, float *pixels, bool *finite)
{
    const struct panel *p = &f->x->panels[index];
    struct work w;
    open_work(&w, f, index, kernels);
    const int64_t across = (p->fast_pixels + w.width - 1) / w.width;
    const int64_t tiles = across * ((p->slow_pixels + w.height - 1) / w.height);
    bool good = true;
#pragma omp parallel for schedule(dynamic) num_threads(f->threads) reduction(&& : good)
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t fast = i % across * w.width, slow = i / across * w.height;
        const int64_t fast_end = fast + w.width, slow_end = slow + w.height;
        const struct roi part = {fast, (fast_end < p->fast_pixels ? fast_end : p->fast_pixels) - 1,
                                 slow, (slow_end < p->slow_pixels ? slow_end : p->slow_pixels) - 1};
        good = run_part(f, &w, p, &part, pixels) && good;
    }
    *finite = *finite && good;
    close_work(&w);
}

static const struct footprint_kernels *choose_kernels(const char *isa, struct error *e)
{
    static const struct footprint_kernels *const all[ISA_COUNT] = ISA_TABLE(footprint_kernels_);
    enum isa at;
    return isa_choose(&at, isa, e) ? NULL : all[at];
}

enum status footprint_end(struct footprint *f, const struct recipe *r, const char *isa,
                          float *pixels, struct error *e)
{
    if (!f || !f->is_seen)
        return STATUS_OK;
    const struct footprint_kernels *kernels = choose_kernels(isa, e);
    if (!kernels)
        return STATUS_USAGE;
    bool finite = true;
    for (size_t i = 0; i < f->x->npanels; i++)
        run_panel(f, i, kernels, pixels, &finite);
    return finite ? STATUS_OK : photons_check(f->x, r->id, pixels, e);
}
