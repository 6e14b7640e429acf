/*
 * The footprint of the crystal on a frame: the passes of a panel (projection, decomposition and
 * kernels at its nodes), what is kept for an experiment, and the specification in doubles, pixel by
 * pixel, for a panel or a part of it.  footprint_tiles.c computes the same faster.
 */
#include "engine/reflections/footprint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/reflections/photons.h"
#include "physics/crystal/illuminated_volume.h"
#include "physics/detector/pixel.h"

/* ---- the passes of a panel ------------------------------------------------------------------ */

enum { DIRECTIONS_MAX = 1024 };  // maximum per panel; widths from 0.3 to 100 px need fewer

/* The directions of the three passes at one node, and the variances along them. */
struct node {
    int v[3][2];
    double variance[3];
};

static void position_of(const struct footprint *f, const struct panel *p, int64_t fast,
                        int64_t slow, double position[3])
{
    pixel_position(p, f->x->physics, f->x->beam.direction, fast, slow, 0, 0, 0, 1, position);
}

/* Sets edge[] to half of the vector between two pixels that have one pixel between them, in m. */
static void edge_of(const double from[3], const double to[3], double edge[3])
{
    for (int i = 0; i < 3; i++)
        edge[i] = 0.5 * (to[i] - from[i]);
}

/* Sets on[] to the covariance of the footprint on the panel at a pixel, in pixels squared.
 * STATUS_INPUT: the footprint is wider than FOOTPRINT_WIDEST_PX. */
static enum status covariance_at(const struct footprint *f, const struct panel *p, int64_t fast,
                                 int64_t slow, double on[3], struct error *e)
{
    double s[3], low[3], high[3], along_fast[3], along_slow[3], projection[6];
    position_of(f, p, fast - 1, slow, low);
    position_of(f, p, fast + 1, slow, high);
    edge_of(low, high, along_fast);
    position_of(f, p, fast, slow - 1, low);
    position_of(f, p, fast, slow + 1, high);
    edge_of(low, high, along_slow);
    position_of(f, p, fast, slow, s);
    vec_unit(s, s);
    footprint_projection(along_fast, along_slow, s, projection);
    footprint_covariance(f->lit, projection, on);
    const double widest = sqrt(fmax(on[0], on[2]));
    if (widest <= FOOTPRINT_WIDEST_PX)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "the crystal's footprint is %.3g pixels wide (rms) at pixel %lld,%lld (fast, "
                     "slow) of panel %d; expected at most %g: see --crystal-size",
                     widest, (long long)fast, (long long)slow, (int)(p - f->x->panels),
                     FOOTPRINT_WIDEST_PX);
}

/* Returns the number of the pass along v, and adds the pass if it is new. Returns -1 if there
 * are too many passes. */
static int pass_along(struct footprint_panel *p, const int v[2])
{
    for (size_t i = 0; i < p->npasses; i++)
        if (p->pass[i].fast == v[0] && p->pass[i].slow == v[1])
            return (int)i;
    if (p->npasses == DIRECTIONS_MAX)
        return -1;
    p->pass[p->npasses] = (struct footprint_pass){.fast = v[0], .slow = v[1]};
    return (int)p->npasses++;
}

/* Sets the directions and reaches of the passes, and the margin of the panel, from the
 * decompositions at all nodes. */
static enum status collect_directions(struct footprint_panel *p, const struct node *nodes,
                                      struct error *e)
{
    for (int64_t at = 0; at < p->columns * p->rows; at++) {
        int64_t away = 0;
        for (int k = 0; k < 3; k++) {
            const int *v = nodes[at].v[k], reach = footprint_reach(nodes[at].variance[k]);
            if (!reach)
                continue;
            const int i = pass_along(p, v);
            if (i < 0)
                return error_set(e, STATUS_INPUT, "the crystal's footprint has too many shapes");
            struct footprint_pass *pass = &p->pass[i];
            pass->reach = reach > pass->reach ? reach : pass->reach;
            away += (int64_t)reach * (abs(v[0]) > v[1] ? abs(v[0]) : v[1]);
        }
        p->margin = away > p->margin ? away : p->margin;
    }
    return STATUS_OK;
}

/* Returns the variance at a node along the direction of a pass. */
static double variance_along(const struct node *n, const struct footprint_pass *pass)
{
    for (int k = 0; k < 3; k++)
        if (n->v[k][0] == pass->fast && n->v[k][1] == pass->slow)
            return n->variance[k];
    return 0.0;
}

