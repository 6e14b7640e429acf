#include "engine/reflections/smear_bands.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/reflections/photons.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"

/* ---- bands ---------------------------------------------------------------------------------- */

/* Sets the part of the thin image, along an axis, that the pixels of the band need. */
static void set_margin(struct smear_band *b, int axis)
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
static void make_panel(const struct smear_band *b, struct panel *thin)
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

/* Arguments of smear_bands_each. */
struct listing {
    struct smear_bands *bands;
    const struct experiment *x;
    smear_compute *compute;
    void *context;
};

/* Computes the listed bands, and empties the list. */
static enum status compute_listed(const struct listing *l, struct error *e)
{
    struct smear_bands *b = l->bands;
    const enum status status = b->count ? l->compute(l->context, b, e) : STATUS_OK;
    b->count = 0;
    b->subpixels = 0;
    return status;
}

/* Lists some rows of a panel, and computes the listed bands if there are enough. */
static enum status add_band(const struct listing *l, const struct smear *view,
                            const int64_t begin[2], const int64_t end[2], struct error *e)
{
    struct smear_bands *all = l->bands;
    struct smear_band b = {.panel = view->panel,
                           .view = *view,
                           .begin = {begin[0], begin[1]},
                           .end = {end[0], end[1]}};
    for (int axis = 0; axis < 2; axis++)
        set_margin(&b, axis);
    const int64_t size = b.size[0] * b.size[1];
    if (all->count == SMEAR_BANDS_MOST || (all->count && all->subpixels + size > all->at_once)) {
        const enum status status = compute_listed(l, e);
        if (status)
            return status;
    }
    b.offset = all->subpixels;
    all->subpixels += size;
    all->band[all->count] = b;
    make_panel(&b, &all->panel[all->count++]);
    return STATUS_OK;
}

/* Lists the pixels of a panel that are computed, cut into bands that begin at rows of nodes. */
static enum status add_panel(const struct listing *l, const struct panel *p, struct error *e)
{
    struct smear view;
    enum status status = smear_open(&view, l->x, p, e);
    int64_t begin[2] = {larger(0, p->roi.fast_min) + p->grid_fast,
                        larger(0, p->roi.slow_min) + p->grid_slow};
    const int64_t end[2] = {smaller(p->fast_pixels - 1, p->roi.fast_max) + p->grid_fast + 1,
                            smaller(p->slow_pixels - 1, p->roi.slow_max) + p->grid_slow + 1};
    const int64_t n = view.oversample;
    const int64_t columns = (end[0] - begin[0]) * n * n;
    while (!status && begin[0] < end[0] && begin[1] < end[1]) {
        const int64_t rows = larger(1, l->bands->at_once / columns / view.node);
        const int64_t node = smear_pixel_node(&view, 1, begin[1]) + rows;
        const int64_t next[2] = {end[0], smaller(end[1], smear_node_pixel(&view, 1, node))};
        status = add_band(l, &view, begin, next, e);
        begin[1] = next[1];
    }
    return status;
}

enum status smear_bands_each(struct smear_bands *b, const struct experiment *x,
                             smear_compute *compute, void *context, struct error *e)
{
    const struct listing l = {b, x, compute, context};
    enum status status = STATUS_OK;
    b->count = 0;
    b->subpixels = 0;
    for (size_t i = 0; i < x->npanels && !status; i++)
        status = add_panel(&l, &x->panels[i], e);
    return status ? status : compute_listed(&l, e);
}

struct experiment smear_bands_thin(const struct smear_bands *b, const struct experiment *x)
{
    struct experiment thin = *x;
    /* With several sources, `each` also means for each source. */
    thin.sampling = (struct sampling){.oversample = 1,
                                      .each_polarization = x->sampling.each_polarization,
                                      .each_solid_angle = x->sampling.each_solid_angle};
    thin.panels = (struct panel *)(uintptr_t)b->panel;
    thin.npanels = b->count;
    thin.has_reasons = false;
    thin.reasons = NULL;
    return thin;
}

/* ---- what is refused ------------------------------------------------------------------------ */

enum status smear_bands_check(const struct experiment *x, struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++) {
        struct smear view;
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT, "--sensor=smear needs flat panels");
        if (smear_open(&view, x, &x->panels[i], e))
            return STATUS_INPUT;
    }
    return STATUS_OK;
}

enum status smear_bands_refuse(const struct smear_bands *b, const struct experiment *x,
                               const struct recipe *r, const float *thin, enum status status,
                               struct error *e)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct smear_band *band = &b->band[i];
        const struct panel *p = band->panel;
        for (int64_t k = 0; k < band->size[0] * band->size[1]; k++) {
            const float photons = thin[band->offset + k];
            const int64_t n = band->view.oversample;
            if (isfinite(photons))
                continue;
            const int64_t fast = floor_div(k % band->size[0] + band->first[0], n) - p->grid_fast;
            const int64_t slow = floor_div(k / band->size[0] + band->first[1], n) - p->grid_slow;
            return photons_refuse(
                x, r->id,
                p->first_pixel + larger(0, smaller(slow, p->slow_pixels - 1)) * p->fast_pixels +
                    larger(0, smaller(fast, p->fast_pixels - 1)),
                photons, e);
        }
    }
    return status;
}

enum status smear_frame_smears(const struct experiment *x, const struct recipe *r, bool *smears,
                               struct error *e)
{
    bool differ = false;
    *smears = x->sampling.smears;
    enum status s = *smears ? sensor_waves_differ(x, r, &differ, e) : STATUS_OK;
    if (s || !differ)
        return s;
    *smears = !smear_has_layers(x);
    return *smears
               ? error_set(e, STATUS_INPUT,
                           "--sensor=smear: the sensor absorbs each wavelength differently; "
                           "expected wavelengths within %g %% of the beam's. Give bragg-geometry "
                           "--sensor=layers",
                           100.0 * SENSOR_WAVE_NEAR)
               : STATUS_OK;
}

