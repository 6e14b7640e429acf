/*
 * The CUDA engine.  It copies the data of an experiment to the GPU once per plan, and the data of a
 * recipe once per frame.
 *
 * The set-up of a frame is that of the CPU engine.  gpu/pixel.h defines what is computed per pixel.
 */
#include <string.h>

#include "base/clock.h"
#include "engine/closed/closed.h"
#include "engine/crystal/diffuse.h"
#include "engine/reference/recipe_check.h"
#include "engine/smear/smear_bands.h"
#include "gpu/device.h"
#include "gpu/gpu.h"
#include "gpu/kernel.h"
#include "gpu/plan.h"
#include "gpu/refused.h"
#include "model/frame.h"
#include "physics/detector/smear.h"

static void plan_destroy(struct plan **plan)
{
    struct plan *p = *plan;
    *plan = NULL;
    if (!p)
        return;
    if (p->context) {
        gpu_smear_close(p);
        gpu_drop_out(p);
        gpu_apart_close(p);
        p->device->release(p->context, p->afterwards.resident);
        p->device->release(p->context, p->afterwards.table);
        for (int i = 0; i < GPU_BATCHES; i++)
            p->device->release(p->context, p->batch[i]);
        p->device->release(p->context, p->recipe);
        p->device->take_back(p->context, p->packed);
        p->device->take_back(p->context, p->listed);
        p->device->release(p->context, p->resident);
        gpu_dense_close(p);
        p->device->detach(p->context);
    }
    cpu_tables_free(p->tables, p->experiment);
    footprint_destroy(&p->footprint);
    share_room_free(&p->sorting);
    mem_free(p->afterwards.gathered);
    mem_free(p->afterwards.ratios);
    mem_free(p->panels);
    moved_close(&p->moved);
    mem_free(p);
}

/* ---- once per plan ---------------------------------------------------------------- */

static enum status upload_experiment(struct plan *p, struct error *e)
{
    struct gpu_pack pack = {0};
    gpu_pack_experiment(&pack, p->experiment, p->panels, p->tables, p->precision, &p->frame,
                        &p->on_card);
    enum status status = p->device->reserve(p->context, pack.bytes, &p->resident, e);
    if (status)
        return status;
    pack = gpu_pack_into(p, BLOCK_EXPERIMENT, mem_array(pack.bytes, 1), p->resident);
    gpu_pack_experiment(&pack, p->experiment, p->panels, p->tables, p->precision, &p->frame,
                        &p->on_card);
    status = gpu_pack_send(p, &pack, e);
    memcpy(p->panels, pack.to, p->experiment->npanels * sizeof *p->panels);
    mem_free(pack.to);
    return status;
}

/* Prepares the members of the plan that do not depend on the GPU. */
static void open_panels(struct plan *p)
{
    p->panels = gpu_panels(p->experiment);
    for (size_t i = 0; i < p->experiment->npanels; i++) {
        const struct panel *panel = &p->panels[i].panel;
        p->rows += panel->slow_pixels;
        p->widest = panel->fast_pixels > p->widest ? panel->fast_pixels : p->widest;
    }
}

/* Returns the option that the engine does not support; NULL: there is none. */
static const char *refused_option(const struct experiment *x, const struct engine_options *how)
{
#define ROW(program, option, refused) \
    if (refused)                      \
        return option;
    GPU_REFUSES(ROW)
#undef ROW
    return NULL;
}

/* Refuses what the engine does not compute. */
static enum status check_experiment(const struct experiment *x,
                                    const struct engine_options *options, struct error *e)
{
    const char *option = refused_option(x, options);
    if (option)
        return error_set(e, STATUS_INPUT,
                         "the cuda engine does not support --%s. Give --engine=cpu", option);
    return closed_wanted(x) ? closed_check(x, e) : STATUS_OK;
}

static const struct gpu_thin_plans thin_plans;