static void fill_panel(const struct footprint *f, struct footprint_panel *p,
                       const struct node *nodes)
{
    for (size_t i = 0; i < p->npasses; i++) {
        struct footprint_pass *pass = &p->pass[i];
        const size_t size = (size_t)pass->reach + 1;
        pass->weight = mem_array((size_t)(p->columns * p->rows) * size, sizeof *pass->weight);
#pragma omp parallel for num_threads(f->threads)
        for (int64_t at = 0; at < p->columns * p->rows; at++) {
            const double variance = variance_along(&nodes[at], pass);
            footprint_kernel(variance, footprint_reach(variance), pass->weight + (size_t)at * size);
        }
    }
}

static void free_passes(struct footprint_panel *p)
{
    for (size_t i = 0; i < p->npasses; i++)
        mem_free(p->pass[i].weight);
    mem_free(p->pass);
    *p = (struct footprint_panel){0};
}

/* Makes the passes of panel `index` for `f->lit`.  free_passes frees them, also after an error. */
static enum status make_passes(struct footprint *f, size_t index, struct error *e)
{
    struct footprint_panel *p = &f->panel[index];
    const struct panel *panel = &f->x->panels[index];
    free_passes(p);
    p->columns = (panel->fast_pixels + FOOTPRINT_NODE - 1) / FOOTPRINT_NODE + 1;
    p->rows = (panel->slow_pixels + FOOTPRINT_NODE - 1) / FOOTPRINT_NODE + 1;
    struct node *nodes = mem_array((size_t)(p->columns * p->rows), sizeof *nodes);
    p->pass = mem_array(DIRECTIONS_MAX, sizeof *p->pass);
    enum status s = STATUS_OK;
    for (int64_t at = 0; at < p->columns * p->rows && !s; at++) {
        double on[3];
        s = covariance_at(f, panel, at % p->columns * FOOTPRINT_NODE,
                          at / p->columns * FOOTPRINT_NODE, on, e);
        if (!s)
            footprint_directions(on, nodes[at].v, nodes[at].variance);
    }
    if (!s)
        s = collect_directions(p, nodes, e);
    if (!s)
        fill_panel(f, p, nodes);
    mem_free(nodes);
    return s;
}

bool footprint_pass_acts(const struct footprint_panel *p, const struct footprint_pass *pass,
                         int64_t column, int64_t last_column, int64_t row, int64_t last_row)
{
    column = footprint_within(column, p->columns);
    row = footprint_within(row, p->rows);
    last_column = footprint_within(last_column, p->columns);
    last_row = footprint_within(last_row, p->rows);
    for (int64_t r = row; r <= last_row; r++)
        for (int64_t c = column; c <= last_column; c++)
            if (pass->weight[(r * p->columns + c) * (pass->reach + 1)] < 1.0f)
                return true;
    return false;
}

/* ---- the footprint of an experiment --------------------------------------------------------- */

void footprint_create(struct footprint **f, const struct experiment *x, int threads)
{
    *f = NULL;
    if (!footprint_is_wanted(x))
        return;
    struct footprint *made = mem_array(1, sizeof *made);
    made->x = x;
    made->threads = threads < 1 ? 1 : threads;
    made->panel = mem_array(x->npanels, sizeof *made->panel);
    made->photons = mem_array((size_t)experiment_pixels(x), sizeof *made->photons);
    *f = made;
}

void footprint_destroy(struct footprint **f)
{
    struct footprint *made = *f;
    *f = NULL;
    if (!made)
        return;
    for (size_t i = 0; made->panel && i < made->x->npanels; i++)
        free_passes(&made->panel[i]);
    mem_free(made->panel);
    mem_free(made->photons);
    mem_free(made);
}

/* Returns true if the footprint has an effect on any panel. The test compares an upper bound of
 * the variance of the illuminated part, in pixels squared, for a ray that meets its pixel at a
 * right angle. For other rays the variance is not smaller. */
static bool is_seen(const struct experiment *x, const double lit[9])
{
    const double trace = lit[0] + lit[4] + lit[8];
    for (size_t i = 0; i < x->npanels; i++)
        if (trace > FOOTPRINT_LEAST_VARIANCE * x->panels[i].pixel_m * x->panels[i].pixel_m)
            return true;
    return false;
}

