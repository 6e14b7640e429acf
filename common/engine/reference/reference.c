/*
 * The reference engine, the specification of all others.  Its pixels are those of
 * reference_pixel.h. In faithful mode it runs on one thread, pixel after pixel; in physical mode
 * rows run in parallel.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"
#include "engine/closed/closed.h"
#include "engine/crystal/diffuse.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/slopes.h"
#include "engine/derivatives/smear_derive.h"
#include "engine/engine.h"
#include "engine/reference/recipe_check.h"
#include "engine/reference/reference_pixel.h"
#include "engine/reflections/footprint.h"
#include "engine/reflections/photons.h"
#include "engine/smear/smear_bands.h"
#include "engine/smear/smear_frame.h"
#include "engine/spots/shares.h"
#include "engine/spots/smear_shares.h"
#include "model/recipe.h"
#include "physics/detector/pixel.h"
#include "physics/detector/smear.h"

struct plan {
    struct moved moved;
    const struct experiment *experiment;  // &moved.x
    struct footprint *footprint;          // NULL: of points
    struct diffuse *diffuse;              // NULL: no halos
    struct smear_frame *smear;            // NULL: sensors are thin or have layers
    int threads;
    char description[48];
};

/* Data that is the same for all pixels, and the derivatives of the image. */
struct derived_scene {
    struct reference_scene scene;
    struct slopes_frame frame;
};

/* Computes derivatives of a block of pixels, see derive_pixels in derive.h. */
static void pixels_slopes(const void *context, const struct panel *panel, const int64_t *numbers,
                          int count, double (*values)[DERIVE_BLOCK])
{
    const struct derived_scene *d = context;
    for (int i = 0; i < count; i++) {
        double one[1 + PARAMETERS_MAX];
        reference_pixel_slopes(&d->scene, &d->frame, panel, numbers[i] % panel->fast_pixels,
                               numbers[i] / panel->fast_pixels, one);
        for (size_t k = 0; k <= d->frame.set->count; k++)
            values[k][i] = one[k];
    }
}

/* One row of a panel. */
static void run_row(const struct reference_scene *s, const struct panel *p, int64_t slow,
                    float *pixels)
{
    float *row = pixels + p->first_pixel + slow * p->fast_pixels;
    for (int64_t fast = 0; fast < p->fast_pixels; fast++) {
        row[fast] = 0.0f;
        if (pixel_is_computed(p, fast, slow))
            reference_pixel(s, p, fast, slow, NULL, NULL, &row[fast]);
    }
}

/* Appends the shares of the pixels of a row to *list. */
static void share_row(const struct reference_scene *s, const struct panel *p, int64_t slow,
                      struct share_list *list)
{
    struct share_list one = {0};
    for (int64_t fast = 0; fast < p->fast_pixels; fast++) {
        float photons;
        if (!pixel_is_computed(p, fast, slow))
            continue;
        one.count = 0;
        reference_pixel(s, p, fast, slow, NULL, &one, &photons);
        for (size_t i = 0; i < one.count; i++)
            if (one.items[i].photons > 0.0)
                share_add(list, &one.items[i]);
    }
    mem_free(one.items);
}

static void reference_destroy(struct plan **plan)
{
    if (*plan) {
        footprint_destroy(&(*plan)->footprint);
        diffuse_destroy(&(*plan)->diffuse);
        smear_frame_destroy(&(*plan)->smear);
        moved_close(&(*plan)->moved);
    }
    mem_free(*plan);
    *plan = NULL;
}

static enum status reference_create(struct plan **plan, const struct experiment *experiment,
                                    const struct engine_options *options, struct error *e)
{
    *plan = NULL;
    if (options->isa)
        return error_set(e, STATUS_USAGE,
                         "--isa has no effect with --engine=reference; remove --isa");
    if (closed_refuse(experiment, "reference", e))
        return STATUS_INPUT;
    struct plan *p = mem_array(1, sizeof *p);
    p->experiment = &p->moved.x;
    p->threads =
        experiment->physics == PHYSICS_FAITHFUL || options->threads < 1 ? 1 : options->threads;
    (void)snprintf(p->description, sizeof p->description, "%s, %d thread%s",
                   experiment->physics == PHYSICS_FAITHFUL ? "faithful" : "physical", p->threads,
                   p->threads == 1 ? "" : "s");
    moved_open(&p->moved, experiment);
    footprint_create(&p->footprint, p->experiment, p->threads);
    enum status status = diffuse_create(&p->diffuse, p->experiment, "baseline", p->threads, e);
    if (!status)
        status = smear_frame_create(&p->smear, p->experiment, p->threads, e);
    *plan = p;
    if (status)
        reference_destroy(plan);
    return status;
}

