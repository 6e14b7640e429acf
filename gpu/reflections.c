/*
 * The table of reflections.  The host sends the numbers of all pixels that are not dark to the GPU.
 * The GPU returns the photons that each reflection adds to them, in pieces, from which the host
 * makes the table.
 *
 * The CPU engine computes the table of a frame in two cases: a pixel has more than GPU_SHARES
 * reflections, or there are too many reflections or pixels to number them.
 */
#include "gpu/plan.h"

#include "engine/closed/closed.h"
#include "engine/dense/dense.h"
#include "engine/smear/smear_bands.h"
#include "engine/spots/cpu_shares.h"
#include "gpu/kernel.h"

enum { LISTED = 1 << 14 };  // pixels of the image that one thread examines at a time

/* The data of a frame whose reflections are computed, and the results that the GPU returned. */
struct sharing {
    struct plan *plan;
    const struct cpu_job *job;
    const float *photons;  // photons of the image, before a footprint is applied
    int32_t (*reach)[3];   // owned: largest |h|, |k|, |l| of each lattice
    uint32_t *begin;       // owned: the first key of each lattice
    bool turns;            // the crystal rotates: angles are recorded
    bool beyond;           // the GPU cannot compute this frame
    struct gpu_shares frame;
    struct gpu_pieces_here here;
};

/* ---- keys --------------------------------------------------------------------------- */

static void open_keys(struct sharing *s)
{
    const struct cpu_job *job = s->job;
    double items = 0.0;
    s->reach = mem_array(job->nlattices, sizeof *s->reach);
    s->begin = mem_array(job->nlattices, sizeof *s->begin);
    cpu_dense_reach(job, s->reach);
    for (size_t i = 0; i < job->nlattices; i++) {
        s->begin[i] = items < DENSE_FREE ? (uint32_t)items : 0;
        items += dense_box_items(s->reach[i]);
        s->turns = s->turns || lattice_turns(job->recipe, i);
    }
    s->beyond = !(items < DENSE_FREE) || experiment_pixels(job->x) >= (int64_t)UINT32_MAX;
}

/* Callback `name` of struct shares: sets the lattice and the indices of a key. */
static void name(const void *context, uint32_t key, int32_t *lattice, int32_t hkl[3])
{
    const struct sharing *s = context;
    size_t at = s->job->nlattices - 1;
    while (s->begin[at] > key)
        at--;
    *lattice = (int32_t)at;
    dense_box_indices(s->reach[at], key - s->begin[at], hkl);
}

static struct gpu_keys keys_of(const struct sharing *s, size_t i)
{
    const int32_t *reach = s->reach[i];
    const uint32_t n = 2 * (uint32_t)reach[2] + 1;
    struct gpu_keys k = {.ndomains = s->job->recipe->lattices[i].ndomains,
                         .stride = {n * (2 * (uint32_t)reach[1] + 1), n}};
    k.zero = s->begin[i] + (uint32_t)reach[0] * k.stride[0] + (uint32_t)reach[1] * k.stride[1] +
             (uint32_t)reach[2];
    return k;
}

/* ---- the data that the GPU gets ----------------------------------------------------- */

static const struct gpu_keys *pack_keys(struct gpu_pack *pack, const struct sharing *s)
{
    void *memory;
    const struct recipe *r = s->job->recipe;
    const struct gpu_keys *there = gpu_pack_room(pack, r->nlattices * sizeof *there, &memory);
    struct gpu_keys *here = memory;
    for (size_t i = 0; i < r->nlattices; i++) {
        const struct lattice *l = &r->lattices[i];
        struct gpu_keys keys = keys_of(s, i);
        if (lattice_turns(r, i))
            keys.phi_rad = gpu_pack_add(pack, l->phi_rad, l->nphi, sizeof *l->phi_rad);
        if (here)
            here[i] = keys;
    }
    return there;
}

static void pack_frame(const struct sharing *s, struct gpu_pack *pack, struct gpu_shares *frame)
{
    const struct plan *p = s->plan;
    *frame = (struct gpu_shares){.frame = p->frame, .least_photons = CPU_SHARES_LEAST_PHOTONS};
    gpu_pack_recipe(pack, s->job, p->tables, p->on_card, &frame->frame);
    frame->keys = pack_keys(pack, s);
}

static enum status upload(struct sharing *s, struct error *e)
{
    struct plan *p = s->plan;
    struct gpu_pack pack = {0};
    pack_frame(s, &pack, &s->frame);
    enum status status = gpu_move_panels(p, e);
    if (!status)
        status = gpu_grow_recipe(p, pack.bytes, e);
    if (status)
        return status;
    pack = gpu_pack_into(p, BLOCK_RECIPE, p->packed, p->recipe);
    pack_frame(s, &pack, &s->frame);
    return gpu_pack_send(p, &pack, e);
}

static size_t count_lit(const float *photons, int64_t begin, int64_t end)
{
    size_t count = 0;
    for (int64_t i = begin; i < end; i++)
        count += (double)photons[i] > CPU_SHARES_LEAST_PHOTONS;
    return count;
}

