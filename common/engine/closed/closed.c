/*
 * Frames of crystals in closed form: the choice of the engine, the beams and steps of a frame, and
 * derivatives by differences of images.
 */
#include "engine/closed/closed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "base/vec.h"
#include "engine/derivatives/parameter.h"
#include "engine/reference/recipe_check.h"
#include "engine/reflections/photons.h"
#include "physics/beam/polarization.h"
#include "physics/constants.h"
#include "physics/crystal/sampling.h"
#include "physics/crystal/shape.h"
#include "physics/detector/sensor.h"

/* ---- frames --------------------------------------------------------------------------------- */

const struct closed_kernels *closed_kernels_choose(const char *isa, struct error *e)
{
    static const struct closed_kernels *const all[] = ISA_TABLE(closed_kernels_);
    enum isa at;
    return isa_choose(&at, isa, e) ? NULL : all[at];
}

bool closed_wanted(const struct experiment *x)
{
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].has_ensemble)
            return true;
    return false;
}

enum status closed_refuse(const struct experiment *x, const char *name, struct error *e)
{
    return closed_wanted(x) ? error_set(e, STATUS_INPUT,
                                        "the %s engine does not support --mosaic-model=gauss; "
                                        "expected --engine=cpu or cuda",
                                        name)
                            : STATUS_OK;
}

static enum status refuse(struct error *e, const char *what)
{
    return error_set(e, STATUS_INPUT, "--mosaic-model=gauss %s", what);
}

bool closed_suits(const struct experiment *x)
{
    bool interpolates = false;
    for (size_t i = 0; i < x->ncrystals; i++)
        interpolates = interpolates || x->crystals[i].interpolate;
    return x->physics == PHYSICS_PHYSICAL && !(x->water_m > 0.0) && !interpolates &&
           cpu_view_is_plain(x);
}

enum status closed_check(const struct experiment *x, struct error *e)
{
    if (x->physics == PHYSICS_FAITHFUL)
        return refuse(e, "needs bragg-geometry --physics=physical");
    if (x->water_m > 0.0)
        return refuse(e, "does not support --water. Use bragg-background");
    if (!cpu_view_is_plain(x))
        return refuse(e, "needs flat panels that face the sample and have axes at right angles");
    for (size_t i = 0; i < x->ncrystals; i++) {
        const struct crystal *c = &x->crystals[i];
        if (!c->has_ensemble)
            return refuse(e, "must be the same for all crystals");
        if (!shape_is_gaussian(c->shape))
            return refuse(e, "needs --shape=gauss, because spots of other shapes are not Gaussian");
        if (c->interpolate)
            return refuse(e, "does not support tricubic structure factors. Use --interpolate=off");
        if (!(c->fudge > 0.0) || !ensemble_cells_fit(c->cells, c->cells_across))
            return refuse(e, "needs a matrix of cells [Na D F; D Nb E; F E Nc] that is positive "
                             "definite");
    }
    return STATUS_OK;
}

/* ---- beams ------------------------------------------------------------------- */

static int by_wave_number(const void *a, const void *b)
{
    const struct ensemble_channel *p = a, *q = b;
    const double d = p->per_A - q->per_A, w = p->weight - q->weight;
    return d != 0.0 ? (d > 0.0) - (d < 0.0) : (w > 0.0) - (w < 0.0);
}

static bool same_direction(const struct source *a, const struct source *b)
{
    return memcmp(a->direction, b->direction, sizeof a->direction) == 0;
}

/* Adds a beam with the channels of all sources that have the direction of source `at`; no source
 * before `at` has this direction.  Returns false if memory cannot be allocated. */
static bool add_beam(struct closed *c, const struct source *sources, size_t count, size_t at,
                     size_t *nchannels)
{
    struct closed_beam *b = &c->beams[c->nbeams++];
    double sum = 0.0, weight = 0.0;
    b->first = *nchannels;
    for (size_t i = at; i < count; i++)
        if (same_direction(&sources[at], &sources[i])) {
            const double per_A = 1e-10 / sources[i].wavelength_m;
            c->channels[(*nchannels)++] = (struct ensemble_channel){per_A, sources[i].weight};
            sum += per_A * sources[i].weight;
            weight += sources[i].weight;
        }
    b->count = *nchannels - b->first;
    qsort(c->channels + b->first, b->count, sizeof *c->channels, by_wave_number);
    b->per_A = weight > 0.0 ? sum / weight : c->channels[b->first].per_A;
    for (int k = 0; k < 3; k++)
        b->incident[k] = -sources[at].direction[k];
    polarization_axes(b->incident, c->x->beam.polarization, b->e, b->b);
    return ensemble_waves_open(&b->waves, c->channels + b->first, b->count);
}

