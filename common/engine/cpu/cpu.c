/*
 * The CPU engine: plan, and choice of the instruction set.  cpu_frame.c computes a frame.
 * dense_loop.c and cpu_loop.c define the value of a pixel.
 */
#include "engine/cpu/cpu.h"

#include <stdio.h>

#include "base/isa.h"
#include "engine/closed/closed.h"
#include "engine/cpu/threads.h"
#include "engine/crystal/diffuse.h"
#include "engine/dense/faint.h"
#include "engine/derivatives/cpu_slopes.h"
#include "engine/derivatives/smear_derive.h"
#include "engine/engine.h"
#include "engine/reference/recipe_check.h"
#include "engine/reflections/footprint.h"
#include "engine/smear/smear_bands.h"
#include "engine/smear/smear_frame.h"
#include "engine/spots/cpu_shares.h"
#include "engine/spots/cpu_spots.h"
#include "engine/spots/smear_shares.h"
#include "model/recipe.h"
#include "physics/detector/smear.h"

struct plan {
    struct moved moved;
    const struct experiment *experiment;  // &moved.x
    const struct cpu_kernels *kernels;
    struct cpu_table *tables;     // one per crystal
    struct dense_table *padded;   // likewise; NULL: the dense loop is not for this precision
    struct footprint *footprint;  // NULL: of points
    struct diffuse *diffuse;      // NULL: no halos
    struct smear_frame *smear;    // NULL: sensors are thin or have layers
    struct dense_frame *shares;   // NULL: `reflections` will not be called
    int threads;
    enum engine_precision precision;
    double faint;                         // see struct engine_options
    const struct closed_kernels *closed;  // compute crystals instead of `kernels`; NULL: not used
    bool sums;                            // form checksums; the rows follow one another in the
                                          // image
    bool parts;                           // `run_parts` can do it: nothing needs the whole image
    bool has_sum;                         // `sum` is the checksum of the last run
    uint32_t sum;
    char description[64];
};

const struct cpu_kernels *cpu_kernels_choose(const char *isa, enum engine_precision precision,
                                             struct error *e)
{
    static const struct cpu_kernels *const all[][ISA_COUNT] = {ISA_TABLE(cpu_kernels_),
                                                               ISA_TABLE(cpu_kernels_double_)};
    enum isa at;
    return isa_choose(&at, isa, e) ? NULL : all[precision][at];
}

static void cpu_destroy(struct plan **plan)
{
    struct plan *p = *plan;
    *plan = NULL;
    if (!p)
        return;
    cpu_tables_free(p->tables, p->experiment);
    cpu_dense_tables_free(p->padded, p->experiment->ncrystals);
    footprint_destroy(&p->footprint);
    diffuse_destroy(&p->diffuse);
    smear_frame_destroy(&p->smear);
    dense_frame_close(&p->shares);
    moved_close(&p->moved);
    mem_free(p);
}

static bool rows_follow(const struct experiment *x)
{
    int64_t pixels = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        if (x->panels[i].first_pixel != pixels)
            return false;
        pixels += x->panels[i].fast_pixels * x->panels[i].slow_pixels;
    }
    return true;
}

/* Returns true if all rows have the same length. */
static bool rows_are_alike(const struct experiment *x)
{
    bool alike = true;
    for (size_t i = 1; i < x->npanels; i++)
        alike = alike && x->panels[i].fast_pixels == x->panels[0].fast_pixels;
    return alike;
}

/* Refuses --faint for images whose terms are not those of the dense loop and of spots. */
static enum status check_faint(const struct experiment *x, const struct engine_options *options,
                               struct error *e)
{
    const char *what = x->physics == PHYSICS_FAITHFUL           ? "--physics=faithful"
                       : closed_wanted(x)                       ? "--mosaic-model=gauss"
                       : options->precision == PRECISION_DOUBLE ? "--precision=double"
                                                                : NULL;
    if (!(options->faint > 0.0))
        return STATUS_OK;
    for (size_t i = 0; i < x->npanels && !what; i++)
        what = x->panels[i].curved ? "--curved" : NULL;
    for (size_t i = 0; i < x->ncrystals && !what; i++)
        what = x->crystals[i].interpolate ? "--interpolate=on" : NULL;
    return what ? error_set(e, STATUS_INPUT, "--faint does not work with %s. Remove --faint", what)
                : STATUS_OK;
}