/* Stores the numbers of the pixels that are not dark in p->listed, and sets *count to their
 * number. */
static void list_pixels(const struct sharing *s, size_t *count)
{
    const struct plan *p = s->plan;
    const float *photons = s->photons;
    const int64_t pixels = experiment_pixels(s->job->x), blocks = (pixels + LISTED - 1) / LISTED;
    size_t *first = mem_array((size_t)blocks + 1, sizeof *first);
#pragma omp parallel for num_threads(p->threads)
    for (int64_t k = 0; k < blocks; k++)
        first[k + 1] = count_lit(photons, k * LISTED, k + 1 < blocks ? (k + 1) * LISTED : pixels);
    for (int64_t k = 0; k < blocks; k++)
        first[k + 1] += first[k];
#pragma omp parallel for num_threads(p->threads)
    for (int64_t k = 0; k < blocks; k++) {
        uint32_t *to = p->listed + first[k];
        const uint32_t *end = p->listed + first[k + 1];
        for (int64_t i = k * LISTED; to < end; i++)
            if ((double)photons[i] > CPU_SHARES_LEAST_PHOTONS)
                *to++ = (uint32_t)i;
    }
    *count = first[blocks];
    mem_free(first);
}

static enum status upload_numbers(const struct sharing *s, struct gpu_shares_batch *all,
                                  struct error *e)
{
    struct plan *p = s->plan;
    const size_t most = (size_t)experiment_pixels(s->job->x) * sizeof *p->listed;
    void *listed = p->listed;
    enum status status = listed ? STATUS_OK : p->device->lend(p->context, most, &listed, e);
    p->listed = listed;
    if (!status)
        list_pixels(s, &all->count);
    const size_t bytes = all->count * sizeof *p->listed;
    if (!status)
        status = gpu_open_batch(p, BATCH_NUMBERS, bytes, e);
    if (!status && bytes)
        status = gpu_upload(p, p->batch[BATCH_NUMBERS], p->listed, bytes, e);
    return status;
}

/* ---- the results of the GPU --------------------------------------------------------- */

/* Allocates GPU memory: for the shares of a batch, in *all; for the runs of all pixels and at least
 * `need` pieces, in *there. */
static enum status open_rooms(const struct sharing *s, const struct gpu_pieces_used *need,
                              struct gpu_shares_batch *all, struct gpu_pieces *there,
                              struct error *e)
{
    struct plan *p = s->plan;
    const size_t batch = all->count < GPU_SHARES_BATCH ? all->count : GPU_SHARES_BATCH;
    const size_t runs = (all->count + GPU_SHARES_RUN - 1) / GPU_SHARES_RUN;
    const struct {
        enum gpu_batch which;
        size_t bytes;
    } rooms[] = {
        {BATCH_VALUES, batch * GPU_SHARES * sizeof *all->shares},
        {BATCH_FOUND, batch * sizeof *all->found},
        {BATCH_RUNS, runs * sizeof *there->runs},
        {BATCH_PIECES, need->pieces * sizeof *there->pieces},
        {BATCH_PHOTONS, need->photons * sizeof *there->photons},
        {BATCH_TURN, s->turns ? need->photons * sizeof *there->turn : 0},
        {BATCH_USED, sizeof *there->used},
    };
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms && !status; i++)
        status = gpu_open_batch(p, rooms[i].which, rooms[i].bytes, e);
    const size_t most = p->batch_bytes[BATCH_PHOTONS], most_turn = p->batch_bytes[BATCH_TURN];
    all->numbers = p->batch[BATCH_NUMBERS];
    all->shares = p->batch[BATCH_VALUES];
    all->found = p->batch[BATCH_FOUND];
    *there = (struct gpu_pieces){
        .runs = p->batch[BATCH_RUNS],
        .pack = &s->here.pack,
        .pieces = p->batch[BATCH_PIECES],
        .photons = p->batch[BATCH_PHOTONS],
        .turn = s->turns ? p->batch[BATCH_TURN] : NULL,
        .most_pieces = p->batch_bytes[BATCH_PIECES] / sizeof *there->pieces,
        .most = (s->turns && most_turn < most ? most_turn : most) / sizeof *there->photons,
        .used = p->batch[BATCH_USED]};
    return status;
}

/* Computes the shares of all pixels that are not dark.  The GPU counts the pieces.  If its memory
 * was too small for them, this allocates more, with a reserve for the next frame, and computes the
 * shares again. */
static enum status share_pixels(struct sharing *s, struct gpu_shares_batch *all, struct error *e)
{
    struct plan *p = s->plan;
    const struct gpu_pieces_used none = {0};
    struct gpu_pieces_used need = {all->count / 2, 2 * all->count, 0};
    struct gpu_pieces there = {0};
    enum status status;
    do {
        status = open_rooms(s, &need, all, &there, e);
        if (!status)
            status = gpu_upload(p, there.used, &none, sizeof none, e);
        if (!status)
            status = p->device->shares(p->context, &s->frame, all, &there, &s->here, e);
        s->beyond = s->here.used.beyond;
        need.pieces = s->here.used.pieces + s->here.used.pieces / 8;
        need.photons = s->here.used.photons + s->here.used.photons / 8;
    } while (!status && !s->beyond && !gpu_pieces_fit(&there, &s->here.used));
    return status;
}