static enum status open_beams(struct closed *c, const struct source *sources, size_t count,
                              struct error *e)
{
    size_t nchannels = 0;
    c->beams = mem_array(count, sizeof *c->beams);
    c->channels = mem_array(count, sizeof *c->channels);
    if (!c->beams || !c->channels)
        return error_memory(e, "the channels");
    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = same_direction(&sources[k], &sources[i]);
        if (!seen && !add_beam(c, sources, count, i, &nchannels))
            return error_memory(e, "the channels");
    }
    return STATUS_OK;
}

/* ---- steps ------------------------------------------------------------------- */

static enum status open_lattice(struct closed *c, uint32_t index, double photons, struct error *e)
{
    const struct lattice *l = &c->recipe->lattices[index];
    if (l->mosaic || l->ndomains != 1)
        return error_set(e, STATUS_INPUT,
                         "lattice %u has %zu mosaic domains; expected one with "
                         "--mosaic-model=gauss. Leave out --mosaic of bragg-orient",
                         index, l->ndomains);
    for (uint32_t t = 0; t < l->nphi; t++)
        for (uint32_t b = 0; b < c->nbeams; b++) {
            struct closed_step *s = &c->steps[c->nsteps++];
            *s = (struct closed_step){.lattice = index, .step = t, .beam = b};
            s->scale = photons * l->weight / (double)l->nphi;
            if (!ensemble_open(&s->ensemble, &c->x->crystals[l->crystal], l->cells_m + 9 * t,
                               c->beams[b].incident, c->beams[b].per_A))
                return error_set(e, STATUS_INPUT, "lattice %u has a cell of volume 0", index);
        }
    return STATUS_OK;
}

static enum status open_steps(struct closed *c, double photons, struct error *e)
{
    size_t count = 0, total = 0;
    for (size_t i = 0; i < c->recipe->nlattices; i++)
        if (!size_multiply(c->recipe->lattices[i].nphi, c->nbeams, &count) ||
            (total += count) >= UINT32_MAX)
            return error_set(e, STATUS_INPUT,
                             "too many steps and directions; expected a product below 2^32");
    c->steps = mem_array(total, sizeof *c->steps);
    enum status s = c->steps ? STATUS_OK : error_memory(e, "the lattices");
    for (uint32_t i = 0; i < c->recipe->nlattices && !s; i++)
        s = open_lattice(c, i, photons, e);
    return s;
}

/* Sets c->absorbs: whether a sensor absorbs the wavelengths of the sources differently.  Fails
 * where the absorption of one of them is not known. */
static enum status check_sensor(struct closed *c, const struct source *sources, size_t count,
                                struct error *e)
{
    double *ratios = mem_array(count, sizeof *ratios);
    const enum status s = ratios ? sensor_ratios(c->x, sources, count, ratios, &c->absorbs, e)
                                 : error_memory(e, "the channels");
    mem_free(ratios);
    return s;
}

enum status closed_open(struct closed *c, const struct experiment *x, const struct recipe *r,
                        const struct closed_kernels *kernels, int threads, struct error *e)
{
    *c = (struct closed){.x = x, .recipe = r, .kernels = kernels};
    enum status s = recipe_check(x, r, e);
    if (s)
        return s;
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t count = r->nsources ? r->nsources : x->beam.nsources;
    const double n = x->sampling.oversample;
    const double photons = ELECTRON_RADIUS_SQR_M2 * x->beam.fluence_ph_m2 / ((double)count * n * n);
    if ((s = check_sensor(c, sources, count, e)) || (s = open_beams(c, sources, count, e)) ||
        (s = open_steps(c, photons, e)))
        return s;
    return closed_list(c, threads) ? STATUS_OK : error_memory(e, "the reflections");
}

void closed_close(struct closed *c)
{
    for (size_t i = 0; i < c->nbeams; i++)
        ensemble_waves_close(&c->beams[i].waves);
    mem_free(c->beams);
    mem_free(c->channels);
    mem_free(c->steps);
    mem_free(c->spots);
    mem_free(c->places);
    *c = (struct closed){0};
}