float *footprint_begin(struct footprint *f, const struct recipe *r, float *pixels, struct error *e)
{
    double lit[9];
    if (!f || !illuminated_covariance(f->x, r, lit) || !is_seen(f->x, lit)) {
        if (f)
            f->is_seen = false;
        return pixels;
    }
    if (f->is_seen && memcmp(f->lit, lit, sizeof lit) == 0 &&
        memcmp(f->shift_m, r->shift_m, sizeof f->shift_m) == 0)
        return f->photons;
    memcpy(f->lit, lit, sizeof lit);
    memcpy(f->shift_m, r->shift_m, sizeof f->shift_m);
    f->is_seen = false;
    for (size_t i = 0; i < f->x->npanels; i++)
        if (make_passes(f, i, e))
            return NULL;
    f->is_seen = true;
    return f->photons;
}

/* ---- the specification ---------------------------------------------------------------------- */

/* A part of a panel with a margin around it. */
struct sheet {
    const struct footprint_panel *panel;
    int64_t fast, slow;  // first pixel, which may be outside the panel
    int64_t width, height;
    double *from, *to;  // owned
};

static int64_t floor_node(int64_t pixel)
{
    return (pixel - (pixel < 0 ? FOOTPRINT_NODE - 1 : 0)) / FOOTPRINT_NODE;
}

/* Returns weight n of a pass at a pixel, interpolated between the four nodes around the pixel. */
static double weight_at(const struct footprint_panel *p, const struct footprint_pass *pass,
                        int64_t fast, int64_t slow, int n)
{
    const int64_t column = floor_node(fast), row = floor_node(slow);
    const double x = (double)(fast - column * FOOTPRINT_NODE) / FOOTPRINT_NODE;
    const double y = (double)(slow - row * FOOTPRINT_NODE) / FOOTPRINT_NODE;
    double value = 0.0;
    for (int corner = 0; corner < 4; corner++) {
        const int right = corner & 1, below = corner >> 1;
        const int64_t at = footprint_within(row + below, p->rows) * p->columns +
                           footprint_within(column + right, p->columns);
        value += (right ? x : 1.0 - x) * (below ? y : 1.0 - y) *
                 (double)pass->weight[at * (pass->reach + 1) + n];
    }
    return value;
}

static void add_photons(const struct sheet *s, int64_t fast, int64_t slow, double photons)
{
    const int64_t f = fast - s->fast, t = slow - s->slow;
    if (f >= 0 && f < s->width && t >= 0 && t < s->height)
        s->to[t * s->width + f] += photons;
}

static void apply_pass(struct sheet *s, const struct footprint_pass *pass)
{
    memset(s->to, 0, (size_t)(s->width * s->height) * sizeof *s->to);
    for (int64_t i = 0; i < s->width * s->height; i++) {
        const int64_t fast = i % s->width + s->fast, slow = i / s->width + s->slow;
        const double photons = s->from[i];
        for (int n = 0; n <= pass->reach && photons != 0.0; n++) {
            const double given = weight_at(s->panel, pass, fast, slow, n) * photons;
            add_photons(s, fast + n * pass->fast, slow + n * pass->slow, given);
            if (n)
                add_photons(s, fast - n * pass->fast, slow - n * pass->slow, given);
        }
    }
    double *const last = s->from;
    s->from = s->to;
    s->to = last;
}

/* Allocates a sheet with the pixels of `part` of a panel and the margin around it, all 0.  Call
 * sheet_close at the end. */
static void sheet_open(struct sheet *s, const struct footprint_panel *panel, const struct roi *part)
{
    const int64_t margin = panel->margin;
    *s = (struct sheet){.panel = panel,
                        .fast = part->fast_min - margin,
                        .slow = part->slow_min - margin,
                        .width = part->fast_max - part->fast_min + 1 + 2 * margin,
                        .height = part->slow_max - part->slow_min + 1 + 2 * margin};
    s->from = mem_array((size_t)(s->width * s->height), sizeof *s->from);
    s->to = mem_array((size_t)(s->width * s->height), sizeof *s->to);
}

static void sheet_close(struct sheet *s)
{
    mem_free(s->from);
    mem_free(s->to);
}

static double *value_at(const struct sheet *s, int64_t fast, int64_t slow)
{
    return &s->from[(slow - s->slow) * s->width + fast - s->fast];
}