/* ---- taps ----------------------------------------------------------------------------------- */

static double weight_of(const struct smear_kernel *k, int fast, int slow)
{
    const int i = fast - k->first[0], j = slow - k->first[1];
    const bool inside = i >= 0 && i < k->count[0] && j >= 0 && j < k->count[1];
    return inside ? k->weight[j * k->count[0] + i] : 0.0;
}

/* Sets the rectangle of subpixels that four kernels have together, along an axis. */
static void join(const struct smear_kernel *const around[4], int axis, int *first, int *last)
{
    for (int i = 0; i < 4; i++) {
        const int begin = around[i]->first[axis], end = begin + around[i]->count[axis] - 1;
        *first = i && *first < begin ? *first : begin;
        *last = i && *last > end ? *last : end;
    }
}

size_t smear_taps(const struct smear_kernel *const around[4], struct smear_tap *taps)
{
    int first[2], last[2];
    size_t count = 0;
    for (int axis = 0; axis < 2; axis++)
        join(around, axis, &first[axis], &last[axis]);
    for (int slow = first[1]; slow <= last[1]; slow++)
        for (int fast = first[0]; fast <= last[0]; fast++) {
            struct smear_tap tap = {.fast = fast, .slow = slow};
            bool any = false;
            for (int i = 0; i < 4; i++) {
                tap.weight[i] = weight_of(around[i], fast, slow);
                any = any || tap.weight[i] != 0.0;
            }
            if (any && taps)
                taps[count] = tap;
            count += any;
        }
    return count;
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* The taps of a row of cells. */
struct row {
    size_t *end;             // owned: number of taps up to the end of each cell
    struct smear_tap *taps;  // owned
};

/* Computes the kernels of two rows of nodes.  Returns their memory, which the caller frees. */
static double *make_kernels(const struct smear *v, const int64_t node[2], int64_t nodes,
                            struct smear_kernel *kernel)
{
    const int64_t end[2] = {node[0] + nodes - 1, node[1] + 1};
    size_t room = 1;
    for (int axis = 0; axis < 2; axis++)
        room *= (size_t)smear_room(v, axis, smear_node_place(v, axis, node[axis]),
                                   smear_node_place(v, axis, end[axis]));
    double *weights = mem_array(2 * (size_t)nodes * room, sizeof *weights);
    for (int64_t i = 0; i < 2 * nodes; i++) {
        const double at[2] = {smear_node_place(v, 0, node[0] + i % nodes),
                              smear_node_place(v, 1, node[1] + i / nodes)};
        kernel[i].weight = weights + (size_t)i * room;
        smear_kernel(v, at, &kernel[i]);
    }
    return weights;
}

static void list_row(const struct smear_cells *c, const struct smear_band *b, int64_t number,
                     struct row *to)
{
    const int64_t nodes = c->count[0] + 1, node[2] = {c->first[0], c->first[1] + number};
    struct smear_kernel *kernel = mem_array(2 * (size_t)nodes, sizeof *kernel);
    double *weights = make_kernels(&b->view, node, nodes, kernel);
    to->end = mem_array((size_t)c->count[0], sizeof *to->end);
    for (int filling = 0; filling < 2; filling++) {
        size_t count = 0;
        for (int64_t i = 0; i < c->count[0]; i++) {
            const struct smear_kernel *around[4] = {&kernel[i], &kernel[i + 1], &kernel[nodes + i],
                                                    &kernel[nodes + i + 1]};
            count += smear_taps(around, filling ? to->taps + count : NULL);
            to->end[i] = count;
        }
        if (!filling)
            to->taps = mem_array(count + 1, sizeof *to->taps);
    }
    mem_free(weights);
    mem_free(kernel);
}

void smear_cells_place(struct smear_cells *c, const struct smear_band *b)
{
    for (int axis = 0; axis < 2; axis++) {
        c->first[axis] = smear_pixel_node(&b->view, axis, b->begin[axis]);
        c->count[axis] = smear_pixel_node(&b->view, axis, b->end[axis] - 1) - c->first[axis] + 1;
        c->origin[axis] = smear_node_pixel(&b->view, axis, c->first[axis]);
    }
}

void smear_cells_open(struct smear_cells *c, const struct smear_band *b, int threads)
{
    smear_cells_place(c, b);
    const size_t columns = (size_t)c->count[0], nrows = (size_t)c->count[1];
    struct row *rows = mem_array(nrows, sizeof *rows);
    size_t count = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < c->count[1]; i++)
        list_row(c, b, i, &rows[i]);
    for (size_t i = 0; i < nrows; i++)
        count += rows[i].end[columns - 1];
    c->begin = mem_array(columns * nrows + 1, sizeof *c->begin);
    c->taps = mem_array(count + 1, sizeof *c->taps);
    count = 0;
    for (size_t i = 0; i < nrows; i++) {
        const size_t more = rows[i].end[columns - 1];
        for (size_t k = 0; k < columns; k++)
            c->begin[i * columns + k + 1] = count + rows[i].end[k];
        memcpy(c->taps + count, rows[i].taps, more * sizeof *c->taps);
        count += more;
        mem_free(rows[i].end);
        mem_free(rows[i].taps);
    }
    mem_free(rows);
}

void smear_cells_close(struct smear_cells *c)
{
    mem_free(c->begin);
    mem_free(c->taps);
    *c = (struct smear_cells){0};
}
