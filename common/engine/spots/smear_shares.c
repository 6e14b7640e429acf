#include "engine/spots/smear_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "engine/dense/dense.h"
#include "engine/reflections/smear_bands.h"
#include "engine/spots/cpu_shares.h"
#include "physics/detector/pixel.h"

enum { AT_ONCE = 1 << 24 };  // subpixels of the thin images that are in memory together

/* Arguments of smear_reflections, for the functions that compute bands. */
struct pass {
    const struct experiment *x;
    const struct cpu_table *tables;
    const char *isa;
    int threads;
    const struct recipe *recipe;
    smear_thin *thin;
    void *engine;
    struct share_list *rows;  // of the frame
};

/* ---- kernels of pixels ----------------------------------------------------------------------- */

/* The kernel of a node, summed over the subpixels of a pixel: what a subpixel gives to a pixel
 * whose first subpixel is -first[] away from it. */
struct node {
    int first[2], count[2];
    double *weight;  // owned: [count[1]][count[0]]
};

/* A rectangle of nodes.  Kernels are computed when they are needed. */
struct nodes {
    const struct smear *view;
    int64_t first[2], count[2];
    struct node *node;  // owned
};

static void open_node(const struct smear *v, const int64_t place[2], struct node *to)
{
    const int64_t step = (int64_t)v->node * v->oversample;
    const double at[2] = {(double)(place[0] * step), (double)(place[1] * step)};
    const int n = v->oversample;
    struct smear_kernel k;
    size_t room = 1;
    for (int axis = 0; axis < 2; axis++)
        room *= (size_t)smear_room(v, axis, at[axis], at[axis]);
    k.weight = mem_array(room, sizeof *k.weight);
    smear_kernel(v, at, &k);
    for (int axis = 0; axis < 2; axis++) {
        to->first[axis] = k.first[axis];
        to->count[axis] = k.count[axis] + n - 1;
    }
    to->weight = mem_array((size_t)to->count[0] * (size_t)to->count[1], sizeof *to->weight);
    for (int j = 0; j < k.count[1] * n; j++)
        for (int i = 0; i < k.count[0] * n; i++)
            to->weight[(j / n + j % n) * to->count[0] + i / n + i % n] +=
                k.weight[j / n * k.count[0] + i / n];
    mem_free(k.weight);
}

static const struct node *node_at(struct nodes *all, int64_t fast, int64_t slow)
{
    struct node *node = &all->node[(slow - all->first[1]) * all->count[0] + fast - all->first[0]];
    if (!node->weight)
        open_node(all->view, (const int64_t[2]){fast, slow}, node);
    return node;
}

static void close_nodes(struct nodes *all)
{
    for (int64_t i = 0; i < all->count[0] * all->count[1]; i++)
        mem_free(all->node[i].weight);
    mem_free(all->node);
}

/* ---- a reflection ---------------------------------------------------------------------------- */

/* The subpixels of a reflection in a rectangle of a band. */
struct patch {
    const struct smear_band *band;
    int64_t begin[2], end[2];  // subpixels, from the corner of the plane
    double *photons, *turn;    // owned
};

/* Returns the first, or one after the last, pixel along an axis that photons of the patch reach. */
static int64_t reach_of(const struct patch *p, int axis, bool end)
{
    const struct smear *v = &p->band->view;
    const int64_t n = v->oversample, edge = end ? p->end[axis] : p->begin[axis];
    const double front = (double)edge - v->foot[axis];
    const double back = v->foot[axis] + front / (1.0 - v->deepest);
    const double farthest = end ? fmax((double)edge, back) + 3.0 : fmin((double)edge, back) - 3.0;
    const int64_t pixel = floor_div((int64_t)floor(farthest), n) + (end ? 1 : -1);
    return larger(p->band->begin[axis], smaller(pixel, p->band->end[axis]));
}

/* Adds what the patch gives to the pixel, by the kernel of a node, times `part`. */
static void add_node(const struct patch *p, const struct node *node, const int64_t pixel[2],
                     double part, struct share *to)
{
    const int64_t n = p->band->view.oversample, width = p->end[0] - p->begin[0];
    int64_t begin[2], end[2];
    for (int axis = 0; axis < 2; axis++) {
        const int64_t first = pixel[axis] * n + node->first[axis];
        begin[axis] = larger(first, p->begin[axis]);
        end[axis] = smaller(first + node->count[axis], p->end[axis]);
    }
    for (int64_t j = begin[1]; j < end[1]; j++) {
        const int64_t row = j - pixel[1] * n - node->first[1];
        const double *weight = node->weight + row * node->count[0] - pixel[0] * n - node->first[0];
        const int64_t at = (j - p->begin[1]) * width - p->begin[0];
        for (int64_t i = begin[0]; i < end[0]; i++) {
            to->photons += part * weight[i] * p->photons[at + i];
            to->turn += part * weight[i] * p->turn[at + i];
        }
    }
}

