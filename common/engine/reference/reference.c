/*
 * The reference engine: plain double, one loop, the specification of what a pixel is; see
 * reference_pixel.h.  In faithful mode it runs on one thread, pixel after pixel, in physical mode
 * rows run in parallel.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "engine/closed/closed.h"
#include "engine/crystal/diffuse.h"
#include "engine/derivatives/derive.h"
#include "engine/engine.h"
#include "engine/reference/recipe_check.h"
#include "engine/reference/reference_pixel.h"
#include "engine/reflections/footprint.h"
#include "engine/reflections/photons.h"
#include "engine/reflections/smear_frame.h"
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

/* See derive_pixels. */
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
            (void)reference_pixel(s, p, fast, slow, NULL, NULL, &row[fast]);
    }
}

/* Appends the shares of the pixels of a row to *list.  Returns false if memory cannot be
 * allocated. */
static bool share_row(const struct reference_scene *s, const struct panel *p, int64_t slow,
                      struct share_list *list)
{
    struct share_list one = {0};
    bool good = true;
    for (int64_t fast = 0; fast < p->fast_pixels && good; fast++) {
        float photons;
        if (!pixel_is_computed(p, fast, slow))
            continue;
        one.count = 0;
        good = reference_pixel(s, p, fast, slow, NULL, &one, &photons);
        for (size_t i = 0; i < one.count && good; i++)
            if (one.items[i].photons > 0.0)
                good = share_add(list, &one.items[i]);
    }
    mem_free(one.items);
    return good;
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
                         "the reference engine has no instruction sets to choose from");
    if (closed_refuse(experiment, "reference", e) ||
        (options->reflections && smear_refuse(experiment, "reflections do", e)))
        return STATUS_INPUT;
    struct plan *p = mem_array(1, sizeof *p);
    if (!p)
        return error_memory(e, "the plan");
    p->experiment = &p->moved.x;
    p->threads =
        experiment->physics == PHYSICS_FAITHFUL || options->threads < 1 ? 1 : options->threads;
    (void)snprintf(p->description, sizeof p->description, "%s, %d thread%s",
                   experiment->physics == PHYSICS_FAITHFUL ? "faithful" : "physical", p->threads,
                   p->threads == 1 ? "" : "s");
    enum status status =
        moved_open(&p->moved, experiment) ? STATUS_OK : error_memory(e, "the panels");
    if (!status)
        status = footprint_create(&p->footprint, p->experiment, p->threads, e);
    if (!status)
        status = diffuse_create(&p->diffuse, p->experiment, "baseline", p->threads, e);
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
    (void)moved_to(&plan->moved, recipe);
    enum status status = reference_scene_open(&s, plan->experiment, recipe, e);
    if (status)
        return status;
    const bool dark = recipe_is_dark(plan->experiment, recipe);
    float *photons = dark ? pixels : footprint_begin(plan->footprint, recipe, pixels, e);
    if (!photons)
        status = STATUS_INPUT;
    else if (dark)
        recipe_run_dark(plan->experiment, pixels, rows);
    else if (plan->smear)
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

static enum status reference_derive(struct plan *plan, const struct recipe *recipe,
                                    const struct derive_request *request, struct error *e)
{
    struct derived_scene d = {0};
    (void)moved_to(&plan->moved, recipe);
    enum status status = reference_scene_open(&d.scene, plan->experiment, recipe, e);
    if (status || (status = derive_check(plan->experiment, recipe, request, e))) {
        reference_scene_close(&d.scene);
        return status;
    }
    status = slopes_open(&d.frame, plan->experiment, recipe, request->set, e);
    const struct derive_job job = {.x = plan->experiment,
                                   .recipe = recipe,
                                   .footprint = plan->footprint,
                                   .threads = plan->threads,
                                   .pixels = pixels_slopes,
                                   .context = &d};
    if (!status)
        status = derive_run(&job, request, e);
    slopes_close(&d.frame);
    reference_scene_close(&d.scene);
    return status;
}

static enum status reference_reflections(struct plan *plan, const struct recipe *recipe,
                                         const float *pixels,
                                         const struct reflections_wanted *wanted,
                                         struct reflection_table *table, struct error *e)
{
    const struct experiment *x = moved_to(&plan->moved, recipe);
    const bool spread = plan->footprint && plan->footprint->is_seen;
    const int64_t rows = experiment_rows(x);
    struct reference_scene s;
    enum status status = reference_scene_open(&s, x, recipe, e);
    if (status)
        return status;
    struct share_list *lists = shares_open((size_t)rows);
    bool good = lists;
    int64_t first = 0;
    for (size_t i = 0; i < x->npanels && good; i++) {
        const struct panel *p = &x->panels[i];
#pragma omp parallel for schedule(dynamic) num_threads(plan->threads) reduction(&& : good)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            good = share_row(&s, p, slow, &lists[first + slow]) && good;
        first += p->slow_pixels;
    }
    const struct shares shares = {.x = x,
                                  .recipe = recipe,
                                  .footprint = spread ? plan->footprint : NULL,
                                  .pixels = pixels,
                                  .lists = lists,
                                  .nlists = (size_t)rows,
                                  .threads = plan->threads};
    status = good ? shares_table(&shares, wanted, table, e) : error_memory(e, "the reflections");
    shares_free(lists, (size_t)rows);
    reference_scene_close(&s);
    return status;
}

static void replay(const struct reference_scene *s, const struct panel *p, int64_t fast,
                   int64_t slow)
{
    float photons;
    for (int64_t i = 0; i < slow * p->fast_pixels + fast; i++)
        if (pixel_is_computed(p, i % p->fast_pixels, i / p->fast_pixels))
            (void)reference_pixel(s, p, i % p->fast_pixels, i / p->fast_pixels, NULL, NULL,
                                  &photons);
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
    (void)reference_pixel(&s, p, trace->fast, trace->slow, trace, NULL, &photons);
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