static enum status cpu_create(struct plan **plan, const struct experiment *experiment,
                              const struct engine_options *options, struct error *e)
{
    *plan = NULL;
    const bool closed = closed_wanted(experiment);
    enum status status = closed ? closed_check(experiment, e) : STATUS_OK;
    if (!status)
        status = check_faint(experiment, options, e);
    if (status)
        return status;
    const struct cpu_kernels *kernels = cpu_kernels_choose(options->isa, options->precision, e);
    if (!kernels)
        return STATUS_USAGE;
    struct plan *p = mem_array(1, sizeof *p);
    p->experiment = &p->moved.x;
    p->kernels = kernels;
    p->precision = options->precision;
    p->faint = options->faint;
    p->threads = options->threads < 1 ? 1 : options->threads;
    p->closed = closed ? closed_kernels_choose(options->isa, e) : NULL;
    (void)snprintf(p->description, sizeof p->description, "%s%s, %d thread%s",
                   closed ? "closed form" : kernels->name,
                   !closed && options->precision == PRECISION_DOUBLE ? ", double precision" : "",
                   p->threads, p->threads == 1 ? "" : "s");
    moved_open(&p->moved, experiment);
    if (!status && !closed)
        status = cpu_tables_open(&p->tables, experiment, options->precision, e);
    if (!status && !closed && kernels->dense) {
        p->padded = mem_array(experiment->ncrystals, sizeof *p->padded);
    }
    if (!status)
        footprint_create(&p->footprint, p->experiment, p->threads);
    if (!status)
        status = diffuse_create(&p->diffuse, p->experiment, options->isa, p->threads, e);
    if (!status)
        status = smear_frame_create(&p->smear, p->experiment, p->threads, e);
    if (!status && !closed && options->reflections && kernels->dense && !p->smear &&
        !(options->faint > 0.0))
        p->shares = dense_frame_open((size_t)experiment_rows(experiment), p->threads);
    const bool by_rows = !p->footprint && !p->diffuse && rows_follow(experiment);
    const bool by_threads = by_rows && !closed && !p->smear;
    p->sums = by_threads && options->sums;
    p->parts =
        !options->reflections && (p->smear ? by_rows : by_threads && rows_are_alike(experiment));
    if (status)
        cpu_destroy(&p);
    *plan = p;
    return status;
}

static const char *cpu_identity(const struct plan *plan)
{
    return plan->closed ? CLOSED_IDENTITY : plan->kernels->identity;
}

static const char *cpu_describe(const struct plan *plan)
{
    return plan->description;
}

static enum status run_closed(const struct plan *plan, const struct recipe *recipe, float *pixels,
                              atomic_uint_fast64_t *rows, struct error *e)
{
    float *photons = footprint_begin(plan->footprint, recipe, pixels, e);
    enum status status = photons ? closed_run(plan->closed, plan->experiment, recipe, plan->threads,
                                              photons, rows, e)
                                 : STATUS_INPUT;
    if (!status)
        status = diffuse_add(plan->diffuse, recipe, plan->threads, photons, e);
    return status ? status : footprint_end(plan->footprint, recipe, plan->kernels->name, pixels, e);
}

/* Chooses the path of each lattice of a job, whose pixels may lose `faint` photons. */
static void choose_paths(const struct plan *plan, struct cpu_job *job, double faint)
{
    const double dense_ns = faint > 0.0 ? SPOTS_FAINT_NS : SPOTS_DENSE_NS;
    job->faint = faint;
    cpu_spots_choose(job, plan->padded ? dense_ns : SPOTS_DOUBLE_NS);
    if (plan->padded)
        cpu_dense_choose(job, plan->padded);
    dense_faint_open(job, plan->padded);
}

/* Returns the number of threads for the frame of a job. */
static int threads_of(const struct plan *plan, const struct cpu_job *job)
{
    const double term_ns = 0.7;  // of a fast CPU
    const double terms = job->steps * (double)job->nlattices;
    return threads_for(plan->threads, term_ns * terms * (double)experiment_pixels(job->x));
}

/* Computes the photons of a thin image, see smear_frame.h. */
static enum status run_thin(void *engine, const struct experiment *thin,
                            const struct recipe *recipe, float *pixels, struct error *e)
{
    const struct plan *plan = engine;
    if (plan->closed)
        return closed_run(plan->closed, thin, recipe, plan->threads, pixels, NULL, e);
    struct cpu_job job;
    enum status status = cpu_job_open(&job, thin, plan->tables, recipe, e);
    const double n = plan->experiment->sampling.oversample;
    if (!status)
        choose_paths(plan, &job, plan->faint / (n * n * SMEAR_WEIGHTS));
    if (!status)
        status = cpu_frame(plan->kernels, &job, threads_of(plan, &job), pixels, NULL, e);
    cpu_job_close(&job);
    return status;
}

/* Lists the shares of a thin image, see smear_shares.h. */
static enum status share_thin(void *engine, const struct experiment *thin,
                              const struct recipe *recipe, struct share_list *lists,
                              struct error *e)
{
    const struct plan *plan = engine;
    if (plan->closed)
        return closed_shares(plan->closed, thin, plan->threads, recipe, lists, e);
    float *image = mem_array((size_t)experiment_pixels(thin), sizeof *image);
    enum status status = run_thin(engine, thin, recipe, image, e);
    if (!status)
        status = cpu_share_rows(thin, plan->tables, plan->kernels->name, plan->threads, recipe,
                                image, lists, e);
    mem_free(image);
    return status;
}

