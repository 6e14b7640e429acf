#include "engine/derivatives/derive.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "engine/crystal/diffuse.h"
#include "engine/derivatives/slopes.h"
#include "engine/reference/recipe_check.h"
#include "engine/reflections/footprint.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"

enum { GROUP = 8 };  // blocks whose sums are of one thread
_Static_assert(DERIVE_BATCH % (GROUP * DERIVE_BLOCK) == 0, "batches are whole groups");

static derive_add *const ADD[ISA_COUNT] = ISA_TABLE(derive_add_);

/* Returns true if the crystal has very many mosaic domains with different orientations. */
static bool is_spread(const struct crystal *c)
{
    return c->has_ensemble &&
           fmax(c->mosaic_rms_rad[0], fmax(c->mosaic_rms_rad[1], c->mosaic_rms_rad[2])) > 0.0;
}

static enum status check_parameter(const struct experiment *x, const struct recipe *r,
                                   const struct parameter *p, struct error *e)
{
    if (p->kind == PARAMETER_SHARE && p->index >= r->nlattices)
        return error_set(
            e, STATUS_INPUT,
            "derivative '%s': frames have no lattice %zu; expected a number less than %zu", p->name,
            p->index, r->nlattices);
    if ((p->kind == PARAMETER_DISPERSION || p->kind == PARAMETER_DIVERGENCE) &&
        !(slopes_width(x, r, p) > 0.0))
        return error_set(
            e, STATUS_INPUT,
            "no derivative by '%s': the beam has no dispersion or divergence of this kind (got 0)",
            p->name);
    for (size_t i = 0; i < r->nlattices && p->kind == PARAMETER_MOSAIC; i++)
        if (r->lattices[i].ndomains < 2 && !is_spread(&x->crystals[r->lattices[i].crystal]))
            return error_set(e, STATUS_INPUT,
                             "no derivative by '%s': lattice %zu has one mosaic domain; expected "
                             "more (bragg-orient --mosaic)",
                             p->name, i);
    return STATUS_OK;
}

/* The signal of a photon changes with its energy.  No derivative contains this change. */
static enum status check_signal(const struct experiment *x, const struct parameter *p,
                                struct error *e)
{
    return x->beam.adds_energy &&
                   (p->kind == PARAMETER_DISPERSION || p->kind == PARAMETER_WAVELENGTH)
               ? error_set(e, STATUS_INPUT,
                           "no derivative by '%s': the signal of a photon depends on its energy; "
                           "expected bragg-geometry --signal=count",
                           p->name)
               : STATUS_OK;
}

/* The absorption of a sensor changes where the wavelengths of sources move apart.  No derivative
 * contains this change. */
static enum status check_dispersion(const struct experiment *x, const struct recipe *r,
                                    struct error *e)
{
    bool differ;
    enum status s = sensor_waves_differ(x, r, &differ, e);
    if (!s && differ)
        s = error_set(
            e, STATUS_INPUT,
            "no derivative by 'dispersion': the sensor absorbs each wavelength differently; "
            "expected wavelengths within %g %% of the beam's, or no --thickness",
            100.0 * SENSOR_WAVE_NEAR);
    return s;
}

enum status derive_check(const struct experiment *x, const struct recipe *recipe,
                         const struct derive_request *request, struct error *e)
{
    const int64_t pixels = experiment_pixels(x);
    enum status s = diffuse_refuse(x, "derivatives do", e);
    for (size_t i = 0; i < request->set->count && !s; i++)
        if (!(s = check_signal(x, &request->set->items[i], e)))
            s = check_parameter(x, recipe, &request->set->items[i], e);
    for (size_t i = 0; i < request->set->count && !s; i++)
        if (request->set->items[i].kind == PARAMETER_DISPERSION)
            s = check_dispersion(x, recipe, e);
    for (size_t i = 0; i < request->npixels && request->listed && !s; i++)
        if (request->listed[i] < 0 || request->listed[i] >= pixels)
            s = error_set(e, STATUS_INPUT,
                          "pixel %lld is outside the detector; expected a number less than %lld",
                          (long long)request->listed[i], (long long)pixels);
    return s;
}

/* The pixels of a block that the engine must compute, on one panel. */
struct gathered {
    const struct panel *panel;
    int count, item[DERIVE_BLOCK];  // of the block
    int64_t number[DERIVE_BLOCK];   // within the panel
};

