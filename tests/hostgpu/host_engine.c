/*
 * The CPU as a stand-in for a GPU: it runs the code of the kernels, one thread after the other, and
 * host memory stands in for GPU memory.  On a host without a GPU, tests compare its images with
 * those of the other engines.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/cpu/cpu.h"
#include "gpu/after.h"
#include "gpu/checksum.h"
#include "gpu/closed.h"
#include "gpu/device.h"
#include "gpu/smear.h"
#include "host_engine.h"
#include "host_loop.h"
#include "model/frame.h"
#include "shared_file.h"

/* ---- the memory of this device, which other processes may open ------------------------- */

_Static_assert(sizeof(struct shared_file_name) == CARD_HANDLE, "names of memory");

static enum status reserve(const struct card *card, size_t bytes, void **memory,
                           struct card_handle *handle, struct error *e)
{
    struct shared_file_name name;
    (void)card;
    *memory = bytes > gpu_host_memory ? NULL : shared_file_make(bytes, &name);
    if (*memory)
        memcpy(handle, &name, sizeof name);
    return *memory ? STATUS_OK : error_memory(e, "the GPU");
}

static void release(const struct card *card, void *memory)
{
    (void)card;
    shared_file_free(memory);
}

static enum status open_named(const struct card *card, const struct card_handle *handle,
                              size_t bytes, void **memory, struct error *e)
{
    struct shared_file_name name;
    size_t has;
    (void)card;
    memcpy(&name, handle, sizeof name);
    *memory = shared_file_open(&name, bytes, &has);
    return *memory ? STATUS_OK : error_set(e, STATUS_FAILED, "the memory was not found");
}

static void close_named(const struct card *card, void *memory)
{
    (void)card;
    shared_file_close(memory);
}

static enum status fetch(const struct card *card, void *to, const void *from, size_t bytes,
                         struct error *e)
{
    (void)card;
    (void)e;
    memcpy(to, from, bytes);
    return STATUS_OK;
}

static const struct card host_card = {.uuid = "this processor",
                                      .reserve = reserve,
                                      .release = release,
                                      .open = open_named,
                                      .close = close_named,
                                      .fetch = fetch};

/* ---- kernels as loops ------------------------------------------------------------------ */

void gpu_host_background(const struct gpu_frame *frame, const struct background_scene *scene,
                         const struct gpu_rows *rows, int threads, float *out)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t row = 0; row < rows->count; row++)
        for (int64_t block = 0; block * GPU_THREADS < rows->widest; block++)
            for (int thread = 0; thread < GPU_THREADS; thread++)
                gpu_background_thread(frame, scene, rows->first + row, block, thread,
                                      rows->first_pixel, out);
}

void gpu_host_after(const struct gpu_after *after, int64_t first_pixel, int64_t first, int64_t end,
                    int threads, struct gpu_verdict *verdict)
{
    uint64_t bad = verdict->bad, saturated = verdict->saturated, below = verdict->below;
#pragma omp parallel for num_threads(threads) reduction(min : bad) reduction(+ : saturated, below)
    for (int64_t i = 0; i < gpu_after_threads(first_pixel, first, end); i++) {
        const struct gpu_verdict v = gpu_after_thread(after, first_pixel, first, end, i);
        bad = v.bad < bad ? v.bad : bad;
        saturated += v.saturated;
        below += v.below;
    }
    *verdict = (struct gpu_verdict){bad, saturated, below, verdict->sum};
}

void gpu_host_checksum(const struct gpu_checksum *c, int threads, uint32_t *sum)
{
    const struct gpu_team alone = {0, 1};
    struct gpu_checksum_tables tables;
    uint32_t all = 0;
    gpu_checksum_prepare(&tables, alone);
#pragma omp parallel for num_threads(threads) reduction(^ : all)
    for (uint64_t block = 0; block < gpu_checksum_blocks(c); block++) {
        uint32_t mine = 0;
        for (int thread = 0; thread < GPU_THREADS; thread++)
            mine ^= gpu_checksum_thread(c, &tables, block, thread);
        all ^= gpu_checksum_block(c, block, mine);
    }
    *sum ^= all;
}

