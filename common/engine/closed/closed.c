/*
 * Frames of crystals in closed form: the choice of the engine, the beams and steps of a frame, its
 * pixels row by row, and derivatives by differences of images.
 */
#define FASTMATH_UNFUSED
#include "engine/closed/closed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/closed/closed_point.h"
#include "engine/derivatives/parameter.h"
#include "engine/derivatives/slopes.h"
#include "engine/reference/recipe_check.h"
#include "engine/reflections/photons.h"
#include "physics/crystal/sampling.h"
#include "physics/crystal/shape.h"
#include "physics/detector/sensor.h"

/* Pixels of a frame in closed form: rows are distributed to threads. */

/* The row that a thread computes. */
struct row {
    const struct closed *c;
    const struct panel *panel;
    int64_t slow;
    double *sums;             // one per pixel
    struct share_list *list;  // NULL: not wanted
};

/* Computes the photons that one reflection gives to ENSEMBLE_LANES pixels from `fast` on.
 * Returns false if there are none. */
static bool photons_of(const struct row *row, const struct closed_spot *spot, int64_t fast,
                       double photons[ENSEMBLE_LANES])
{
    const struct closed *c = row->c;
    const struct closed_beam *b = &c->beams[c->steps[spot->step].beam];
    const struct sampling *each = &c->x->sampling;
    const int n = each->oversample;
    const bool single = row->panel->layers == 1 && n == 1;
    struct closed_points now, front, first;  // of the latter d alone is set, but for a single point
    struct closed_factors factors = {
        .solid_angle = single || each->each_solid_angle ? &now : &front,
        .capture = single || each->each_thickness ? &now : &first,
        .polarization = single || each->each_polarization ? &now : &front,
        .incident = b->incident,
        .e = b->e,
        .b = b->b,
        .kahn = c->x->beam.kahn,
        .no_polarization = c->x->beam.no_polarization,
        .absorb = spot->absorb};
    now.panel = row->panel;
    now.fast = fast;
    now.slow = row->slow;
    now.oversample = n;
    bool lit = false;
    for (int i = 0; i < ENSEMBLE_LANES; i++)
        photons[i] = 0.0;
    for (now.layer = 0; now.layer < row->panel->layers; now.layer++)
        for (int at = 0; at < n * n; at++) {
            now.sub_fast = at % n;
            now.sub_slow = at / n;
            c->kernels->look(&now);
            if (at == 0 && !single)
                memcpy(first.d, now.d, sizeof first.d);
            if (at == 0 && now.layer == 0 && !single)
                memcpy(front.d, now.d, sizeof front.d);
            if (!c->kernels->sum(&now, &spot->spot, b->incident, &b->waves))
                continue;
            lit = true;
            factors.layer = now.layer;
            c->kernels->add(&now, &factors, spot->scale, photons);
        }
    return lit;
}

/* Adds the photons of one reflection to a pixel. */
static void add_photons(const struct row *row, const struct closed_spot *spot, int64_t fast,
                        double photons)
{
    row->sums[fast] += photons;
    if (!row->list)
        return;
    const struct closed_step *step = &row->c->steps[spot->step];
    const double turn = row->c->recipe->lattices[step->lattice].phi_rad[step->step];
    struct share share = {.lattice = (int32_t)step->lattice, .photons = photons};
    share.pixel = row->panel->first_pixel + row->slow * row->panel->fast_pixels + fast;
    share.turn = photons * turn;
    memcpy(share.hkl, spot->hkl, sizeof share.hkl);
    share_add(row->list, &share);
}

