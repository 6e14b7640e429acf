/*
 * The CUDA engine.  It copies the data of an experiment to the GPU once per plan, and the data of a
 * recipe once per frame.  If the memory of the GPU is too small for all rows of a frame, it
 * computes the frame in parts.
 *
 * The set-up of a frame is that of the CPU engine.  gpu/pixel.h defines what is computed per pixel.
 */
#include <string.h>

#include "base/clock.h"
#include "engine/closed/closed.h"
#include "engine/crystal/diffuse.h"
#include "engine/reference/recipe_check.h"
#include "gpu/device.h"
#include "gpu/gpu.h"
#include "gpu/layout.h"
#include "gpu/pack.h"
#include "gpu/plan.h"
#include "physics/detector/smear.h"

static void plan_destroy(struct plan **plan)
{
    struct plan *p = *plan;
    *plan = NULL;
    if (!p)
        return;
    if (p->context) {
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
    if (!pack.to)
        return error_memory(e, "the experiment");
    gpu_pack_experiment(&pack, p->experiment, p->panels, p->tables, p->precision, &p->frame,
                        &p->on_card);
    status = gpu_pack_send(p, &pack, e);
    memcpy(p->panels, pack.to, p->experiment->npanels * sizeof *p->panels);
    mem_free(pack.to);
    return status;
}

/* Prepares the members of the plan that do not depend on the GPU. */
static enum status open_panels(struct plan *p, struct error *e)
{
    p->panels = gpu_panels(p->experiment);
    if (!p->panels)
        return error_memory(e, "the panels");
    for (size_t i = 0; i < p->experiment->npanels; i++) {
        const struct panel *panel = &p->panels[i].panel;
        p->rows += panel->slow_pixels;
        p->widest = panel->fast_pixels > p->widest ? panel->fast_pixels : p->widest;
    }
    return STATUS_OK;
}

static enum status plan_create(struct plan **plan, const struct gpu_device *device,
                               const struct experiment *x, const struct engine_options *options,
                               struct error *e)
{
    *plan = NULL;
    const bool closed = !options->after && closed_wanted(x);
    if (!options->after &&
        (diffuse_refuse(x, "the cuda engine does", e) ||
         smear_refuse(x, "the cuda engine does", e) || (closed && closed_check(x, e))))
        return STATUS_INPUT;
    struct plan *p = mem_array(1, sizeof *p);
    if (!p)
        return error_memory(e, "the plan");
    p->device = device;
    p->closed = closed;
    p->after = options->after;
    p->experiment = &p->moved.x;
    p->precision = options->precision;
    p->threads = options->threads < 1 ? 1 : options->threads;
    p->out_bytes[OUT_PHOTONS] = sizeof(float);
    enum status status = moved_open(&p->moved, x) ? STATUS_OK : error_memory(e, "the panels");
    if (p->after)
        p->moved.x.ncrystals = 0;
    if (!status)
        status = device->attach(&p->context, options, p->description, e);
    if (!status)
        status = open_panels(p, e);
    if (!status)
        status = cpu_tables_open(&p->tables, p->experiment, p->precision, e);
    if (!status && !p->after)
        status = footprint_create(&p->footprint, p->experiment, options->threads, e);
    if (!status && !p->after)
        status = gpu_dense_open(p, e);
    if (!status)
        status = upload_experiment(p, e);
    if (status)
        plan_destroy(&p);
    *plan = p;
    return status;
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

static enum status perform(struct plan *p, const struct gpu_task *t, struct error *e)
{
    struct cpu_job job;
    struct gpu_frame frame = p->frame;
    p->times = (struct gpu_times){0};
    (void)moved_to(&p->moved, t->recipe);
    enum status status = cpu_job_open(&job, p->experiment, p->tables, t->recipe, e);
    if (!status && !t->seed && recipe_is_dark(p->experiment, t->recipe)) {
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

static enum status plan_run(struct plan *p, const struct recipe *recipe, float *pixels,
                            atomic_uint_fast64_t *done, struct error *e)
{
    enum status status = recipe_check(moved_to(&p->moved, recipe), recipe, e);
    if (status)
        return status;
    float *photons = footprint_begin(p->footprint, recipe, pixels, e);
    const struct gpu_task task = {.recipe = recipe, .to.here = (char *)photons, .done = done};
    status = !photons    ? STATUS_INPUT
             : p->closed ? gpu_closed_run(p, recipe, photons, done, e)
                         : perform(p, &task, e);
    return status ? status : footprint_end(p->footprint, recipe, NULL, pixels, e);
}

static enum status plan_develop(struct plan *p, const struct recipe *recipe, uint64_t seed,
                                void *pixels, atomic_uint_fast64_t *done, struct error *e)
{
    const struct gpu_task task = {.recipe = recipe, .seed = &seed, .to.here = pixels, .done = done};
    return perform(p, &task, e);
}

static enum status plan_develop_there(struct plan *p, const struct recipe *recipe, uint64_t seed,
                                      void *there, atomic_uint_fast64_t *done, struct error *e)
{
    const struct gpu_task task = {.recipe = recipe, .seed = &seed, .to.there = there, .done = done};
    return perform(p, &task, e);
}

/* Returns NULL if frames are always in host memory: footprints are applied on the host, and the
 * results of closed forms are copied to it. */
static const struct card *plan_card(struct plan *p)
{
    return p->closed || p->footprint ? NULL : p->device->card(p->context);
}

/* ---- background and noise only, from photons of a previous stage ------------------------ */

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

static struct gpu_image place_of(const struct image *image)
{
    return image->card ? (struct gpu_image){.there = image->card}
                       : (struct gpu_image){.here = image->pixels};
}

static enum status plan_go_on(struct plan *p, const struct recipe *recipe, uint64_t seed,
                              const struct image *photons, const struct image *to, struct error *e)
{
    const struct gpu_task task = {
        .recipe = recipe, .seed = &seed, .photons = place_of(photons), .to = place_of(to)};
    p->times = (struct gpu_times){0};
    if (!p->rows || !p->widest)
        return STATUS_OK;
    (void)moved_to(&p->moved, recipe);
    enum status status = gpu_move_panels(p, e);
    if (!status)
        status = upload_sources(p, recipe, e);
    if (!status)
        status = gpu_open_out(p, e);
    return status ? status : gpu_run_rows(p, &p->frame, &task, e);
}

/* ---------------------------------------------------------------------------------------- */

static enum status plan_trace(struct plan *p, const struct recipe *recipe,
                              const struct pixel_trace *trace, struct error *e)
{
    if (p->closed)
        return error_set(e, STATUS_INPUT, "--mosaic-model=gauss has no --trace-pixel");
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

/* ---- the two devices: CUDA, and the CPU as a stand-in ----------------------------- */

enum status gpu_choose(int count, const struct engine_options *options, int *card, struct error *e)
{
    *card = options->device_by_turns ? options->device % count : options->device;
    if (*card < count)
        return STATUS_OK;
    return error_set(e, STATUS_USAGE, "--device: this machine has no GPU %d; expected 0 to %d",
                     *card, count - 1);
}

static enum status cuda_create(struct plan **plan, const struct experiment *experiment,
                               const struct engine_options *options, struct error *e)
{
    return plan_create(plan, &gpu_device_cuda, experiment, options, e);
}

static enum status host_create(struct plan **plan, const struct experiment *experiment,
                               const struct engine_options *options, struct error *e)
{
    return plan_create(plan, &gpu_device_host, experiment, options, e);
}

#define ENGINE(its_name, its_create)                                                          \
    {                                                                                         \
        .name = its_name, .create = its_create, .identity = plan_identity,                    \
        .describe = plan_describe, .run = plan_run, .prepare = gpu_after_prepare,             \
        .develop = plan_develop, .card = plan_card, .develop_there = plan_develop_there,      \
        .go_on = plan_go_on, .pin = plan_pin, .unpin = plan_unpin, .counts = gpu_plan_counts, \
        .derive = gpu_derive, .reflections = gpu_reflections, .trace = plan_trace,            \
        .destroy = plan_destroy,                                                              \
    }

const struct engine engine_cuda = ENGINE("cuda", cuda_create);
const struct engine engine_cuda_host = ENGINE("cuda-host", host_create);