/* ---- frames ------------------------------------------------------------------ */

enum status closed_run(const struct closed_kernels *kernels, const struct experiment *x,
                       const struct recipe *r, int threads, float *photons,
                       atomic_uint_fast64_t *rows, struct error *e)
{
    struct closed c;
    enum status s = closed_open(&c, x, r, kernels, threads, e);
    if (!s)
        s = closed_rows(&c, threads, photons, NULL, rows, e);
    closed_close(&c);
    return s ? s : photons_check(x, r->id, photons, e);
}

enum status closed_reflections(const struct closed_kernels *kernels, const struct experiment *x,
                               const struct footprint *f, int threads, const struct recipe *r,
                               const float *pixels, const struct reflections_wanted *wanted,
                               struct reflection_table *table, struct error *e)
{
    const size_t nrows = (size_t)experiment_rows(x);
    float *again = mem_array((size_t)experiment_pixels(x), sizeof *again);
    struct share_list *lists = shares_open(nrows);
    struct closed c;
    enum status s = closed_open(&c, x, r, kernels, threads, e);
    if (!s)
        s = again && lists ? closed_rows(&c, threads, again, lists, NULL, e)
                           : error_memory(e, "the reflections");
    const struct shares shares = {.x = x,
                                  .recipe = r,
                                  .footprint = f && f->is_seen ? f : NULL,
                                  .pixels = pixels,
                                  .lists = lists,
                                  .nlists = nrows,
                                  .threads = threads};
    if (!s)
        s = shares_table(&shares, wanted, table, e);
    shares_free(lists, nrows);
    mem_free(again);
    closed_close(&c);
    return s;
}

/* ---- derivatives ---------------------------------------------------------------------------- */

/* The rms width of a spot in |h| N, as in ensemble.c: 0.63^(1/2) / 2. */
static const double BLOCK_RMS = 0.396863;

/* Data that is the same for the images of all steps. */
struct differences {
    const struct closed_kernels *kernels;
    const struct experiment *x;
    const struct recipe *recipe;
    int threads;
    size_t pixels;
    double turn_rad, spot_m;  // rms widths of the narrowest spot: in a rotation, on a panel
    float *image;             // owned: of the step at hand
    double *sum;              // owned: of the differences so far
};

/* The images of the whole frame: photons first, then one image for each parameter. */
struct planes_of_frame {
    size_t count, pixels;
    float *values;
};

static void measure(struct differences *d)
{
    d->turn_rad = d->spot_m = INFINITY;
    for (size_t i = 0; i < d->recipe->nlattices; i++) {
        const struct lattice *l = &d->recipe->lattices[i];
        const struct sampling_report s = sampling_check(d->x, l, 0.0, 0.0, 0.01);
        const double rms = BLOCK_RMS / sqrt(d->x->crystals[l->crystal].fudge);
        d->turn_rad = fmin(d->turn_rad, rms * s.rocking_rad);
        for (size_t k = 0; k < d->x->npanels; k++)
            d->spot_m = fmin(d->spot_m, rms * s.spot_rad * d->x->panels[k].close_distance_m);
    }
}

/* Returns a step of a parameter that changes images by a small amount, in the unit of the
 * parameter or of its logarithm. */
static double step_of(const struct differences *d, const struct parameter *p)
{
    const double value = parameter_step_value(p, d->x, d->recipe);
    if (parameter_step_is_log(p))
        return 0.3 * CLOSED_STEP;
    switch (p->kind) {
    case PARAMETER_WAVELENGTH:
        return CLOSED_STEP * d->turn_rad * value;
    case PARAMETER_CELL:
        return CLOSED_STEP * d->turn_rad *
               (p->members[0] + p->members[1] + p->members[2] > 0.0 ? value : 1.0 / p->unit_SI);
    case PARAMETER_DISTANCE:
    case PARAMETER_CENTRE:
    case PARAMETER_SHIFT:
        return CLOSED_STEP * d->spot_m / p->unit_SI;
    default:
        return CLOSED_STEP * d->turn_rad / p->unit_SI;
    }
}

