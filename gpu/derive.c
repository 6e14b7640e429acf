/* Derivatives: the card computes many pixels at a time, while the host takes those before.  They
 * come as planes, if nothing else is asked, or as numbers in double precision that the host makes
 * sums of. */
#include "gpu/derive.h"

#include "engine/closed/closed.h"
#include "engine/derivatives/cpu_slopes.h"
#include "gpu/apart.h"
#include "gpu/layout.h"
#include "gpu/slopes_pack.h"

/* What the kernel does not take. */
static enum status refuse(const struct experiment *x, enum engine_precision precision,
                          struct error *e)
{
    if (closed_wanted(x))
        return error_set(e, STATUS_INPUT,
                         "the cuda engine has no derivatives with --mosaic-model=gauss: take "
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
                     "the cuda engine has derivatives of crystals of more than %d cells along an "
                     "axis with --precision=double alone",
                     SLOPES_CELLS_MAX);
}

struct served {
    struct plan *plan;
    struct gpu_slopes frame;
};

/* See struct derive_batches.  Each place has its values, and its planes. */
static enum status begin(const void *context, const struct derive_request *q, size_t first,
                         size_t count, int place, const void **values, struct error *e)
{
    const struct served *s = context;
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

static enum status wait(const void *context, int place, struct error *e)
{
    const struct plan *p = ((const struct served *)context)->plan;
    return p->device->slopes_wait(p->context, place, e);
}

static const struct derive_batches BATCHES = {begin, wait};

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
    enum status s = gpu_pack_slopes(&pack, job, slopes, p->tables, p->on_card, &p->frame, frame, e);
    if (!s)
        s = gpu_grow_recipe(p, pack.bytes, e);
    if (s)
        return s;
    pack = gpu_pack_into(p, BLOCK_RECIPE, p->packed, p->recipe);
    s = gpu_pack_slopes(&pack, job, slopes, p->tables, p->on_card, &p->frame, frame, e);
    return s ? s : gpu_pack_send(p, &pack, e);
}

enum status gpu_derive(struct plan *p, const struct recipe *recipe,
                       const struct derive_request *request, struct error *e)
{
    const struct experiment *x = moved_to(&p->moved, recipe);
    struct cpu_job job = {0};
    struct slopes_frame slopes = {0};
    struct served served = {.plan = p};
    const struct derive_job serve = {.x = x,
                                     .recipe = recipe,
                                     .footprint = p->footprint,
                                     .threads = p->threads,
                                     .batches = &BATCHES,
                                     .context = &served};
    enum status s = refuse(x, p->precision, e);
    if (!s)
        s = cpu_job_open_slopes(&job, x, p->tables, recipe, e);
    if (!s)
        s = derive_check(x, recipe, request, e);
    if (!s) {
        s = slopes_open(&slopes, x, recipe, request->set, e);
        if (!s)
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
