#include "engine/reflections/smear_frame.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/reflections/photons.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"
#include "physics/detector/smear.h"

enum {
    AT_ONCE = 1 << 24,   // subpixels of the thin images that are in memory together
    BANDS_MOST = 256,    // number of these images
    TILE_COLUMNS = 256,  // columns of pixels that a thread computes at once
};

/* Some rows of a panel, and where their thin image is.  Pixels and subpixels are counted from the
 * corner of the plane. */
struct band {
    const struct panel *panel;
    struct smear view;
    int64_t begin[2], end[2];  // of the pixels, along fast and slow
    int64_t first[2];          // first subpixel of the thin image
    int64_t size[2];           // subpixels of the thin image
    int64_t offset;            // of the thin image among all
};

struct smear_frame {
    int threads;
    size_t nbands;
    struct band band[BANDS_MOST];
    struct panel panel[BANDS_MOST];  // of the thin images
    int64_t subpixels;               // of the thin images
    size_t room;                     // items of `thin`
    float *thin;                     // owned
};

/* Arguments of smear_frame_run, for the functions that compute one frame. */
struct frame {
    struct smear_frame *s;
    const struct experiment *x;
    const struct recipe *recipe;
    smear_thin *thin;
    void *engine;
    float *pixels;
    atomic_uint_fast64_t *rows;
};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

enum status smear_frame_create(struct smear_frame **s, const struct experiment *x, int threads,
                               struct error *e)
{
    *s = NULL;
    if (!x->sampling.smears)
        return STATUS_OK;
    for (size_t i = 0; i < x->npanels; i++) {
        struct smear view;
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT, "--sensor=smear needs flat panels");
        if (smear_open(&view, x, &x->panels[i], e))
            return STATUS_INPUT;
    }
    *s = mem_array(1, sizeof **s);
    (*s)->threads = threads < 1 ? 1 : threads;
    return STATUS_OK;
}

void smear_frame_destroy(struct smear_frame **s)
{
    if (*s)
        mem_free((*s)->thin);
    mem_free(*s);
    *s = NULL;
}

/* ---- the thin image ------------------------------------------------------------------------- */

/* Sets the part of the thin image, along an axis, that the pixels of the band need. */
static void set_margin(struct band *b, int axis)
{
    const struct smear *v = &b->view;
    const int64_t n = v->oversample, begin = b->begin[axis] * n, end = b->end[axis] * n;
    /* kernels of nodes, which can be as far as a node from the pixel */
    const double node = (double)(v->node * n);
    const double low = (double)begin, high = (double)end;
    const double below = fmax(0.0, (low + node) - smear_front(v, axis, low + node));
    const double above = fmax(0.0, smear_front(v, axis, high - node) - (high - node));
    b->first[axis] = begin - (int64_t)below - 3 - n;
    b->size[axis] = end + (int64_t)above + 3 + 2 * n - b->first[axis];
}

/* Makes the panel whose pixels are the subpixels of the thin image. */
static void make_panel(const struct band *b, struct panel *thin)
{
    const struct panel *p = b->panel;
    const double edge_m = p->pixel_m / b->view.oversample;
    *thin = *p;
    vec_copy(thin->grid_m, pixel_plane(p));
    thin->pixel_m = edge_m;
    thin->fast_pixels = b->size[0];
    thin->slow_pixels = b->size[1];
    thin->first_pixel = b->offset;
    thin->grid_fast = b->first[0];
    thin->grid_slow = b->first[1];
    thin->roi = (struct roi){0, b->size[0] - 1, 0, b->size[1] - 1};
    thin->mask = NULL;
    thin->layers = 1;
    thin->thickness_m = thin->layer_m = thin->layer_depth_m = thin->absorption_1_m = 0.0;
    const double fast_m = edge_m * (double)b->first[0] - p->pixel_m * (double)p->grid_fast;
    const double slow_m = edge_m * (double)b->first[1] - p->pixel_m * (double)p->grid_slow;
    for (int i = 0; i < 3; i++)
        thin->origin_m[i] = thin->grid_m[i] + edge_m * (double)b->first[0] * p->fast[i] +
                            edge_m * (double)b->first[1] * p->slow[i];
    thin->close_fast_m -= fast_m;
    thin->close_slow_m -= slow_m;
    thin->beam_fast_m -= fast_m;
    thin->beam_slow_m -= slow_m;
}

