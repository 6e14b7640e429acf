/*
 * The CPU engine: plan, choice of the instruction set, rows shared out among
 * threads.  What a pixel is stands in cpu_loop.c.
 */
#include "engine/cpu.h"

#include <stdio.h>
#include <string.h>

#include <omp.h>

#include "base/crc32c.h"
#include "base/isa.h"
#include "engine/bands.h"
#include "engine/cpu_spots.h"
#include "engine/engine.h"
#include "engine/footprint.h"
#include "engine/photons.h"
#include "engine/recipe_check.h"

struct plan {
    const struct experiment *experiment;
    const struct cpu_kernels *kernels;
    struct cpu_table *tables;     // one per crystal
    struct dense_table *padded;   // likewise; NULL: the dense loop is not for this precision
    struct footprint *footprint;  // NULL: of points
    int threads;
    bool sums;     // are formed: rows follow one another in the image
    bool has_sum;  // of the last run
    uint32_t sum;
    char description[64];
};

const struct cpu_kernels *cpu_kernels_choose(const char *isa, enum engine_precision precision,
                                             struct error *e)
{
    /* Best first; each needs what the Makefile compiles its kernel with. */
    const struct {
        const struct cpu_kernels *kernels[2];  // by precision
        bool supported;
    } choices[] = {
        {{&cpu_kernels_avx512, &cpu_kernels_double_avx512}, isa_present(ISA_AVX512)},
        {{&cpu_kernels_avx2, &cpu_kernels_double_avx2}, isa_present(ISA_AVX2)},
        {{&cpu_kernels_baseline, &cpu_kernels_double_baseline}, true},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const struct cpu_kernels *kernels = choices[i].kernels[precision];
        if (!isa && choices[i].supported)
            return kernels;
        if (!isa || strcmp(isa, kernels->name))
            continue;
        if (choices[i].supported)
            return kernels;
        (void)error_set(e, STATUS_USAGE, "this processor has no %s", isa);
        return NULL;
    }
    (void)error_set(e, STATUS_USAGE, "unknown isa '%s', must be baseline, avx2 or avx512", isa);
    return NULL;
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

static enum status cpu_create(struct plan **plan, const struct experiment *experiment,
                              const struct engine_options *options, struct error *e)
{
    *plan = NULL;
    const struct cpu_kernels *kernels = cpu_kernels_choose(options->isa, options->precision, e);
    if (!kernels)
        return STATUS_USAGE;
    struct plan *p = mem_array(1, sizeof *p);
    if (!p)
        return error_memory(e, "the plan");
    p->experiment = experiment;
    p->kernels = kernels;
    p->threads = options->threads < 1 ? 1 : options->threads;
    (void)snprintf(p->description, sizeof p->description, "%s%s, %d thread%s", kernels->name,
                   options->precision == PRECISION_DOUBLE ? ", double precision" : "", p->threads,
                   p->threads == 1 ? "" : "s");
    enum status status = cpu_tables_open(&p->tables, experiment, options->precision, e);
    if (!status && kernels->dense) {
        p->padded = mem_array(experiment->ncrystals, sizeof *p->padded);
        status = p->padded ? STATUS_OK : error_memory(e, "the structure factors");
    }
    if (!status)
        status = footprint_create(&p->footprint, experiment, p->threads, e);
    p->sums = options->sums && !p->footprint && rows_follow(experiment);
    if (status)
        cpu_destroy(&p);
    *plan = p;
    return status;
}

static const char *cpu_identity(const struct plan *plan)
{
    return plan->kernels->identity;
}

static const char *cpu_describe(const struct plan *plan)
{
    return plan->description;
}

/* Blocks wholly under the mask (gaps, beam stop) cost nothing. */
static bool any_unmasked(const struct cpu_where *w)
{
    const uint8_t *mask = w->panel->mask;
    if (!mask)
        return true;
    for (int i = 0; i < w->count; i++)
        if (mask[w->slow * w->panel->fast_pixels + w->fast + i])
            return true;
    return false;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void clear(float *row, int64_t begin, int64_t end)
{
    if (end > begin)
        memset(row + begin, 0, (size_t)(end - begin) * sizeof *row);
}

/* One row of a panel: zero outside the ROI and under the mask. */
static void run_row(const struct cpu_kernels *kernels, const struct cpu_job *job,
                    const struct panel *p, int64_t slow, struct cpu_room *room, float *pixels)
{
    float *row = pixels + p->first_pixel + slow * p->fast_pixels;
    const bool outside = slow < p->roi.slow_min || slow > p->roi.slow_max;
    const int64_t begin = clamp(p->roi.fast_min, 0, p->fast_pixels);
    const int64_t end = outside ? begin : clamp(p->roi.fast_max + 1, begin, p->fast_pixels);
    clear(row, 0, begin);
    clear(row, end, p->fast_pixels);
    const int most = job->ndense ? DENSE_BLOCK : CPU_BLOCK;
    for (int64_t fast = begin; fast < end; fast += most) {
        const int count = (int)(end - fast < most ? end - fast : most);
        const struct cpu_where where = {p, fast, slow, count};
        if (!any_unmasked(&where))
            clear(row, fast, fast + count);
        else if (job->ndense)
            kernels->dense(job, &where, &room->dense, row + fast);
        else
            kernels->block(job, &where, &room->block, row + fast);
    }
    if (p->mask)
        for (int64_t fast = begin; fast < end; fast++)
            if (!p->mask[slow * p->fast_pixels + fast])
                row[fast] = 0.0f;
}

/* A panel, and how many rows the panels before it have. */
struct place {
    const struct panel *panel;
    int64_t above;
};

/* Goes to the panel of a row of the frame, from any other one. */
static void go_to(struct place *at, int64_t row)
{
    while (row < at->above)
        at->above -= (--at->panel)->slow_pixels;
    while (row >= at->above + at->panel->slow_pixels)
        at->above += (at->panel++)->slow_pixels;
}

/* Rows of the frame as they are given out; which thread computes a row does not matter to its
 * bytes.  Continues *sum, if there is one, while they are in the cache. */
static void run_rows(const struct cpu_kernels *kernels, const struct cpu_job *job, int64_t first,
                     int64_t end, struct place *at, struct cpu_room *room, float *pixels,
                     struct crc32c_piece *sum)
{
    for (int64_t row = first; row < end; row++) {
        go_to(at, row);
        const struct panel *p = at->panel;
        const int64_t slow = row - at->above;
        const size_t bytes = (size_t)p->fast_pixels * sizeof *pixels;
        run_row(kernels, job, p, slow, room, pixels);
        if (sum) {
            const float *from = pixels + p->first_pixel + slow * p->fast_pixels;
            *sum = (struct crc32c_piece){crc32c(sum->sum, from, bytes), sum->bytes + bytes};
        }
    }
}

/* All rows.  False when a pixel, perhaps a masked one, is not finite. */
static bool run_bands(const struct cpu_kernels *kernels, const struct cpu_job *job,
                      struct bands *bands, float *pixels, struct crc32c_piece *sums,
                      atomic_uint_fast64_t *rows)
{
    bool finite = true;
#pragma omp parallel num_threads(bands->count) reduction(&& : finite)
    {
        struct cpu_room room;  // on the thread's own stack, 112 KiB
        struct place at = {job->x->panels, 0};
        int64_t first, end;
        room.block.not_finite = room.dense.not_finite = false;
        while (bands_take(bands, omp_get_thread_num(), &first, &end)) {
            run_rows(kernels, job, first, end, &at, &room, pixels,
                     sums ? &sums[first / bands->at_once] : NULL);
            if (rows)
                atomic_fetch_add_explicit(rows, (uint64_t)(end - first), memory_order_relaxed);
        }
        finite = !room.block.not_finite && !room.dense.not_finite;
    }
    return finite;
}

/* Shares all rows out; *finite as run_bands says. */
static enum status run_frame(const struct cpu_kernels *kernels, const struct cpu_job *job,
                             int threads, float *pixels, atomic_uint_fast64_t *rows, bool *finite,
                             struct error *e)
{
    struct bands bands;
    struct crc32c_piece *sums = NULL;
    int64_t count = 0;
    for (size_t i = 0; i < job->x->npanels; i++)
        count += job->x->panels[i].slow_pixels;
    enum status status = bands_open(&bands, count, threads, e);
    const size_t takes = (size_t)bands_takes(&bands);
    if (!status && job->sum && !(sums = mem_array(takes, sizeof *sums)))
        status = error_memory(e, "the sums of the rows");
    if (!status)
        *finite = run_bands(kernels, job, &bands, pixels, sums, rows);
    if (!status && job->sum)
        *job->sum = crc32c_join(sums, takes);
    mem_free(sums);
    bands_close(&bands);
    return status;
}

/* Memory for the sums of scattered lattices; NULL in job->sums without any. */
static enum status scatter(const struct cpu_kernels *kernels, struct cpu_job *job, int threads,
                           double **sums, struct error *e)
{
    bool any = false;
    for (size_t i = 0; i < job->nlattices; i++)
        any = any || job->lattices[i].scattered;
    if (!any)
        return STATUS_OK;
    *sums = mem_array((size_t)experiment_pixels(job->x), sizeof **sums);
    job->sums = *sums;
    return *sums ? cpu_spots_add(kernels, job, threads, *sums, e) : error_memory(e, "the sums");
}

enum status cpu_frame(const struct cpu_kernels *kernels, struct cpu_job *job, int threads,
                      float *pixels, atomic_uint_fast64_t *rows, struct error *e)
{
    double *sums = NULL;
    bool finite = true;
    enum status status = scatter(kernels, job, threads, &sums, e);
    if (!status)
        status = run_frame(kernels, job, threads, pixels, rows, &finite, e);
    job->sums = NULL;
    mem_free(sums);
    return finite ? status : photons_check(job->x, job->recipe->id, pixels, e);
}

static enum status cpu_run(struct plan *plan, const struct recipe *recipe, float *pixels,
                           atomic_uint_fast64_t *rows, struct error *e)
{
    struct cpu_job job;
    enum status status = cpu_job_open(&job, plan->experiment, plan->tables, recipe, e);
    plan->has_sum = false;
    if (!status && recipe_is_dark(plan->experiment, recipe)) {
        recipe_run_dark(plan->experiment, pixels, rows);
    } else if (!status) {
        cpu_spots_choose(&job, false);
        job.sum = plan->sums ? &plan->sum : NULL;
        if (plan->padded)
            status = cpu_dense_choose(&job, plan->padded, e);
        float *photons = status ? NULL : footprint_begin(plan->footprint, recipe, pixels, e);
        if (!status)
            status = photons ? cpu_frame(plan->kernels, &job, plan->threads, photons, rows, e)
                             : STATUS_INPUT;
        if (!status)
            status = footprint_end(plan->footprint, recipe, plan->kernels->name, pixels, e);
        plan->has_sum = !status && plan->sums;
    }
    cpu_job_close(&job);
    return status;
}

static bool cpu_sum(const struct plan *plan, uint32_t *sum)
{
    if (plan->has_sum)
        *sum = plan->sum;
    return plan->has_sum;
}

/* The traced pixel is a block of its own, computed by the kernel of the images; a lattice
 * that an image has spot by spot is summed up densely here, which may differ in the
 * last digit. */
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
    if (!status && padded)
        status = cpu_dense_choose(&job, padded, e);
    if (!status) {
        const struct cpu_where where = {p, trace->fast, trace->slow, 1};
        struct cpu_room room;
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
    return cpu_trace_one(plan->kernels, plan->experiment, plan->tables, plan->padded, recipe, trace,
                         e);
}

const struct engine engine_cpu = {
    .name = "cpu",
    .create = cpu_create,
    .identity = cpu_identity,
    .describe = cpu_describe,
    .run = cpu_run,
    .sum = cpu_sum,
    .trace = cpu_trace,
    .destroy = cpu_destroy,
};
