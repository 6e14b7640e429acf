/* Decides which plans and frames are computed in the dense form, and keeps the structure factors of
 * the dense form on the GPU. */
#include <string.h>

#include "gpu/plan.h"

/* Returns true if each crystal has one of these two shapes. */
static bool all_are(const struct experiment *x, enum crystal_shape shape, enum crystal_shape other)
{
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].shape != shape && x->crystals[i].shape != other)
            return false;
    return true;
}

/* Returns true if there is no footprint, or if the footprint does not change the
 * bit-compatibility class of the frames. The host spreads the photons of a footprint with the
 * instruction set of its CPU. */
static bool footprint_is_alike(const struct plan *p)
{
    const struct cpu_kernels *here = cpu_kernels_choose(NULL, p->precision, NULL);
    return !p->footprint || !strcmp(here->identity, p->device->as_cpu(p->context, p->precision));
}

enum status gpu_dense_open(struct plan *p, struct error *e)
{
    const struct experiment *x = p->experiment;
    const bool mixed = p->precision == PRECISION_MIXED;
    const bool square = !p->closed && all_are(x, SHAPE_SQUARE, mixed ? SHAPE_SQUARE : SHAPE_ROUND);
    p->as_cpu = square && footprint_is_alike(p);
    if (!square || !mixed)
        return STATUS_OK;
    p->padded = mem_array(x->ncrystals, sizeof *p->padded);
    p->padded_there = mem_array(x->ncrystals, sizeof *p->padded_there);
    return p->padded && p->padded_there ? STATUS_OK : error_memory(e, "the structure factors");
}

void gpu_dense_close(struct plan *p)
{
    for (size_t i = 0; p->padded_there && i < p->experiment->ncrystals; i++)
        p->device->release(p->context, p->padded_there[i].F_sqr);
    cpu_dense_tables_free(p->padded, p->experiment->ncrystals);
    mem_free(p->padded_there);
}

/* Copies the structure factors *t from the host to the GPU, as *to. */
static enum status upload_table(struct plan *p, const struct dense_table *t, struct gpu_padded *to,
                                struct error *e)
{
    if (!t->F_sqr || (to->F_sqr && !memcmp(to->reach, t->reach, sizeof t->reach)))
        return STATUS_OK;
    const size_t bytes = (size_t)dense_box_items(t->reach) * sizeof *t->F_sqr;
    p->device->release(p->context, to->F_sqr);
    to->F_sqr = NULL;
    enum status status = gpu_reserve(p, bytes, (void **)&to->F_sqr, e);
    memset(to->reach, 0, sizeof to->reach);
    if (!status)
        status = gpu_upload(p, to->F_sqr, t->F_sqr, bytes, e);
    if (!status)
        memcpy(to->reach, t->reach, sizeof t->reach);
    return status;
}

enum status gpu_dense_choose(struct plan *p, struct cpu_job *job, struct error *e)
{
    enum status status = p->padded ? cpu_dense_choose(job, p->padded, e) : STATUS_OK;
    for (size_t i = 0; i < p->experiment->ncrystals && job->ndense && !status; i++)
        status = upload_table(p, &p->padded[i], &p->padded_there[i], e);
    return status;
}
