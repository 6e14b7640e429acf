/* Reflections: pixels that are not dark go to the card by their numbers, many at a time, and what
 * each reflection gives to them comes back; the host makes the table of it.  Pixels with more
 * reflections than the card has places for are computed here. */
#include "gpu/reflections.h"

#include "engine/closed.h"
#include "engine/cpu_dense_shares.h"
#include "engine/cpu_point.h"
#include "engine/cpu_shares.h"
#include "gpu/apart.h"
#include "gpu/layout.h"

enum { SHARES_BATCH = 1 << 16 };  // pixels at a time: 17 MB

/* What the card has of a frame, and what it has told. */
struct sharing {
    struct plan *plan;
    const struct cpu_job *job;
    struct gpu_shares frame;
    struct cpu_shares *room;  // of pixels that are computed here
    struct share_list list;   // owned
    int64_t *numbers;         // owned: pixels at hand ...
    size_t count;             // ... and how many they are
};

static const struct gpu_turning *pack_turning(struct gpu_pack *pack, const struct recipe *r)
{
    void *memory;
    const struct gpu_turning *there = gpu_pack_room(pack, r->nlattices * sizeof *there, &memory);
    struct gpu_turning *here = memory;
    for (size_t i = 0; i < r->nlattices; i++) {
        const struct lattice *l = &r->lattices[i];
        const double *phi_rad = lattice_turns(r, i) ? l->phi_rad : NULL;
        const struct gpu_turning turning = {gpu_pack_add(pack, phi_rad, l->nphi, sizeof *phi_rad),
                                            l->ndomains};
        if (here)
            here[i] = turning;
    }
    return there;
}

static void pack_frame(const struct sharing *s, struct gpu_pack *pack, struct gpu_shares *frame)
{
    const struct plan *p = s->plan;
    *frame = (struct gpu_shares){.frame = p->frame, .least_photons = CPU_SHARES_LEAST_PHOTONS};
    gpu_pack_recipe(pack, s->job, p->tables, p->on_card, &frame->frame);
    frame->turning = pack_turning(pack, s->job->recipe);
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

/* Appends the shares of a pixel, `stride` apart. */
static bool take(struct sharing *s, int64_t pixel, const struct gpu_share *from, size_t stride,
                 int32_t found)
{
    bool good = true;
    if (found > GPU_SHARES)
        return cpu_shares_of_pixel(s->job, pixel, s->room, &s->list);
    for (int32_t i = 0; i < found && good; i++, from += stride) {
        struct share share = {
            .lattice = from->lattice, .pixel = pixel, .photons = from->photons, .turn = from->turn};
        hkl_of_key(from->key, share.hkl);
        good = !(share.photons > 0.0) || share_add(&s->list, &share);
    }
    return good;
}

/* Has the card compute the pixels at hand. */
static enum status flush(struct sharing *s, struct error *e)
{
    struct plan *p = s->plan;
    const size_t n = s->count;
    const struct gpu_share *shares;
    const int32_t *found;
    if (n == 0)
        return STATUS_OK;
    enum status status = gpu_open_batch(p, BATCH_NUMBERS, n * sizeof *s->numbers, e);
    if (!status)
        status = gpu_open_batch(p, BATCH_VALUES, n * GPU_SHARES * sizeof *shares, e);
    if (!status)
        status = gpu_open_batch(p, BATCH_FOUND, n * sizeof *found, e);
    if (!status)
        status = gpu_upload(p, p->batch[BATCH_NUMBERS], s->numbers, n * sizeof *s->numbers, e);
    const struct gpu_shares_batch b = {p->batch[BATCH_NUMBERS], n, p->batch[BATCH_VALUES],
                                       p->batch[BATCH_FOUND]};
    if (!status)
        status = p->device->shares(p->context, &s->frame, &b, &shares, &found, e);
    for (size_t i = 0; i < n && !status; i++)
        if (!take(s, s->numbers[i], shares + i, n, found[i]))
            status = error_memory(e, "the reflections");
    s->count = 0;
    return status;
}

/* All pixels that are not dark; `photons` are those of the image, as of points. */
static enum status share_frame(struct sharing *s, const float *photons, struct error *e)
{
    const int64_t pixels = experiment_pixels(s->job->x);
    enum status status = STATUS_OK;
    for (int64_t i = 0; i < pixels && !status; i++) {
        if (!((double)photons[i] > CPU_SHARES_LEAST_PHOTONS))
            continue;
        s->numbers[s->count++] = i;
        if (s->count == SHARES_BATCH)
            status = flush(s, e);
    }
    return status ? status : flush(s, e);
}

enum status gpu_reflections(struct plan *p, const struct recipe *recipe, const float *pixels,
                            const struct reflections_wanted *wanted, struct reflection_table *table,
                            struct error *e)
{
    const struct experiment *x = moved_to(&p->moved, recipe);
    const bool spread = p->footprint && p->footprint->is_seen;
    if (p->closed)
        return closed_reflections(closed_kernels_choose(NULL, NULL), x, p->footprint, p->threads,
                                  recipe, pixels, wanted, table, e);
    struct cpu_job job;
    struct sharing s = {.plan = p, .job = &job};
    enum status status = cpu_job_open(&job, x, p->tables, recipe, e);
    s.numbers = mem_array(SHARES_BATCH, sizeof *s.numbers);
    s.room = mem_array(1, sizeof *s.room);
    if (!status && !(s.numbers && s.room))
        status = error_memory(e, "the reflections");
    if (!status)
        status = upload(&s, e);
    if (!status)
        status = share_frame(&s, spread ? p->footprint->photons : pixels, e);
    const struct shares shares = {.x = x,
                                  .recipe = recipe,
                                  .footprint = spread ? p->footprint : NULL,
                                  .pixels = pixels,
                                  .lists = &s.list,
                                  .nlists = 1};
    if (!status)
        status = shares_table(&shares, wanted, table, e);
    mem_free(s.list.items);
    mem_free(s.numbers);
    if (s.room)
        mem_free(s.room->away);
    mem_free(s.room);
    cpu_job_close(&job);
    return status;
}