/* Appends the shares of the pixels that a patch reaches. */
static void smear_patch(const struct patch *p, const struct share *reflection,
                        struct share_list *to)
{
    const struct smear *v = &p->band->view;
    const struct panel *panel = p->band->panel;
    const double step = 1.0 / v->node;
    int64_t begin[2], end[2];
    struct nodes nodes = {.view = v};
    for (int axis = 0; axis < 2; axis++) {
        begin[axis] = reach_of(p, axis, false);
        end[axis] = reach_of(p, axis, true);
        if (begin[axis] >= end[axis])
            return;
        nodes.first[axis] = begin[axis] / v->node;
        nodes.count[axis] = (end[axis] - 1) / v->node + 2 - nodes.first[axis];
    }
    nodes.node = mem_array((size_t)(nodes.count[0] * nodes.count[1]), sizeof *nodes.node);
    for (int64_t slow = begin[1]; slow < end[1]; slow++)
        for (int64_t fast = begin[0]; fast < end[0]; fast++) {
            const int64_t on[2] = {fast - panel->grid_fast, slow - panel->grid_slow};
            const int64_t pixel[2] = {fast, slow};
            struct share share = *reflection;
            share.pixel = panel->first_pixel + on[1] * panel->fast_pixels + on[0];
            share.photons = share.turn = 0.0;
            if (!pixel_is_computed(panel, on[0], on[1]))
                continue;
            for (int i = 0; i < 4; i++) {
                const int64_t node[2] = {fast / v->node + i % 2, slow / v->node + i / 2};
                double part = 1.0;
                for (int axis = 0; axis < 2; axis++) {
                    const double away = ((double)(pixel[axis] - node[axis] * v->node) + 0.5) * step;
                    part *= 1.0 - fabs(away);
                }
                add_node(p, node_at(&nodes, node[0], node[1]), pixel, part, &share);
            }
            if (share.photons > CPU_SHARES_LEAST_PHOTONS)
                share_add(to, &share);
        }
    close_nodes(&nodes);
}

/* ---- a band ---------------------------------------------------------------------------------- */

/* A share of a subpixel, and its place on the plane. */
struct sub_share {
    struct share share;
    int64_t at[2];
};

static int compare_reflections(const struct share *a, const struct share *b)
{
    if (a->lattice != b->lattice)
        return a->lattice < b->lattice ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (a->hkl[i] != b->hkl[i])
            return a->hkl[i] < b->hkl[i] ? -1 : 1;
    return 0;
}

static int by_reflection(const void *a, const void *b)
{
    const struct share *x = &((const struct sub_share *)a)->share;
    const struct share *y = &((const struct sub_share *)b)->share;
    const int order = compare_reflections(x, y);
    return order ? order : (x->pixel > y->pixel) - (x->pixel < y->pixel);
}

static int by_pixel(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    return x->pixel != y->pixel ? (x->pixel < y->pixel ? -1 : 1) : compare_reflections(x, y);
}

/* Smears the shares of one reflection. */
static void smear_reflection(const struct smear_band *b, const struct sub_share *shares,
                             size_t count, struct share_list *to)
{
    struct patch p = {.band = b};
    for (size_t i = 0; i < count; i++)
        for (int axis = 0; axis < 2; axis++) {
            const int64_t at = shares[i].at[axis];
            p.begin[axis] = i ? smaller(p.begin[axis], at) : at;
            p.end[axis] = i ? larger(p.end[axis], at + 1) : at + 1;
        }
    const int64_t width = p.end[0] - p.begin[0], height = p.end[1] - p.begin[1];
    p.photons = mem_array((size_t)(width * height), sizeof *p.photons);
    p.turn = mem_array((size_t)(width * height), sizeof *p.turn);
    for (size_t i = 0; i < count; i++) {
        const int64_t at = (shares[i].at[1] - p.begin[1]) * width + shares[i].at[0] - p.begin[0];
        p.photons[at] += shares[i].share.photons;
        p.turn[at] += shares[i].share.turn;
    }
    smear_patch(&p, &shares[0].share, to);
    mem_free(p.photons);
    mem_free(p.turn);
}

