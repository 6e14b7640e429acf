#include "engine/reflections/smear_frame.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/reflections/photons.h"
#include "engine/reflections/smear_bands.h"
#include "physics/detector/pixel.h"

enum {
    AT_ONCE = 1 << 24,   // subpixels of the thin images that are in memory together
    TILE_COLUMNS = 256,  // columns of pixels that a thread computes at once
};

struct smear_frame {
    int threads;
    struct smear_bands bands;
    size_t room;  // items of `thin`
    float *thin;  // owned
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
    if (*s)
        mem_free((*s)->thin);
    mem_free(*s);
    *s = NULL;
}

/* ---- the smear of a tile -------------------------------------------------------------------- */

/* Some pixels of a band between two rows of nodes, and the memory of a thread for them. */
struct tile {
    const struct smear_band *band;
    const float *thin;                  // thin image of the band
    bool is_signed;                     // values below 0 are kept
    const struct smear_change *change;  // NULL: the smear itself
    int64_t node[2];                    // first node, along fast and slow
    int64_t begin[2], end[2];           // of the pixels
    int64_t nodes;                      // number of nodes along fast
    struct smear_kernel *kernel;        // [2][nodes]
    double *weight;                     // of all kernels
    size_t weights;                     // of one kernel, at most
    int first[2], last[2];              // over all kernels
    /* Sums of oversample x oversample subpixels that begin at a subpixel.  They are sorted, so that
     * the sums of neighbouring pixels are neighbours: [rows][oversample][columns]. */
    int64_t sum_first[2];  // first subpixel along slow; first pixel along fast
    int64_t columns;
    float *sum;
    float *down;  // [2][columns + 1][oversample]: sums down, then also across
};