/* Creates a plan.  `thin`: see struct plan. */
static enum status create_plan(struct plan **plan, const struct gpu_device *device,
                               const struct experiment *x, const struct engine_options *options,
                               bool thin, struct error *e)
{
    *plan = NULL;
    if (!options->after && check_experiment(x, options, e))
        return STATUS_INPUT;
    struct plan *p = mem_array(1, sizeof *p);
    p->device = device;
    p->closed = !options->after && closed_wanted(x);
    p->after = options->after;
    p->thin = thin;
    p->experiment = &p->moved.x;
    p->precision = options->precision;
    p->threads = options->threads < 1 ? 1 : options->threads;
    p->sums = options->sums;
    p->out_bytes[OUT_PHOTONS] = sizeof(float);
    moved_open(&p->moved, x);
    if (p->after)
        p->moved.x.ncrystals = 0;
    enum status status = device->attach(&p->context, options, p->description, e);
    if (!status)
        open_panels(p);
    if (!status)
        status = cpu_tables_open(&p->tables, p->experiment, p->precision, e);
    if (!status && !p->after && !thin)
        footprint_create(&p->footprint, p->experiment, options->threads);
    if (!status && !p->after)
        gpu_dense_open(p);
    if (!status)
        status = upload_experiment(p, e);
    if (!status && !p->after)
        status = gpu_smear_open(p, options, &thin_plans, e);
    if (status)
        plan_destroy(&p);
    *plan = p;
    return status;
}

enum status gpu_plan_create(struct plan **plan, const struct gpu_device *device,
                            const struct experiment *x, const struct engine_options *options,
                            struct error *e)
{
    return create_plan(plan, device, x, options, false, e);
}

static const char *plan_identity(const struct plan *plan)
{
    if (plan->closed)
        return GPU_CLOSED_IDENTITY;
    return plan->as_cpu ? plan->device->as_cpu(plan->context, plan->precision)
                        : plan->device->identity[plan->precision];
}

static const char *plan_describe(const struct plan *plan)
{
    return plan->description;
}

/* ---- once per frame --------------------------------------------------------------- */

static void pack_recipe(const struct plan *p, struct gpu_pack *pack, const struct cpu_job *job,
                        struct gpu_frame *frame)
{
    gpu_pack_recipe(pack, job, p->tables, p->on_card, frame);
    if (job->ndense)
        gpu_pack_dense(pack, job, p->panels, p->padded_there, frame);
}

static enum status upload_recipe(struct plan *p, const struct cpu_job *job, struct gpu_frame *frame,
                                 struct error *e)
{
    struct gpu_pack count = {0};
    pack_recipe(p, &count, job, frame);
    enum status status = gpu_after_recipe(p, &count, job->recipe, e);
    if (status || (status = gpu_grow_recipe(p, count.bytes, e)))
        return status;
    struct gpu_pack pack = gpu_pack_into(p, BLOCK_RECIPE, p->packed, p->recipe);
    pack_recipe(p, &pack, job, frame);
    if ((status = gpu_after_recipe(p, &pack, job->recipe, e)))
        return status;
    const uint64_t start = clock_ns();
    const enum status uploaded = gpu_pack_send(p, &pack, e);
    p->times.upload = (double)(clock_ns() - start) * 1e-6;
    return uploaded;
}

/* Uploads the sources of the recipe, if the background depends on them. */
static enum status upload_sources(struct plan *p, const struct recipe *recipe, struct error *e)
{
    struct gpu_pack count = {0};
    enum status status = gpu_after_recipe(p, &count, recipe, e);
    if (status || !count.bytes)
        return status;
    if ((status = gpu_grow_recipe(p, count.bytes, e)))
        return status;
    struct gpu_pack pack = gpu_pack_into(p, BLOCK_RECIPE, p->packed, p->recipe);
    status = gpu_after_recipe(p, &pack, recipe, e);
    return status ? status : gpu_pack_send(p, &pack, e);
}

/* Sets *smears to true if the plan smears the sensor in a frame. */
static enum status frame_smears(struct plan *p, const struct recipe *recipe, bool *smears,
                                struct error *e)
{
    *smears = false;
    return p->smeared ? smear_frame_smears(p->experiment, recipe, smears, e) : STATUS_OK;
}

/* Does what follows the photons, which the task or, if `smears`, a smeared sensor provides. */
static enum status follow_photons(struct plan *p, struct gpu_task t, bool smears, struct error *e)
{
    p->times = (struct gpu_times){0};
    if (!p->rows || !p->widest)
        return STATUS_OK;
    (void)moved_to(&p->moved, t.recipe);
    enum status status = gpu_move_panels(p, e);
    if (!status && smears)
        status = gpu_smear_run(p, &t, e);
    if (!status)
        status = upload_sources(p, t.recipe, e);
    if (!status)
        status = gpu_open_out(p, e);
    if (!status)
        status = gpu_run_rows(p, &p->frame, &t, e);
    /* The error about a thin image that is not finite replaces the one about the frame, which it
     * causes. */
    const enum status settled = smears ? gpu_smear_settle(p, t.recipe, e) : STATUS_OK;
    return settled ? settled : status;
}