/* Computes the shares of the frame.  *nruns becomes the number of runs in s->here. */
static enum status compute_shares(struct sharing *s, size_t *nruns, struct error *e)
{
    struct gpu_shares_batch all = {0};
    enum status status = upload(s, e);
    if (!status)
        status = upload_numbers(s, &all, e);
    if (!status)
        status = share_pixels(s, &all, e);
    *nruns = (all.count + GPU_SHARES_RUN - 1) / GPU_SHARES_RUN;
    return status;
}

static enum status share_frame(struct sharing *s, const struct reflections_wanted *wanted,
                               const float *pixels, struct reflection_table *table, struct error *e)
{
    struct plan *p = s->plan;
    const bool spread = s->photons != pixels;
    size_t nruns;
    const enum status status = compute_shares(s, &nruns, e);
    if (status || s->beyond)
        return status;
    const struct shares shares = {.x = s->job->x,
                                  .recipe = s->job->recipe,
                                  .footprint = spread ? p->footprint : NULL,
                                  .pixels = pixels,
                                  .runs = s->here.runs,
                                  .nruns = nruns,
                                  .name = name,
                                  .context = s,
                                  .turns = s->turns,
                                  .threads = p->threads,
                                  .room = &p->sorting};
    shares_table(&shares, wanted, table);
    return STATUS_OK;
}

/* ---- thin images of a smeared sensor ------------------------------------------------ */

/* Appends the shares of a run to the lists of the rows of *x, of which panels and rows are in the
 * order of the pixels. */
static void list_run(const struct sharing *s, const struct share_run *run, struct share_list *lists)
{
    const struct share_pack *pack = run->pack;
    const struct panel *p = s->job->x->panels;
    size_t at = run->first;
    for (size_t k = run->begin; k < run->end; k++) {
        const struct share_piece *piece = &pack->pieces[k];
        struct share share;
        name(s, piece->key, &share.lattice, share.hkl);
        for (uint32_t i = 0; i < piece->count; i++, at++) {
            share.pixel = (int64_t)piece->pixel + i;
            while (share.pixel >= p->first_pixel + p->fast_pixels * p->slow_pixels)
                lists += p++->slow_pixels;
            while (share.pixel < p->first_pixel)
                lists -= (--p)->slow_pixels;
            share.photons = (double)pack->photons[at];
            share.turn = s->turns ? (double)pack->turn[at] : 0.0;
            share_add(&lists[(share.pixel - p->first_pixel) / p->fast_pixels], &share);
        }
    }
}

enum status gpu_share_thin(struct plan *p, const struct recipe *recipe, const float *photons,
                           struct share_list *lists, struct error *e)
{
    const struct experiment *x = p->experiment;
    struct cpu_job job;
    struct sharing s = {.plan = p, .job = &job, .photons = photons};
    size_t nruns = 0;
    if (p->closed)
        return closed_shares(closed_kernels_choose(NULL, NULL), x, p->threads, recipe, lists, e);
    enum status status = cpu_job_open(&job, x, p->tables, recipe, e);
    if (!status)
        open_keys(&s);
    if (!status && !s.beyond)
        status = compute_shares(&s, &nruns, e);
    if (!status && s.beyond)
        status = cpu_share_rows(x, p->tables, NULL, p->threads, recipe, photons, lists, e);
    else
        for (size_t i = 0; i < nruns && !status; i++)
            if (s.here.runs[i].pack)
                list_run(&s, &s.here.runs[i], lists);
    mem_free(s.reach);
    mem_free(s.begin);
    cpu_job_close(&job);
    return status;
}

enum status gpu_reflections(struct plan *p, const struct recipe *recipe, const float *pixels,
                            const struct reflections_wanted *wanted, struct reflection_table *table,
                            struct error *e)
{
    const struct experiment *x = moved_to(&p->moved, recipe);
    const bool spread = p->footprint && p->footprint->is_seen;
    bool smears;
    if (smear_frame_smears(x, recipe, &smears, e))
        return STATUS_INPUT;
    if (smears)
        return gpu_smear_reflections(p, recipe, pixels, wanted, table, e);
    if (p->closed)
        return closed_reflections(closed_kernels_choose(NULL, NULL), x, p->footprint, p->threads,
                                  recipe, pixels, wanted, table, e);
    struct cpu_job job;
    struct sharing s = {.plan = p, .job = &job, .photons = spread ? p->footprint->photons : pixels};
    enum status status = cpu_job_open(&job, x, p->tables, recipe, e);
    if (!status)
        open_keys(&s);
    if (!status && !s.beyond)
        status = share_frame(&s, wanted, pixels, table, e);
    if (!status && s.beyond)
        status = cpu_reflections(x, p->tables, p->footprint, NULL, p->threads, recipe, pixels,
                                 wanted, table, e);
    mem_free(s.reach);
    mem_free(s.begin);
    cpu_job_close(&job);
    return status;
}