void gpu_host_closed(const struct gpu_closed *frame, const struct gpu_closed_batch *batch,
                     int threads)
{
#pragma omp parallel for schedule(dynamic, GPU_THREADS) num_threads(threads)
    for (size_t i = 0; i < batch->count; i++)
        gpu_closed_thread(frame, batch, i);
}

void gpu_host_smear_sums(const struct gpu_smear *smear, const struct gpu_smear_band *b, int threads)
{
    const struct gpu_team alone = {0, 1};
    const bool usual = b->oversample == GPU_SMEAR_USUAL;
    const int width = usual ? GPU_SMEAR_PIXELS * GPU_SMEAR_USUAL : gpu_smear_width(b->oversample);
#pragma omp parallel for num_threads(threads)
    for (int64_t group = 0; group < (b->size[1] + GPU_SMEAR_ROWS - 1) / GPU_SMEAR_ROWS; group++) {
        struct gpu_smear_columns room;
        for (int64_t i = 0; i * width < b->size[0]; i++)
            if (usual)
                gpu_smear_sum_warp(smear, b, (int)group, (int)i, alone);
            else
                gpu_smear_sum_block(smear, b, group, i, alone, &room);
    }
}

void gpu_host_smear_pixels(const struct gpu_smear *smear, const struct gpu_smear_band *b,
                           const struct gpu_smear_part *part, int threads)
{
    const struct gpu_team alone = {0, 1};
    const int64_t first = gpu_smear_group(b, part->rows[0]);
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < gpu_smear_groups(b, part); i++) {
        struct gpu_smear_taps taps;
        for (int warp = 0; warp * GPU_LANES < b->end[0] - b->origin[0]; warp++)
            gpu_smear_warp(smear, b, part, first + i, warp, alone, &taps);
    }
}

/* Computes the pixels of a smeared sensor in these rows of the frame; NULL: in all. */
static void smear_pixels(const struct gpu_smear_job *job, const struct gpu_rows *rows, int threads)
{
    for (size_t i = 0; i < job->nbands; i++) {
        const struct gpu_smear_band *b = &job->here[i];
        struct gpu_smear_part part;
        if (gpu_smear_cut(b, rows, &part))
            gpu_host_smear_pixels(job->smear, b, &part, threads);
    }
}

size_t gpu_host_memory = SIZE_MAX;

struct host {
    gpu_host_row *row;
    gpu_host_slopes *slopes[2];  // indexed by enum engine_precision
    gpu_host_shares *shares;
    const char *as_cpu;
    int threads;
    size_t used;                 // bytes of memory that the stand-in for a GPU pretends to have
    struct gpu_verdict verdict;  // of the latest run
};

/* Number of bytes before each allocation, in which the size of the allocation is stored. */
enum { HEADER = MEM_ALIGNMENT };

static enum status host_attach(void **context, const struct engine_options *options,
                               char description[GPU_DESCRIPTION], struct error *e)
{
    *context = NULL;
    const struct cpu_kernels *best =
        cpu_kernels_choose(options->isa, options->precision, options->isa ? e : NULL);
    if (!best)
        return STATUS_USAGE;
    struct host *h = mem_array(1, sizeof *h);
    const bool fused = strcmp(best->name, "baseline") != 0;
    h->row = fused ? gpu_host_row_avx2 : gpu_host_row_baseline;
    h->slopes[PRECISION_MIXED] = fused ? gpu_host_slopes_avx2 : gpu_host_slopes_baseline;
    h->slopes[PRECISION_DOUBLE] =
        fused ? gpu_host_slopes_double_avx2 : gpu_host_slopes_double_baseline;
    h->shares = fused ? gpu_host_shares_avx2 : gpu_host_shares_baseline;
    h->as_cpu = best->identity;
    h->threads = options->threads < 1 ? 1 : options->threads;
    (void)snprintf(description, GPU_DESCRIPTION, "the cuda engine on this processor, %s",
                   fused ? "avx2" : "baseline");
    *context = h;
    return STATUS_OK;
}

static const char *host_as_cpu(void *context, enum engine_precision precision)
{
    const struct host *h = context;
    (void)precision;
    return h->as_cpu;
}

static void host_detach(void *context)
{
    mem_free(context);
}

static const struct card *host_its_card(void *context)
{
    (void)context;
    return &host_card;
}

static enum status host_room(void *context, size_t *bytes, struct error *e)
{
    const struct host *h = context;
    (void)e;
    *bytes = gpu_host_memory - h->used;
    return STATUS_OK;
}

