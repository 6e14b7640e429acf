#include "fisher.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/recipe.h"
#include "stages/shared/engines.h"

/* ---- parameters ------------------------------------------------------------------------- */

static enum status take_parameters(struct fisher *f, const struct experiment *x, struct error *e)
{
    enum status s =
        free_parameters_parse(&f->free, f->options->parameters, f->options->share, x, e);
    for (size_t i = 0; i < f->options->priors.count && !s; i++)
        s = free_parameters_prior(&f->free, f->options->priors.text[i], false, e);
    if (!s && f->free.has_background && !(f->options->background > 0.0))
        return error_set(e, STATUS_USAGE, "parameter 'background' needs --background above 0");
    return s;
}

/* ---- distances -------------------------------------------------------------------------- */

static enum status make_design(struct fisher *f, const struct experiment *x, double distance_mm,
                               struct error *e)
{
    struct fisher_design *d = &f->design[f->ndesigns++];
    const struct engine_options how = {.threads = (int)f->options->threads};
    d->distance_mm = distance_mm;
    if (!experiment_copy(&d->x, x))
        return error_memory(e, "the experiment");
    const double by_m = mm_to_m(distance_mm) - x->panels[0].distance_m;
    double along_m[3];
    vec_scale(x->beam.direction, by_m, along_m);
    for (size_t i = 0; i < d->x.npanels && by_m != 0.0; i++)
        panel_shift(&d->x, &d->x.panels[i], along_m);
    for (size_t i = 0; i < d->x.npanels; i++)
        if (!(d->x.panels[i].close_distance_m > 1e-6))
            return error_set(e, STATUS_USAGE,
                             "--distances: at %g mm panel %zu is not behind the sample",
                             distance_mm, i);
    return beam_plan_create(&d->plan, f->engine, &d->x, &how, e);
}

static enum status take_distances(struct fisher *f, const struct experiment *x, struct error *e)
{
    const double as_it_is = m_to_mm(x->panels[0].distance_m);
    double mm[FISHER_DISTANCES_MAX];
    int n = 0;
    if (!f->options->distances)
        return make_design(f, x, as_it_is, e);
    enum status s = parse_list(f->options->distances, FISHER_DISTANCES_MAX, 1e-3, 1e6,
                               "--distances", mm, &n, e);
    for (int i = 0; i < n && !s; i++)
        s = make_design(f, x, mm[i], e);
    return s;
}

/* ---- frames ----------------------------------------------------------------------------- */

static enum status open_pixels(struct fisher_pixels *px, const struct experiment *x,
                               double background, struct error *e)
{
    const size_t pixels = (size_t)experiment_pixels(x);
    px->computed = mem_array(pixels, sizeof *px->computed);
    px->background = mem_array(pixels, sizeof *px->background);
    if (!px->computed || !px->background)
        return error_memory(e, "the pixels");
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        for (int64_t k = 0; k < p->fast_pixels * p->slow_pixels; k++)
            if (panel_computes(p, k % p->fast_pixels, k / p->fast_pixels))
                px->computed[px->ncomputed++] = p->first_pixel + k;
    }
    for (size_t i = 0; i < px->ncomputed; i++)
        px->background[i] = (float)background;
    return px->ncomputed ? STATUS_OK
                         : error_set(e, STATUS_INPUT, "no pixel of the detector is computed");
}

/* The engine's sums, with those of the background among them. */
static void assemble(const struct fisher *f, const struct derive_sums *sums, double *fisher)
{
    const size_t n = f->free.count, m = f->free.set.count, at = f->free.local_of_set;
    const size_t shift = f->free.has_background;
    for (size_t i = 0; i < m; i++) {
        const size_t row = i < at ? i : i + shift;
        for (size_t k = 0; k < m; k++)
            fisher[row * n + (k < at ? k : k + shift)] = sums->fisher[i * m + k];
        if (f->free.has_background)
            fisher[row * n + at] = fisher[at * n + row] = sums->shared[i];
    }
    if (f->free.has_background)
        fisher[at * n + at] = sums->of_background;
}

static enum status take_at(struct fisher *f, struct fisher_design *d, const struct recipe *r,
                           struct error *e)
{
    double gradient[PARAMETERS_MAX], shared[PARAMETERS_MAX];
    double of_set[PARAMETERS_MAX * PARAMETERS_MAX];
    double fisher[FREE_PARAMETERS_MAX * FREE_PARAMETERS_MAX];
    if (!r->nlattices)
        return information_add(&d->frames, &f->free.layout, r->id, 0, 0.0, NULL, e);
    const struct derive_data expected = {
        .background = f->pixels.background,
        .scale = 1.0,
        .variance = f->options->readout * f->options->readout,
    };
    struct derive_sums sums = {.gradient = gradient, .fisher = of_set, .shared = shared};
    const struct derive_request q = {.set = &f->free.set,
                                     .listed = f->pixels.computed,
                                     .npixels = f->pixels.ncomputed,
                                     .data = &expected,
                                     .sums = &sums};
    const enum status s = beam_plan_derive(d->plan, r, &q, e);
    if (s)
        return s;
    assemble(f, &sums, fisher);
    return information_add(&d->frames, &f->free.layout, r->id, r->nlattices, sums.photons, fisher,
                           e);
}

enum status fisher_take(struct fisher *f, const struct recipe *r, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < f->ndesigns && !s; i++)
        s = take_at(f, &f->design[i], r, e);
    return s;
}

/* ---- the whole -------------------------------------------------------------------------- */

enum status fisher_begin(struct fisher *f, const struct experiment *x, struct error *e)
{
    f->engine = engine_find(f->options->engine);
    if (!f->engine)
        return error_set(e, STATUS_USAGE,
                         "--engine: '%.60s' is unknown, must be one of reference, cpu, cuda",
                         f->options->engine);
    enum status s = take_parameters(f, x, e);
    s = s ? s : take_distances(f, x, e);
    return s ? s : open_pixels(&f->pixels, x, f->options->background, e);
}

enum status fisher_solve(struct fisher *f, struct error *e)
{
    for (size_t i = 0; i < f->ndesigns; i++) {
        struct fisher_design *d = &f->design[i];
        double weakest[FREE_PARAMETERS_MAX];
        char names[400];
        struct error why = {0};
        const enum status s =
            information_solve(&d->frames, &f->free.layout, &d->bounds, weakest, &why);
        if (!s)
            continue;
        free_parameters_name(&f->free, weakest, names, sizeof names);
        return *names ? error_set(e, s,
                                  "at %g mm %s: %s cannot be told apart, or change nothing; "
                                  "--prior=NAME:SIGMA says what is known before",
                                  d->distance_mm, why.text, names)
                      : error_set(e, s, "at %g mm %s", d->distance_mm, why.text);
    }
    return STATUS_OK;
}

void fisher_close(struct fisher *f)
{
    for (size_t i = 0; i < f->ndesigns; i++) {
        struct fisher_design *d = &f->design[i];
        beam_plan_destroy(&d->plan);
        experiment_free(&d->x);
        information_bounds_free(&d->bounds);
        information_free(&d->frames);
    }
    mem_free(f->pixels.computed);
    mem_free(f->pixels.background);
}