static const char *reference_identity(const struct plan *plan)
{
    (void)plan;
    return "reference";
}

static const char *reference_describe(const struct plan *plan)
{
    return plan->description;
}

/* Computes the photons of all pixels, without halos and the size of the crystal. */
static void run_rows(const struct plan *plan, const struct reference_scene *s, float *photons,
                     atomic_uint_fast64_t *rows)
{
    for (size_t i = 0; i < s->x->npanels; i++) {
        const struct panel *p = &s->x->panels[i];
#pragma omp parallel for schedule(dynamic) num_threads(plan->threads)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            run_row(s, p, slow, photons);
            if (rows)
                atomic_fetch_add_explicit(rows, 1, memory_order_relaxed);
        }
    }
}

/* Computes the photons of a thin image, see smear_frame.h. */
static enum status run_thin(void *engine, const struct experiment *thin,
                            const struct recipe *recipe, float *pixels, struct error *e)
{
    struct reference_scene s;
    enum status status = reference_scene_open(&s, thin, recipe, e);
    if (!status)
        run_rows(engine, &s, pixels, NULL);
    reference_scene_close(&s);
    return status ? status : photons_check(thin, recipe->id, pixels, e);
}

static enum status reference_run(struct plan *plan, const struct recipe *recipe, float *pixels,
                                 atomic_uint_fast64_t *rows, struct error *e)
{
    struct reference_scene s;
    bool smears;
    enum status status = smear_frame_smears(moved_to(&plan->moved, recipe), recipe, &smears, e);
    if (status || (status = reference_scene_open(&s, plan->experiment, recipe, e)))
        return status;
    const bool dark = recipe_is_dark(plan->experiment, recipe);
    float *photons = dark ? pixels : footprint_begin(plan->footprint, recipe, pixels, e);
    if (!photons)
        status = STATUS_INPUT;
    else if (dark)
        recipe_run_dark(plan->experiment, pixels, rows);
    else if (smears)
        status = smear_frame_run(plan->smear, plan->experiment, recipe, run_thin, plan, photons,
                                 rows, e);
    else
        run_rows(plan, &s, photons, rows);
    reference_scene_close(&s);
    if (!status)
        status = photons_check(plan->experiment, recipe->id, photons, e);
    if (!status)
        status = diffuse_add(plan->diffuse, recipe, plan->threads, photons, e);
    return status || dark ? status : footprint_end_plainly(plan->footprint, recipe, pixels, e);
}

/* Derives an image of points that the footprint *f spreads; it may be NULL. */
static enum status derive_points(const struct plan *plan, const struct experiment *x,
                                 struct footprint *f, const struct recipe *recipe,
                                 const struct derive_request *request, struct error *e)
{
    struct derived_scene d = {0};
    enum status status = reference_scene_open(&d.scene, x, recipe, e);
    if (status || (status = derive_check(x, recipe, request, e))) {
        reference_scene_close(&d.scene);
        return status;
    }
    slopes_open(&d.frame, x, recipe, request);
    const struct derive_job job = {.x = x,
                                   .recipe = recipe,
                                   .footprint = f,
                                   .threads = plan->threads,
                                   .pixels = pixels_slopes,
                                   .context = &d};
    status = derive_run(&job, request, e);
    slopes_close(&d.frame);
    reference_scene_close(&d.scene);
    return status;
}

/* Derives a thin image, see smear_derive.h. */
static enum status derive_thin(void *engine, const struct experiment *thin,
                               const struct recipe *recipe, const struct derive_request *request,
                               struct error *e)
{
    return derive_points(engine, thin, NULL, recipe, request, e);
}

