/* Frames of a smeared sensor (engine/smear/smear_bands.h).  A second plan computes the thin
 * images, which stay on the GPU.  Kernels add their subpixels to pixels.  What follows the photons
 * is done by the plan of the frame, as if a previous stage had computed them. */
#include <string.h>

#include "engine/derivatives/smear_derive.h"
#include "engine/reference/recipe_check.h"
#include "engine/smear/smear_cells.h"
#include "engine/spots/smear_shares.h"
#include "gpu/plan.h"
#include "model/frame.h"

/* Thin images are computed together if they have at most this number of subpixels, and fit into
 * this part of the free GPU memory. */
static const int64_t AT_ONCE = INT64_C(1) << 28;
enum { PART_OF_MEMORY = 4 };

/* Bands that are computed together. */
struct group {
    struct plan *thin;            // owned
    struct smear_bands *bands;    // owned
    struct gpu_smear_band *here;  // owned: [bands->count]
    struct gpu_smear there;       // with GPU addresses
    struct gpu_smear_job job;     // both of them
    void *memory;                 // GPU memory of its arrays
};

struct gpu_smeared {
    const struct gpu_thin_plans *plans;
    struct engine_options options;
    double by_m[3];  // displacement of the panels for which the groups were made
    bool made;
    size_t count, capacity;
    struct group *groups;   // owned
    float *photons;         // GPU memory: the photons of the frame
    float *sums;            // GPU memory: sums of subpixels
    int64_t nsums;          // number of items of sums[]
    struct group *pending;  // its thin image may not be complete; NULL: all are
    bool begun;             // the thin image of frame `begun_id` was queued before this frame
    uint64_t begun_id;
};

/* ---- groups ---------------------------------------------------------------------------------- */

/* Returns the sums of one phase of a row of a band, see gpu/smear.h. */
static int64_t sums_across(const struct smear_band *b)
{
    return (b->size[0] + b->view.oversample - 1) / b->view.oversample;
}

/* Returns the sums of a band. */
static int64_t sums_of(const struct smear_band *b)
{
    return sums_across(b) * b->view.oversample * b->size[1];
}

static int32_t power_of_two(int node)
{
    int32_t power = 0;
    while (1 << power < node)
        power++;
    return power;
}

/* cell, sums: the numbers of cells and of sums of the bands before. */
static void describe_band(const struct plan *p, const struct smear_band *from, int64_t cell,
                          int64_t sums, struct gpu_smear_band *to)
{
    const struct smear_grid grid = smear_grid_of(from);
    *to = (struct gpu_smear_band){.offset = from->offset,
                                  .cell = cell,
                                  .columns = grid.count[0],
                                  .rows = grid.count[1],
                                  .sums = sums,
                                  .across = sums_across(from),
                                  .oversample = from->view.oversample,
                                  .shift = power_of_two(from->view.node),
                                  .step = 1.0 / from->view.node,
                                  .panel = (int32_t)gpu_panel_rank(p->experiment, from->panel)};
    to->frame_row = p->panels[to->panel].first_row - from->panel->grid_slow;
    const int64_t n = to->oversample, first = grid.origin[0] * n - from->first[0];
    to->pixel_sums = n * n * to->across;
    to->tap_sums = sums - from->first[1] * n * to->across + floor_div(first, n);
    for (int axis = 0; axis < 2; axis++) {
        to->begin[axis] = from->begin[axis];
        to->end[axis] = from->end[axis];
        to->first[axis] = from->first[axis];
        to->size[axis] = from->size[axis];
        to->origin[axis] = grid.origin[axis];
        to->part[axis] = from->view.part[axis];
    }
}

/* Returns the place of a tap, see struct gpu_smear_tap. */
static int32_t place_of(const struct gpu_smear_band *b, const struct smear_tap *tap)
{
    const int64_t n = b->oversample, first = b->origin[0] * n - b->first[0];
    const int64_t zero = floor_div(first, n), column = first - zero * n + tap->fast;
    const int64_t right = floor_div(column, n), phase = column - right * n;
    return (int32_t)((tap->slow * n + phase) * b->across + right);
}