static enum status run_smeared(struct plan *plan, const struct recipe *recipe, float *pixels,
                               atomic_uint_fast64_t *rows, struct error *e)
{
    enum status status = recipe_check(plan->experiment, recipe, e);
    if (!status && recipe_is_dark(plan->experiment, recipe)) {
        recipe_run_dark(plan->experiment, pixels, rows);
        return STATUS_OK;
    }
    float *photons = status ? NULL : footprint_begin(plan->footprint, recipe, pixels, e);
    if (!photons)
        return STATUS_INPUT;
    status =
        smear_frame_run(plan->smear, plan->experiment, recipe, run_thin, plan, photons, rows, e);
    if (!status)
        status = diffuse_add(plan->diffuse, recipe, plan->threads, photons, e);
    return status ? status : footprint_end(plan->footprint, recipe, plan->kernels->name, pixels, e);
}

static enum status cpu_run(struct plan *plan, const struct recipe *recipe, float *pixels,
                           atomic_uint_fast64_t *rows, struct error *e)
{
    bool smears;
    if (smear_frame_smears(moved_to(&plan->moved, recipe), recipe, &smears, e))
        return STATUS_INPUT;
    if (smears)
        return run_smeared(plan, recipe, pixels, rows, e);
    if (plan->closed)
        return run_closed(plan, recipe, pixels, rows, e);
    struct cpu_job job;
    enum status status = cpu_job_open(&job, plan->experiment, plan->tables, recipe, e);
    plan->has_sum = false;
    if (plan->shares)
        plan->shares->there = false;
    if (!status && recipe_is_dark(plan->experiment, recipe)) {
        recipe_run_dark(plan->experiment, pixels, rows);
    } else if (!status) {
        job.sum = plan->sums ? &plan->sum : NULL;
        choose_paths(plan, &job, plan->faint);
        if (plan->shares)
            dense_frame_begin(plan->shares, &job);
        float *photons = footprint_begin(plan->footprint, recipe, pixels, e);
        const int threads = threads_of(plan, &job);
        status = photons ? cpu_frame(plan->kernels, &job, threads, photons, rows, e) : STATUS_INPUT;
        if (!status)
            status = diffuse_add(plan->diffuse, recipe, plan->threads, photons, e);
        if (!status)
            status = footprint_end(plan->footprint, recipe, plan->kernels->name, pixels, e);
        plan->has_sum = !status && plan->sums;
    }
    cpu_job_close(&job);
    return status;
}

static bool cpu_run_parts(struct plan *plan, const struct recipe *recipe,
                          const struct engine_taker *taker, uint32_t *sum,
                          atomic_uint_fast64_t *rows)
{
    struct cpu_job job;
    struct error none;
    bool smears = false;
    if (!plan->parts || recipe_is_dark(plan->experiment, recipe) ||
        (plan->smear &&
         (recipe_check(plan->experiment, recipe, &none) ||
          smear_frame_smears(moved_to(&plan->moved, recipe), recipe, &smears, &none) || !smears)))
        return false;
    if (!taker)
        return true;
    (void)moved_to(&plan->moved, recipe);
    if (smears)
        return smear_frame_parts(plan->smear, plan->experiment, recipe, run_thin, plan, taker, sum,
                                 rows);
    bool good = cpu_job_open(&job, plan->experiment, plan->tables, recipe, &none) == STATUS_OK;
    if (good) {
        job.sum = sum;
        choose_paths(plan, &job, plan->faint);
        good = cpu_frame_parts(plan->kernels, &job, threads_of(plan, &job), taker, rows);
    }
    cpu_job_close(&job);
    return good;
}

/* If the loop of cpu_slopes.h cannot compute the derivatives, the reference engine computes
 * them. */
static enum status derive_by_reference(const struct plan *plan, const struct recipe *recipe,
                                       const struct derive_request *request, struct error *e)
{
    struct plan *other;
    const struct engine_options options = {.threads = plan->threads};
    enum status status = engine_reference.create(&other, plan->moved.of, &options, e);
    if (!status)
        status = engine_reference.derive(other, recipe, request, e);
    engine_reference.destroy(&other);
    return status;
}

/* Derives a thin image, see smear_derive.h. */
static enum status derive_thin(void *engine, const struct experiment *thin,
                               const struct recipe *recipe, const struct derive_request *request,
                               struct error *e)
{
    const struct plan *plan = engine;
    if (plan->closed)
        return closed_derive(plan->closed, thin, NULL, plan->threads, recipe, request, e);
    struct cpu_job job;
    enum status status = cpu_job_open_slopes(&job, thin, plan->tables, recipe, e);
    if (!status)
        status = cpu_slopes_derive(&job, plan->kernels, NULL, plan->threads, request, e);
    cpu_job_close(&job);
    return status;
}