/* ---- the smear of a tile -------------------------------------------------------------------- */

/* Some pixels of a band between two rows of nodes, and the memory of a thread for them. */
struct tile {
    const struct band *band;
    const float *thin;            // thin image of the band
    int64_t node[2];              // first node, along fast and slow
    int64_t begin[2], end[2];     // of the pixels
    int64_t nodes;                // number of nodes along fast
    struct smear_kernel *kernel;  // [2][nodes]
    double *weight;               // of all kernels
    size_t weights;               // of one kernel, at most
    int first[2], last[2];        // over all kernels
    /* Sums of oversample x oversample subpixels that begin at a subpixel.  They are sorted, so that
     * the sums of neighbouring pixels are neighbours: [rows][oversample][columns]. */
    int64_t sum_first[2];  // first subpixel along slow; first pixel along fast
    int64_t columns;
    float *sum;
    float *down;  // [2][columns + 1][oversample]: sums down, then also across
};

/* A subpixel that contributes, and its weights at the four nodes around: nearer and farther row,
 * nearer and farther column of each. */
struct tap {
    int fast, slow;
    double weight[4];
};

static void make_kernels(struct tile *t)
{
    const struct smear *v = &t->band->view;
    const int64_t step = (int64_t)v->node * v->oversample;
    for (int64_t i = 0; i < 2 * t->nodes; i++) {
        struct smear_kernel *k = &t->kernel[i];
        const int64_t place[2] = {t->node[0] + i % t->nodes, t->node[1] + i / t->nodes};
        k->weight = t->weight + (size_t)i * t->weights;
        smear_kernel(v, (double[2]){(double)(place[0] * step), (double)(place[1] * step)}, k);
        for (int axis = 0; axis < 2; axis++) {
            const int last = k->first[axis] + k->count[axis] - 1;
            t->first[axis] = i ? (int)smaller(t->first[axis], k->first[axis]) : k->first[axis];
            t->last[axis] = i ? (int)larger(t->last[axis], last) : last;
        }
    }
}

static void add_row(const float *restrict from, int64_t count, float *restrict to)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* Sums one row of the thin image and the rows below it, for all columns of the tile. */
static void sum_row(const struct tile *t, int64_t row, float *restrict to)
{
    const struct band *b = t->band;
    const int64_t n = b->view.oversample, width = (t->columns + 1) * n;
    const int64_t fast = t->sum_first[1] * n - b->first[0], slow = row - b->first[1];
    const int64_t begin = larger(0, -fast), end = smaller(width, b->size[0] - fast);
    float *down = t->down, *across = t->down + width;
    memset(down, 0, 2 * (size_t)width * sizeof *down);
    for (int64_t i = larger(0, -slow); i < n && slow + i < b->size[1]; i++)
        add_row(t->thin + (slow + i) * b->size[0] + fast + begin, end - begin, down + begin);
    for (int64_t i = 0; i < n; i++)
        add_row(down + i, t->columns * n, across);
    for (int64_t phase = 0; phase < n; phase++)
        for (int64_t c = 0; c < t->columns; c++)
            *to++ = across[c * n + phase];
}

static int64_t sum_rows(const struct tile *t)
{
    const int64_t n = t->band->view.oversample;
    return (t->end[1] - 1 - t->begin[1]) * n + t->last[1] - t->first[1] + 1;
}

static void make_sums(struct tile *t)
{
    const int64_t n = t->band->view.oversample, rows = sum_rows(t);
    t->sum_first[0] = t->begin[1] * n + t->first[1];
    for (int64_t i = 0; i < rows; i++)
        sum_row(t, t->sum_first[0] + i, t->sum + i * n * t->columns);
}

static double weight_of(const struct smear_kernel *k, int fast, int slow)
{
    const int i = fast - k->first[0], j = slow - k->first[1];
    const bool inside = i >= 0 && i < k->count[0] && j >= 0 && j < k->count[1];
    return inside ? k->weight[j * k->count[0] + i] : 0.0;
}