static void run_panel(const struct footprint *f, size_t index, float *pixels)
{
    const struct panel *p = &f->x->panels[index];
    const struct roi whole = {0, p->fast_pixels - 1, 0, p->slow_pixels - 1};
    struct sheet s;
    sheet_open(&s, &f->panel[index], &whole);
    for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels; i++)
        *value_at(&s, i % p->fast_pixels, i / p->fast_pixels) =
            (double)f->photons[p->first_pixel + i];
    for (size_t i = 0; i < s.panel->npasses; i++)
        apply_pass(&s, &s.panel->pass[i]);
    for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels; i++) {
        const int64_t fast = i % p->fast_pixels, slow = i / p->fast_pixels;
        pixels[p->first_pixel + i] =
            pixel_is_computed(p, fast, slow) ? (float)*value_at(&s, fast, slow) : 0.0f;
    }
    sheet_close(&s);
}

/* ---- the pixels of one reflection --------------------------------------------------- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the smallest rectangle that contains all of these pixels of a panel. */
static struct roi around(const struct panel *p, const struct lit_pixel *lit, size_t count)
{
    struct roi r = {INT64_MAX, 0, INT64_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        const int64_t pixel = lit[i].pixel - p->first_pixel;
        const int64_t fast = pixel % p->fast_pixels, slow = pixel / p->fast_pixels;
        r = (struct roi){least(r.fast_min, fast), largest(r.fast_max, fast),
                         least(r.slow_min, slow), largest(r.slow_max, slow)};
    }
    return r;
}

/* Appends the pixels of a sheet that have photons and are neither masked nor outside the ROI to
 * *spread. */
static void collect_pixels(const struct sheet *s, const struct panel *p, struct lit_pixel **spread,
                           size_t *count, size_t *capacity)
{
    for (int64_t i = 0; i < s->width * s->height; i++) {
        const int64_t fast = i % s->width + s->fast, slow = i / s->width + s->slow;
        if (!(s->from[i] > 0.0) || !pixel_is_computed(p, fast, slow))
            continue;
        struct lit_pixel *items = mem_grow(*spread, *count, 1, sizeof *items, capacity);
        items[*count] =
            (struct lit_pixel){p->first_pixel + slow * p->fast_pixels + fast, s->from[i]};
        *spread = items;
        ++*count;
    }
}

/* Spreads the photons of pixels of one panel, and appends the resulting pixels to *spread. */
static void spread_part(const struct footprint *f, size_t index, const struct lit_pixel *lit,
                        size_t count, struct lit_pixel **spread, size_t *nspread, size_t *capacity)
{
    const struct panel *p = &f->x->panels[index];
    const struct roi part = around(p, lit, count);
    struct sheet s;
    sheet_open(&s, &f->panel[index], &part);
    for (size_t i = 0; i < count; i++)
        *value_at(&s, (lit[i].pixel - p->first_pixel) % p->fast_pixels,
                  (lit[i].pixel - p->first_pixel) / p->fast_pixels) = lit[i].photons;
    for (size_t i = 0; i < s.panel->npasses; i++)
        apply_pass(&s, &s.panel->pass[i]);
    collect_pixels(&s, p, spread, nspread, capacity);
    sheet_close(&s);
}

void footprint_spread(const struct footprint *f, const struct lit_pixel *lit, size_t count,
                      struct lit_pixel **spread, size_t *nspread)
{
    size_t capacity = 0;
    *spread = NULL;
    *nspread = 0;
    for (size_t i = 0, end; i < count; i = end) {
        size_t index = 0;
        while (!panel_holds(&f->x->panels[index], lit[i].pixel))
            index++;
        for (end = i; end < count && panel_holds(&f->x->panels[index], lit[end].pixel);)
            end++;
        spread_part(f, index, lit + i, end - i, spread, nspread, &capacity);
    }
    *spread = mem_grow(*spread, *nspread, *nspread + 1, sizeof **spread, &capacity);
}

enum status footprint_end_plainly(struct footprint *f, const struct recipe *r, float *pixels,
                                  struct error *e)
{
    if (!f || !f->is_seen)
        return STATUS_OK;
    for (size_t i = 0; i < f->x->npanels; i++)
        run_panel(f, i, pixels);
    return photons_check(f->x, r->id, pixels, e);
}