static void make_kernels(struct tile *t)
{
    const struct smear *v = &t->band->view;
    for (int64_t i = 0; i < 2 * t->nodes; i++) {
        struct smear_kernel *k = &t->kernel[i];
        k->weight = t->weight + (size_t)i * t->weights;
        const double at[2] = {smear_node_place(v, 0, t->node[0] + i % t->nodes),
                              smear_node_place(v, 1, t->node[1] + i / t->nodes)};
        if (t->change)
            smear_kernel_change(v, t->change, at, k);
        else
            smear_kernel(v, at, k);
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
    const struct smear_band *b = t->band;
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

/* Adds a tap to `count` pixels, the first of which is `first` pixels right of a node: `sums` times
 * a weight that grows by `slope` from pixel to pixel. */
static void add_tap(const float *restrict sums, float weight, float slope, int first, int count,
                    float *restrict photons)
{
#pragma omp simd
    for (int i = 0; i < count; i++)
        photons[i] += (weight + slope * (float)(first + i)) * sums[i];
}

/* Lists what contributes to pixels between two columns of nodes. */
static size_t list_taps(const struct tile *t, int64_t column, struct smear_tap *taps)
{
    const struct smear_kernel *around[4] = {&t->kernel[column], &t->kernel[column + 1],
                                            &t->kernel[t->nodes + column],
                                            &t->kernel[t->nodes + column + 1]};
    return smear_taps(around, taps);
}

/* Computes the pixels between two columns of nodes, in all rows of the tile.  Next to narrow spots,
 * the sum of a pixel can be less than 0 by a small part of the spot. */
static void smear_cell(const struct tile *t, int64_t column, struct smear_tap *taps, float *pixels)
{
    const struct panel *p = t->band->panel;
    const struct smear *v = &t->band->view;
    const int64_t n = v->oversample, node = v->node;
    const int64_t from = smear_node_pixel(v, 0, t->node[0] + column);
    const int64_t top = smear_node_pixel(v, 1, t->node[1]);
    const int64_t begin = larger(from, t->begin[0]), end = smaller(from + node, t->end[0]);
    const size_t count = list_taps(t, column, taps);
    const double step = 1.0 / (double)node;
    for (int64_t slow = t->begin[1]; slow < t->end[1]; slow++) {
        float photons[SMEAR_NODE] = {0};
        const double down = ((double)(slow - top) + v->part[1]) * step;
        for (size_t i = 0; i < count; i++) {
            float weight, slope;
            smear_tap_weight(taps[i].weight, down, v->part[0] * step, step, &weight, &slope);
            const int64_t fast = floor_div(taps[i].fast, n), phase = taps[i].fast - fast * n;
            const int64_t row = slow * n + taps[i].slow - t->sum_first[0];
            add_tap(t->sum + (row * n + phase) * t->columns + begin + fast - t->sum_first[1],
                    weight, slope, (int)(begin - from), (int)(end - begin), photons);
        }
        float *to = pixels + p->first_pixel + (slow - p->grid_slow) * p->fast_pixels - p->grid_fast;
        for (int64_t i = begin; i < end; i++) {
            float value = (t->change ? to[i] : 0.0f) + photons[i - begin];
            if (!pixel_is_computed(p, i - p->grid_fast, slow - p->grid_slow))
                value = 0.0f;
            to[i] = t->is_signed ? value : fmaxf(0.0f, value);
        }
    }
}

/* The numbers of tiles of a band, along fast and slow, and the numbers of nodes of a tile. */
struct tiles {
    int64_t count[2], first[2];  // first: node
    int64_t nodes;               // columns of nodes of a tile, without the last
};

static struct tiles tiles_of(const struct smear_band *b)
{
    struct tiles t = {.nodes = TILE_COLUMNS / b->view.node};
    int64_t last[2];
    for (int axis = 0; axis < 2; axis++) {
        t.first[axis] = smear_pixel_node(&b->view, axis, b->begin[axis]);
        last[axis] = smear_pixel_node(&b->view, axis, b->end[axis] - 1);
    }
    t.count[0] = (last[0] - t.first[0]) / t.nodes + 1;
    t.count[1] = last[1] - t.first[1] + 1;
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

/* Places the tile with this number, and allocates its memory.  *t has the members `band`, `thin`,
 * `is_signed` and `change`.  The caller calls tile_close. */
static void tile_open(struct tile *t, const struct tiles *all, int64_t number)
{
    const struct smear_band *b = t->band;
    const struct smear *v = &b->view;
    const int64_t n = v->oversample;
    const int64_t place[2] = {number % all->count[0], number / all->count[0]};
    const int64_t nodes[2] = {all->nodes, 1};
    t->nodes = all->nodes + 1;
    t->weights = 1;
    for (int axis = 0; axis < 2; axis++) {
        t->node[axis] = all->first[axis] + place[axis] * nodes[axis];
        const int64_t end = t->node[axis] + nodes[axis];
        t->begin[axis] = larger(b->begin[axis], smear_node_pixel(v, axis, t->node[axis]));
        t->end[axis] = smaller(b->end[axis], smear_node_pixel(v, axis, end));
        t->weights *= 2 + (size_t)smear_room(v, axis, smear_node_place(v, axis, t->node[axis]),
                                             smear_node_place(v, axis, end));
    }
    t->kernel = mem_array((size_t)(2 * t->nodes), sizeof *t->kernel);
    t->weight = mem_array((size_t)(2 * t->nodes) * t->weights, sizeof *t->weight);
    make_kernels(t);
    t->sum_first[1] = t->begin[0] + floor_div(t->first[0], n);
    t->columns = t->end[0] + floor_div(t->last[0], n) - t->sum_first[1];
    t->sum = mem_array((size_t)(sum_rows(t) * n * t->columns), sizeof *t->sum);
    t->down = mem_array((size_t)(2 * (t->columns + 1) * n), sizeof *t->down);
}

/* Computes the pixels of a tile, which has the members that tile_open needs. */
static void smear_tile(struct tile t, const struct tiles *all, int64_t number, float *pixels)
{
    tile_open(&t, all, number);
    const size_t most = (size_t)(t.last[0] - t.first[0] + 1) * (size_t)(t.last[1] - t.first[1] + 1);
    struct smear_tap *taps = mem_array(most + 1, sizeof *taps);
    make_sums(&t);
    for (int64_t i = 0; i < all->nodes; i++)
        if (smear_node_pixel(&t.band->view, 0, t.node[0] + i) < t.end[0])
            smear_cell(&t, i, taps, pixels);
    mem_free(taps);
    tile_close(&t);
}

static void smear_tiles(const struct tile *like, int threads, float *pixels)
{
    const struct tiles all = tiles_of(like->band);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < all.count[0] * all.count[1]; i++)
        smear_tile(*like, &all, i, pixels);
}

void smear_band_add(const struct smear_band *b, const float *thin, bool is_signed, int threads,
                    float *pixels)
{
    const struct tile like = {.band = b, .thin = thin + b->offset, .is_signed = is_signed};
    smear_tiles(&like, threads, pixels);
}

void smear_band_change(const struct smear_band *b, const struct smear_change *change,
                       const float *thin, int threads, float *pixels)
{
    const struct tile like = {
        .band = b, .thin = thin + b->offset, .is_signed = true, .change = change};
    smear_tiles(&like, threads, pixels);
}

/* ---- a frame -------------------------------------------------------------------------------- */

/* Computes the pixels of some bands, see smear_compute. */
static enum status run_bands(void *context, const struct smear_bands *bands, struct error *e)
{
    const struct frame *f = context;
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
    for (size_t i = 0; i < bands->count && !status; i++) {
        const struct smear_band *b = &bands->band[i];
        smear_band_add(b, s->thin, false, s->threads, f->pixels);
        if (f->rows)
            atomic_fetch_add_explicit(f->rows, (uint_fast64_t)(b->end[1] - b->begin[1]),
                                      memory_order_relaxed);
    }
    return status;
}

enum status smear_frame_run(struct smear_frame *s, const struct experiment *x,
                            const struct recipe *r, smear_thin *thin, void *engine, float *pixels,
                            atomic_uint_fast64_t *rows, struct error *e)
{
    struct frame f = {s, x, r, thin, engine, pixels, rows};
    memset(pixels, 0, (size_t)experiment_pixels(x) * sizeof *pixels);
    const enum status status = smear_bands_each(&s->bands, x, run_bands, &f, e);
    return status ? status : photons_check(x, r->id, pixels, e);
}