/* Lists what contributes to pixels between two columns of nodes. */
static size_t list_taps(const struct tile *t, int64_t column, struct tap *taps)
{
    const struct smear_kernel *around[4] = {&t->kernel[column], &t->kernel[column + 1],
                                            &t->kernel[t->nodes + column],
                                            &t->kernel[t->nodes + column + 1]};
    size_t count = 0;
    for (int slow = t->first[1]; slow <= t->last[1]; slow++)
        for (int fast = t->first[0]; fast <= t->last[0]; fast++) {
            struct tap *tap = &taps[count];
            bool any = false;
            *tap = (struct tap){.fast = fast, .slow = slow};
            for (int i = 0; i < 4; i++) {
                tap->weight[i] = weight_of(around[i], fast, slow);
                any = any || tap->weight[i] != 0.0;
            }
            count += any;
        }
    return count;
}

/* Adds a tap to `count` pixels, the first of which is `first` pixels right of a node: `sums` times
 * a weight that grows by `slope` from pixel to pixel. */
static void add_tap(const float *restrict sums, float weight, float slope, int first, int count,
                    float *restrict photons)
{
#pragma omp simd
    for (int i = 0; i < count; i++)
        photons[i] += (weight + slope * (float)(first + i)) * sums[i];
}

/* Computes the pixels between two columns of nodes, in all rows of the tile.  Next to narrow spots,
 * the sum of a pixel can be less than 0 by a small part of the spot. */
static void smear_cell(const struct tile *t, int64_t column, struct tap *taps, float *pixels)
{
    const struct panel *p = t->band->panel;
    const int64_t n = t->band->view.oversample, node = t->band->view.node;
    const int64_t from = (t->node[0] + column) * node, top = t->node[1] * node;
    const int64_t begin = larger(from, t->begin[0]), end = smaller(from + node, t->end[0]);
    const size_t count = list_taps(t, column, taps);
    const double step = 1.0 / (double)node;
    for (int64_t slow = t->begin[1]; slow < t->end[1]; slow++) {
        float photons[SMEAR_NODE] = {0};
        const double down = ((double)(slow - top) + 0.5) * step;
        for (size_t i = 0; i < count; i++) {
            const double *w = taps[i].weight;
            const double left = w[0] + down * (w[2] - w[0]), right = w[1] + down * (w[3] - w[1]);
            const int64_t fast = floor_div(taps[i].fast, n), phase = taps[i].fast - fast * n;
            const int64_t row = slow * n + taps[i].slow - t->sum_first[0];
            add_tap(t->sum + (row * n + phase) * t->columns + begin + fast - t->sum_first[1],
                    (float)(left + 0.5 * step * (right - left)), (float)(step * (right - left)),
                    (int)(begin - from), (int)(end - begin), photons);
        }
        float *to = pixels + p->first_pixel + (slow - p->grid_slow) * p->fast_pixels - p->grid_fast;
        for (int64_t i = begin; i < end; i++)
            to[i] = pixel_is_computed(p, i - p->grid_fast, slow - p->grid_slow)
                        ? fmaxf(0.0f, photons[i - begin])
                        : 0.0f;
    }
}

/* The numbers of tiles of a band, along fast and slow, and the numbers of nodes of a tile. */
struct tiles {
    int64_t count[2], first[2];  // first: node
    int64_t nodes;               // columns of nodes of a tile, without the last
};

static struct tiles tiles_of(const struct band *b)
{
    const int64_t node = b->view.node, nodes = TILE_COLUMNS / node;
    struct tiles t = {.nodes = nodes};
    t.first[0] = b->begin[0] / node / nodes * nodes;
    t.first[1] = b->begin[1] / node;
    t.count[0] = ((b->end[0] - 1) / node - t.first[0]) / nodes + 1;
    t.count[1] = (b->end[1] - 1) / node - t.first[1] + 1;
    return t;
}

static void tile_close(struct tile *t)
{
    mem_free(t->kernel);
    mem_free(t->weight);
    mem_free(t->sum);
    mem_free(t->down);
    *t = (struct tile){0};
}

