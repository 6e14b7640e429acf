/*
 * The CUDA engine.  It copies the data of an experiment to the GPU once per plan, and the data of a
 * recipe once per frame.  If the memory of the GPU is too small for all rows of a frame, it
 * computes the frame in parts.
 *
 * The set-up of a frame is that of the CPU engine.  gpu/pixel.h defines what is computed per pixel.
 */
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
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

/* Computes the rows of a frame.  If not all rows fit into the memory of the GPU, they are computed
 * in several runs.  Each run is cut into parts, which have separate launches. */

/* Returns the number of pixels of the frame before this row.  For the row after the last one it is
 * the number of all pixels. */
static int64_t pixels_before(const struct plan *p, int64_t row)
{
    const struct gpu_panel *g = p->panels;
    for (size_t i = 1; i < p->experiment->npanels && p->panels[i].first_row <= row; i++)
        g = &p->panels[i];
    return g->panel.first_pixel + (row - g->first_row) * g->panel.fast_pixels;
}

/* Returns the number of units before part i of n. The rows are divided into 2 n - 2 units: the
 * first and the last part have one unit each, all other parts two. With a small first part the
 * copies over the bus start early. With a small last part little is left to copy after the last
 * kernel. */
static int64_t units_before(int64_t i, int64_t n)
{
    return i == 0 ? 0 : i == n ? 2 * n - 2 : 2 * i - 1;
}

/* Returns the number of pixels that each thread of a kernel computes, of `pixels` in rows that are
 * `widest` long.  It is small enough to keep all multiprocessors busy.  All blocks of a row have
 * about as many pixels. */
static int64_t each_of(int64_t pixels, int64_t widest)
{
    const int64_t threads = 1 << 18, most = 16;
    const int64_t each = pixels / threads < most ? pixels / threads : most;
    const int64_t block = GPU_THREADS * (each < 1 ? 1 : each);
    const int64_t blocks = (widest + block - 1) / block;
    return (widest + GPU_THREADS * blocks - 1) / (GPU_THREADS * blocks);
}

/* Cuts rows [row, end) into the parts of *r.  No part is too small for a launch of its own.
 * `whole`: makes only one part, because nothing is copied during the computation. */
static void cut_parts(const struct plan *p, int64_t row, int64_t end, bool whole, struct gpu_run *r)
{
    const int64_t first_pixel = pixels_before(p, row);
    const int64_t pixels = pixels_before(p, end) - first_pixel, most = end - row;
    int64_t parts = whole ? 1 : 1 + pixels / p->device->part_pixels;
    parts = parts > GPU_PARTS ? GPU_PARTS : parts;
    parts = parts > 1 + most / 2 ? 1 + most / 2 : parts;  // each part has at least one row
    const int64_t units = parts > 1 ? units_before(parts, parts) : 1;
    r->nparts = (int)parts;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t from = row + most * units_before(i, parts) / units;
        const int64_t to = i + 1 < parts ? row + most * units_before(i + 1, parts) / units : end;
        const int64_t before = pixels_before(p, from) - first_pixel;
        const int64_t behind = pixels_before(p, to) - first_pixel;
        r->part[i] = (struct gpu_part){
            {from, to - from, first_pixel, p->widest, each_of(behind - before, p->widest)},
            before,
            behind};
    }
}

/* Returns the address of pixel `first` in an image with pixels of `size` bytes. Returns NULL if
 * `image` is NULL. */
static void *pixel_address(char *image, int64_t first, size_t size)
{
    return image ? image + (size_t)first * size : NULL;
}

/* Largest image, in bytes, that kernels write directly to host memory, over the bus. These
 * stores are slower than a copy, but avoid the fixed time of the copies of parts. Measured with
 * an H200: a frame of 4 MB is 8 % faster with direct stores, a frame of 64 MB is 9 % slower. */
enum { REACHED_BYTES = 8 << 20 };

/* Returns the address at which kernels write the output directly to host memory. NULL: the
 * output is copied to the host instead. This is necessary if a kernel reads output pixels that
 * another kernel has written. */