/* Packs the bands and the taps of their cells: cells[] has one item per band. */
static void pack_group(struct gpu_pack *pack, const struct smear_cells *cells, struct group *g)
{
    const struct gpu_smear_band *last = &g->here[g->bands->count - 1];
    const size_t all = (size_t)(last->cell + last->columns * last->rows);
    size_t count = 0;
    void *memory[2];
    for (size_t i = 0; i < g->bands->count; i++)
        count += cells[i].begin[cells[i].grid.count[0] * cells[i].grid.count[1]];
    g->there.bands = gpu_pack_add(pack, g->here, g->bands->count, sizeof *g->here);
    g->there.begin = gpu_pack_room(pack, (all + 1) * sizeof *g->there.begin, &memory[0]);
    g->there.taps = gpu_pack_room(pack, count * sizeof *g->there.taps, &memory[1]);
    uint64_t *begin = memory[0];
    struct gpu_smear_tap *taps = memory[1];
    count = 0;
    for (size_t i = 0; begin && i < g->bands->count; i++) {
        const size_t number = (size_t)(cells[i].grid.count[0] * cells[i].grid.count[1]);
        for (size_t k = 0; k <= number; k++)
            begin[(size_t)g->here[i].cell + k] = count + cells[i].begin[k];
        for (size_t k = 0; k < cells[i].begin[number]; k++) {
            const struct smear_tap *tap = &cells[i].taps[k];
            taps[count + k].at = place_of(&g->here[i], tap);
            memcpy(taps[count + k].weight, tap->weight, sizeof tap->weight);
        }
        count += cells[i].begin[number];
    }
}

/* Lists the taps of all cells, and copies them to the GPU. */
static enum status upload_taps(struct plan *p, struct group *g, struct error *e)
{
    struct smear_cells *cells = mem_array(g->bands->count, sizeof *cells);
    struct gpu_pack pack = {0};
    for (size_t i = 0; i < g->bands->count; i++)
        smear_cells_open(&cells[i], &g->bands->band[i], p->threads);
    pack_group(&pack, cells, g);
    enum status s = gpu_reserve(p, pack.bytes, &g->memory, e);
    if (!s) {
        /* The plan of thin images has no steps after the photons: their block is free. */
        pack = gpu_pack_into(g->thin, BLOCK_AFTER, mem_array(pack.bytes, 1), g->memory);
        pack_group(&pack, cells, g);
        s = gpu_pack_send(g->thin, &pack, e);
        mem_free(pack.to);
    }
    for (size_t i = 0; i < g->bands->count; i++)
        smear_cells_close(&cells[i]);
    mem_free(cells);
    return s;
}

/* Adds a group with these bands, see smear_compute. */
static enum status add_group(void *context, const struct smear_bands *bands, struct error *e)
{
    struct plan *p = context;
    struct gpu_smeared *s = p->smeared;
    s->groups = mem_grow(s->groups, s->count, 1, sizeof *s->groups, &s->capacity);
    struct group *g = &s->groups[s->count++];
    *g = (struct group){.bands = mem_copy(bands, 1, sizeof *bands),
                        .here = mem_array(bands->count, sizeof *g->here)};
    int64_t cell = 0, sums = 0;
    for (size_t i = 0; i < bands->count; i++) {
        describe_band(p, &g->bands->band[i], cell, sums, &g->here[i]);
        cell += g->here[i].columns * g->here[i].rows;
        sums += sums_of(&bands->band[i]);
    }
    s->nsums = larger(s->nsums, sums);
    const struct experiment thin = smear_bands_thin(g->bands, p->experiment);
    const enum status status = s->plans->create(&g->thin, p->device, &thin, &s->options, e);
    return status ? status : upload_taps(p, g, e);
}

/* Returns when a thin image that was begun early is complete.  It is not used. */
static void forget_begun(struct plan *p)
{
    struct gpu_smeared *s = p->smeared;
    struct gpu_verdict unused;
    struct error e;
    if (s->begun)
        (void)p->device->settle(s->groups[0].thin->context, &unused, &e);
    s->begun = false;
}

static void drop_groups(struct plan *p)
{
    struct gpu_smeared *s = p->smeared;
    forget_begun(p);
    for (size_t i = 0; i < s->count; i++) {
        struct group *g = &s->groups[i];
        p->device->release(p->context, g->memory);
        s->plans->destroy(&g->thin);
        mem_free(g->bands);
        mem_free(g->here);
    }
    mem_free(s->groups);
    p->device->release(p->context, s->sums);
    s->groups = NULL;
    s->sums = NULL;
    s->count = s->capacity = 0;
    s->nsums = 0;
    s->made = false;
}