/* Places the tile with this number, and allocates its memory.  The caller calls tile_close. */
static void tile_open(struct tile *t, const struct band *b, const float *thin,
                      const struct tiles *all, int64_t number)
{
    const int64_t node = b->view.node, n = b->view.oversample;
    const int64_t place[2] = {number % all->count[0], number / all->count[0]};
    const int64_t nodes[2] = {all->nodes, 1};
    *t = (struct tile){.band = b, .thin = thin, .nodes = all->nodes + 1, .weights = 1};
    for (int axis = 0; axis < 2; axis++) {
        t->node[axis] = all->first[axis] + place[axis] * nodes[axis];
        t->begin[axis] = larger(b->begin[axis], t->node[axis] * node);
        t->end[axis] = smaller(b->end[axis], (t->node[axis] + nodes[axis]) * node);
        t->weights *= (size_t)smear_room(&b->view, axis, (double)(t->node[axis] * node * n),
                                         (double)((t->node[axis] + nodes[axis]) * node * n));
    }
    t->kernel = mem_array((size_t)(2 * t->nodes), sizeof *t->kernel);
    t->weight = mem_array((size_t)(2 * t->nodes) * t->weights, sizeof *t->weight);
    make_kernels(t);
    t->sum_first[1] = t->begin[0] + floor_div(t->first[0], n);
    t->columns = t->end[0] + floor_div(t->last[0], n) - t->sum_first[1];
    t->sum = mem_array((size_t)(sum_rows(t) * n * t->columns), sizeof *t->sum);
    t->down = mem_array((size_t)(2 * (t->columns + 1) * n), sizeof *t->down);
}

/* Computes the pixels of a tile. */
static void smear_tile(const struct band *b, const float *thin, const struct tiles *all,
                       int64_t number, float *pixels)
{
    struct tile t;
    tile_open(&t, b, thin, all, number);
    const size_t most = (size_t)(t.last[0] - t.first[0] + 1) * (size_t)(t.last[1] - t.first[1] + 1);
    struct tap *taps = mem_array(most + 1, sizeof *taps);
    make_sums(&t);
    for (int64_t i = 0; i < all->nodes; i++)
        if ((t.node[0] + i) * b->view.node < t.end[0])
            smear_cell(&t, i, taps, pixels);
    mem_free(taps);
    tile_close(&t);
}

static void smear_band(const struct band *b, const float *thin, int threads, float *pixels)
{
    const struct tiles all = tiles_of(b);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < all.count[0] * all.count[1]; i++)
        smear_tile(b, thin, &all, i, pixels);
}

/* ---- a frame -------------------------------------------------------------------------------- */

/* If the thin image has photons that are not finite, names the pixel that they are in. */
static enum status refuse_photons(const struct frame *f, enum status status, struct error *e)
{
    const struct smear_frame *s = f->s;
    for (size_t i = 0; i < s->nbands; i++) {
        const struct band *b = &s->band[i];
        const struct panel *p = b->panel;
        for (int64_t k = 0; k < b->size[0] * b->size[1]; k++) {
            const float photons = s->thin[b->offset + k];
            const int64_t n = b->view.oversample;
            if (isfinite(photons))
                continue;
            const int64_t fast = floor_div(k % b->size[0] + b->first[0], n) - p->grid_fast;
            const int64_t slow = floor_div(k / b->size[0] + b->first[1], n) - p->grid_slow;
            return photons_refuse(
                f->x, f->recipe->id,
                p->first_pixel + larger(0, smaller(slow, p->slow_pixels - 1)) * p->fast_pixels +
                    larger(0, smaller(fast, p->fast_pixels - 1)),
                photons, e);
        }
    }
    return status;
}