static void *reach(const struct plan *p, const struct gpu_frame *frame, const struct gpu_task *t,
                   size_t size)
{
    const size_t bytes = (size_t)experiment_pixels(p->experiment) * size;
    const bool counts = t->seed && p->afterwards.type != PIXEL_F32;
    const bool bare = !t->seed && frame->ndense && !t->photons.here && !t->photons.there;
    return t->to.here && bytes <= REACHED_BYTES && (counts || bare)
               ? p->device->reach(p->context, t->to.here, bytes)
               : NULL;
}

/* Sets the addresses of the photons and of the output of a run of rows, which begins with pixel
 * `first`: buffers of the plan, images on the GPU, or images to which the GPU writes directly. */
static void set_addresses(const struct plan *p, const struct gpu_task *t, char *image,
                          int64_t first, size_t size, struct gpu_run *r, struct gpu_after *after)
{
    const bool counts = after->type != PIXEL_F32;
    void *leaves = pixel_address(image, first, size);
    r->photons = leaves && !counts ? leaves : p->out[OUT_PHOTONS];
    r->given = t->photons.here || t->photons.there;
    r->here = pixel_address(t->photons.here, first, sizeof *r->here);
    r->smear = t->smear;
    after->photons = t->photons.there
                         ? pixel_address(t->photons.there, first, sizeof *after->photons)
                         : (const void *)r->photons;
    after->sum = r->photons;
    after->counts = leaves && counts ? leaves : after->counts;
}

/* Adds the checksum of a run, whose pixels follow those of the runs before, to p->sum. */
static void add_sum(struct plan *p, const struct gpu_run *r, uint32_t sum)
{
    const size_t bytes = gpu_checksum_of(r).count;
    const struct crc32c_piece pieces[] = {{.sum = p->sum},
                                          {gpu_checksum_finish(sum, bytes), bytes}};
    p->sum = crc32c_join(pieces, 2);
}

static void begin_next(void *plan)
{
    gpu_smear_begin_next(plan);
}

/* Computes all rows of a frame.  The buffers of pixels and the recipe are already on the GPU. */
static enum status gpu_run_rows(struct plan *p, const struct gpu_frame *frame,
                                const struct gpu_task *t, struct error *e)
{
    enum status status = STATUS_OK;
    struct gpu_verdict v = {GPU_GOOD, 0, 0, 0};
    p->sum = 0;
    const size_t size = t->seed ? pixel_size(p->afterwards.type) : sizeof(float);
    const bool sums = t->sums && t->to.here &&
                      (size_t)experiment_pixels(p->experiment) * size >= p->device->sum_bytes;
    char *const image = t->to.there ? t->to.there : sums ? NULL : reach(p, frame, t, size);
    const bool whole = image && !t->photons.here;
    for (int64_t row = 0; row < p->rows && !status; row += p->out_rows) {
        const int64_t end = p->rows - row < p->out_rows ? p->rows : row + p->out_rows;
        struct gpu_run r = {
            .frame = frame, .apart = p->apart_times, .later = t->later, .sums = sums};
        r.behind = t->behind;
        r.meanwhile = t->smear && p->next ? begin_next : NULL;
        r.plan = p;
        struct gpu_after after;
        cut_parts(p, row, end, whole, &r);
        gpu_after_rows(p, t->recipe, t->seed, &r, &after);
        const int64_t first = r.part[0].rows.first_pixel;
        set_addresses(p, t, image, first, size, &r, &after);
        p->counts.tables_found += !r.given;
        v.sum = 0;
        status =
            p->device->run(p->context, &r, image ? NULL : pixel_address(t->to.here, first, size),
                           p->timed ? &p->times : NULL, &v, e);
        if (status)
            p->afterwards.has_background = false;
        else if (!t->later)
            status = gpu_after_verdict(p, t->recipe, &v, e);
        if (!status && sums)
            add_sum(p, &r, v.sum);
        if (!status && t->done)
            atomic_fetch_add_explicit(t->done, (uint_fast64_t)(end - row), memory_order_relaxed);
    }
    p->has_sum = !status && sums;
    if (!status && t->seed && p->afterwards.clipped)
        clipped_add(p->afterwards.clipped, v.saturated, v.below);
    return status;
}

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
