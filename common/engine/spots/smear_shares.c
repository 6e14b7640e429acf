#include "engine/spots/smear_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/dense/dense.h"
#include "engine/smear/smear_cells.h"
#include "physics/detector/pixel.h"

enum {
    AT_ONCE = 1 << 22
};  // subpixels of the thin images that are in memory together, with
    // their shares

/* Arguments of smear_reflections, for the functions that compute bands. */
struct pass {
    const struct experiment *x;
    int threads;
    const struct recipe *recipe;
    smear_thin_shares *compute;
    void *engine;
    struct share_list *rows;  // of the frame
};

/* ---- shares of subpixels, by reflection -------------------------------------------------------
 */

/* The share of a subpixel, which is counted from the corner of the plane. */
struct sub_share {
    int32_t fast, slow;
    double photons, turn;
};

/* The reflections of a band, and their shares: those of reflection i are begin[i] to begin[i + 1].
 * Reflections are in the order in which the rows meet them. */
struct sorted {
    size_t count, capacity;
    struct share *reflection;  // owned: lattice and index
    size_t *begin;             // owned
    struct sub_share *shares;  // owned
    uint32_t *slot;            // owned: [nslots], numbers of reflections from 1; 0: free
    size_t nslots;             // a power of two
};

static uint32_t hash_of(const struct share *s)
{
    uint64_t h = (uint64_t)(uint32_t)s->lattice;
    for (int i = 0; i < 3; i++)
        h = (h ^ (uint32_t)s->hkl[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

static bool is_same(const struct share *a, const struct share *b)
{
    return a->lattice == b->lattice && !memcmp(a->hkl, b->hkl, sizeof a->hkl);
}

/* Returns the slot of a reflection, or the free slot where it belongs. */
static uint32_t *find_slot(const struct sorted *t, const struct share *s)
{
    size_t at = hash_of(s) & (t->nslots - 1);
    while (t->slot[at] && !is_same(&t->reflection[t->slot[at] - 1], s))
        at = (at + 1) & (t->nslots - 1);
    return &t->slot[at];
}

static void double_slots(struct sorted *t)
{
    mem_free(t->slot);
    t->nslots = t->nslots ? 2 * t->nslots : 1024;
    t->slot = mem_array(t->nslots, sizeof *t->slot);
    for (size_t i = 0; i < t->count; i++)
        *find_slot(t, &t->reflection[i]) = (uint32_t)i + 1;
}

/* Returns the number of the reflection of a share. */
static size_t number_of(struct sorted *t, const struct share *s)
{
    if (2 * (t->count + 1) > t->nslots)
        double_slots(t);
    uint32_t *slot = find_slot(t, s);
    if (!*slot) {
        t->reflection = mem_grow(t->reflection, t->count, 1, sizeof *t->reflection, &t->capacity);
        t->reflection[t->count++] = *s;
        *slot = (uint32_t)t->count;
    }
    return *slot - 1;
}

/* Sorts the shares of the rows of a thin image, lists[], by reflection. */
static void sort_shares(struct sorted *t, const struct smear_band *b,
                        const struct share_list *lists)
{
    size_t count = 0, k = 0;
    for (int64_t row = 0; row < b->size[1]; row++)
        count += lists[row].count;
    uint32_t *number = mem_array(count + 1, sizeof *number);
    for (int64_t row = 0; row < b->size[1]; row++)
        for (size_t i = 0; i < lists[row].count; i++, k++) {
            const struct share *s = &lists[row].items[i];
            const bool again = i && is_same(s, &lists[row].items[i - 1]);
            number[k] = again ? number[k - 1] : (uint32_t)number_of(t, s);
        }
    t->begin = mem_array(t->count + 2, sizeof *t->begin);
    t->shares = mem_array(count + 1, sizeof *t->shares);
    for (size_t i = 0; i < count; i++)
        t->begin[number[i] + 2]++;
    for (size_t i = 0; i < t->count; i++)
        t->begin[i + 2] += t->begin[i + 1];
    k = 0;
    for (int64_t row = 0; row < b->size[1]; row++)
        for (size_t i = 0; i < lists[row].count; i++, k++) {
            const struct share *s = &lists[row].items[i];
            const int64_t fast = b->first[0] + (s->pixel - b->offset) % b->size[0];
            t->shares[t->begin[number[k] + 1]++] = (struct sub_share){
                (int32_t)fast, (int32_t)(b->first[1] + row), s->photons, s->turn};
        }
    mem_free(number);
}

static void close_sorted(struct sorted *t)
{
    mem_free(t->reflection);
    mem_free(t->begin);
    mem_free(t->shares);
    mem_free(t->slot);
}

/* ---- a reflection -----------------------------------------------------------------------------
 */

/* The thin image of a reflection: a rectangle of subpixels, counted from the corner of the plane.
 * Sums of oversample x oversample subpixels begin up to oversample - 1 subpixels before it. */
struct patch {
    const struct smear_band *band;
    const struct smear_cells *cells;
    int64_t begin[2], end[2];   // of the subpixels
    int64_t first[2], size[2];  // of the sums
    bool turns;
    double *sums[2];  // owned: of photons and of photons times angle
};

/* Sums the values of one kind, 0 or 1, of the shares. */
static void make_sums(struct patch *p, int kind, const struct sub_share *shares, size_t count)
{
    const int64_t n = p->band->view.oversample;
    p->sums[kind] = mem_array((size_t)(p->size[0] * p->size[1]), sizeof *p->sums[kind]);
    for (size_t i = 0; i < count; i++) {
        const double value = kind ? shares[i].turn : shares[i].photons;
        double *to = p->sums[kind] + (shares[i].slow - n + 1 - p->first[1]) * p->size[0] +
                     shares[i].fast - n + 1 - p->first[0];
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++)
                to[j * p->size[0] + k] += value;
    }
}

static void open_patch(struct patch *p, const struct sub_share *shares, size_t count)
{
    const int64_t n = p->band->view.oversample;
    for (size_t i = 0; i < count; i++) {
        const int64_t at[2] = {shares[i].fast, shares[i].slow};
        for (int axis = 0; axis < 2; axis++) {
            p->begin[axis] = i ? smaller(p->begin[axis], at[axis]) : at[axis];
            p->end[axis] = i ? larger(p->end[axis], at[axis] + 1) : at[axis] + 1;
        }
        p->turns = p->turns || shares[i].turn != 0.0;
    }
    for (int axis = 0; axis < 2; axis++) {
        p->first[axis] = p->begin[axis] - n + 1;
        p->size[axis] = p->end[axis] - p->first[axis];
    }
    make_sums(p, 0, shares, count);
    if (p->turns)
        make_sums(p, 1, shares, count);
}

/* Returns the first, or one after the last, pixel along an axis that photons of the patch reach. */
static int64_t reach_of(const struct patch *p, int axis, bool end)
{
    const struct smear *v = &p->band->view;
    const int64_t n = v->oversample, edge = end ? p->end[axis] : p->begin[axis];
    const double front = (double)edge - v->foot[axis];
    const double back = v->foot[axis] + front / (1.0 - v->deepest);
    const double farthest = end ? fmax((double)edge, back) + 3.0 : fmin((double)edge, back) - 3.0;
    const int64_t pixel = floor_div((int64_t)floor(farthest), n) + (end ? 2 : -1);
    return larger(p->band->begin[axis], smaller(pixel, p->band->end[axis]));
}

/* Sets photons and turn of a share: what the patch gives to a pixel of a cell. */
static void smear_pixel(const struct patch *p, int64_t fast, int64_t slow, struct share *to)
{
    const struct smear_cells *c = p->cells;
    const struct smear *v = &p->band->view;
    const int64_t n = v->oversample, node = v->node;
    const int64_t right = fast - c->grid.origin[0], below = slow - c->grid.origin[1];
    const int64_t column = right / node, row = below / node;
    const size_t cell = (size_t)(row * c->grid.count[0] + column);
    const double step = 1.0 / (double)node;
    const double down = ((double)(below - row * node) + v->part[1]) * step;
    const int64_t from[2] = {fast * n - p->first[0], slow * n - p->first[1]};
    to->photons = to->turn = 0.0;
    for (size_t i = c->begin[cell]; i < c->begin[cell + 1]; i++) {
        const struct smear_tap *tap = &c->taps[i];
        const int64_t at[2] = {from[0] + tap->fast, from[1] + tap->slow};
        if (at[0] < 0 || at[0] >= p->size[0] || at[1] < 0 || at[1] >= p->size[1])
            continue;
        const int64_t item = at[1] * p->size[0] + at[0];
        float weight, slope;
        smear_tap_weight(tap->weight, down, v->part[0] * step, step, &weight, &slope);
        const double w = (double)(weight + slope * (float)(right - column * node));
        to->photons += w * p->sums[0][item];
        if (p->turns)
            to->turn += w * p->sums[1][item];
    }
}

/* Appends the shares of the pixels that the subpixels of a reflection reach. */
static void smear_reflection(const struct smear_band *b, const struct smear_cells *cells,
                             const struct sorted *t, size_t number, struct share_list *to)
{
    struct patch p = {.band = b, .cells = cells};
    const struct panel *panel = b->panel;
    open_patch(&p, t->shares + t->begin[number], t->begin[number + 1] - t->begin[number]);
    const int64_t begin[2] = {reach_of(&p, 0, false), reach_of(&p, 1, false)};
    const int64_t end[2] = {reach_of(&p, 0, true), reach_of(&p, 1, true)};
    for (int64_t slow = begin[1]; slow < end[1]; slow++)
        for (int64_t fast = begin[0]; fast < end[0]; fast++) {
            const int64_t on[2] = {fast - panel->grid_fast, slow - panel->grid_slow};
            struct share share = t->reflection[number];
            if (!pixel_is_computed(panel, on[0], on[1]))
                continue;
            share.pixel = panel->first_pixel + on[1] * panel->fast_pixels + on[0];
            smear_pixel(&p, fast, slow, &share);
            if (share.photons > CPU_SHARES_LEAST_PHOTONS)
                share_add(to, &share);
        }
    mem_free(p.sums[0]);
    mem_free(p.sums[1]);
}

/* ---- a band -----------------------------------------------------------------------------------
 */

static int by_pixel(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (x->pixel != y->pixel)
        return x->pixel < y->pixel ? -1 : 1;
    if (x->lattice != y->lattice)
        return x->lattice < y->lattice ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (x->hkl[i] != y->hkl[i])
            return x->hkl[i] < y->hkl[i] ? -1 : 1;
    return 0;
}

/* Returns the lists of the rows of a panel. */
static struct share_list *rows_of(const struct pass *pass, const struct panel *p)
{
    struct share_list *rows = pass->rows;
    for (const struct panel *before = pass->x->panels; before < p; before++)
        rows += before->slow_pixels;
    return rows;
}

/* Computes the shares of the pixels of a band.  lists[] are those of the rows of its thin image. */
static void smear_shares(const struct pass *pass, const struct smear_band *b,
                         const struct share_list *lists)
{
    const struct panel *p = b->panel;
    struct sorted t = {0};
    struct smear_cells cells;
    sort_shares(&t, b, lists);
    smear_cells_open(&cells, b, pass->threads);
    struct share_list *found = shares_open(t.count + 1), *rows = rows_of(pass, p);
#pragma omp parallel for schedule(dynamic) num_threads(pass->threads)
    for (size_t i = 0; i < t.count; i++)
        smear_reflection(b, &cells, &t, i, &found[i]);
    for (size_t i = 0; i < t.count; i++)
        for (size_t k = 0; k < found[i].count; k++) {
            const struct share *s = &found[i].items[k];
            share_add(&rows[(s->pixel - p->first_pixel) / p->fast_pixels], s);
        }
#pragma omp parallel for schedule(dynamic) num_threads(pass->threads)
    for (int64_t slow = b->begin[1] - p->grid_slow; slow < b->end[1] - p->grid_slow; slow++)
        if (rows[slow].count)
            qsort(rows[slow].items, rows[slow].count, sizeof *rows[slow].items, by_pixel);
    shares_free(found, t.count + 1);
    smear_cells_close(&cells);
    close_sorted(&t);
}

/* Computes the shares of some bands, see smear_compute. */
static enum status run_bands(void *context, const struct smear_bands *bands, struct error *e)
{
    const struct pass *pass = context;
    const struct experiment thin = smear_bands_thin(bands, pass->x);
    const size_t rows = (size_t)experiment_rows(&thin);
    struct share_list *lists = shares_open(rows);
    const enum status status = pass->compute(pass->engine, &thin, pass->recipe, lists, e);
    const struct share_list *at = lists;
    for (size_t i = 0; i < bands->count && !status; at += bands->band[i++].size[1])
        smear_shares(pass, &bands->band[i], at);
    shares_free(lists, rows);
    return status;
}

enum status smear_reflections(const struct experiment *x, const struct footprint *f, int threads,
                              const struct recipe *recipe, smear_thin_shares *compute, void *engine,
                              const float *pixels, const struct reflections_wanted *wanted,
                              struct reflection_table *table, struct error *e)
{
    const size_t rows = (size_t)experiment_rows(x);
    struct smear_bands *bands = mem_array(1, sizeof *bands);
    struct pass pass = {x, threads, recipe, compute, engine, shares_open(rows)};
    bands->at_once = AT_ONCE;
    const enum status status = smear_bands_each(bands, x, run_bands, &pass, e);
    const struct shares shares = {.x = x,
                                  .recipe = recipe,
                                  .footprint = f && f->is_seen ? f : NULL,
                                  .pixels = pixels,
                                  .lists = pass.rows,
                                  .nlists = rows,
                                  .threads = threads};
    if (!status)
        shares_table(&shares, wanted, table);
    shares_free(pass.rows, rows);
    mem_free(bands);
    return status;
}