/* Returns the shares of the subpixels of a band, sorted by reflection.  lists[] are those of the
 * rows of its thin image.  The caller frees them with mem_free. */
static struct sub_share *sort_shares(const struct smear_band *b, const struct share_list *lists,
                                     size_t *count)
{
    *count = 0;
    for (int64_t row = 0; row < b->size[1]; row++)
        *count += lists[row].count;
    struct sub_share *all = mem_array(*count + 1, sizeof *all), *next = all;
    for (int64_t row = 0; row < b->size[1]; row++)
        for (size_t i = 0; i < lists[row].count; i++) {
            const struct share *s = &lists[row].items[i];
            const int64_t at = s->pixel - b->offset;
            *next++ = (struct sub_share){
                *s, {b->first[0] + at % b->size[0], b->first[1] + at / b->size[0]}};
        }
    qsort(all, *count, sizeof *all, by_reflection);
    return all;
}

/* Appends shares to the lists of the rows of their pixels. */
static void add_to_rows(const struct pass *pass, const struct smear_band *b,
                        struct share_list *shares)
{
    int64_t first_row = 0;
    for (const struct panel *p = pass->x->panels; p < b->panel; p++)
        first_row += p->slow_pixels;
    qsort(shares->items, shares->count, sizeof *shares->items, by_pixel);
    for (size_t i = 0; i < shares->count; i++) {
        const struct share *s = &shares->items[i];
        share_add(
            &pass->rows[first_row + (s->pixel - b->panel->first_pixel) / b->panel->fast_pixels], s);
    }
}

static void smear_band_shares(const struct pass *pass, const struct smear_band *b,
                              const struct share_list *lists)
{
    size_t count, nreflections = 0;
    struct sub_share *all = sort_shares(b, lists, &count);
    size_t *begin = mem_array(count + 1, sizeof *begin);
    for (size_t i = 0; i < count; i++)
        if (!i || compare_reflections(&all[i - 1].share, &all[i].share))
            begin[nreflections++] = i;
    begin[nreflections] = count;
    struct share_list *found = shares_open(nreflections + 1), joined = {0};
#pragma omp parallel for schedule(dynamic) num_threads(pass->threads)
    for (size_t i = 0; i < nreflections; i++)
        smear_reflection(b, all + begin[i], begin[i + 1] - begin[i], &found[i]);
    for (size_t i = 0; i < nreflections; i++)
        for (size_t k = 0; k < found[i].count; k++)
            share_add(&joined, &found[i].items[k]);
    if (joined.count)
        add_to_rows(pass, b, &joined);
    mem_free(joined.items);
    shares_free(found, nreflections + 1);
    mem_free(begin);
    mem_free(all);
}

/* Computes the shares of some bands, see smear_compute. */
static enum status run_bands(void *context, const struct smear_bands *bands, struct error *e)
{
    const struct pass *pass = context;
    const struct experiment thin = smear_bands_thin(bands, pass->x);
    const size_t rows = (size_t)experiment_rows(&thin);
    float *image = mem_array((size_t)bands->subpixels, sizeof *image);
    struct share_list *lists = shares_open(rows);
    enum status status = pass->thin(pass->engine, &thin, pass->recipe, image, e);
    if (!status)
        status = cpu_share_rows(&thin, pass->tables, pass->isa, pass->threads, pass->recipe, image,
                                lists, e);
    const struct share_list *at = lists;
    for (size_t i = 0; i < bands->count && !status; at += bands->band[i++].size[1])
        smear_band_shares(pass, &bands->band[i], at);
    shares_free(lists, rows);
    mem_free(image);
    return status;
}

enum status smear_reflections(const struct experiment *x, const struct cpu_table *tables,
                              const struct footprint *f, const char *isa, int threads,
                              const struct recipe *recipe, smear_thin *thin, void *engine,
                              const float *pixels, const struct reflections_wanted *wanted,
                              struct reflection_table *table, struct error *e)
{
    const size_t rows = (size_t)experiment_rows(x);
    struct smear_bands *bands = mem_array(1, sizeof *bands);
    struct pass pass = {x, tables, isa, threads, recipe, thin, engine, shares_open(rows)};
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