/* Adds one reflection to all pixels of the row that get photons of it. */
static void add_place(const struct row *row, const struct closed_place *place)
{
    const struct closed_spot *spot = &row->c->spots[place->spot];
    double photons[ENSEMBLE_LANES];
    for (int64_t from = place->fast_min; from <= place->fast_max; from += ENSEMBLE_LANES) {
        if (!photons_of(row, spot, from, photons))
            continue;
        for (int i = 0; i < ENSEMBLE_LANES && from + i <= place->fast_max; i++)
            if (photons[i] > 0.0 && pixel_is_computed(row->panel, from + i, row->slow))
                add_photons(row, spot, from + i, photons[i]);
    }
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int same_share(const struct share *a, const struct share *b)
{
    int order = compare_numbers(a->pixel, b->pixel);
    order = order ? order : compare_numbers(a->lattice, b->lattice);
    for (int i = 0; i < 3 && !order; i++)
        order = compare_numbers(a->hkl[i], b->hkl[i]);
    return order;
}

/* Compares shares by pixel, then by their content, so that sums always have the same order. */
static int by_pixel(const void *a, const void *b)
{
    const struct share *p = a, *q = b;
    const int order = same_share(p, q);
    if (order)
        return order;
    const double d = p->photons - q->photons, t = p->turn - q->turn;
    return d != 0.0 ? (d > 0.0) - (d < 0.0) : (t > 0.0) - (t < 0.0);
}

/* Sorts shares by pixel, and joins shares of the same reflection. */
static void sort_shares(struct share_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_pixel);
    for (size_t i = 0; i < list->count; i++) {
        struct share *last = kept ? &list->items[kept - 1] : NULL;
        if (last && same_share(last, &list->items[i]) == 0) {
            last->photons += list->items[i].photons;
            last->turn += list->items[i].turn;
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

/* Computes one row. sums[] is 0 before and after the call. */
static void run_row(const struct row *row, const struct closed_row_places *places, int64_t number,
                    float *pixels)
{
    const size_t begin = places->begin[number], end = places->begin[number + 1];
    float *out = pixels + row->panel->first_pixel + row->slow * row->panel->fast_pixels;
    memset(out, 0, (size_t)row->panel->fast_pixels * sizeof *out);
    for (size_t i = begin; i < end; i++)
        add_place(row, &row->c->places[places->items[i]]);
    for (size_t i = begin; i < end; i++) {
        const struct closed_place *place = &row->c->places[places->items[i]];
        for (int64_t fast = place->fast_min; fast <= place->fast_max; fast++)
            if (row->sums[fast] != 0.0) {
                out[fast] = (float)row->sums[fast];
                row->sums[fast] = 0.0;
            }
    }
    if (row->list)
        sort_shares(row->list);
}

/* Returns the number of rows of the frame before panel `index`. */
static int64_t rows_above(const struct experiment *x, int32_t index)
{
    int64_t rows = 0;
    for (int32_t i = 0; i < index; i++)
        rows += x->panels[i].slow_pixels;
    return rows;
}

void closed_sort_places(const struct closed *c, struct closed_row_places *places)
{
    const int64_t nrows = experiment_rows(c->x);
    size_t total = 0;
    places->begin = mem_array((size_t)nrows + 2, sizeof *places->begin);
    size_t *next = places->begin + 1;
    for (size_t i = 0; i < c->nplaces; i++) {
        const struct closed_place *p = &c->places[i];
        const int64_t above = rows_above(c->x, p->panel);
        for (int64_t row = p->row_min; row <= p->row_max; row++, total++)
            next[above + row + 1]++;
    }
    for (int64_t row = 0; row < nrows; row++)
        next[row + 1] += next[row];
    places->items = mem_array(total, sizeof *places->items);
    for (size_t i = 0; i < c->nplaces; i++) {
        const struct closed_place *p = &c->places[i];
        const int64_t above = rows_above(c->x, p->panel);
        for (int64_t row = p->row_min; row <= p->row_max; row++)
            places->items[next[above + row]++] = i;
    }
}

/* Computes all rows of a panel. */
static void run_panel(const struct closed *c, const struct closed_row_places *places, int threads,
                      size_t index, float *pixels, struct share_list *lists,
                      atomic_uint_fast64_t *rows)
{
    const struct panel *p = &c->x->panels[index];
    const int64_t above = rows_above(c->x, (int32_t)index);
#pragma omp parallel num_threads(threads)
    {
        double *sums = mem_array((size_t)p->fast_pixels, sizeof *sums);
#pragma omp for schedule(dynamic, 8)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            const struct row row = {c, p, slow, sums, lists ? &lists[above + slow] : NULL};
            run_row(&row, places, above + slow, pixels);
            if (rows)
                atomic_fetch_add_explicit(rows, 1, memory_order_relaxed);
        }
        mem_free(sums);
    }
}

void closed_rows(const struct closed *c, int threads, float *pixels, struct share_list *lists,
                 atomic_uint_fast64_t *rows)
{
    struct closed_row_places places = {0};
    closed_sort_places(c, &places);
    for (size_t i = 0; i < c->x->npanels; i++)
        run_panel(c, &places, threads, i, pixels, lists, rows);
    mem_free(places.begin);
    mem_free(places.items);
}

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

static enum status refuse_form(struct error *e, const char *what)
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
        return refuse_form(e, "needs bragg-geometry --physics=physical");
    if (x->water_m > 0.0)
        return refuse_form(e, "does not support --water. Use bragg-background");
    if (!cpu_view_is_plain(x))
        return refuse_form(e,
                           "needs flat panels that face the sample and have axes at right angles");
    for (size_t i = 0; i < x->ncrystals; i++) {
        const struct crystal *c = &x->crystals[i];
        if (!c->has_ensemble)
            return refuse_form(e, "is given for some crystals only; expected it for all");
        if (!shape_is_gaussian(c->shape))
            return refuse_form(
                e, "needs --shape=gauss, because spots of other shapes are not Gaussian");
        if (c->interpolate)
            return refuse_form(
                e, "does not support tricubic structure factors. Use --interpolate=off");
        if (!(c->fudge > 0.0) || !ensemble_cells_fit(c->cells, c->cells_across))
            return refuse_form(e,
                               "needs a matrix of cells [Na D F; D Nb E; F E Nc] that is positive "
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
 * before `at` has this direction. */
static void add_beam(struct closed *c, const struct source *sources, size_t count, size_t at,
                     size_t *nchannels)
{
    struct closed_beam *b = &c->beams[c->nbeams++];
    double sum = 0.0, weight = 0.0;
    b->first = *nchannels;
    for (size_t i = at; i < count; i++)
        if (same_direction(&sources[at], &sources[i])) {
            const double wavelength_m = sources[i].wavelength_m, per_A = 1e-10 / wavelength_m;
            const double w = sources[i].weight * sensor_signal(&c->x->beam, wavelength_m);
            c->channels[(*nchannels)++] = (struct ensemble_channel){per_A, w};
            sum += per_A * w;
            weight += w;
        }
    b->count = *nchannels - b->first;
    qsort(c->channels + b->first, b->count, sizeof *c->channels, by_wave_number);
    b->per_A = weight > 0.0 ? sum / weight : c->channels[b->first].per_A;
    for (int k = 0; k < 3; k++)
        b->incident[k] = -sources[at].direction[k];
    polarization_axes(b->incident, c->x->beam.polarization, b->e, b->b);
    ensemble_waves_open(&b->waves, c->channels + b->first, b->count);
}

static void open_beams(struct closed *c, const struct source *sources, size_t count)
{
    size_t nchannels = 0;
    c->beams = mem_array(count, sizeof *c->beams);
    c->channels = mem_array(count, sizeof *c->channels);
    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = same_direction(&sources[k], &sources[i]);
        if (!seen)
            add_beam(c, sources, count, i, &nchannels);
    }
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
            if (!ensemble_open(&s->ensemble, &c->crystals[index], l->cells_m + 9 * t,
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
    c->crystals = recipe_crystals(c->x, c->recipe);
    enum status s = STATUS_OK;
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
    const enum status s = sensor_ratios(c->x, sources, count, ratios, &c->absorbs, e);
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
    if ((s = check_sensor(c, sources, count, e)))
        return s;
    open_beams(c, sources, count);
    if ((s = open_steps(c, photons, e)))
        return s;
    closed_list(c, threads);
    return STATUS_OK;
}

void closed_close(struct closed *c)
{
    for (size_t i = 0; i < c->nbeams; i++)
        ensemble_waves_close(&c->beams[i].waves);
    mem_free(c->beams);
    mem_free(c->channels);
    mem_free(c->steps);
    mem_free(c->crystals);
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
        closed_rows(&c, threads, photons, NULL, rows);
    closed_close(&c);
    return s ? s : photons_check(x, r->id, photons, e);
}

enum status closed_shares(const struct closed_kernels *kernels, const struct experiment *x,
                          int threads, const struct recipe *r, struct share_list *lists,
                          struct error *e)
{
    float *again = mem_array((size_t)experiment_pixels(x), sizeof *again);
    struct closed c;
    const enum status s = closed_open(&c, x, r, kernels, threads, e);
    if (!s)
        closed_rows(&c, threads, again, lists, NULL);
    mem_free(again);
    closed_close(&c);
    return s;
}

enum status closed_reflections(const struct closed_kernels *kernels, const struct experiment *x,
                               const struct footprint *f, int threads, const struct recipe *r,
                               const float *pixels, const struct reflections_wanted *wanted,
                               struct reflection_table *table, struct error *e)
{
    const size_t nrows = (size_t)experiment_rows(x);
    struct share_list *lists = shares_open(nrows);
    const enum status s = closed_shares(kernels, x, threads, r, lists, e);
    const struct shares shares = {.x = x,
                                  .recipe = r,
                                  .footprint = f && f->is_seen ? f : NULL,
                                  .pixels = pixels,
                                  .lists = lists,
                                  .nlists = nrows,
                                  .threads = threads};
    if (!s)
        shares_table(&shares, wanted, table);
    shares_free(lists, nrows);
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
    const struct derive_request *request;
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

/* Moves the panels by `step` units of parameter number k. */
static void move_panels(const struct differences *d, size_t k, double step, struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++) {
        double by_m[3];
        vec_copy(by_m, d->request->moves[i * d->request->set->count + k].shift);
        vec_scale(by_m, step, by_m);
        panel_shift(x, &x->panels[i], by_m);
    }
}

/* Adds `factor` times the image where parameter number k is `step` away. */
static enum status add_image(const struct differences *d, size_t k, double step, double factor,
                             struct error *e)
{
    const struct parameter *p = &d->request->set->items[k];
    const struct parameters set = {.count = 1, .items = {*p}};
    struct experiment x = *d->x;
    struct recipe r = {0};
    x.panels = mem_copy(x.panels, x.npanels, sizeof *x.panels);
    x.crystals = mem_copy(x.crystals, x.ncrystals, sizeof *x.crystals);
    recipe_copy(&r, d->recipe);
    if (d->request->moves && parameter_moves_points(p->kind))
        move_panels(d, k, step, &x);
    else
        parameter_step_take(&set, &step, &x, &r);
    if (p->kind == PARAMETER_WAVELENGTH)  // so that the absorption of the sensor stays as it is
        x.beam.wavelength_m += step * p->unit_SI;
    const enum status s = closed_run(d->kernels, &x, &r, d->threads, d->image, NULL, e);
    for (size_t i = 0; i < d->pixels && !s; i++)
        d->sum[i] += factor * (double)d->image[i];
    mem_free(x.panels);
    mem_free(x.crystals);
    recipe_free(&r);
    return s;
}

static enum status make_plane(const struct differences *d, size_t k, float *plane, struct error *e)
{
    const struct parameter *p = &d->request->set->items[k];
    static const double steps[4] = {-2, -1, 1, 2},
                        factors[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    const double step = step_of(d, p);
    double unit = step;
    if (parameter_step_is_log(p))
        unit *= parameter_step_value(p, d->x, d->recipe);
    enum status s = STATUS_OK;
    memset(d->sum, 0, d->pixels * sizeof *d->sum);
    for (int i = 0; i < 4 && !s; i++)
        s = add_image(d, k, steps[i] * step, factors[i], e);
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

static enum status check_parameters(const struct parameters *set, struct error *e)
{
    for (size_t i = 0; i < set->count; i++)
        if (!parameter_has_steps(&set->items[i]))
            return error_set(e, STATUS_INPUT,
                             "--mosaic-model=gauss does not support the derivative by '%s'",
                             set->items[i].name);
    return STATUS_OK;
}

/* Computes all derivative images of the frame. The caller frees f->values. */
static enum status make_planes(struct differences *d, struct planes_of_frame *f, struct error *e)
{
    f->values = mem_array(f->count, f->pixels * sizeof *f->values);
    d->image = mem_array(f->pixels, sizeof *d->image);
    d->sum = mem_array(f->pixels, sizeof *d->sum);
    enum status s = closed_run(d->kernels, d->x, d->recipe, d->threads, f->values, NULL, e);
    for (size_t k = 0; k < d->request->set->count && !s; k++)
        s = make_plane(d, k, f->values + (k + 1) * f->pixels, e);
    mem_free(d->image);
    mem_free(d->sum);
    return s;
}

enum status closed_derive(const struct closed_kernels *kernels, const struct experiment *x,
                          struct footprint *f, int threads, const struct recipe *r,
                          const struct derive_request *request, struct error *e)
{
    enum status s = recipe_check(x, r, e);
    if (s || (s = derive_check(x, r, request, e)) || (s = check_parameters(request->set, e)))
        return s;
    struct planes_of_frame planes = {.count = request->set->count + 1,
                                     .pixels = (size_t)experiment_pixels(x)};
    struct differences d = {.kernels = kernels,
                            .x = x,
                            .recipe = r,
                            .request = request,
                            .threads = threads,
                            .pixels = planes.pixels};
    measure(&d);
    s = make_planes(&d, &planes, e);
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