static enum status reference_derive(struct plan *plan, const struct recipe *recipe,
                                    const struct derive_request *request, struct error *e)
{
    const struct experiment *x = moved_to(&plan->moved, recipe);
    bool smears;
    const enum status status = smear_frame_smears(x, recipe, &smears, e);
    if (status)
        return status;
    return smears ? smear_derive(x, plan->footprint, plan->threads, recipe, derive_thin, plan,
                                 request, e)
                  : derive_points(plan, x, plan->footprint, recipe, request, e);
}

/* Appends the shares of the pixels of each row to lists[experiment_rows(x)]. */
static enum status share_rows(const struct plan *plan, const struct experiment *x,
                              const struct recipe *recipe, struct share_list *lists,
                              struct error *e)
{
    struct reference_scene s;
    const enum status status = reference_scene_open(&s, x, recipe, e);
    if (status)
        return status;
    int64_t first = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
#pragma omp parallel for schedule(dynamic) num_threads(plan->threads)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            share_row(&s, p, slow, &lists[first + slow]);
        first += p->slow_pixels;
    }
    reference_scene_close(&s);
    return STATUS_OK;
}

/* Lists the shares of a thin image, see smear_shares.h. */
static enum status share_thin(void *engine, const struct experiment *thin,
                              const struct recipe *recipe, struct share_list *lists,
                              struct error *e)
{
    return share_rows(engine, thin, recipe, lists, e);
}

static enum status reference_reflections(struct plan *plan, const struct recipe *recipe,
                                         const float *pixels,
                                         const struct reflections_wanted *wanted,
                                         struct reflection_table *table, struct error *e)
{
    const struct experiment *x = moved_to(&plan->moved, recipe);
    const bool spread = plan->footprint && plan->footprint->is_seen;
    const size_t rows = (size_t)experiment_rows(x);
    bool smears;
    enum status status = smear_frame_smears(x, recipe, &smears, e);
    if (!status && smears)
        return smear_reflections(x, plan->footprint, plan->threads, recipe, share_thin, plan,
                                 pixels, wanted, table, e);
    struct share_list *lists = shares_open(rows);
    if (!status)
        status = share_rows(plan, x, recipe, lists, e);
    const struct shares shares = {.x = x,
                                  .recipe = recipe,
                                  .footprint = spread ? plan->footprint : NULL,
                                  .pixels = pixels,
                                  .lists = lists,
                                  .nlists = rows,
                                  .threads = plan->threads};
    if (!status)
        shares_table(&shares, wanted, table);
    shares_free(lists, rows);
    return status;
}

static void replay(const struct reference_scene *s, const struct panel *p, int64_t fast,
                   int64_t slow)
{
    float photons;
    for (int64_t i = 0; i < slow * p->fast_pixels + fast; i++)
        if (pixel_is_computed(p, i % p->fast_pixels, i / p->fast_pixels))
            reference_pixel(s, p, i % p->fast_pixels, i / p->fast_pixels, NULL, NULL, &photons);
}

static enum status reference_trace(struct plan *plan, const struct recipe *recipe,
                                   const struct pixel_trace *trace, struct error *e)
{
    const struct panel *p = plan->experiment->panels;
    enum status status = recipe_check_trace(plan->experiment, trace, e);
    if (!status)
        status = smear_refuse(plan->experiment, "--trace-pixel does", e);
    if (status)
        return status;
    struct reference_scene s;
    (void)moved_to(&plan->moved, recipe);
    status = reference_scene_open(&s, plan->experiment, recipe, e);
    if (status)
        return status;
    float photons;
    if (s.faithful)
        replay(&s, p, trace->fast, trace->slow);
    reference_pixel(&s, p, trace->fast, trace->slow, trace, NULL, &photons);
    reference_scene_close(&s);
    return STATUS_OK;
}

const struct engine engine_reference = {
    .name = "reference",
    .create = reference_create,
    .identity = reference_identity,
    .describe = reference_describe,
    .run = reference_run,
    .derive = reference_derive,
    .reflections = reference_reflections,
    .trace = reference_trace,
    .destroy = reference_destroy,
};