static bool is_dark(const struct plan *p, const struct gpu_task *t)
{
    return !t->seed && t->to.here && recipe_is_dark(p->experiment, t->recipe);
}

/* Computes an image in closed form, whose photons stay on the GPU, and does what follows. */
static enum status perform_closed(struct plan *p, const struct gpu_task *t, struct error *e)
{
    struct gpu_task check = *t;
    enum status status = gpu_open_out(p, e);
    if (!status && p->out_rows < p->rows)
        status = error_set(e, STATUS_FAILED,
                           "the GPU has too little memory for an image in closed form. Give "
                           "--engine=cpu");
    if (!p->thin)  // panels of thin images are at their place
        (void)moved_to(&p->moved, t->recipe);
    if (!status)
        status = gpu_closed_run(p, t->recipe, NULL, NULL, e);
    if (!status)
        status = upload_sources(p, t->recipe, e);
    check.photons.there = p->out[OUT_PHOTONS];
    return status ? status : gpu_run_rows(p, &p->frame, &check, e);
}

static enum status perform(struct plan *p, const struct gpu_task *t, struct error *e)
{
    struct cpu_job job;
    struct gpu_frame frame = p->frame;
    bool smears;
    if (frame_smears(p, t->recipe, &smears, e))
        return STATUS_INPUT;
    if (smears && !is_dark(p, t))
        return follow_photons(p, *t, true, e);
    if (p->closed && p->rows && p->widest && !is_dark(p, t))
        return perform_closed(p, t, e);
    p->times = (struct gpu_times){0};
    if (!p->thin)
        (void)moved_to(&p->moved, t->recipe);
    enum status status = cpu_job_open(&job, p->experiment, p->tables, t->recipe, e);
    if (!status && is_dark(p, t)) {
        recipe_run_dark(p->experiment, (float *)(void *)t->to.here, t->done);
    } else if (!status && p->rows && p->widest) {
        status = gpu_dense_choose(p, &job, e);
        if (!status)
            status = gpu_move_panels(p, e);
        if (!status)
            status = upload_recipe(p, &job, &frame, e);
        if (!status)
            status = gpu_open_out(p, e);
        if (!status)
            status = gpu_run_rows(p, &frame, t, e);
    }
    cpu_job_close(&job);
    return status;
}

static enum status create_thin(struct plan **plan, const struct gpu_device *device,
                               const struct experiment *x, const struct engine_options *options,
                               struct error *e)
{
    return create_plan(plan, device, x, options, true, e);
}

static const struct gpu_thin_plans thin_plans = {create_thin, perform, gpu_derive, gpu_share_thin,
                                                 plan_destroy};

static enum status plan_run(struct plan *p, const struct recipe *recipe, float *pixels,
                            atomic_uint_fast64_t *done, struct error *e)
{
    bool smears;
    p->has_sum = false;
    enum status status = recipe_check(moved_to(&p->moved, recipe), recipe, e);
    if (!status)
        status = frame_smears(p, recipe, &smears, e);
    if (status)
        return status;
    float *photons = footprint_begin(p->footprint, recipe, pixels, e);
    const struct gpu_task task = {.recipe = recipe,
                                  .to.here = (char *)photons,
                                  .sums = p->sums && !p->footprint,
                                  .done = done};
    status = !photons               ? STATUS_INPUT
             : p->closed && !smears ? gpu_closed_run(p, recipe, photons, done, e)
                                    : perform(p, &task, e);
    p->next = NULL;
    return status ? status : footprint_end(p->footprint, recipe, NULL, pixels, e);
}

/* Computes a frame with the steps after the photons. */
static enum status develop(struct plan *p, const struct gpu_task *t, struct error *e)
{
    p->has_sum = false;
    const enum status status = perform(p, t, e);
    p->next = NULL;
    return status;
}