/* Lets the engine compute the listed pixels, and empties the list. */
static void compute(const struct derive_job *job, size_t each, struct gathered *g,
                    double (*values)[DERIVE_BLOCK])
{
    alignas(MEM_ALIGNMENT) double computed[1 + PARAMETERS_MAX][DERIVE_BLOCK];
    if (g->count)
        job->pixels(job->context, g->panel, g->number, g->count, computed);
    for (size_t k = 0; k < each; k++)
        for (int i = 0; i < g->count; i++)
            values[k][g->item[i]] = computed[k][i];
    g->count = 0;
}

/* Sets the photons and derivatives of pixels. Pixels that are not computed get 0. */
static void engine_values(const struct derive_job *job, size_t each, const int64_t *numbers,
                          int count, double (*values)[DERIVE_BLOCK])
{
    struct gathered g = {.panel = job->x->panels};
    struct derive_place at = {.number = -1, .fast = -1};
    for (int i = 0; i < count; i++) {
        const struct panel *p = g.panel;
        const int64_t inside = numbers[i] - p->first_pixel;
        if (inside < 0 || inside >= p->fast_pixels * p->slow_pixels)
            for (p = job->x->panels; !panel_holds(p, numbers[i]);)
                p++;
        if (p != g.panel) {
            compute(job, each, &g, values);
            at = (struct derive_place){.number = -1, .fast = -1};
        }
        g.panel = p;
        at = derive_place_next(at, numbers[i] - p->first_pixel, p->fast_pixels);
        if (pixel_is_computed(p, at.fast, at.slow)) {
            g.item[g.count] = i;
            g.number[g.count++] = at.number;
        } else {
            for (size_t k = 0; k < each; k++)
                values[k][i] = 0.0;
        }
    }
    if (g.count == count)  // all of them are of one panel
        job->pixels(job->context, g.panel, g.number, count, values);
    else
        compute(job, each, &g, values);
}

/* The source of the values of pixels: the engine, or images that were computed before. */
struct derivative_source {
    const struct derive_job *job;
    const float *planes;  // [1 + count] images; NULL: the engine
    /* the current batch, if the engine computes in batches */
    const void *batch;    // see struct derive_batches
    size_t first, items;  // of the request
};

/* Computes the values of `count` items, from `first` on. */
static void values_of(const struct derivative_source *from, size_t each, size_t first,
                      const int64_t *numbers, int count, double (*values)[DERIVE_BLOCK])
{
    if (from->batch) {
        const double *at = (const double *)from->batch + (first - from->first);
        for (size_t k = 0; k < each; k++)
            memcpy(values[k], at + k * from->items, (size_t)count * sizeof *at);
        return;
    }
    if (!from->planes) {
        engine_values(from->job, each, numbers, count, values);
        return;
    }
    const size_t pixels = (size_t)experiment_pixels(from->job->x);
    for (size_t i = 0; i < (size_t)count; i++)
        for (size_t k = 0; k < each; k++)
            values[k][i] = (double)from->planes[k * pixels + (size_t)numbers[i]];
}

/* Sets numbers[] to the pixel numbers of the items first .. first + items - 1 of the request. */
static void number_items(const struct derive_request *q, size_t first, size_t items,
                         int64_t *numbers)
{
    for (size_t i = 0; i < items; i++)
        numbers[i] = q->listed ? q->listed[first + i] : (int64_t)(first + i);
}

/* Computes one block, and adds its sums to sums[] unless that is NULL. Returns false if the
 * model has a pixel with data whose mean is not positive. */
static bool run_block(const struct derivative_source *from, const struct derive_request *q,
                      size_t block, double *sums)
{
    const size_t count = q->set->count, each = 1 + count, first = block * DERIVE_BLOCK;
    const size_t left = q->npixels - first, items = left < DERIVE_BLOCK ? left : DERIVE_BLOCK;
    int64_t numbers[DERIVE_BLOCK];
    alignas(MEM_ALIGNMENT) double values[1 + PARAMETERS_MAX][DERIVE_BLOCK];
    number_items(q, first, items, numbers);
    values_of(from, each, first, numbers, (int)items, values);
    for (size_t i = 0; i < items && q->photons; i++)
        q->photons[first + i] = values[0][i];
    for (size_t k = 0; k < count && q->planes; k++)
        for (size_t i = 0; i < items; i++)
            q->planes[k * q->npixels + first + i] = (float)values[1 + k][i];
    return !sums || ADD[isa_best()](q, first, (int)items, values, sums);
}