/* Computes the listed bands, and empties the list. */
static enum status run_bands(const struct frame *f, struct error *e)
{
    struct smear_frame *s = f->s;
    struct experiment thin = *f->x;
    if (!s->nbands)
        return STATUS_OK;
    if ((size_t)s->subpixels > s->room) {
        mem_free(s->thin);
        s->room = (size_t)s->subpixels;
        s->thin = mem_array(s->room, sizeof *s->thin);
    }
    thin.sampling = (struct sampling){.oversample = 1};
    thin.panels = s->panel;
    thin.npanels = s->nbands;
    thin.has_reasons = false;
    thin.reasons = NULL;
    enum status status = f->thin(f->engine, &thin, f->recipe, s->thin, e);
    if (status == STATUS_INPUT)
        status = refuse_photons(f, status, e);
    for (size_t i = 0; i < s->nbands && !status; i++) {
        const struct band *b = &s->band[i];
        smear_band(b, s->thin + b->offset, s->threads, f->pixels);
        if (f->rows)
            atomic_fetch_add_explicit(f->rows, (uint_fast64_t)(b->end[1] - b->begin[1]),
                                      memory_order_relaxed);
    }
    s->nbands = 0;
    s->subpixels = 0;
    return status;
}

/* Lists some rows of a panel, and computes the listed bands if there are enough. */
static enum status add_band(const struct frame *f, const struct smear *view, const int64_t begin[2],
                            const int64_t end[2], struct error *e)
{
    struct smear_frame *s = f->s;
    struct band b = {.panel = view->panel,
                     .view = *view,
                     .begin = {begin[0], begin[1]},
                     .end = {end[0], end[1]}};
    for (int axis = 0; axis < 2; axis++)
        set_margin(&b, axis);
    const int64_t size = b.size[0] * b.size[1];
    if (s->nbands == BANDS_MOST || (s->nbands && s->subpixels + size > AT_ONCE)) {
        const enum status status = run_bands(f, e);
        if (status)
            return status;
    }
    b.offset = s->subpixels;
    s->subpixels += size;
    s->band[s->nbands] = b;
    make_panel(&b, &s->panel[s->nbands++]);
    return STATUS_OK;
}

/* Lists the pixels of a panel that are computed, cut into bands that begin at rows of nodes. */
static enum status add_panel(const struct frame *f, const struct panel *p, struct error *e)
{
    struct smear view;
    enum status status = smear_open(&view, f->x, p, e);
    int64_t begin[2] = {larger(0, p->roi.fast_min) + p->grid_fast,
                        larger(0, p->roi.slow_min) + p->grid_slow};
    const int64_t end[2] = {smaller(p->fast_pixels - 1, p->roi.fast_max) + p->grid_fast + 1,
                            smaller(p->slow_pixels - 1, p->roi.slow_max) + p->grid_slow + 1};
    const int64_t n = view.oversample, node = view.node;
    const int64_t columns = (end[0] - begin[0]) * n * n;
    while (!status && begin[0] < end[0] && begin[1] < end[1]) {
        const int64_t rows = larger(1, AT_ONCE / columns / node) * node;
        const int64_t next[2] = {end[0], smaller(end[1], begin[1] / node * node + rows)};
        status = add_band(f, &view, begin, next, e);
        begin[1] = next[1];
    }
    return status;
}

/* Refuses a frame whose wavelengths a sensor absorbs differently. */
static enum status check_wavelengths(const struct experiment *x, const struct recipe *r,
                                     struct error *e)
{
    bool differ;
    enum status s = sensor_waves_differ(x, r, &differ, e);
    if (!s && differ)
        s = error_set(e, STATUS_INPUT,
                      "--sensor=smear: the sensor absorbs each wavelength differently; expected "
                      "wavelengths within %g %% of the beam's. Give bragg-geometry "
                      "--sensor=layers",
                      100.0 * SENSOR_WAVE_NEAR);
    return s;
}

enum status smear_frame_run(struct smear_frame *s, const struct experiment *x,
                            const struct recipe *r, smear_thin *thin, void *engine, float *pixels,
                            atomic_uint_fast64_t *rows, struct error *e)
{
    const struct frame f = {s, x, r, thin, engine, pixels, rows};
    enum status status = check_wavelengths(x, r, e);
    if (status)
        return status;
    memset(pixels, 0, (size_t)experiment_pixels(x) * sizeof *pixels);
    s->nbands = 0;
    s->subpixels = 0;
    for (size_t i = 0; i < x->npanels && !status; i++)
        status = add_panel(&f, &x->panels[i], e);
    if (!status)
        status = run_bands(&f, e);
    return status ? status : photons_check(x, r->id, pixels, e);
}
