#include "engine/smear/smear_bands.h"

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