static enum status host_reserve(void *context, size_t bytes, void **memory, struct error *e)
{
    struct host *h = context;
    *memory = NULL;
    if (bytes > gpu_host_memory - h->used)
        return error_set(e, STATUS_FAILED, "%zu MB do not fit into the memory of the GPU",
                         bytes >> 20);
    unsigned char *block = mem_try_array(bytes + HEADER, 1);
    if (!block)
        return error_memory(e, "the GPU");
    memcpy(block, &bytes, sizeof bytes);
    h->used += bytes;
    *memory = block + HEADER;
    return STATUS_OK;
}

static void host_release(void *context, void *memory)
{
    struct host *h = context;
    size_t bytes;
    if (!memory)
        return;
    unsigned char *block = (unsigned char *)memory - HEADER;
    memcpy(&bytes, block, sizeof bytes);
    h->used -= bytes;
    mem_free(block);
}

static enum status host_lend(void *context, size_t bytes, void **memory, struct error *e)
{
    (void)context;
    *memory = mem_try_array(bytes, 1);
    return *memory ? STATUS_OK : error_memory(e, "the recipe");
}

static void host_take_back(void *context, void *memory)
{
    (void)context;
    mem_free(memory);
}

static enum status host_upload(void *context, void *to, const void *from, size_t bytes,
                               struct error *e)
{
    (void)context;
    (void)e;
    memcpy(to, from, bytes);
    return STATUS_OK;
}

static enum status host_pin(void *context, void *memory, size_t bytes, struct error *e)
{
    (void)context;
    (void)memory;
    (void)bytes;
    (void)e;
    return STATUS_OK;
}

static void host_unpin(void *context)
{
    (void)context;
}

static void *host_reach(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)memory;
    (void)bytes;
    return NULL;
}

/* Adds the time since *start, in ms, to *ms, and sets *start to the current time. */
static void lap(uint64_t *start, double *ms)
{
    const uint64_t now = clock_ns();
    *ms += (double)(now - *start) * 1e-6;
    *start = now;
}

/* Computes one part of a run. Adds the times to *times and the verdict on the pixels to
 * *verdict. */
static void run_part(const struct host *h, const struct gpu_run *r, const struct gpu_part *part,
                     struct gpu_times *times, struct gpu_verdict *verdict)
{
    const struct gpu_rows *rows = &part->rows;
    uint64_t start = clock_ns();
    uint64_t worst = GPU_GOOD;
    if (r->here)
        memcpy(r->photons + part->first, r->here + part->first,
               (size_t)(part->end - part->first) * sizeof *r->photons);
    if (r->smear)
        smear_pixels(r->smear, rows, h->threads);
#pragma omp parallel for schedule(dynamic) num_threads(h->threads) reduction(min : worst)
    for (int64_t row = 0; row < (r->given ? 0 : rows->count); row++) {
        const uint64_t bad = h->row(r->frame, rows, row, r->photons);
        worst = bad < worst ? bad : worst;
    }
    lap(&start, &times->photons);
    if (r->scene)
        gpu_host_background(r->frame, r->scene, rows, h->threads, r->after->background);
    lap(&start, &times->background);
    if (gpu_is_bare(r))
        verdict->bad = worst < verdict->bad ? worst : verdict->bad;
    else
        gpu_host_after(r->after, rows->first_pixel, part->first, part->end, h->threads, verdict);
    lap(&start, &times->counts);
}

static enum status host_run(void *context, const struct gpu_run *r, void *to,
                            struct gpu_times *times, struct gpu_verdict *verdict, struct error *e)
{
    struct host *h = context;
    struct gpu_times unasked = {0};
    const void *from;
    const size_t size = pixel_size(gpu_leaving(r, &from));
    (void)e;
    times = times ? times : &unasked;
    if (r->meanwhile)  // as early as possible, so that tests find data which are still needed
        r->meanwhile(r->plan);
    for (int i = 0; i < r->nparts; i++) {
        uint64_t start = clock_ns();
        const size_t at = (size_t)r->part[i].first * size;
        run_part(h, r, &r->part[i], times, verdict);
        lap(&start, &times->kernels);
        if (to)
            memcpy((char *)to + at, (const char *)from + at, (size_t)r->part[i].end * size - at);
        lap(&start, &times->to_host);
    }
    if (r->sums) {
        const struct gpu_checksum checksum = gpu_checksum_of(r);
        gpu_host_checksum(&checksum, h->threads, &verdict->sum);
    }
    h->verdict = *verdict;
    return STATUS_OK;
}

