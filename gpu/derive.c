/*
 * Derivatives: the GPU computes batches of many pixels, while the host processes the results of
 * the previous batch. The results are derivative images, if nothing else is requested. Otherwise
 * they are numbers in double precision, which the host adds up.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/closed/closed.h"
#include "engine/derivatives/cpu_slopes.h"
#include "engine/derivatives/slopes.h"
#include "engine/smear/smear_bands.h"
#include "gpu/frame.h"
#include "gpu/kernel.h"
#include "gpu/plan.h"

/* ---- what a frame needs, packed for upload, see gpu/plan.h ------------------------------ */

/* Packs the moves of the panels, with the panels in the order of their pixels. */
static const struct panel_move *pack_moves(struct gpu_pack *pack, const struct slopes_frame *slopes)
{
    const struct experiment *x = slopes->x;
    const size_t count = slopes->set->count;
    void *memory;
    const struct panel_move *there =
        gpu_pack_room(pack, x->npanels * count * sizeof *slopes->moves, &memory);
    struct panel_move *here = memory;
    for (size_t i = 0; here && i < x->npanels; i++)
        memcpy(here + gpu_panel_rank(x, &x->panels[i]) * count, slopes->moves + i * count,
               count * sizeof *here);
    return there;
}

static const struct gpu_slope *pack_set(struct gpu_pack *pack, const struct parameters *set)
{
    void *memory;
    const struct gpu_slope *there = gpu_pack_room(pack, set->count * sizeof *there, &memory);
    struct gpu_slope *here = memory;
    for (size_t k = 0; here && k < set->count; k++) {
        const struct parameter *p = &set->items[k];
        here[k] = (struct gpu_slope){p->kind, p->axis, p->index, p->unit_SI};
    }
    return there;
}

static const struct gpu_slopes_source *pack_sources(struct gpu_pack *pack,
                                                    const struct slopes_frame *slopes)
{
    const struct recipe *r = slopes->recipe;
    const struct source *sources = r->nsources ? r->sources : slopes->x->beam.sources;
    const size_t count = slopes->set->count;
    void *memory;
    const struct gpu_slopes_source *there =
        gpu_pack_room(pack, slopes->nsources * sizeof *there, &memory);
    struct gpu_slopes_source *here = memory;
    for (size_t i = 0; i < slopes->nsources; i++) {
        const struct slopes_source *from = &slopes->sources[i];
        const struct gpu_slopes_source s = {
            sources[i].wavelength_m, gpu_pack_add(pack, from->ln_wave, count, sizeof(double)),
            gpu_pack_add(pack, from->turned, count, 3 * sizeof(double))};
        if (here)
            here[i] = s;
    }
    return there;
}

/* Packs all steps of lattice number `index`. */
static const struct slopes_step *pack_steps(struct gpu_pack *pack, const struct cpu_job *job,
                                            const struct slopes_frame *slopes, size_t index)
{
    const struct cpu_lattice *from = &job->lattices[index];
    const size_t domains = slopes->recipe->lattices[index].ndomains;
    void *memory;
    const struct slopes_step *there = gpu_pack_room(pack, from->nsteps * sizeof *there, &memory);
    struct slopes_step *here = memory;
    for (size_t i = 0; here && i < from->nsteps; i++)
        slopes_step(slopes, index, i / domains, i % domains, from->cells + 9 * i, &here[i]);
    return there;
}

static struct gpu_slopes_lattice pack_lattice(struct gpu_pack *pack, const struct cpu_job *job,
                                              const struct slopes_frame *slopes, size_t index)
{
    const struct cpu_lattice *from = &job->lattices[index];
    const struct beam *beam = &job->x->beam;
    const struct sampling *each = &job->x->sampling;
    const double samples = (double)job->nsources * each->oversample * each->oversample;
    struct gpu_slopes_lattice l = {
        .shape = from->shape,
        .fudge = from->crystal->fudge,
        .nsteps = from->nsteps,
        .steps = pack_steps(pack, job, slopes, index),
        .cell = gpu_pack_add(pack, slopes->lattices[index].cell, slopes->set->count,
                             9 * sizeof(double)),
        .scale = ELECTRON_RADIUS_SQR_M2 * beam->fluence_ph_m2 / samples * from->table->F_max *
                 from->table->F_max / (double)from->nsteps,
        .weight = slopes->recipe->lattices[index].weight,
    };
    vec_copy(l.N, from->crystal->cells);
    return l;
}