/* Copies the total sums to the request. */
static void copy_totals(const struct derive_request *q, const double *total)
{
    const size_t count = q->set->count, bytes = count * sizeof *total;
    const double *fisher = total + derive_at_fisher(count);
    const double *single = total + derive_at_singles(count);
    struct derive_sums *to = q->sums;
    if (q->product)
        memcpy(q->product, total, bytes);
    if (!to)
        return;
    memcpy(to->gradient, total + derive_at_gradient(count), bytes);
    if (to->shared)
        memcpy(to->shared, total + derive_at_shared(count), bytes);
    for (size_t k = 0; k < count; k++)
        for (size_t m = 0; m <= k; m++)
            to->fisher[k * count + m] = to->fisher[m * count + k] = fisher[k * (k + 1) / 2 + m];
    to->of_background = single[DERIVE_OF_BACKGROUND];
    to->likelihood = single[DERIVE_LIKELIHOOD];
    to->photons = single[DERIVE_PHOTONS];
    to->pixels = (int64_t)single[DERIVE_PIXELS];
}

/* Adds the sums of all groups in their order. */
static void add_groups(const struct derive_request *q, const double *sums, size_t ngroups)
{
    const size_t each = derive_sums_size(q->set->count);
    double total[DERIVE_SUMS_MAX] = {0.0};
    for (size_t i = 0; i < ngroups; i++)
        for (size_t k = 0; k < each; k++)
            total[k] += sums[i * each + k];
    copy_totals(q, total);
}

static enum status refuse_mean(struct error *e)
{
    return error_set(e, STATUS_INPUT,
                     "the model has a pixel with a mean of 0 or less. Add a background or a "
                     "variance of the readout");
}

/* Computes the blocks of a group; the last group may have fewer blocks. Returns false as
 * run_block. */
static bool run_group(const struct derivative_source *from, const struct derive_request *q,
                      size_t group, double *sums)
{
    const size_t nblocks = (q->npixels + DERIVE_BLOCK - 1) / DERIVE_BLOCK;
    bool good = true;
    for (size_t i = group * GROUP; i < nblocks && i < (group + 1) * GROUP; i++)
        good = run_block(from, q, i, sums) && good;
    return good;
}

/* Copies the derivative images of a group, which the engine has computed in the wanted form. */
static void copy_group(const struct derivative_source *from, const struct derive_request *q,
                       size_t group)
{
    const size_t first = group * GROUP * DERIVE_BLOCK, left = q->npixels - first;
    const size_t items = left < GROUP * DERIVE_BLOCK ? left : GROUP * DERIVE_BLOCK;
    const float *at = (const float *)from->batch + (first - from->first);
    for (size_t k = 0; k < q->set->count && q->planes; k++)
        memcpy(q->planes + k * q->npixels + first, at + k * from->items, items * sizeof *at);
}

/* Computes the groups `first` to end - 1. Returns false as run_block. */
static bool run_some(const struct derivative_source *from, const struct derive_request *q,
                     size_t first, size_t end, double *sums)
{
    const size_t each = derive_sums_size(q->set->count);
    const bool copies = from->batch && derive_planes_only(q);
    bool good = true;
#pragma omp parallel for schedule(dynamic) num_threads(from->job->threads) reduction(&& : good)
    for (size_t i = first; i < end; i++)
        if (copies)
            copy_group(from, q, i);
        else
            good = run_group(from, q, i, sums ? sums + each * i : NULL) && good;
    return good;
}

/* Starts the computation of a batch, which begins with item `first`, in the engine. */
static enum status begin_batch(const struct derive_job *job, const struct derive_request *q,
                               size_t first, int place, struct derivative_source *from,
                               struct error *e)
{
    const size_t left = q->npixels - first;
    *from = (struct derivative_source){
        .job = job, .first = first, .items = left < DERIVE_BATCH ? left : DERIVE_BATCH};
    return job->batches->begin(job->context, q, first, from->items, place, &from->batch, e);
}

/* Computes all batches. The engine computes the next batch while this function processes the
 * current one. */