static enum status plan_develop(struct plan *p, const struct recipe *recipe, uint64_t seed,
                                void *pixels, atomic_uint_fast64_t *done, struct error *e)
{
    const struct gpu_task task = {
        .recipe = recipe, .seed = &seed, .to.here = pixels, .sums = true, .done = done};
    return develop(p, &task, e);
}

static enum status plan_develop_there(struct plan *p, const struct recipe *recipe, uint64_t seed,
                                      void *there, atomic_uint_fast64_t *done, struct error *e)
{
    const struct gpu_task task = {.recipe = recipe, .seed = &seed, .to.there = there, .done = done};
    return develop(p, &task, e);
}

/* Returns NULL if frames are always in host memory: footprints are applied on the host, and the
 * results of closed forms are copied to it. */
static const struct card *plan_card(struct plan *p)
{
    return (p->closed && !p->smeared) || p->footprint ? NULL : p->device->card(p->context);
}

/* ---- background and noise only, from photons of a previous stage ------------------------ */

static struct gpu_image place_of(const struct image *image)
{
    return image->card ? (struct gpu_image){.there = image->card}
                       : (struct gpu_image){.here = image->pixels};
}

static enum status plan_go_on(struct plan *p, const struct recipe *recipe, uint64_t seed,
                              const struct image *photons, const struct image *to, struct error *e)
{
    const struct gpu_task task = {.recipe = recipe,
                                  .seed = &seed,
                                  .photons = place_of(photons),
                                  .to = place_of(to),
                                  .sums = true};
    p->has_sum = false;
    return follow_photons(p, task, false, e);
}

static void plan_announce(struct plan *p, const struct recipe *next)
{
    p->next = next;
}

static bool plan_sum(const struct plan *p, uint32_t *sum)
{
    *sum = p->sum;
    return p->has_sum;
}

/* ---------------------------------------------------------------------------------------- */

static enum status plan_trace(struct plan *p, const struct recipe *recipe,
                              const struct pixel_trace *trace, struct error *e)
{
    if (smear_refuse(p->experiment, "--trace-pixel does", e))
        return STATUS_INPUT;
    if (p->closed)
        return error_set(e, STATUS_INPUT, "--trace-pixel does not work with --mosaic-model=gauss");
    const struct cpu_kernels *kernels = cpu_kernels_choose(NULL, p->precision, NULL);
    return cpu_trace_one(kernels, moved_to(&p->moved, recipe), p->tables, p->padded, recipe, trace,
                         e);
}

static enum status plan_pin(struct plan *p, void *pixels, size_t bytes, struct error *e)
{
    const enum status status = p->device->pin(p->context, pixels, bytes, e);
    p->counts.places_pinned += status == STATUS_OK;
    return status;
}

static void plan_unpin(struct plan *p)
{
    p->device->unpin(p->context);
}

void gpu_keep_times(struct plan *plan, bool apart)
{
    plan->timed = true;
    plan->apart_times = apart;
}

const struct gpu_times *gpu_last_times(const struct plan *plan)
{
    return &plan->times;
}

/* ---- the device ------------------------------------------------------------------------ */

enum status gpu_choose(int count, const struct engine_options *options, int *card, struct error *e)
{
    *card = options->device_by_turns ? options->device % count : options->device;
    if (*card < count)
        return STATUS_OK;
    return error_set(e, STATUS_USAGE, "--device: this machine has no GPU %d; expected 0 to %d",
                     *card, count - 1);
}

enum status gpu_describe(int number, int *count, char description[GPU_DESCRIPTION], struct error *e)
{
    return gpu_device_cuda.describe(number, count, description, e);
}

static enum status cuda_create(struct plan **plan, const struct experiment *experiment,
                               const struct engine_options *options, struct error *e)
{
    return gpu_plan_create(plan, &gpu_device_cuda, experiment, options, e);
}

const struct engine engine_cuda = {
    .name = "cuda",
    .create = cuda_create,
    .identity = plan_identity,
    .describe = plan_describe,
    .run = plan_run,
    .prepare = gpu_after_prepare,
    .develop = plan_develop,
    .card = plan_card,
    .develop_there = plan_develop_there,
    .go_on = plan_go_on,
    .pin = plan_pin,
    .unpin = plan_unpin,
    .announce = plan_announce,
    .counts = gpu_plan_counts,
    .sum = plan_sum,
    .derive = gpu_derive,
    .reflections = gpu_reflections,
    .trace = plan_trace,
    .destroy = plan_destroy,
};