static enum status cpu_derive(struct plan *plan, const struct recipe *recipe,
                              const struct derive_request *request, struct error *e)
{
    bool smears;
    if (smear_frame_smears(moved_to(&plan->moved, recipe), recipe, &smears, e))
        return STATUS_INPUT;
    if (smears && (plan->closed || cpu_slopes_can(plan->experiment, plan->precision)))
        return smear_derive(plan->experiment, plan->footprint, plan->threads, recipe, derive_thin,
                            plan, request, e);
    if (plan->closed)
        return closed_derive(plan->closed, plan->experiment, plan->footprint, plan->threads, recipe,
                             request, e);
    if (!cpu_slopes_can(plan->experiment, plan->precision))
        return derive_by_reference(plan, recipe, request, e);
    struct cpu_job job;
    enum status status = cpu_job_open_slopes(&job, plan->experiment, plan->tables, recipe, e);
    if (!status)
        status = derive_check(plan->experiment, recipe, request, e);
    if (!status)
        status = cpu_slopes_derive(&job, plan->kernels, plan->footprint, plan->threads, request, e);
    cpu_job_close(&job);
    return status;
}

static enum status cpu_plan_reflections(struct plan *plan, const struct recipe *recipe,
                                        const float *pixels,
                                        const struct reflections_wanted *wanted,
                                        struct reflection_table *table, struct error *e)
{
    bool smears;
    if (smear_frame_smears(moved_to(&plan->moved, recipe), recipe, &smears, e))
        return STATUS_INPUT;
    if (smears)
        return smear_reflections(plan->experiment, plan->footprint, plan->threads, recipe,
                                 share_thin, plan, pixels, wanted, table, e);
    if (plan->closed)
        return closed_reflections(plan->closed, plan->experiment, plan->footprint, plan->threads,
                                  recipe, pixels, wanted, table, e);
    if (plan->shares && plan->shares->there)
        return cpu_dense_reflections(plan->experiment, plan->tables, plan->padded, plan->footprint,
                                     plan->shares, recipe, pixels, wanted, table, e);
    return cpu_reflections(plan->experiment, plan->tables, plan->footprint, plan->kernels->name,
                           plan->threads, recipe, pixels, wanted, table, e);
}

static bool cpu_sum(const struct plan *plan, uint32_t *sum)
{
    if (plan->has_sum)
        *sum = plan->sum;
    return plan->has_sum;
}

/* Traces one pixel. It is computed as a block of its own by the kernel of images. Lattices that
 * an image computes spot by spot are summed densely here, so that the last digit may differ. */
enum status cpu_trace_one(const struct cpu_kernels *kernels, const struct experiment *x,
                          const struct cpu_table *tables, struct dense_table *padded,
                          const struct recipe *recipe, const struct pixel_trace *trace,
                          struct error *e)
{
    const struct panel *p = x->panels;
    enum status status = recipe_check_trace(x, trace, e);
    if (status)
        return status;
    struct cpu_job job;
    status = cpu_job_open(&job, x, tables, recipe, e);
    if (!status) {
        if (padded)
            cpu_dense_choose(&job, padded);
        const struct cpu_where where = {p, trace->fast, trace->slow, 1};
        struct cpu_room room;
        room.dense.columns.count = 0;
        room.dense.shares = NULL;
        float photons;
        job.trace = trace;
        kernels->block(&job, &where, &room.block, &photons);
        if (job.ndense)
            kernels->dense(&job, &where, &room.dense, &photons);
    }
    cpu_job_close(&job);
    return status;
}

static enum status cpu_trace(struct plan *plan, const struct recipe *recipe,
                             const struct pixel_trace *trace, struct error *e)
{
    if (smear_refuse(plan->experiment, "--trace-pixel does", e))
        return STATUS_INPUT;
    if (plan->closed)
        return error_set(e, STATUS_INPUT, "--trace-pixel does not work with --mosaic-model=gauss");
    (void)moved_to(&plan->moved, recipe);
    return cpu_trace_one(plan->kernels, plan->experiment, plan->tables, plan->padded, recipe, trace,
                         e);
}

const struct engine engine_cpu = {
    .name = "cpu",
    .create = cpu_create,
    .identity = cpu_identity,
    .describe = cpu_describe,
    .run = cpu_run,
    .run_parts = cpu_run_parts,
    .sum = cpu_sum,
    .derive = cpu_derive,
    .reflections = cpu_plan_reflections,
    .trace = cpu_trace,
    .destroy = cpu_destroy,
};