static enum status run_batches(const struct derive_job *job, const struct derive_request *q,
                               double *sums, bool *good, struct error *e)
{
    const size_t pixels = GROUP * DERIVE_BLOCK;
    struct derivative_source at[2];
    int place = 0;
    enum status s = q->npixels ? begin_batch(job, q, 0, 0, &at[0], e) : STATUS_OK;
    for (size_t first = 0; first < q->npixels && !s; first += DERIVE_BATCH, place = !place) {
        const size_t end = first + at[place].items;
        if (end < q->npixels)
            s = begin_batch(job, q, end, !place, &at[!place], e);
        const enum status waited = job->batches->wait(job->context, place, s ? NULL : e);
        s = s ? s : waited;
        if (!s)
            *good =
                run_some(&at[place], q, first / pixels, (end + pixels - 1) / pixels, sums) && *good;
    }
    return s;
}

static enum status run_groups(const struct derivative_source *from, const struct derive_request *q,
                              struct error *e)
{
    const size_t pixels = GROUP * DERIVE_BLOCK, each = derive_sums_size(q->set->count);
    const size_t ngroups = (q->npixels + pixels - 1) / pixels;
    const bool summed = q->weights || q->data;
    double *sums = summed ? mem_array(ngroups * each + 1, sizeof *sums) : NULL;
    bool good = true;
    enum status s = STATUS_OK;
    if (from->job->batches && !from->planes)
        s = run_batches(from->job, q, sums, &good, e);
    else
        good = run_some(from, q, 0, ngroups, sums);
    if (summed && !s)
        add_groups(q, sums, ngroups);
    mem_free(sums);
    return s ? s : good ? STATUS_OK : refuse_mean(e);
}

/* Computes the derivative images of all pixels, then applies the footprint to each image. */
static enum status run_spread(const struct derive_job *job, const struct derive_request *q,
                              struct error *e)
{
    const size_t pixels = (size_t)experiment_pixels(job->x), count = q->set->count;
    float *planes = mem_array((1 + count) * pixels, sizeof *planes);
    double *photons = mem_array(pixels, sizeof *photons);
    const struct derivative_source engine = {.job = job}, made = {.job = job, .planes = planes};
    const struct derive_request all = {
        .set = q->set, .npixels = pixels, .photons = photons, .planes = planes + pixels};
    enum status s = run_groups(&engine, &all, e);
    for (size_t i = 0; i < pixels && !s; i++)
        planes[i] = (float)photons[i];
    for (size_t k = 0; k <= count && !s; k++) {
        memcpy(job->footprint->photons, planes + k * pixels, pixels * sizeof *planes);
        s = footprint_end_plainly(job->footprint, job->recipe, planes + k * pixels, e);
    }
    if (!s)
        s = run_groups(&made, q, e);
    mem_free(photons);
    mem_free(planes);
    return s;
}

enum status derive_run(const struct derive_job *job, const struct derive_request *request,
                       struct error *e)
{
    float none;
    const bool sized = job->footprint && !recipe_is_dark(job->x, job->recipe);
    if (sized && !footprint_begin(job->footprint, job->recipe, &none, e))
        return STATUS_INPUT;
    const struct derivative_source engine = {.job = job};
    return sized && job->footprint->is_seen ? run_spread(job, request, e)
                                            : run_groups(&engine, request, e);
}

enum status derive_total_add(struct derive_total *t, const struct derive_request *q, size_t first,
                             size_t count, const double *photons, const float *planes,
                             struct error *e)
{
    bool good = true;
    for (size_t at = 0; at < count; at += DERIVE_BLOCK) {
        const size_t items = count - at < DERIVE_BLOCK ? count - at : DERIVE_BLOCK;
        alignas(MEM_ALIGNMENT) double values[1 + PARAMETERS_MAX][DERIVE_BLOCK];
        memcpy(values[0], photons + at, items * sizeof *photons);
        for (size_t k = 0; k < q->set->count; k++)
            for (size_t i = 0; i < items; i++)
                values[1 + k][i] = (double)planes[k * count + at + i];
        good = ADD[isa_best()](q, first + at, (int)items, values, t->sums) && good;
    }
    return good ? STATUS_OK : refuse_mean(e);
}

void derive_total_give(const struct derive_total *t, const struct derive_request *q)
{
    copy_totals(q, t->sums);
}