static void pack_lattices(struct gpu_pack *pack, const struct cpu_job *job,
                          const struct slopes_frame *slopes, const struct cpu_table *tables,
                          const struct cpu_table *on_card, struct gpu_slopes *to)
{
    const size_t count = job->nlattices;
    void *memory;
    double *none = mem_array(slopes->set->count + 1, 9 * sizeof *none);
    to->nlattices = count + (job->water > 0.0);
    to->lattices = gpu_pack_room(pack, (count + 1) * sizeof *to->lattices, &memory);
    struct gpu_slopes_lattice *here = memory;
    for (size_t i = 0; i <= count; i++) {
        struct gpu_slopes_lattice l = {.scale = 1.0, .weight = 1.0, .value = job->water};
        if (i < count)
            l = pack_lattice(pack, job, slopes, i);
        else
            l.cell = gpu_pack_add(pack, none, slopes->set->count, 9 * sizeof *none);
        l.table = on_card + (i < count ? job->lattices[i].table - tables : 0);
        if (here)
            here[i] = l;
    }
    mem_free(none);
}

/* Packs the data for derivatives of an open job, and sets *to to them. *frame has the data of
 * the experiment. The tables are at `tables` in host memory and at `on_card` on the GPU.
 */
static void gpu_pack_slopes(struct gpu_pack *pack, const struct cpu_job *job,
                            const struct slopes_frame *slopes, const struct cpu_table *tables,
                            const struct cpu_table *on_card, const struct gpu_frame *frame,
                            struct gpu_slopes *to)
{
    *to = (struct gpu_slopes){.frame = *frame, .count = slopes->set->count};
    vec_copy(to->axis, job->x->beam.polarization);
    to->frame.nsources = job->nsources;
    to->frame.absorbs = job->absorbs;
    to->frame.sources = gpu_pack_add(pack, job->sources, job->nsources, sizeof *job->sources);
    to->set = pack_set(pack, slopes->set);
    to->moves = pack_moves(pack, slopes);
    to->sources = pack_sources(pack, slopes);
    pack_lattices(pack, job, slopes, tables, on_card, to);
}

/* ---- batches of pixels ------------------------------------------------------------------ */

/* Returns an error if the kernel cannot compute derivatives for this experiment. */
static enum status refuse_experiment(const struct experiment *x, enum engine_precision precision,
                                     struct error *e)
{
    if (closed_wanted(x))
        return error_set(e, STATUS_INPUT,
                         "the cuda engine has no derivatives with --mosaic-model=gauss. Use "
                         "--engine=cpu");
    if (cpu_slopes_can(x, precision))
        return STATUS_OK;
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].interpolate)
            return error_set(e, STATUS_INPUT,
                             "the cuda engine has no derivatives of interpolated structure "
                             "factors: take --engine=cpu");
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT,
                             "the cuda engine has no derivatives for a curved detector: take "
                             "--engine=cpu");
    return error_set(e, STATUS_INPUT,
                     "--engine=cuda: derivatives of crystals of more than %d cells along an axis "
                     "need --precision=double",
                     SLOPES_CELLS_MAX);
}

struct gpu_derive_context {
    struct plan *plan;
    struct gpu_slopes frame;
};

/* Member `begin` of struct derive_batches: starts to compute a batch on the GPU. Each place has
 * separate memory for values and derivative images. */