/* Makes the groups for the present place of the panels, if they are not made. */
static enum status make_groups(struct plan *p, struct error *e)
{
    struct gpu_smeared *s = p->smeared;
    size_t room;
    if (s->made && memcmp(s->by_m, p->moved.by_m, sizeof s->by_m) == 0)
        return STATUS_OK;
    drop_groups(p);
    memcpy(s->by_m, p->moved.by_m, sizeof s->by_m);
    enum status status = p->device->room(p->context, &room, e);
    if (status)
        return status;
    struct smear_bands *bands = mem_array(1, sizeof *bands);
    /* a thin image and its sums */
    bands->at_once =
        larger(1, smaller(AT_ONCE, (int64_t)(room / PART_OF_MEMORY / (2 * sizeof(float)))));
    status = smear_bands_each(bands, p->experiment, add_group, p, e);
    mem_free(bands);
    void *sums = NULL;
    if (!status && s->count)
        status = gpu_reserve(p, (size_t)s->nsums * sizeof *s->sums, &sums, e);
    s->sums = sums;
    s->made = !status;
    return status;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Refuses a thin image with photons that are not finite. */
static enum status refuse(const struct plan *p, const struct group *g, const struct recipe *r,
                          struct error *e)
{
    const size_t bytes = (size_t)g->bands->subpixels * sizeof(float);
    const struct card *card = p->device->card(p->context);
    float *thin = mem_array(bytes, 1);
    enum status s = card->fetch(card, thin, g->thin->out[OUT_PHOTONS], bytes, e);
    if (!s)
        s = smear_bands_refuse(g->bands, p->experiment, r, thin, STATUS_INPUT, e);
    mem_free(thin);
    return s;
}

static void add_times(struct gpu_times *to, const struct gpu_times *from, double smear_ms)
{
    to->upload += from->upload;
    to->kernels += from->kernels + smear_ms;
    to->photons += from->photons + smear_ms;
}

/* Computes the thin image of a group, if it was not begun early. */
static enum status make_thin(struct plan *p, struct group *g, const struct gpu_task *t,
                             struct error *e)
{
    struct gpu_smeared *s = p->smeared;
    if (s->begun && s->begun_id == t->recipe->id) {
        s->begun = false;
        return STATUS_OK;
    }
    forget_begun(p);
    g->thin->timed = p->timed;
    g->thin->apart_times = p->apart_times;
    return s->plans->perform(g->thin, t, e);
}

/* Computes the sums of a group and, if there are several groups, its pixels.  If there is only one,
 * its pixels are computed in parts, so that a part is copied while the next one is computed. */
static enum status run_group(struct plan *p, struct group *g, const struct recipe *r,
                             struct error *e)
{
    struct gpu_smeared *s = p->smeared;
    const bool several = s->count > 1;  // the next group may get the same memory
    const struct gpu_task task = {.recipe = r, .later = !p->timed && !several};
    double ms = 0.0;
    enum status status = gpu_open_out(g->thin, e);
    if (!status && g->thin->out_rows < g->thin->rows)
        status = error_set(e, STATUS_FAILED,
                           "the GPU has too little memory for a thin image of %lld subpixels. Give "
                           "--engine=cpu",
                           (long long)g->bands->subpixels);
    if (status)
        return status;
    status = make_thin(p, g, &task, e);
    if (status == STATUS_INPUT)
        return refuse(p, g, r, e);
    g->there.panels = p->frame.panels;
    g->there.thin = g->thin->out[OUT_PHOTONS];
    g->there.sums = s->sums;
    g->there.photons = s->photons;
    g->job = (struct gpu_smear_job){&g->there, g->bands->count, g->here, g->thin->context};
    s->pending = task.later && !status ? g : NULL;
    if (!status)
        status =
            p->device->smear(p->context, &g->job, several, p->timed || several ? &ms : NULL, e);
    add_times(&p->times, &g->thin->times, ms);
    if (several)
        gpu_drop_out(g->thin);
    return status;
}

enum status gpu_smear_run(struct plan *p, struct gpu_task *t, struct error *e)
{
    struct gpu_smeared *s = p->smeared;
    enum status status = make_groups(p, e);
    for (size_t i = 0; i < s->count && !status; i++)
        status = run_group(p, &s->groups[i], t->recipe, e);
    t->photons = (struct gpu_image){.there = (char *)s->photons};
    t->smear = s->count == 1 ? &s->groups[0].job : NULL;
    return status;
}

/* Returns true if the frame of a recipe needs the groups of the current frame, and nothing else. */
static bool has_same_groups(const struct plan *p, const struct recipe *r)
{
    static const double nowhere[3];
    const struct gpu_smeared *s = p->smeared;
    struct error e;
    bool smears;
    return s->count == 1 && !s->groups[0].thin->closed && !p->timed &&
           memcmp(s->by_m, r->has_shift ? r->shift_m : nowhere, sizeof s->by_m) == 0 &&
           smear_frame_smears(p->experiment, r, &smears, &e) == STATUS_OK && smears;
}

void gpu_smear_begin_next(struct plan *p)
{
    struct gpu_smeared *s = p->smeared;
    const struct gpu_task task = {.recipe = p->next, .later = true, .behind = p->context};
    struct gpu_verdict v = {GPU_GOOD, 0, 0, 0};
    struct error e;
    p->next = NULL;
    if (!s->pending || !has_same_groups(p, task.recipe))
        return;
    /* The memory of the thin image and of its recipe is used again. */
    struct plan *thin = s->pending->thin;
    if (p->device->settle(thin->context, &v, &e) || v.bad != GPU_GOOD)
        return;
    s->pending = NULL;
    s->begun = s->plans->perform(thin, &task, &e) == STATUS_OK;
    s->begun_id = task.recipe->id;
    p->counts.begun_early += s->begun;
}

enum status gpu_smear_settle(struct plan *p, const struct recipe *r, struct error *e)
{
    struct gpu_smeared *s = p->smeared;
    struct group *g = s->pending;
    struct gpu_verdict v = {GPU_GOOD, 0, 0, 0};
    s->pending = NULL;
    enum status status = g ? p->device->settle(g->thin->context, &v, e) : STATUS_OK;
    return status || v.bad == GPU_GOOD ? status : refuse(p, g, r, e);
}

/* ---- derivatives and reflections ------------------------------------------------------------- */

/* Derives a thin image, see engine/derivatives/smear_derive.h. */
static enum status derive_thin(void *engine, const struct experiment *thin, const struct recipe *r,
                               const struct derive_request *request, struct error *e)
{
    const struct plan *p = engine;
    struct plan *other;
    enum status status =
        p->smeared->plans->create(&other, p->device, thin, &p->smeared->options, e);
    if (!status)
        status = p->smeared->plans->derive(other, r, request, e);
    p->smeared->plans->destroy(&other);
    return status;
}

enum status gpu_smear_derive(struct plan *p, const struct recipe *recipe,
                             const struct derive_request *request, struct error *e)
{
    return smear_derive(p->experiment, p->footprint, p->threads, recipe, derive_thin, p, request,
                        e);
}

/* Lists the shares of a thin image, see engine/spots/smear_shares.h. */
static enum status share_thin(void *engine, const struct experiment *thin, const struct recipe *r,
                              struct share_list *lists, struct error *e)
{
    const struct plan *p = engine;
    float *photons = mem_array((size_t)experiment_pixels(thin), sizeof *photons);
    const struct gpu_task task = {.recipe = r, .to.here = (char *)photons};
    struct plan *other;
    enum status status =
        p->smeared->plans->create(&other, p->device, thin, &p->smeared->options, e);
    if (!status)
        status = p->smeared->plans->perform(other, &task, e);
    if (!status)
        status = p->smeared->plans->share(other, r, photons, lists, e);
    p->smeared->plans->destroy(&other);
    mem_free(photons);
    return status;
}

enum status gpu_smear_reflections(struct plan *p, const struct recipe *recipe, const float *pixels,
                                  const struct reflections_wanted *wanted,
                                  struct reflection_table *table, struct error *e)
{
    return smear_reflections(p->experiment, p->footprint, p->threads, recipe, share_thin, p, pixels,
                             wanted, table, e);
}

enum status gpu_smear_open(struct plan *p, const struct engine_options *options,
                           const struct gpu_thin_plans *plans, struct error *e)
{
    const size_t bytes = (size_t)experiment_pixels(p->experiment) * sizeof(float);
    void *there;
    if (!p->experiment->sampling.smears)
        return STATUS_OK;
    enum status status = smear_bands_check(p->experiment, e);
    if (status)
        return status;
    p->smeared = mem_array(1, sizeof *p->smeared);
    p->smeared->options = *options;
    p->smeared->plans = plans;
    status = p->device->reserve(p->context, bytes, &there, e);
    p->smeared->photons = there;
    if (status)
        return status;
    /* pixels outside the region of interest stay 0 */
    float *zeros = mem_array(bytes, 1);
    status = gpu_upload(p, there, zeros, bytes, e);
    mem_free(zeros);
    return status;
}

void gpu_smear_close(struct plan *p)
{
    if (!p->smeared)
        return;
    drop_groups(p);
    p->device->release(p->context, p->smeared->photons);
    mem_free(p->smeared);
    p->smeared = NULL;
}