static enum status host_settle(void *context, struct gpu_verdict *verdict, struct error *e)
{
    const struct host *h = context;
    (void)e;
    *verdict = h->verdict;
    return STATUS_OK;
}

static enum status host_slopes(void *context, const struct gpu_slopes *frame,
                               const struct gpu_slopes_batch *batch, size_t room, int place,
                               const void **values, struct error *e)
{
    const struct host *h = context;
    (void)room;
    (void)place;
    (void)e;
    h->slopes[frame->frame.kind.precise ? PRECISION_DOUBLE : PRECISION_MIXED](frame, batch,
                                                                              h->threads);
    *values = batch->planes ? (const void *)batch->planes : batch->values;
    return STATUS_OK;
}

static enum status host_slopes_wait(void *context, int place, struct error *e)
{
    (void)context;
    (void)place;
    (void)e;
    return STATUS_OK;
}

static enum status host_closed(void *context, const struct gpu_closed *frame,
                               const struct gpu_closed_batch *batch, float *to, struct error *e)
{
    const struct host *h = context;
    (void)e;
    gpu_host_closed(frame, batch, h->threads);
    if (to)
        memcpy(to, batch->pixels, batch->count * sizeof *to);
    return STATUS_OK;
}

static enum status host_smear(void *context, const struct gpu_smear_job *job, bool pixels,
                              double *ms, struct error *e)
{
    const struct host *h = context;
    uint64_t start = clock_ns();
    (void)e;
    for (size_t i = 0; i < job->nbands; i++)
        gpu_host_smear_sums(job->smear, &job->smear->bands[i], h->threads);
    if (pixels)
        smear_pixels(job, NULL, h->threads);
    if (ms)
        lap(&start, ms);
    return STATUS_OK;
}

static enum status host_shares(void *context, const struct gpu_shares *frame,
                               const struct gpu_shares_batch *all, const struct gpu_pieces *there,
                               struct gpu_pieces_here *here, struct error *e)
{
    const struct host *h = context;
    (void)e;
    for (size_t i = 0; i < all->count; i += GPU_SHARES_BATCH) {
        struct gpu_pieces pieces;
        const struct gpu_shares_batch batch = gpu_shares_cut(all, i, there, &pieces);
        h->shares(frame, &batch, &pieces, h->threads);
    }
    here->used = *there->used;
    here->runs = there->runs;
    here->pack = (struct share_pack){.pieces = there->pieces,
                                     .npieces = here->used.pieces,
                                     .photons = there->photons,
                                     .turn = there->turn,
                                     .count = here->used.photons};
    return STATUS_OK;
}

static const struct gpu_device gpu_device_host = {
    .identity = {"cuda-host-2", "cuda-host-double"},
    .as_cpu = host_as_cpu,
    .part_pixels = 1000,  // small, so that tests compute frames in several parts
    .sum_bytes = 1000,    // small, so that tests have checksums
    .attach = host_attach,
    .detach = host_detach,
    .card = host_its_card,
    .room = host_room,
    .reserve = host_reserve,
    .release = host_release,
    .lend = host_lend,
    .take_back = host_take_back,
    .upload = host_upload,
    .pin = host_pin,
    .unpin = host_unpin,
    .reach = host_reach,
    .run = host_run,
    .settle = host_settle,
    .slopes = host_slopes,
    .slopes_wait = host_slopes_wait,
    .closed = host_closed,
    .smear = host_smear,
    .shares = host_shares,
};

static enum status host_create(struct plan **plan, const struct experiment *experiment,
                               const struct engine_options *options, struct error *e)
{
    return gpu_plan_create(plan, &gpu_device_host, experiment, options, e);
}

struct engine engine_cuda_host;

/* All members but these two are those of the CUDA engine. */
__attribute__((constructor)) static void make_host_engine(void)
{
    engine_cuda_host = engine_cuda;
    engine_cuda_host.name = "cuda-host";
    engine_cuda_host.create = host_create;
}