/* Adds `factor` times the image where one parameter is `step` away. */
static enum status add_image(const struct differences *d, const struct parameter *p, double step,
                             double factor, struct error *e)
{
    const struct parameters set = {.count = 1, .items = {*p}};
    struct experiment x = *d->x;
    struct recipe r = {0};
    x.panels = mem_copy(x.panels, x.npanels, sizeof *x.panels);
    x.crystals = mem_copy(x.crystals, x.ncrystals, sizeof *x.crystals);
    enum status s = x.panels && x.crystals && recipe_copy(&r, d->recipe)
                        ? parameter_step_take(&set, &step, &x, &r, e)
                        : error_memory(e, "the derivatives");
    if (p->kind == PARAMETER_WAVELENGTH)  // so that the absorption of the sensor stays as it is
        x.beam.wavelength_m += step * p->unit_SI;
    if (!s)
        s = closed_run(d->kernels, &x, &r, d->threads, d->image, NULL, e);
    for (size_t i = 0; i < d->pixels && !s; i++)
        d->sum[i] += factor * (double)d->image[i];
    mem_free(x.panels);
    mem_free(x.crystals);
    recipe_free(&r);
    return s;
}

static enum status make_plane(const struct differences *d, const struct parameter *p, float *plane,
                              struct error *e)
{
    static const double steps[4] = {-2, -1, 1, 2},
                        factors[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    const double step = step_of(d, p);
    double unit = step;
    if (parameter_step_is_log(p))
        unit *= parameter_step_value(p, d->x, d->recipe);
    enum status s = STATUS_OK;
    memset(d->sum, 0, d->pixels * sizeof *d->sum);
    for (int i = 0; i < 4 && !s; i++)
        s = add_image(d, p, steps[i] * step, factors[i], e);
    for (size_t i = 0; i < d->pixels && !s; i++)
        plane[i] = (float)(d->sum[i] / unit);
    return s;
}

static void take_pixels(const void *context, const struct panel *p, const int64_t *numbers,
                        int count, double (*values)[DERIVE_BLOCK])
{
    const struct planes_of_frame *f = context;
    for (size_t k = 0; k < f->count; k++)
        for (int i = 0; i < count; i++)
            values[k][i] = (double)f->values[k * f->pixels + (size_t)(p->first_pixel + numbers[i])];
}

static enum status check(const struct parameters *set, struct error *e)
{
    for (size_t i = 0; i < set->count; i++)
        if (!parameter_has_steps(&set->items[i]))
            return error_set(e, STATUS_INPUT,
                             "--mosaic-model=gauss does not support the derivative by '%s'",
                             set->items[i].name);
    return STATUS_OK;
}

/* Computes all derivative images of the frame. The caller frees f->values. */
static enum status make_planes(struct differences *d, const struct parameters *set,
                               struct planes_of_frame *f, struct error *e)
{
    size_t total;
    f->values =
        size_multiply(f->count, f->pixels, &total) ? mem_array(total, sizeof *f->values) : NULL;
    d->image = mem_array(f->pixels, sizeof *d->image);
    d->sum = mem_array(f->pixels, sizeof *d->sum);
    enum status s = f->values && d->image && d->sum
                        ? closed_run(d->kernels, d->x, d->recipe, d->threads, f->values, NULL, e)
                        : error_memory(e, "the derivatives");
    for (size_t k = 0; k < set->count && !s; k++)
        s = make_plane(d, &set->items[k], f->values + (k + 1) * f->pixels, e);
    mem_free(d->image);
    mem_free(d->sum);
    return s;
}

enum status closed_derive(const struct closed_kernels *kernels, const struct experiment *x,
                          struct footprint *f, int threads, const struct recipe *r,
                          const struct derive_request *request, struct error *e)
{
    enum status s = recipe_check(x, r, e);
    if (s || (s = derive_check(x, r, request, e)) || (s = check(request->set, e)))
        return s;
    struct planes_of_frame planes = {.count = request->set->count + 1,
                                     .pixels = (size_t)experiment_pixels(x)};
    struct differences d = {
        .kernels = kernels, .x = x, .recipe = r, .threads = threads, .pixels = planes.pixels};
    measure(&d);
    s = make_planes(&d, request->set, &planes, e);
    const struct derive_job job = {.x = x,
                                   .recipe = r,
                                   .footprint = f,
                                   .threads = threads,
                                   .pixels = take_pixels,
                                   .context = &planes};
    if (!s)
        s = derive_run(&job, request, e);
    mem_free(planes.values);
    return s;
}