static enum status begin_batch(const void *context, const struct derive_request *q, size_t first,
                               size_t count, int place, const void **values, struct error *e)
{
    const struct gpu_derive_context *s = context;
    struct plan *p = s->plan;
    const size_t room = q->npixels < DERIVE_BATCH ? q->npixels : DERIVE_BATCH, at = (size_t)place;
    const size_t nvalues = (1 + s->frame.count) * room, nplanes = s->frame.count * room;
    const bool planes = derive_planes_only(q);
    enum status status = gpu_open_batch(p, BATCH_VALUES, 2 * nvalues * sizeof(double), e);
    if (!status && planes)
        status = gpu_open_batch(p, BATCH_PHOTONS, 2 * nplanes * sizeof(float), e);
    if (status)
        return status;
    const int64_t *numbers = p->batch[BATCH_NUMBERS];
    const struct gpu_slopes_batch b = {
        .numbers = q->listed ? numbers + first : NULL,
        .first = (int64_t)first,
        .count = count,
        .values = (double *)p->batch[BATCH_VALUES] + at * nvalues,
        .planes = planes ? (float *)p->batch[BATCH_PHOTONS] + at * nplanes : NULL,
    };
    return p->device->slopes(p->context, &s->frame, &b, room, place, values, e);
}

static enum status await_batch(const void *context, int place, struct error *e)
{
    const struct plan *p = ((const struct gpu_derive_context *)context)->plan;
    return p->device->slopes_wait(p->context, place, e);
}

static const struct derive_batches BATCHES = {begin_batch, await_batch};

static enum status upload_numbers(struct plan *p, const struct derive_request *q, struct error *e)
{
    const size_t bytes = q->listed ? q->npixels * sizeof *q->listed : 0;
    const enum status s = bytes ? gpu_open_batch(p, BATCH_NUMBERS, bytes, e) : STATUS_OK;
    return s || !bytes ? s : gpu_upload(p, p->batch[BATCH_NUMBERS], q->listed, bytes, e);
}

static enum status upload(struct plan *p, const struct cpu_job *job,
                          const struct slopes_frame *slopes, struct gpu_slopes *frame,
                          struct error *e)
{
    struct gpu_pack pack = {0};
    gpu_pack_slopes(&pack, job, slopes, p->tables, p->on_card, &p->frame, frame);
    const enum status s = gpu_grow_recipe(p, pack.bytes, e);
    if (s)
        return s;
    pack = gpu_pack_into(p, BLOCK_RECIPE, p->packed, p->recipe);
    gpu_pack_slopes(&pack, job, slopes, p->tables, p->on_card, &p->frame, frame);
    return gpu_pack_send(p, &pack, e);
}

enum status gpu_derive(struct plan *p, const struct recipe *recipe,
                       const struct derive_request *request, struct error *e)
{
    /* panels of thin images are at their place */
    const struct experiment *x = p->thin ? p->experiment : moved_to(&p->moved, recipe);
    struct cpu_job job = {0};
    struct slopes_frame slopes = {0};
    struct gpu_derive_context served = {.plan = p};
    const struct derive_job serve = {.x = x,
                                     .recipe = recipe,
                                     .footprint = p->footprint,
                                     .threads = p->threads,
                                     .batches = &BATCHES,
                                     .context = &served};
    bool smears;
    enum status s = refuse_experiment(x, p->precision, e);
    if (s || (s = smear_frame_smears(x, recipe, &smears, e)))
        return s;
    if (smears)
        return gpu_smear_derive(p, recipe, request, e);
    s = cpu_job_open_slopes(&job, x, p->tables, recipe, e);
    if (!s)
        s = derive_check(x, recipe, request, e);
    if (!s) {
        slopes_open(&slopes, x, recipe, request);
        s = gpu_move_panels(p, e);
        if (!s)
            s = upload(p, &job, &slopes, &served.frame, e);
        if (!s)
            s = upload_numbers(p, request, e);
        if (!s)
            s = derive_run(&serve, request, e);
        slopes_close(&slopes);
    }
    cpu_job_close(&job);
    return s;
}
